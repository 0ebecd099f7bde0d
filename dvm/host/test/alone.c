/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-ins for all parts of a daemon except its core. */
#include "dvm/host/test/alone.h"

#include "dvm/host/pmix/jobtable.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

/* --- other daemons */

static void ignore_turn(void *arg)
{
}

static int send_app(uint32_t vpid, enum out_class traffic, uint32_t kind, const struct buf *b,
                    void *arg)
{
    struct alone_sent *s = &((struct alone *)arg)->sent;

    if (b->failed)
        return -1;
    s->n++;
    s->vpid = vpid;
    s->kind = kind;
    buf_free(&s->data);
    buf_init(&s->data, MSG_DATA_MAX);
    buf_put_raw(&s->data, b->data, b->len);
    return 0;
}

static void drain_core(struct alone *a)
{
    struct out_act act;

    while (core_next(a->scene.core, &act))
        out_act_free(&act);
}

/* --- clients and ranks */

/* A client that reads nothing; it accepts well-formed messages only. */
static void client_send(uint32_t client, const void *data, size_t len, void *arg)
{
    struct alone *a = arg;
    struct client_msg m;

    a->said++;
    if (client_msg_decode(data, len, &m, NULL) < 0)
        abort();
    client_msg_free(&m);
}

static bool client_there(uint32_t client, void *arg)
{
    return true;
}

static size_t client_pending(uint32_t client, void *arg)
{
    return IOF_CLIENT_HIGH + 1;
}

static void client_pause(uint32_t client, bool paused, void *arg)
{
}

static void copy(enum iof_kind kind, const char *nspace, uint32_t rank, int stream,
                 const void *data, size_t len, void *arg)
{
    struct alone *a = arg;

    pulled_output_copy(a->pulled_output, kind, nspace, rank, stream, data, len);
}

/* No client waits for this reply. */
static void reply(uint32_t client, int status, const char *body, void *arg)
{
}

static int line(uint32_t client, const char *event, void *arg)
{
    return -1;
}

static void signal_rank(const char *nspace, uint32_t rank, int signum, void *arg)
{
}

static void write_output(const char *nspace, uint32_t rank, int stream, const void *data,
                         size_t len, void *arg)
{
}

static bool is_spawned_here(const char *nspace, void *arg)
{
    return false;
}

static void connected(const struct pmix_srv_proc *procs, size_t n, void *arg)
{
}

/* --- construction and destruction */

static void join_services(struct alone *a)
{
    struct core *core = a->scene.core;
    struct pmix_srv *pmix = (struct pmix_srv *)a;
    struct calls_io calls_io = {.reply = reply, .line = line};
    struct collectives_io collectives_io = {.connected = connected, .disconnected = connected};
    struct control_io control_io = {.signal_rank = signal_rank, .write_output = write_output};
    struct pulled_output_io pulled_io = {.is_spawned_here = is_spawned_here};
    const struct host_ask *asking;
    const struct host_jobs *jobs;

    a->calls = calls_create(&a->env, core, NULL, &calls_io);
    a->questions = questions_create(&a->env, core, pmix);
    asking = questions_asking(a->questions);
    a->foreign_jobs = foreign_jobs_create(&a->env, core, pmix, asking);
    jobs = foreign_jobs_known(a->foreign_jobs);
    a->collectives = collectives_create(&a->env, core, pmix, jobs, &collectives_io);
    a->modex = modex_create(core, pmix, asking, jobs);
    a->events = events_create(&a->env, core, pmix, asking);
    a->queries = queries_create(&a->env, core, pmix, asking);
    a->control = control_create(&a->env, core, pmix, asking, jobs, &control_io);
    a->pulled_output = pulled_output_create(&a->env, core, pmix, a->iof, jobs, &pulled_io);
    questions_handle(a->questions, &a->app_messages);
    foreign_jobs_handle(a->foreign_jobs, &a->app_messages);
    modex_handle(a->modex, &a->app_messages);
    events_handle(a->events, &a->app_messages);
    queries_handle(a->queries, &a->app_messages);
    control_handle(a->control, &a->app_messages);
    calls_handle(a->calls, &a->app_messages);
}

