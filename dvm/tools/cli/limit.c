/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait with a limit, of which the user is told after a second. */
#include "dvm/tools/cli/limit.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int64_t cli_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct cli_limit cli_limit_begin(int64_t now_ms, int64_t total_ms, cli_limit_text_fn *text,
                                 void *arg)
{
    return (struct cli_limit){.begin_ms = now_ms,
                              .end_ms = now_ms + total_ms,
                              .notice_ms = now_ms + CLI_LIMIT_NOTICE_MS,
                              .text = text,
                              .arg = arg};
}

void cli_limit_extend(struct cli_limit *l, int64_t more_ms)
{
    l->end_ms += more_ms;
}

void cli_limit_shorten(struct cli_limit *l, int64_t now_ms, int64_t left_ms)
{
    if (now_ms + left_ms < l->end_ms)
        l->end_ms = now_ms + left_ms;
}

void cli_limit_renew(struct cli_limit *l, int64_t now_ms)
{
    l->end_ms += now_ms - l->begin_ms;
    l->begin_ms = now_ms;
}

int64_t cli_limit_total_ms(const struct cli_limit *l)
{
    return l->end_ms - l->begin_ms;
}

static void give_notice(struct cli_limit *l)
{
    FREE_AUTO char *text = l->text(l->arg);

    cli_say(STDERR_FILENO, program_invocation_short_name, "waits for %s, for at most %lld s", text,
            (long long)(cli_limit_total_ms(l) + 999) / 1000);
    l->text = NULL;
}

int cli_limit_step(struct cli_limit *l, int64_t now_ms)
{
    int64_t left = l->end_ms - now_ms;

    if (left <= 0)
        return 0;
    if (l->text && l->notice_ms <= now_ms)
        give_notice(l);
    if (l->text && l->notice_ms < l->end_ms)
        left = l->notice_ms - now_ms;
    return left < INT_MAX ? (int)left : INT_MAX;
}
