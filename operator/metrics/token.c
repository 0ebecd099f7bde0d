/* SPDX-License-Identifier: BSD-3-Clause */
/* The token that lets a caller read /metrics: one line in a file, which the kubelet writes from a
 * Secret that Prometheus has, too.
 *
 * A check by the API server (TokenReview, SubjectAccessReview) would need rights beyond namespaces,
 * and two requests for each scrape. */
#include "operator/metrics/token.h"

#include "base/buf/buf.h"
#include "base/conf/conf.h"

#include <openssl/crypto.h>
#include <string.h>

/* On the heap; NULL and err: there is none. */
static char *read_token(const char *file, struct err *err)
{
    size_t len = 0;
    char *text = conf_read_file(file, TOKEN_MAX, &len, err);

    if (!text)
        return NULL;
    len = strlen(text);
    while (len && strchr(" \t\r\n", text[len - 1]))
        text[--len] = '\0';
    if (len >= TOKEN_MIN)
        return text;
    free_ptr(&text);
    err_set(err, "%s: a token needs %d characters", file, TOKEN_MIN);
    return NULL;
}

int token_file_check(const char *file, struct err *err)
{
    FREE_AUTO char *token = read_token(file, err);

    return token ? 0 : -1;
}

bool token_file_has(const char *file, const char *given)
{
    FREE_AUTO char *token = given ? read_token(file, NULL) : NULL;

    return token && strlen(token) == strlen(given) &&
           CRYPTO_memcmp(token, given, strlen(token)) == 0;
}
