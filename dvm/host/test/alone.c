/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-ins for all that a daemon has beside its core. */
#include "dvm/host/test/alone.h"

#include "dvm/host/jobspec/hosts.h"
#include "dvm/host/pmix/jobtable.h"
#include "dvm/host/pmix/store.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

static struct alone *of(struct daemon *d)
{
    return (struct alone *)((char *)d - offsetof(struct alone, d));
}

/* A client that reads nothing, and takes only what is a message. */
static void client_send(uint32_t client, const void *data, size_t len, void *arg)
{
    struct alone *a = arg;
    struct client_msg m;

    a->said++;
    if (client_msg_decode(data, len, &m, NULL) < 0)
        abort();
    client_msg_free(&m);
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

    pull_copy(kind, nspace, rank, stream, data, len, &a->d);
}

void alone_open(struct alone *a, enum scene_kind kind)
{
    struct iof_io io = {.client_send = client_send,
                        .client_pending = client_pending,
                        .client_pause = client_pause,
                        .copy = copy,
                        .arg = a};

    memset(a, 0, sizeof *a);
    scene_open(&a->scene, kind);
    a->d.core = a->scene.core;
    a->d.opts.vpid = a->scene.self;
    a->d.pmix = (struct pmix_srv *)a;
    a->store = store_create();
    a->d.iof = iof_create(a->d.core, NULL, &io);
}

void alone_close(struct alone *a)
{
    iof_destroy(a->d.iof);
    dpmix_free_all(&a->d);
    store_destroy(a->store);
    buf_free(&a->sent.data);
    scene_close(&a->scene);
}

void alone_hear(struct alone *a, uint32_t from, uint32_t kind, const void *data, size_t len)
{
    if (kind < IOF_KINDS)
        iof_msg(a->d.iof, from, kind, data, len);
    else if (kind == APP_CALL)
        dcall_from_member(&a->d, from, data, len);
    else if (kind == APP_REPLY)
        dcall_reply(&a->d, data, len);
    else
        dpmix_msg(&a->d, from, kind, data, len);
    daemon_drain(&a->d);
}

/* --- daemon.c */

void daemon_enter(struct daemon *d)
{
}

int daemon_send_app(struct daemon *d, uint32_t vpid, enum out_class traffic, uint32_t kind,
                    const struct buf *b)
{
    struct alone_sent *s = &of(d)->sent;

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

void daemon_drain(struct daemon *d)
{
    struct out_act act;

    while (core_next(d->core, &act))
        out_act_free(&act);
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
    if (jobtable_decode(data, len, &table) == 0) /* as it does with that of a query */
        jobtable_free(&table);
}

void pmix_srv_data_ask(struct pmix_srv *p, char op, const void *blob, size_t len,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    struct store *s = ((struct alone *)p)->store;
    BUF_AUTO struct buf out = {.max = MSG_DATA_MAX};
    struct store_lookup head;
    int r = -1;

    if (op == 'p') {
        r = (int)store_publish(s, blob, len);
    } else if (op == 'u') {
        r = (int)store_unpublish(s, blob, len);
    } else if (op == 'e') {
        r = (int)store_rank_ended(s, blob, len);
    } else if (op == 'l' && store_lookup_head(blob, len, &head)) {
        (void)store_count_found(s, blob, len);
        r = (int)store_lookup(s, blob, len, &out);
    }
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

void pmix_srv_notify_offline(struct pmix_srv *p, uint32_t vpid, const char *host)
{
}

void pmix_srv_notify_lost(struct pmix_srv *p, const char *nspace, const struct msg_rank *r,
                          const struct pmix_srv_proc *to, size_t nto)
{
}

void pmix_srv_alloc_answer(struct pmix_srv *p, pmix_req req, enum alloc_status status,
                           const char *id, const char *phase)
{
}

void pmix_srv_cred_answer(struct pmix_srv *p, pmix_req req, int status,
                          const struct pmix_srv_holder *who)
{
    pmix_srv_answer(p, req, status, NULL, 0);
}

void pmix_srv_alloc_ended(struct pmix_srv *p, const struct pmix_srv_alloc_end *e)
{
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

/* --- ranks, clients, files, the control API: there are none */

size_t odls_stdin(struct odls *o, const char *nspace, uint32_t rank, const void *data, size_t len)
{
    return 0;
}

void odls_output_pause(struct odls *o, const char *nspace, bool paused)
{
}

void odls_clean_add(struct odls *o, uint64_t scope, unsigned flags, const char *path)
{
}

void odls_clean_run(struct odls *o, uint64_t scope)
{
}

void djob_signal_rank(struct daemon *d, const char *nspace, uint32_t rank, int signum)
{
}

void djob_write(struct daemon *d, const char *nspace, uint32_t rank, int stream, const void *data,
                size_t len)
{
}

struct dclient *dclient_by_id(const struct daemon *d, uint32_t id)
{
    return NULL;
}

uint32_t dclient_of_spawn(struct daemon *d, pmix_req req, const struct job_spec *spec)
{
    return 0;
}

void dclient_say(struct daemon *d, const struct dclient *k, const struct client_msg *m)
{
}

int dstage_spec(struct daemon *d, const struct job_spec *spec, struct job_spec *own,
                char ***sources, struct err *err)
{
    return -1;
}

void dstage_source(struct daemon *d, uint32_t client, char **sources, size_t n)
{
}

size_t net_pending(const struct net *n, uint64_t conn)
{
    return 0;
}

int hosts_parse(const char *list, uint32_t **vpids, size_t *n, struct err *err)
{
    return -1;
}

void ctl_local_call(struct ctl *ctl, uint64_t conn, const char *method, const char *path,
                    const char *body, const struct ctl_local *answer)
{
    answer->reply(conn, 200, body, answer->arg);
}
