/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes, renews and releases a Lease by requests to the API server.
 *
 * Input: answers of the API server, two timers. Output: on_acquired, on_lost, and the answer of
 * lease_held(), which stands before every write of the operator.
 *
 * A candidate reads the Lease every 2/15 of its duration, at least every 2 s or so. If it may take
 * it, it writes it with the version that was read. The holder writes it again and again; a conflict
 * (409) makes it read first.
 *
 * Always true: at most one request runs; lease_held() is false from the deadline on, even if no
 * timer has run, because it reads the clock itself. A process that was stopped for longer than the
 * Lease therefore writes nothing when it continues.
 *
 * Failures: a request that fails is repeated. When the deadline passes, on_lost is called and the
 * operator is a candidate again. */
#include "operator/lease/lease.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/span/span.h"
#include "operator/lease/election.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RELEASE_MS 3000
#define RETRY_MAX_MS 2000
#define REQUEST_MAX_MS 10000

struct lease {
    struct loop *loop;
    struct kube *kube;
    char *path; /* of the Lease */
    char *collection;
    char *name;
    char *identity;
    struct election election;
    uint64_t retry_ms, renew_ms, request_ms;
    struct loop_timer *next;     /* the next request */
    struct loop_timer *deadline; /* of the holder; in a release the end of the patience */
    unsigned long request;       /* 0: none runs */
    uint64_t sent_ms;
    bool leads;   /* on_acquired was called, and on_lost was not yet */
    bool reread;  /* the version is not the current one */
    bool leaving; /* lease_release() was called */
    bool trouble; /* the last request has failed, and `why` says how */
    char why[ERR_MSG_MAX];
    void (*on_acquired)(void *arg);
    void (*on_lost)(const char *why, void *arg);
    void *arg;
    void (*on_released)(void *arg);
    void *released_arg;
};

static void on_due(void *arg);
static void on_deadline(void *arg);

/* --- lifetimes */

