/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of command lines. */
#include "dvm/tools/cli/usage.h"

#include "dvm/protocol/wire/client.h"
#include "dvm/tools/cli/say.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    cli_say(STDERR_FILENO, prog, "%s; see '%s --help'", text.msg, prog);
    return EXIT_CODE_USAGE;
}

int cli_fail(const char *prog, int code, const struct err *err)
{
    cli_say(STDERR_FILENO, prog, "%s", err->msg);
    return code;
}

int cli_option_error(int opt, char *const *argv, struct err *err)
{
    /* In a bundle of short options optind does not move until the last one; only optopt names
     * the option. */
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
