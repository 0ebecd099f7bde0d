/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn: a client without a connection, which stands for the rank or tool that spawns.
 *
 * In: the request of the library; messages of the core for the client.
 * Out: the submission; one answer to the request; events for the spawner.
 *
 * The request is answered with the namespace when all ranks of the job have started, or when it has
 * ended before. If the job was refused, the answer is an error status. The spawner is notified of
 * the start, and when all ranks have stopped for its debugger. The client is removed when its job
 * has ended. */
#include "dvm/host/clients/spawn_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

struct spawn {
    pmix_req req; /* 0: the request has been answered */
    struct pmix_srv_proc spawner;
    char *nspace; /* NULL: not accepted yet */
    enum job_stop stop;
};

void spawn_free(struct spawn *s)
{
    if (!s)
        return;
    free(s->nspace);
    free(s);
}

const struct pmix_srv_proc *spawn_spawner(const struct spawn *s)
{
    return &s->spawner;
}

const char *spawn_nspace(const struct spawn *s)
{
    return s->nspace;
}

bool spawn_is_answered(const struct spawn *s)
{
    return s->req == 0;
}

/* --- the request */

struct spawn *spawn_create(pmix_req req, const struct job_spec *spec)
{
    struct spawn *s = xcalloc(1, sizeof(*s));

    s->req = req;
    s->stop = spec->stop;
    s->spawner.rank = spec->parent_rank;
    memccpy(s->spawner.nspace, spec->parent_nspace, 0, sizeof(s->spawner.nspace) - 1);
    return s;
}

/* --- the answer */

/* The exit codes of a failed submission as statuses of the spawner's library. */
static int status_of(uint32_t code)
{
    if (code == EXIT_CODE_NOT_LAUNCHED)
        return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    return code == EXIT_CODE_CANCELLED ? PMIX_ERR_JOB_CANCELED : PMIX_ERR_JOB_ABORTED;
}

static void answer_request(struct clients *c, struct client *k, int status)
{
    struct spawn *s = k->spawn;

    if (!s->req)
        return;
    pmix_srv_answer(c->parts.pmix, s->req, status, s->nspace,
                    s->nspace ? strlen(s->nspace) + 1 : 0);
    s->req = 0;
}

static void on_state(struct clients *c, struct client *k, enum job_state state)
{
    const struct spawn *s = k->spawn;

    if (!s->nspace)
        return;
    if (state == JOB_READY_FOR_DEBUG)
        pmix_srv_notify_held(c->parts.pmix, &s->spawner, s->nspace, s->stop);
    if (state != JOB_STARTED)
        return;
    pmix_srv_notify_job_start(c->parts.pmix, s->nspace, &s->spawner);
    answer_request(c, k, PMIX_SUCCESS);
}

static void on_end(struct clients *c, struct client *k, const struct client_end *end)
{
    if (end->code != EXIT_CODE_OK)
        log_info("a job that was spawned by a rank here: %s", end->text);
    answer_request(c, k, end->code == EXIT_CODE_OK ? PMIX_SUCCESS : status_of(end->code));
}

void spawn_answer(struct clients *c, struct client *k, const void *data, size_t len)
{
    const struct client_end *end;
    struct client_msg m;

    if (client_msg_decode(data, len, &m, NULL) < 0)
        return;
    end = client_msg_end(&m);
    if (m.type == CLIENT_ACCEPTED && !k->spawn->nspace)
        k->spawn->nspace = xstrdup(m.accepted.nspace);
    else if (m.type == CLIENT_STATE)
        on_state(c, k, m.state.state);
    else if (end)
        on_end(c, k, end);
    client_msg_free(&m);
}