static uint64_t min_ms(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct lease *lease_create(const struct lease_opts *o)
{
    struct lease *l = xcalloc(1, sizeof(*l));
    uint64_t duration_ms = (uint64_t)o->duration_s * 1000;

    l->loop = o->loop;
    l->kube = o->kube;
    l->collection = xasprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", o->ns);
    l->path = xasprintf("%s/%s", l->collection, o->name);
    l->name = xstrdup(o->name);
    l->identity = xstrdup(o->identity);
    l->election = (struct election){
        .identity = l->identity, .duration_s = o->duration_s, .deadline_ms = duration_ms * 2 / 3};
    l->retry_ms = min_ms(duration_ms * 2 / 15, RETRY_MAX_MS);
    l->renew_ms = l->election.deadline_ms / 3;
    l->request_ms = min_ms(l->election.deadline_ms / 2, REQUEST_MAX_MS);
    l->on_acquired = o->on_acquired;
    l->on_lost = o->on_lost;
    l->arg = o->arg;
    l->next = loop_timer_create(o->loop, on_due, l);
    l->deadline = loop_timer_create(o->loop, on_deadline, l);
    loop_timer_arm(l->next, 0);
    return l;
}

void lease_destroy(struct lease *l)
{
    if (!l)
        return;
    if (l->request)
        kube_cancel(l->kube, l->request);
    loop_timer_destroy(l->next);
    loop_timer_destroy(l->deadline);
    election_clear(&l->election);
    free(l->path);
    free(l->collection);
    free(l->name);
    free(l->identity);
    free(l);
}

bool lease_held(const struct lease *l)
{
    return l->leads && election_holds(&l->election, loop_now_ms(l->loop));
}

const char *lease_trouble(const struct lease *l)
{
    return l->trouble ? l->why : NULL;
}

/* --- leadership */

static void lose_lease(struct lease *l, const char *why)
{
    l->leads = false;
    l->election.held_until_ms = 0;
    loop_timer_disarm(l->deadline);
    log_warn("the Lease is lost lease=%s identity=%s: %s", l->path, l->identity, why);
    l->on_lost(why, l->arg);
}

/* Compares what was decided last with what holds now. */
static void judge_lease(struct lease *l)
{
    uint64_t now_ms = loop_now_ms(l->loop);
    bool holds = election_holds(&l->election, now_ms);

    if (holds)
        loop_timer_arm(l->deadline, span_ms(now_ms, l->election.held_until_ms));
    if (holds && !l->leads) {
        l->leads = true;
        log_info("the Lease is held lease=%s identity=%s", l->path, l->identity);
        l->on_acquired(l->arg);
    } else if (!holds && l->leads) {
        FREE_AUTO char *why = xasprintf("it is held by \"%s\"", election_holder(&l->election));

        lose_lease(l, why);
    }
}

static void end_release(struct lease *l)
{
    void (*on_released)(void *arg) = l->on_released;

    if (l->request)
        kube_cancel(l->kube, l->request);
    l->request = 0;
    loop_timer_disarm(l->next);
    loop_timer_disarm(l->deadline);
    l->on_released = NULL;
    if (on_released)
        on_released(l->released_arg);
}

static void on_deadline(void *arg)
{
    struct lease *l = arg;

    if (l->leaving)
        end_release(l);
    else if (l->leads)
        lose_lease(l, l->trouble ? l->why : "it was not renewed in time");
}

/* --- requests */

static void note_trouble(struct lease *l, const struct err *err)
{
    if (!l->trouble)
        log_warn("request for the Lease failed lease=%s: %s", l->path, err->msg);
    l->trouble = true;
    snprintf(l->why, sizeof(l->why), "%s", err->msg);
}

/* Of several candidates that wait for one Lease, each asks at another time. */
static uint64_t retry_delay_ms(const struct lease *l)
{
    return l->retry_ms + backoff_dice() % (l->retry_ms / 5 + 1);
}

static void send_request(struct lease *l, const struct kube_verb *v, kube_done_fn *on_done)
{
    struct err err = {0};
    struct kube_verb verb = *v;

    verb.ungated = true;
    verb.timeout_ms = (long)l->request_ms;
    l->sent_ms = loop_now_ms(l->loop);
    l->request = kube_request(l->kube, &verb, on_done, l, &err);
    if (l->request)
        return;
    note_trouble(l, &err);
    loop_timer_arm(l->next, retry_delay_ms(l));
}

static void on_written(int status, const json_t *body, const struct err *err, void *arg)
{
    struct lease *l = arg;

    l->request = 0;
    l->reread = status != 200 && status != 201;
    if (!l->reread) {
        l->trouble = false;
        election_wrote(&l->election, body, l->sent_ms);
    } else if (status != 409) { /* 409: another writer was faster */
        note_trouble(l, err);
    }
    if (l->leaving) {
        if (l->reread && status == 409)
            loop_timer_arm(l->next, 0);
        else
            end_release(l);
        return;
    }
    loop_timer_arm(l->next, status == 409 ? 0 : l->reread ? retry_delay_ms(l) : l->renew_ms);
    judge_lease(l);
}

static void write_lease(struct lease *l)
{
    enum election_step step = election_next(&l->election, loop_now_ms(l->loop));
    bool create = step == ELECTION_CREATE;
    int64_t wall_ms = (int64_t)loop_wall_ms();
    json_t *body = l->leaving ? election_release(&l->election, wall_ms)
                              : election_claim(&l->election, l->name, wall_ms);
    struct kube_verb v = {
        .method = create ? "POST" : "PUT", .path = create ? l->collection : l->path, .body = body};

    send_request(l, &v, on_written);
    json_decref(body);
}

/* The next request after the Lease was read: it is written now, or read again later. */
static void continue_lease(struct lease *l)
{
    bool ours = strcmp(election_holder(&l->election), l->identity) == 0;

    if (l->leaving) {
        if (ours)
            write_lease(l);
        else
            end_release(l);
        return;
    }
    if (election_next(&l->election, loop_now_ms(l->loop)) != ELECTION_WAIT)
        write_lease(l);
    else
        loop_timer_arm(l->next, retry_delay_ms(l));
    judge_lease(l);
}

static void on_read(int status, const json_t *body, const struct err *err, void *arg)
{
    struct lease *l = arg;

    l->request = 0;
    if (status != 200 && status != 404) {
        note_trouble(l, err);
        if (l->leaving)
            end_release(l);
        else
            loop_timer_arm(l->next, retry_delay_ms(l));
        return;
    }
    l->trouble = false;
    l->reread = false;
    election_saw(&l->election, status == 200 ? body : NULL, loop_now_ms(l->loop));
    continue_lease(l);
}

static void read_lease(struct lease *l)
{
    struct kube_verb v = {.method = "GET", .path = l->path};

    send_request(l, &v, on_read);
}

static void on_due(void *arg)
{
    struct lease *l = arg;

    if (l->request)
        return;
    if (l->leaving && !l->election.lease)
        end_release(l);
    else if ((l->leads || l->leaving) && !l->reread)
        write_lease(l);
    else
        read_lease(l);
}

void lease_release(struct lease *l, void (*on_done)(void *arg), void *arg)
{
    bool ours = l->leads && strcmp(election_holder(&l->election), l->identity) == 0;

    l->on_released = on_done;
    l->released_arg = arg;
    l->reread = l->reread || l->request != 0; /* its write may have been accepted */
    if (l->request)
        kube_cancel(l->kube, l->request);
    l->request = 0;
    l->leaving = true;
    l->leads = false;
    loop_timer_arm(l->deadline, ours ? RELEASE_MS : 0);
    if (ours)
        loop_timer_arm(l->next, 0);
    else
        loop_timer_disarm(l->next);
}
