/* SPDX-License-Identifier: BSD-3-Clause */
/* The outbox of a core: a list of actions that modules append and the driver takes.
 *
 * In: actions by kind (out_add()), log lines (out_log()), closes (out_close()). Out: the actions in
 * the order in which they were appended (out_take()).
 *
 * An action is added with zero fields and empty buffers, and the module fills it in. The driver
 * takes it, carries it out, and frees it with all that it owns (out_act_free()). OUT_LIST names the
 * free_ function of each kind.
 *
 * At a head with keepers an action waits for its turn: the group of records that it follows is
 * kept. Those that go ahead, the records themselves, do not wait.
 *
 * Invariants: out_take() moves the action to its caller, so each action is carried out once. A
 * launch is held by reference; all other memory belongs to the action alone.
 *
 * Failures: a buffer fails over OUT_DATA_MAX. A log line is cut at 1023 bytes. The list itself has
 * no limit: the driver empties it after each input. */
#include "dvm/protocol/out/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* One frame, or one application message with its header. */
#define OUT_DATA_MAX (MSG_ROUTED_MAX + (1u << 20))

static void init_buffers(struct out_act *act)
{
    if (act->kind == OUT_SEND)
        buf_init(&act->send.frame, OUT_DATA_MAX);
    if (act->kind == OUT_APP)
        buf_init(&act->app.data, OUT_DATA_MAX);
    if (act->kind == OUT_GATHER)
        buf_init(&act->gather.data, OUT_DATA_MAX);
    if (act->kind == OUT_CLIENT)
        buf_init(&act->client.msg, OUT_DATA_MAX);
}

struct out_act *out_add(struct out *o, enum out_kind kind)
{
    struct out_act *act = xcalloc(1, sizeof(*act));

    act->kind = kind;
    act->turn = o->turn;
    init_buffers(act);
    if (o->goes_ahead)
        DL_APPEND(o->ahead, act);
    else
        DL_APPEND(o->head, act);
    return act;
}

bool out_take(struct out *o, struct out_act *act)
{
    struct out_act **list = o->ahead ? &o->ahead : &o->head;
    struct out_act *first = *list;

    if (!first || (list == &o->head && first->turn > o->kept))
        return false;
    DL_DELETE(*list, first);
    *act = *first;
    act->next = act->prev = NULL;
    free(first);
    return true;
}

bool out_take_exit_back(struct out *o)
{
    struct out_act *act, *tmp;
    bool found = false;

    DL_FOREACH_SAFE(o->head, act, tmp)
    {
        if (act->kind != OUT_EXIT || act->exit.code)
            continue;
        DL_DELETE(o->head, act);
        free(act);
        found = true;
    }
    return found;
}

/* --- what actions own */

static void free_nothing(const void *fields)
{
}

static void free_records(struct out_records *a)
{
    buf_free(&a->data);
}

static void free_connect(struct out_connect *a)
{
    for (size_t i = 0; i < a->nways; i++) {
        free(a->ways[i].host);
        free(a->ways[i].from);
    }
}

static void free_send(struct out_send *a)
{
    buf_free(&a->frame);
}

static void free_launch(struct out_launch *a)
{
    job_launch_unref(a->launch);
}

static void free_job(struct out_job *a)
{
    free(a->nspace);
}

static void free_create(struct out_create *a)
{
    free(a->nspace);
}

static void free_signal(struct out_signal *a)
{
    free(a->nspace);
}

static void free_end_ranks(struct out_end_ranks *a)
{
    free(a->nspace);
}

static void free_go_on(struct out_go_on *a)
{
    free(a->nspace);
}

static void free_job_ended(struct out_job_ended *a)
{
    free(a->nspace);
}

static void free_ranks_lost(struct out_ranks_lost *a)
{
    msg_ranks_lost_free(&a->lost);
}

static void free_app(struct out_app *a)
{
    buf_free(&a->data);
}

static void free_gather(struct out_gather *a)
{
    buf_free(&a->data);
}

static void free_client(struct out_client *a)
{
    buf_free(&a->msg);
}

static void free_log(struct out_log *a)
{
    free(a->text);
}

static void free_member_gone(struct out_member_gone *a)
{
    free(a->host);
}

static void free_resize_answer(struct out_resize_answer *a)
{
    free(a->campaign);
    free(a->why);
}

static void free_resize_ended(struct out_resize_ended *a)
{
    msg_resize_ended_free(&a->end);
}

void out_act_free(struct out_act *act)
{
#define FREE_CASE(KIND, member, fields, owned)                                                     \
    case OUT_##KIND:                                                                               \
        free_##owned(&act->member);                                                                \
        break;
    switch (act->kind) {
        OUT_LIST(FREE_CASE)
    case OUT_KINDS:
        break;
    }
#undef FREE_CASE
}

void out_free(struct out *o)
{
    struct out_act act;

    o->kept = UINT64_MAX;
    while (out_take(o, &act))
        out_act_free(&act);
}

void out_close(struct out *o, uint64_t conn, bool flush)
{
    out_add(o, OUT_CLOSE)->close = (struct out_close){conn, flush};
}

void out_log(struct out *o, int level, const char *fmt, ...)
{
    struct out_act *act = out_add(o, OUT_LOG);
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    act->log = (struct out_log){level, xstrdup(text)};
}

const char *out_nspace(const struct out_act *act)
{
    switch ((int)act->kind) {
    case OUT_TAKE_FILES:
        return act->take_files.nspace;
    case OUT_DROP_FILES:
        return act->drop_files.nspace;
    case OUT_CREATE:
        return act->create.nspace;
    case OUT_START:
        return act->start.nspace;
    case OUT_SIGNAL:
        return act->signal.nspace;
    case OUT_END_RANKS:
        return act->end_ranks.nspace;
    case OUT_CONTINUE:
        return act->go_on.nspace;
    case OUT_CLEAN:
        return act->clean.nspace;
    default:
        return NULL;
    }
}
