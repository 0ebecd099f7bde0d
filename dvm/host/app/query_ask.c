/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_QUERY_ASK: u64 question, str namespaces. */
#include "dvm/host/app/app.h"

#include <stdlib.h>

void app_query_ask_encode(struct buf *b, const struct app_query_ask *m)
{
    buf_init(b, APP_NAMES_MAX + 1024);
    buf_put_u64(b, m->question);
    buf_put_str(b, m->nspaces);
}

int app_query_ask_decode(struct cur *c, struct app_query_ask *m)
{
    m->question = cur_u64(c);
    m->nspaces = cur_str(c, APP_NAMES_MAX);
    return cur_done(c) ? 0 : -1;
}

void app_query_ask_free(struct app_query_ask *m)
{
    free(m->nspaces);
}
