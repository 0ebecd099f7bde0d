/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn: a client without a connection, which stands for the rank or tool that spawns.
 *
 * In: the request of the library; messages of the core for the client.
 * Out: the submission; one answer to the request; events for the spawner.
 *
 * The request is answered with the namespace when all ranks of the job have started, or when it has
 * ended before. If the job was refused, the answer is an error status. The spawner is notified of
 * the start, and when all ranks have stopped for its debugger. The client is removed when its job
 * has ended.
 *
 * MPI_Comm_spawn of Open MPI gives the programs the name of a port (PORT_VARIABLE), waits for the
 * answer, and then looks up what they publish under that name in MPI_Init. So such a request is
 * answered when all ranks have called PMIx_Init. If the job ends before, the spawn fails, and the
 * user is notified why. If it ends later, nobody looks up its port any more. */
#include "dvm/host/clients/spawn_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define PORT_VARIABLE "OMPI_PARENT_PORT="

struct spawn {
    pmix_req req; /* 0: the request has been answered */
    char *port;   /* where the spawner waits for the programs; NULL: nowhere */
    struct pmix_srv_proc spawner;
    char *nspace; /* NULL: not accepted yet */
    enum job_stop stop;
    enum job_state state; /* the last one that was told */
};

void spawn_free(struct spawn *s)
{
    if (!s)
        return;
    free(s->nspace);
    free(s->port);
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

/* NULL: the spawner does not wait for its programs. */
static char *port_of(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->napps; i++) {
        for (char *const *v = spec->apps[i].env; *v; v++) {
            const char *port = *v + strlen(PORT_VARIABLE);

            if (strncmp(*v, PORT_VARIABLE, strlen(PORT_VARIABLE)) == 0 && *port)
                return xstrdup(port);
        }
    }
    return NULL;
}

struct spawn *spawn_create(pmix_req req, const struct job_spec *spec)
{
    struct spawn *s = xcalloc(1, sizeof(*s));

    s->req = req;
    s->stop = spec->stop;
    s->port = port_of(spec);
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

static void on_accepted(struct clients *c, struct spawn *s, const char *nspace)
{
    s->nspace = xstrdup(nspace);
    if (s->req)
        pmix_srv_request_waits(
            c->parts.pmix, s->req, s->spawner.nspace,
            xasprintf(s->port ? "spawn: rank %u waits until all of job %s have called MPI_Init"
                              : "spawn: rank %u waits for the start of job %s",
                      s->spawner.rank, nspace));
}

static void on_state(struct clients *c, struct client *k, enum job_state state)
{
    struct spawn *s = k->spawn;

    if (!s->nspace || state == s->state) /* it has a new reason */
        return;
    s->state = state;
    if (state == JOB_READY_FOR_DEBUG)
        pmix_srv_notify_held(c->parts.pmix, &s->spawner, s->nspace, s->stop);
    if (state == JOB_STARTED)
        pmix_srv_notify_job_start(c->parts.pmix, s->nspace, &s->spawner);
    if (s->port ? state == JOB_REGISTERED || state == JOB_READY_FOR_DEBUG : state == JOB_STARTED)
        answer_request(c, k, PMIX_SUCCESS);
}

static void note_early_end(struct clients *c, const struct spawn *s, const char *why)
{
    const struct job_launch *l = core_job(c->parts.core, s->spawner.nspace);
    FREE_AUTO char *text =
        xasprintf("rank %u has spawned job %s, which has ended before all of its ranks had called "
                  "MPI_Init (PMIx_Init): the spawn fails%s%s",
                  s->spawner.rank, s->nspace, *why ? ": " : "", why);

    log_info("%s", text);
    if (l && l->home_vpid != JOB_NO_VPID)
        iof_note(c->parts.iof, l, text);
}

/* The job has run, and no rank or only some have called PMIx_Init, although the spawner waits for
 * all of them. */
static bool ends_early(const struct spawn *s, const struct client_end *end)
{
    return s->req && s->port && s->nspace && end->code != EXIT_CODE_NOT_LAUNCHED &&
           end->code != EXIT_CODE_CANCELLED;
}

static void on_end(struct clients *c, struct client *k, const struct client_end *end)
{
    const struct spawn *s = k->spawn;

    if (end->code != EXIT_CODE_OK)
        log_info("a job that was spawned by a rank here: %s", end->text);
    if (ends_early(s, end)) {
        note_early_end(c, s, end->text);
        answer_request(c, k, PMIX_ERR_JOB_FAILED_TO_LAUNCH);
    }
    if (s->port && s->nspace)
        pmix_srv_close_port(c->parts.pmix, &s->spawner, s->port);
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
        on_accepted(c, k->spawn, m.accepted.nspace);
    else if (m.type == CLIENT_STATE)
        on_state(c, k, m.state.state);
    else if (end)
        on_end(c, k, end);
    client_msg_free(&m);
}
