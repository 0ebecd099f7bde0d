/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests of ranks for published values.
 *
 * In: the head and a random number. Out: a publish, a lookup, an unpublish or the end of a rank, by
 * a daemon of the DVM and for a rank of the first job, or of a tool. A lookup that waits is
 * dropped.
 *
 * The daemons repeat some requests: their numbers grow with the time. What the requests change is
 * compared by journal-is-the-state (check_journal.c). */
#include "dvm/sim/values.h"

#include "dvm/protocol/core/core_inspect.h"

#include <string.h>

#define KEYS 4
#define OPEN 50 /* numbers below the present one that the asker has no answers to */
#define BLOB_MAX 4096

static unsigned draw_below(uint64_t *random, unsigned below)
{
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((*random >> 33) % below);
}

static void put_who(struct buf *b, const struct core *head, uint64_t *random)
{
    const struct job *j = jobs_first(head_jobs(core_inspect_head(head)));
    struct store_who who = {.nspace = "tool", .rank = draw_below(random, 2)};

    if (j && draw_below(random, 3))
        memccpy(who.nspace, job_map(j)->nspace, 0, sizeof(who.nspace) - 1);
    store_put_who(b, &who);
}

static void put_key(struct buf *b, uint64_t *random)
{
    char key[] = {(char)('a' + draw_below(random, KEYS)), 0};

    buf_put_u32(b, 1);
    buf_put_str(b, key);
}

static void put_request(struct buf *b, char op, uint64_t *random)
{
    if (op == 'e')
        return;
    buf_put_u8(b, draw_below(random, 2) ? STORE_RANGE_SESSION : STORE_RANGE_NAMESPACE);
    if (op == 'p')
        buf_put_u8(b, (uint8_t)draw_below(random, STORE_PERSIST_SESSION + 1));
    if (op == 'l') {
        buf_put_u8(b, (uint8_t)draw_below(random, 2));
        buf_put_u32(b, 0);
        buf_put_u32(b, 0);
    }
    put_key(b, random);
    if (op == 'p')
        buf_put_bytes(b, "value", draw_below(random, 6));
}

void values_request(struct sim *s, uint64_t random)
{
    struct core *head = sim_head(s);
    BUF_AUTO struct buf blob = {.max = BLOB_MAX}, answer = {.max = BLOB_MAX};
    struct published_ask a = {.op = "pplue"[draw_below(&random, 5)]};

    if (!head)
        return;
    put_who(&blob, head, &random);
    put_request(&blob, a.op, &random);
    a.blob = blob.data;
    a.len = blob.len;
    if (draw_below(&random, 3)) {
        a.request.question = sim_now(s) / 10 + 1;
        a.request.open_from = a.request.question > OPEN ? a.request.question - OPEN : 1;
    }
    sim_clock(s, VPID_HEAD);
    (void)core_published_serve(head, draw_below(&random, 4), &a, &answer);
    sim_drain(s, VPID_HEAD);
}