void alone_open(struct alone *a, enum scene_kind kind)
{
    struct iof_io io = {.client_send = client_send,
                        .client_there = client_there,
                        .client_pending = client_pending,
                        .client_pause = client_pause,
                        .copy = copy,
                        .arg = a};

    memset(a, 0, sizeof(*a));
    scene_open(&a->scene, kind);
    a->env = (struct host_env){.vpid = a->scene.self,
                               .enter = ignore_turn,
                               .drain = ignore_turn,
                               .send = send_app,
                               .arg = a};
    a->iof = iof_create(a->scene.core, NULL, &io);
    join_services(a);
}

void alone_close(struct alone *a)
{
    iof_destroy(a->iof);
    foreign_jobs_destroy(a->foreign_jobs);
    questions_destroy(a->questions);
    collectives_destroy(a->collectives);
    modex_destroy(a->modex);
    events_destroy(a->events);
    queries_destroy(a->queries);
    control_destroy(a->control);
    pulled_output_destroy(a->pulled_output);
    calls_destroy(a->calls);
    buf_free(&a->sent.data);
    scene_close(&a->scene);
}

void alone_hear(struct alone *a, uint32_t from, uint32_t kind, const void *data, size_t len)
{
    if (kind < IOF_KINDS)
        iof_msg(a->iof, from, kind, data, len);
    else
        app_table_dispatch(&a->app_messages, from, kind, data, len);
    drain_core(a);
}

/* --- the library */

void pmix_srv_answer(struct pmix_srv *p, pmix_req req, int status, const void *data, size_t len)
{
    struct alone *a = (struct alone *)p;
    struct jobtable table;

    a->answered.n++;
    a->answered.req = req;
    a->answered.status = status;
    a->answered.len = len;
    if (jobtable_decode(data, len, &table) == 0) /* as the library does */
        jobtable_free(&table);
}

void pmix_srv_data_ask(struct pmix_srv *p, const struct pmix_srv_data_ask *ask,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    struct alone *a = (struct alone *)p;
    struct published_ask of = {.request = {.question = ask->question, .open_from = ask->open_from},
                               .op = ask->op,
                               .blob = ask->blob,
                               .len = ask->len};
    BUF_AUTO struct buf out = {.max = MSG_DATA_MAX};
    int r = (int)core_published_serve(a->scene.core, ask->from, &of, &out);

    drain_core(a);
    done(r, out.data, out.len, arg);
}

void pmix_srv_dmodex_serve(struct pmix_srv *p, const char *nspace, uint32_t rank, int timeout_s,
                           void (*done)(int status, const void *data, size_t len, void *arg),
                           void *arg)
{
    const struct alone *a = (const struct alone *)p;

    done(a->data ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, a->data, a->len, arg);
}

void pmix_srv_notify(struct pmix_srv *p, const void *blob, size_t len,
                     void (*done)(int status, void *arg), void *arg)
{
    done(PMIX_SUCCESS, arg);
}

void pmix_srv_register(struct pmix_srv *p, const struct job_launch *l, uid_t uid, gid_t gid,
                       void (*done)(int status, void *arg), void *arg)
{
    done(PMIX_SUCCESS, arg);
}

void pmix_srv_job_gone(struct pmix_srv *p, const char *nspace, void (*done)(int status, void *arg),
                       void *arg)
{
    done(PMIX_SUCCESS, arg);
}

bool pmix_srv_output(struct pmix_srv *p, uint32_t client, const struct pmix_srv_proc *owner,
                     const char *nspace, uint32_t rank, int stream, const void *data, size_t len)
{
    ((struct alone *)p)->output += len;
    return true;
}

void pmix_srv_output_over(struct pmix_srv *p, const char *nspace)
{
}

void pmix_srv_notify_job_end(struct pmix_srv *p, const char *nspace, int exit_code)
{
}

/* --- ranks and the control API */

size_t odls_stdin(struct odls *o, const char *nspace, uint32_t rank, const void *data, size_t len)
{
    return 0;
}

void odls_output_pause(struct odls *o, const char *nspace, bool paused)
{
}

bool ctl_is_everywhere(const char *method, const char *path)
{
    return false;
}

void ctl_local_call(struct ctl *ctl, uint64_t conn, const char *method, const char *path,
                    const char *body, const struct ctl_local *answer)
{
    answer->reply(conn, 200, body, answer->arg);
}
