/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_NOTIFY_ALL: u64 question, u8 kind of reach, u32 count of (str nspace, u32 rank), bytes. */
#include "dvm/host/app/app.h"

#include <stdlib.h>
#include <string.h>

void app_notify_all_encode(struct buf *b, const struct app_notify_all *m)
{
    buf_init(b, APP_BLOB_MAX);
    buf_put_u64(b, m->question);
    buf_put_u8(b, m->to.kind);
    buf_put_u32(b, (uint32_t)m->to.nprocs);
    for (size_t i = 0; i < m->to.nprocs; i++) {
        buf_put_str(b, m->to.procs[i].nspace);
        buf_put_u32(b, m->to.procs[i].rank);
    }
    buf_put_bytes(b, m->event, m->len);
}

int app_notify_all_decode(struct cur *c, struct app_notify_all *m)
{
    struct pmix_srv_proc *procs;

    memset(m, 0, sizeof(*m));
    m->question = cur_u64(c);
    m->to.kind = cur_u8(c);
    m->to.nprocs = cur_count(c, PMIX_SRV_REACH_MAX, 8);
    m->to.procs = procs = xcalloc(m->to.nprocs + 1, sizeof(*procs));
    for (size_t i = 0; i < m->to.nprocs && !c->bad; i++) {
        FREE_AUTO char *nspace = cur_str(c, sizeof(procs->nspace) - 1);

        memccpy(procs[i].nspace, nspace, 0, sizeof(procs[i].nspace));
        procs[i].rank = cur_u32(c);
    }
    m->event = cur_bytes(c, APP_EVENT_MAX, &m->len);
    return cur_done(c) ? 0 : -1;
}

void app_notify_all_free(struct app_notify_all *m)
{
    free((void *)m->to.procs);
}
