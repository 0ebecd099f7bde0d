/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors and numbers of command lines. */
#include "dvm/tools/cli/usage.h"

#include "dvm/protocol/wire/client.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_MAX 31536000u /* a year */

void cli_open_std(void)
{
    int fd = open("/dev/null", O_RDONLY);

    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDONLY);
    if (fd >= 0)
        close(fd);
}

int cli_usage(const char *prog, const char *fmt, ...)
{
    struct err text = {0};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text.msg, sizeof(text.msg), fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s: %s; see '%s --help'\n", prog, text.msg, prog);
    return EXIT_CODE_USAGE;
}

int cli_fail(const char *prog, int code, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", prog, err->msg);
    return code;
}

int cli_option_error(int opt, char *const *argv, struct err *err)
{
    /* In a bundle of short options optind stays until the last one: only optopt names it. */
    bool is_short = optopt > 0 && optopt <= UINT8_MAX;
    const char *word = argv[optind - 1];

    if (is_short && opt == ':')
        return err_set(err, "option -%c needs a value", optopt);
    if (is_short)
        return err_set(err, "unknown option -%c", optopt);
    if (opt == ':')
        return err_set(err, "option %s needs a value", word);
    if (optopt)
        return err_set(err, "option %s: takes no value", word);
    return err_set(err, "unknown or ambiguous option %s", word);
}

int cli_number(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out,
               struct err *err)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end)
        return err_set(err, "%s: '%s' is not a whole number", what, text);
    if (errno || *out < min || *out > max)
        return err_set(err, "%s: %s is not within %llu..%llu", what, text, (unsigned long long)min,
                       (unsigned long long)max);
    return 0;
}

int cli_seconds(const char *text, const char *what, uint64_t *ms, struct err *err)
{
    char whole[16] = "";
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    uint64_t seconds, scale = 100;

    if (!digits || digits >= sizeof(whole))
        return err_set(err, "%s: '%s' is not a number of seconds", what, text);
    memcpy(whole, text, digits);
    if (cli_number(whole, what, 0, SECONDS_MAX, &seconds, err) < 0)
        return -1;
    *ms = seconds * 1000;
    if (*rest == '.') {
        for (rest++; isdigit((unsigned char)*rest) && scale; rest++, scale /= 10)
            *ms += scale * (uint64_t)(*rest - '0');
    }
    if (*rest)
        return err_set(err, "%s: '%s' is not a number of seconds (at most three decimals)", what,
                       text);
    if (!*ms)
        return err_set(err, "%s: has to be more than 0", what);
    return 0;
}
