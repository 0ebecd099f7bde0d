/* SPDX-License-Identifier: BSD-3-Clause */
/* Percent-escapes of URLs. */
#include "base/buf/buf.h"
#include "operator/http/http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

char *http_escape(const char *text)
{
    char *out = xmalloc(strlen(text) * 3 + 1), *to = out;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (isalnum(*p) || strchr("-._~", *p))
            *to++ = (char)*p;
        else
            to += snprintf(to, 4, "%%%02X", *p);
    }
    *to = '\0';
    return out;
}
