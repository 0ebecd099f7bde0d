/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes the base64 text in which Secrets and kubeconfigs hold certificates and keys. */
#include "base/buf/buf.h"
#include "operator/kube/kube.h"

#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

/* OpenSSL takes '-' for the end of the text and would ignore the rest. */
static int decode_text(const char *text, size_t len, char *out)
{
    EVP_ENCODE_CTX *ctx = EVP_ENCODE_CTX_new();
    int used = 0, rest = 0, rc = -1;

    if (ctx && len <= INT_MAX && !strchr(text, '-')) {
        EVP_DecodeInit(ctx);
        rc = EVP_DecodeUpdate(ctx, (unsigned char *)out, &used, (const unsigned char *)text,
                              (int)len);
        if (rc >= 0)
            rc = EVP_DecodeFinal(ctx, (unsigned char *)out + used, &rest);
    }
    EVP_ENCODE_CTX_free(ctx);
    return rc < 0 ? -1 : used + rest;
}

char *kube_base64_decode(const char *text, struct err *err)
{
    size_t len = strlen(text);
    char *out = xmalloc(len + 4);
    int n = decode_text(text, len, out);

    if (n < 0) {
        free_ptr(&out);
        err_set(err, "this is not base64 text");
        return NULL;
    }
    out[n] = '\0';
    return out;
}
