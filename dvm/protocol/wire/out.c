/* SPDX-License-Identifier: BSD-3-Clause */
/* The outbox: appending, taking and freeing of actions. */
#include "dvm/protocol/wire/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* One frame, or one application message with its header. */
#define OUT_DATA_MAX (65u << 20)

struct out_act *out_add(struct out *o, enum out_kind kind)
{
    struct out_act *act = xcalloc(1, sizeof *act);

    act->kind = kind;
    buf_init(&act->data, OUT_DATA_MAX);
    DL_APPEND(o->head, act);
    return act;
}

bool out_take(struct out *o, struct out_act *act)
{
    struct out_act *first = o->head;

    if (!first)
        return false;
    DL_DELETE(o->head, first);
    *act = *first;
    act->next = act->prev = NULL;
    free(first);
    return true;
}

void out_act_free(struct out_act *act)
{
    free(act->a);
    buf_free(&act->data);
    job_launch_unref(act->launch);
}

void out_free(struct out *o)
{
    struct out_act act;

    while (out_take(o, &act))
        out_act_free(&act);
}

void out_log(struct out *o, int level, const char *fmt, ...)
{
    struct out_act *act = out_add(o, OUT_LOG);
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    act->number = level;
    act->a = xstrdup(text);
}
