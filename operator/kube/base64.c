/* SPDX-License-Identifier: BSD-3-Clause */
/* Base64, as the data of Secrets and kubeconfigs is written. */
#include "base/buf/buf.h"
#include "operator/kube/kube.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The 64 digits, and behind them the padding. */
static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
#define PAD 64

char *kube_base64_encode(const void *data, size_t len)
{
    const uint8_t *p = data;
    char *out = xmalloc((len + 2) / 3 * 4 + 1), *to = out;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t v = (uint32_t)p[i] << 16;
        v |= n > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        v |= n > 2 ? p[i + 2] : 0;
        *to++ = ALPHABET[v >> 18];
        *to++ = ALPHABET[v >> 12 & 63];
        *to++ = ALPHABET[n > 1 ? v >> 6 & 63 : PAD];
        *to++ = ALPHABET[n > 2 ? v & 63 : PAD];
    }
    *to = '\0';
    return out;
}

/* Value of a character of the alphabet, -1 for others. */
static int value(char c)
{
    const char *at = c ? strchr(ALPHABET, c) : NULL;
    return at && at < ALPHABET + PAD ? (int)(at - ALPHABET) : -1;
}

char *kube_base64_decode(const char *text, size_t *len, struct err *err)
{
    FREE_AUTO char *out = xmalloc(strlen(text) / 4 * 3 + 4);
    size_t used = 0, digits = 0, pads = 0;
    uint32_t bits = 0;
    for (const char *p = text; *p; p++) {
        int v = value(*p);
        if (isspace((unsigned char)*p))
            continue;
        if (*p == '=') {
            pads++;
            continue;
        }
        if (v < 0 || pads > 0) {
            err_set(err, "no base64: unexpected character at offset %td", p - text);
            return NULL;
        }
        bits = bits << 6 | (uint32_t)v;
        if (++digits % 4 == 0) {
            out[used++] = (char)(bits >> 16);
            out[used++] = (char)(bits >> 8);
            out[used++] = (char)bits;
        }
    }
    size_t rest = digits % 4;
    if (rest == 1 || pads != (rest ? 4 - rest : 0)) {
        err_set(err, "no base64: it is cut short");
        return NULL;
    }
    if (rest == 3)
        out[used++] = (char)(bits >> 10);
    if (rest == 2)
        out[used++] = (char)(bits >> 4);
    else if (rest == 3)
        out[used++] = (char)(bits >> 2);
    out[used] = '\0';
    if (len)
        *len = used;
    char *ret = out;
    out = NULL;
    return ret;
}
