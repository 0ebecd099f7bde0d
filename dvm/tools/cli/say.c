/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of our programs. They have words of other users in them: names of programs, arguments,
 * reasons, host names. These must not act on the terminal of whoever reads them. */
#include "dvm/tools/cli/say.h"

#include "base/buf/buf.h"
#include "base/text/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED_MAX 4 /* bytes for one: "\x1b" */

char *cli_text(const char *text)
{
    size_t room = ESCAPED_MAX * strlen(text), len = 0;
    char *out = xmalloc(room + 1);

    (void)printable_copy(out, &len, room, text);
    out[len] = '\0';
    return out;
}

char *cli_lines(const char *text, size_t len)
{
    FREE_AUTO char *copy = xmalloc(len + 1);
    char *out = xmalloc(ESCAPED_MAX * len + 1);
    char *rest = copy;
    size_t used = 0;

    memcpy(copy, text, len);
    copy[len] = '\0';
    for (const char *line; (line = strsep(&rest, "\n"));) {
        (void)printable_copy(out, &used, ESCAPED_MAX * len, line);
        if (rest)
            out[used++] = '\n';
    }
    out[used] = '\0';
    return out;
}

void cli_say(int fd, const char *prog, const char *fmt, ...)
{
    FREE_AUTO char *raw = NULL;
    FREE_AUTO char *text = NULL;
    size_t len;
    va_list ap;

    va_start(ap, fmt);
    raw = xvasprintf(fmt, ap);
    va_end(ap);
    len = strlen(raw);
    if (len && raw[len - 1] == '\n')
        raw[len - 1] = '\0';
    text = cli_text(raw);
    dprintf(fd, "%s: %s\n", prog, text);
}
