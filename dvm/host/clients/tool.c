/* SPDX-License-Identifier: BSD-3-Clause */
/* Tools that have spawned a job by PMIx: its output to them, their input to it. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define EARLY_MAX (64u << 20)

struct toolio {
    uint32_t stdin_rank;
    struct buf early; /* output from before the tool knows the job */
    size_t unread;    /* output that it has yet to read */
    bool full, ended; /* its input */
    pmix_req push;    /* is answered when there is room again */
};

void toolio_create(struct dclient *k, const struct job_spec *spec)
{
    k->tool = xcalloc(1, sizeof *k->tool);
    k->tool->stdin_rank = spec->stdin_rank;
    buf_init(&k->tool->early, EARLY_MAX);
}

static void push_answer(struct daemon *d, struct toolio *t, int status)
{
    if (t->push)
        pmix_srv_answer(d->pmix, t->push, status, NULL, 0);
    t->push = 0;
}

void toolio_free(struct daemon *d, struct dclient *k)
{
    if (!k->tool)
        return;
    if (d)
        push_answer(d, k->tool, PMIX_ERR_NOT_FOUND);
    buf_free(&k->tool->early);
    free(k->tool);
    k->tool = NULL;
}

/* What jobs write that this one has spawned comes as its own: it is what the tool has asked for. */
static void output(struct daemon *d, struct dclient *k, const void *data, size_t len)
{
    struct client_msg m;

    if (client_msg_decode(data, len, &m, NULL) < 0)
        return;
    if (m.type == CLIENT_OUTPUT &&
        pmix_srv_output(d->pmix, k->id, &k->spawner, k->spawned, m.output.rank, m.output.stream,
                        m.output.data, m.output.len))
        k->tool->unread += m.output.len;
    else if (m.type == CLIENT_NOTE)
        log_info("job %s: %s", k->spawned, m.note.text);
    client_msg_free(&m);
}

void toolio_send(struct daemon *d, struct dclient *k, const void *data, size_t len)
{
    if (!k->spawn_req)
        output(d, k, data, len);
    else
        buf_put_bytes(&k->tool->early, data, len);
}

void toolio_named(struct daemon *d, struct dclient *k)
{
    struct cur c;

    if (!k->tool)
        return;
    c = cur_of(k->tool->early.data, k->tool->early.len);
    while (!c.bad && !cur_done(&c)) {
        size_t len;
        const uint8_t *data = cur_bytes(&c, EARLY_MAX, &len);

        if (data)
            output(d, k, data, len);
    }
    buf_free(&k->tool->early);
}

size_t toolio_pending(const struct dclient *k)
{
    return k->tool->unread + k->tool->early.len;
}

void toolio_output_read(struct daemon *d, uint32_t client, size_t len)
{
    const struct dclient *k = dclient_by_id(d, client);

    if (!k || !k->tool)
        return;
    k->tool->unread -= len;
    if (k->tool->unread > IOF_CLIENT_HIGH / 4)
        return;
    daemon_enter(d);
    iof_client_drained(d->iof, client);
    daemon_drain(d);
}

/* --- input */

void toolio_pause(struct daemon *d, struct dclient *k, bool paused)
{
    k->tool->full = paused;
    if (!paused)
        push_answer(d, k->tool, PMIX_SUCCESS);
}

struct dclient *toolio_spawned_as(const struct daemon *d, const char *nspace)
{
    struct dclient *k = d->clients;

    while (k && !(k->tool && k->spawned && strcmp(k->spawned, nspace) == 0))
        k = k->hh.next;
    return k;
}

static int push_check(const struct dclient *k, const struct pmix_srv_proc *from, uint32_t rank)
{
    if (!k)
        return PMIX_ERR_NOT_FOUND;
    if (strcmp(k->spawner.nspace, from->nspace) != 0 || k->spawner.rank != from->rank)
        return PMIX_ERR_NO_PERMISSIONS;
    if (rank == PMIX_RANK_WILDCARD)
        rank = JOB_RANK_ALL;
    if (k->tool->stdin_rank == JOB_RANK_NONE || rank != k->tool->stdin_rank || k->tool->ended)
        return PMIX_ERR_BAD_PARAM;
    return k->tool->full ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
}

/* One piece is taken while there is room, and answered when there is room again. */
void toolio_push(pmix_req req, const struct pmix_srv_proc *from, const struct pmix_srv_proc *to,
                 const void *data, size_t len, bool end, void *arg)
{
    struct daemon *d = arg;
    struct dclient *k = toolio_spawned_as(d, to->nspace);
    int status = push_check(k, from, to->rank);

    if (status != PMIX_SUCCESS) {
        pmix_srv_answer(d->pmix, req, status, NULL, 0);
        return;
    }
    daemon_enter(d);
    k->tool->ended = end;
    if (len)
        iof_client_stdin(d->iof, k->id, data, len);
    if (end)
        iof_client_stdin(d->iof, k->id, NULL, 0);
    k->tool->push = req;
    if (!k->tool->full)
        push_answer(d, k->tool, PMIX_SUCCESS);
    daemon_drain(d);
}
