/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait with a limit. If it lasts for more than a second, the user is told on standard error,
 * once, what this program waits for and how long at most. */
#ifndef DVM_CLI_LIMIT_H
#define DVM_CLI_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define CLI_LIMIT_NOTICE_MS 1000

typedef char *cli_limit_text_fn(void *arg); /* what is waited for; on the heap */

struct cli_limit {
    int64_t begin_ms;
    int64_t end_ms;
    int64_t notice_ms;
    cli_limit_text_fn *text; /* NULL: no notice is due any more */
    void *arg;
};

int64_t cli_now_ms(void); /* of the monotonic clock */

/* Begins a wait of `total_ms`. `text` NULL: the user is not told. `arg` is borrowed. */
struct cli_limit cli_limit_begin(int64_t now_ms, int64_t total_ms, cli_limit_text_fn *text,
                                 void *arg);
/* The limit is now so much later. The notice, if it is still to come, names the new limit. */
void cli_limit_extend(struct cli_limit *l, int64_t more_ms);
/* The limit is now in `left_ms`, or earlier. */
void cli_limit_shorten(struct cli_limit *l, int64_t now_ms, int64_t left_ms);
/* Begins anew, with a limit as long as before. The time of the notice stays. */
void cli_limit_renew(struct cli_limit *l, int64_t now_ms);
int64_t cli_limit_total_ms(const struct cli_limit *l); /* from the begin to the limit */
/* How long to wait now, before the next call: until the notice is due, or until the limit. Gives
 * the notice when it is due. 0: the limit has passed. */
int cli_limit_step(struct cli_limit *l, int64_t now_ms);

#endif
