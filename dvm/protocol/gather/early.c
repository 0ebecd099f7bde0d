/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about collectives of jobs that have not been launched on this daemon yet. They wait.
 *
 * In: a message whose sender cannot be checked, since this daemon has no map of a job that it
 * names; the launch or the end of a job; the departure of a sender. Out: at the launch the messages
 * that name the job, in the order in which they came.
 *
 * A daemon that has the launch already may contribute before this one has it, so such a message is
 * not dropped. Any daemon can send one about a job that never comes.
 *
 * Invariants: a message is taken once, or dropped. The messages of one sender do not take the place
 * of another one's.
 *
 * Failures: above the bounds of its sender the newest message is dropped with a log line. The
 * collective then ends by its timeout, or with its job. */
#include "dvm/protocol/gather/early.h"

#include "base/heap/hash.h"
#include "base/log/log.h"
#include "dvm/protocol/gather/signature.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct early_sender {
    uint32_t vpid;
    size_t n;
    size_t size_bytes;
    uint64_t ndropped;
    UT_hash_handle hh;
};

static struct early_sender *sender_of(struct early *e, uint32_t vpid)
{
    struct early_sender *s;

    HASH_FIND(hh, e->senders, &vpid, sizeof(vpid), s);
    if (!s) {
        s = xcalloc(1, sizeof(*s));
        s->vpid = vpid;
        HASH_ADD(hh, e->senders, vpid, sizeof(s->vpid), s);
    }
    return s;
}

static void *copy_bytes(const void *p, size_t len)
{
    void *copy = xmalloc(len + 1);

    if (len)
        memcpy(copy, p, len);
    return copy;
}

static struct early_message *copy_message(uint32_t from, enum msg_type type,
                                          const struct msg_gather *m)
{
    struct early_message *x = xcalloc(1, sizeof(*x));

    x->from = from;
    x->type = type;
    x->m = *m;
    x->m.sig = copy_bytes(m->sig, m->siglen);
    x->m.vpids = copy_bytes(m->vpids, m->nvpids * sizeof(*m->vpids));
    x->m.data = copy_bytes(m->data, m->len);
    x->size_bytes = sizeof(*x) + m->siglen + m->nvpids * sizeof(*m->vpids) + m->len;
    return x;
}

void early_message_free(struct early_message *x)
{
    free((uint8_t *)x->m.sig);
    free(x->m.vpids);
    free((uint8_t *)x->m.data);
    free(x);
}

static void remove_message(struct early *e, struct early_message *x)
{
    struct early_sender *s = sender_of(e, x->from);

    s->n--;
    s->size_bytes -= x->size_bytes;
    e->n--;
    DL_DELETE(e->messages, x);
}

void early_free(struct early *e)
{
    while (e->senders)
        early_forget_sender(e, e->senders->vpid);
}

void early_log_drop(struct early *e, uint32_t from, const char *why)
{
    uint64_t n = ++sender_of(e, from)->ndropped;

    if ((n & (n - 1)) == 0)
        out_log(e->out, LOG_LEVEL_WARN, "collective from vpid %u dropped: %s (%llu so far)", from,
                why, (unsigned long long)n);
}

void early_keep(struct early *e, uint32_t from, enum msg_type type, const struct msg_gather *m)
{
    struct early_sender *s = sender_of(e, from);
    struct early_message *x;

    if (s->n >= EARLY_MESSAGES_MAX || s->size_bytes >= EARLY_BYTES_MAX) {
        early_log_drop(e, from, "too many of it wait for the launch of their jobs");
        return;
    }
    x = copy_message(from, type, m);
    s->n++;
    s->size_bytes += x->size_bytes;
    e->n++;
    DL_APPEND(e->messages, x);
}

struct early_message *early_take(struct early *e, const char *nspace)
{
    struct early_message *taken = NULL, *x, *tmp;

    DL_FOREACH_SAFE(e->messages, x, tmp)
    {
        if (!signature_names(x->m.sig, x->m.siglen, nspace))
            continue;
        remove_message(e, x);
        DL_APPEND(taken, x);
    }
    return taken;
}

void early_forget_job(struct early *e, const char *nspace)
{
    struct early_message *taken = early_take(e, nspace), *x, *tmp;

    DL_FOREACH_SAFE(taken, x, tmp)
    {
        early_message_free(x);
    }
}

void early_forget_sender(struct early *e, uint32_t vpid)
{
    struct early_sender *s;
    struct early_message *x, *tmp;

    HASH_FIND(hh, e->senders, &vpid, sizeof(vpid), s);
    if (!s)
        return;
    DL_FOREACH_SAFE(e->messages, x, tmp)
    {
        if (x->from == vpid) {
            remove_message(e, x);
            early_message_free(x);
        }
    }
    HASH_DEL(e->senders, s);
    free(s);
}
