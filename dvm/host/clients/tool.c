/* SPDX-License-Identifier: BSD-3-Clause */
/* Tools that have spawned a job by PMIx: its output to them, and their input to it.
 *
 * A tool (PMIx_tool_init) has no connection of the client protocol. For its job this daemon acts as
 * the client: messages to that client become output of the PMIx library.
 *
 * In: messages of iof for the client, pushes of input by the tool, reports of the library about
 * output that it has delivered. Out: output to the library, input to the job's daemons, one answer
 * per push.
 *
 * Output that comes before the tool knows the job's name is kept in `early`, since the library
 * would deliver it under no name. tool_named() delivers it.
 *
 * Flow control: output that the library has not delivered counts for the limit of dvm/host/iof; at
 * that limit the job waits. A push is answered when there is room for the next one, and one is open
 * at a time.
 *
 * Failures: input is refused for a job of another tool (NO_PERMISSIONS), for a rank that does not
 * get it or after its end (BAD_PARAM), while the last piece is still waiting (OUT_OF_RESOURCE). */
#include "dvm/host/clients/tool_private.h"

#include "dvm/host/clients/spawn_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define EARLY_MAX (64u << 20)

struct tool {
    uint32_t stdin_rank;
    struct buf early; /* output from before the tool knows the job's name */
    size_t unread;    /* output that the tool has not read yet */
    bool full, ended; /* its input */
    pmix_req push;    /* the pending input request is answered when there is room again */
};

void tool_create(struct client *k, const struct job_spec *spec)
{
    k->tool = xcalloc(1, sizeof(*k->tool));
    k->tool->stdin_rank = spec->stdin_rank;
    buf_init(&k->tool->early, EARLY_MAX);
}

static void answer_push(struct clients *c, struct tool *t, int status)
{
    if (t->push)
        pmix_srv_answer(c->parts.pmix, t->push, status, NULL, 0);
    t->push = 0;
}

void tool_free(struct clients *c, struct client *k, bool answer)
{
    if (!k->tool)
        return;
    if (answer)
        answer_push(c, k->tool, PMIX_ERR_NOT_FOUND);
    buf_free(&k->tool->early);
    free(k->tool);
    k->tool = NULL;
}

/* Output of jobs that this job has spawned is delivered as its own output, as the tool has
 * requested. */
static void deliver_output(struct clients *c, struct client *k, const void *data, size_t len)
{
    const char *nspace = spawn_nspace(k->spawn);
    struct client_msg m;

    if (client_msg_decode(data, len, &m, NULL) < 0)
        return;
    if (m.type == CLIENT_OUTPUT &&
        pmix_srv_output(c->parts.pmix, k->id, spawn_spawner(k->spawn), nspace, m.output.rank,
                        m.output.stream, m.output.data, m.output.len))
        k->tool->unread += m.output.len;
    else if (m.type == CLIENT_NOTE)
        log_info("job %s: %s", nspace, m.note.text);
    client_msg_free(&m);
}

void tool_send(struct clients *c, struct client *k, const void *data, size_t len)
{
    if (spawn_is_answered(k->spawn))
        deliver_output(c, k, data, len);
    else
        buf_put_bytes(&k->tool->early, data, len);
}

void tool_named(struct clients *c, struct client *k)
{
    struct cur early;

    if (!k->tool)
        return;
    early = cur_of(k->tool->early.data, k->tool->early.len);
    while (!early.bad && !cur_done(&early)) {
        size_t len;
        const uint8_t *data = cur_bytes(&early, EARLY_MAX, &len);

        if (data)
            deliver_output(c, k, data, len);
    }
    buf_free(&k->tool->early);
}

size_t tool_pending(const struct tool *t)
{
    return t->unread + t->early.len;
}

void clients_output_read(struct clients *c, uint32_t client, size_t len)
{
    const struct client *k = client_find(c, client);

    if (!k || !k->tool)
        return;
    k->tool->unread -= len;
    if (k->tool->unread > IOF_CLIENT_HIGH / 4)
        return;
    host_enter(c->env);
    iof_client_drained(c->parts.iof, client);
    host_drain(c->env);
}

/* --- input */

void tool_pause(struct clients *c, struct client *k, bool paused)
{
    k->tool->full = paused;
    if (!paused)
        answer_push(c, k->tool, PMIX_SUCCESS);
}

static struct client *find_spawned(const struct clients *c, const char *nspace)
{
    struct client *k = c->by_id;

    while (k && !(k->tool && spawn_nspace(k->spawn) && strcmp(spawn_nspace(k->spawn), nspace) == 0))
        k = k->hh.next;
    return k;
}

bool clients_tool_spawned(const struct clients *c, const char *nspace)
{
    return find_spawned(c, nspace) != NULL;
}

static int check_push(const struct client *k, const struct pmix_srv_proc *from, uint32_t rank)
{
    const struct pmix_srv_proc *spawner;

    if (!k)
        return PMIX_ERR_NOT_FOUND;
    spawner = spawn_spawner(k->spawn);
    if (strcmp(spawner->nspace, from->nspace) != 0 || spawner->rank != from->rank)
        return PMIX_ERR_NO_PERMISSIONS;
    if (rank == PMIX_RANK_WILDCARD)
        rank = JOB_RANK_ALL;
    if (k->tool->stdin_rank == JOB_RANK_NONE || rank != k->tool->stdin_rank || k->tool->ended)
        return PMIX_ERR_BAD_PARAM;
    return k->tool->full ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
}

/* One piece is taken while there is room. It is answered when there is room again. */
void clients_push_input(struct clients *c, pmix_req req, const struct pmix_srv_proc *from,
                        const struct pmix_srv_proc *to, const void *data, size_t len, bool end)
{
    struct client *k = find_spawned(c, to->nspace);
    int status = check_push(k, from, to->rank);

    if (status != PMIX_SUCCESS) {
        pmix_srv_answer(c->parts.pmix, req, status, NULL, 0);
        return;
    }
    host_enter(c->env);
    k->tool->ended = end;
    if (len)
        iof_client_stdin(c->parts.iof, k->id, data, len);
    if (end)
        iof_client_stdin(c->parts.iof, k->id, NULL, 0);
    k->tool->push = req;
    if (!k->tool->full)
        answer_push(c, k->tool, PMIX_SUCCESS);
    host_drain(c->env);
}
