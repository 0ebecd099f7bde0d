/* SPDX-License-Identifier: BSD-3-Clause */
/* Resizes a local DVM, as the operator does on Kubernetes.
 *
 * Steps: read the members and the next sequence number from the head; put one campaign for the
 * superfluous members, and follow its events until it and all departures have ended; wait for the
 * ends of their processes; put the new size; start the missing members and wait until they are
 * wired. Each step that has nothing to do is left out.
 *
 * Invariants: one resize at a time, by the directory's lock; a removed member's process has ended
 * before its vpid is started again; each event is one line with its time.
 *
 * If the head ends, this program waits for the next process of the head and goes on with it: the
 * campaign has the same id, and a request whose answer was lost is sent again.
 *
 * If QUIET_MS pass without an event, this program asks the head, which has ANSWER_MS to answer.
 *
 * Failures: a campaign that is cancelled, or that has not ended LATE_MS after its jobs were to end
 * (with a hung daemon it takes up to silence and link grace); a head that does not answer, or that
 * ends and has no heir; a removed daemon that does not end within DEPART_MS after the campaign; a
 * member that is not wired. Each ends the resize with a message. Completed steps stay; a later
 * resize goes on from there. */
#include "api/size.h"
#include "base/buf/buf.h"
#include "dvm/tools/cli/call.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/show.h"
#include "dvm/tools/ldvm/ldvm.h"
#include "dvm/tools/ldvm/ready.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEPART_MS 15000
#define LATE_MS(faults) ((faults)->silence_ms + (faults)->link_grace_ms + DEPART_MS)
#define NO_LIMIT UINT64_MAX
#define QUIET_MS 10000
#define ANSWER_MS 10000
#define HEIR_MS 30000 /* until the next process of the head answers */
#define END_MS 2000   /* from the end of the connection to that of the process */
#define LOOK_EVERY_MS 20

struct resize {
    const struct ldvm_resize_opts *opts;
    struct ldvm l;
    struct ldvm_head head;
    pid_t head_pid;
    struct procs *procs;
    struct timespec start;
    uint64_t sequence; /* next sequence number to use */
    char *id;          /* of the campaign */
    uint32_t *targets;
    size_t ntargets;
    uint64_t leave_by_ms; /* until when the removed daemons may report that they left, and end */
};

static void print_event(const struct resize *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void print_event(const struct resize *r, const char *fmt, ...)
{
    struct timespec now;
    double ms;
    FREE_AUTO char *raw = NULL;
    FREE_AUTO char *text = NULL;
    va_list ap;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (double)(now.tv_sec - r->start.tv_sec) * 1e3 +
         (double)(now.tv_nsec - r->start.tv_nsec) / 1e6;
    va_start(ap, fmt);
    raw = xvasprintf(fmt, ap);
    va_end(ap);
    text = cli_text(raw);
    printf("%10.1f ms  %s\n", ms, text);
    fflush(stdout);
}

static bool is_there(enum member_state s)
{
    return s != MEMBER_ABSENT && s != MEMBER_LOST && s != MEMBER_PARKED;
}

static bool is_to_leave(const struct ldvm_resize_opts *o, uint32_t vpid)
{
    for (size_t i = 0; i < o->nremove; i++) {
        if (o->remove[i] == vpid)
            return true;
    }
    return o->nremove == 0 && vpid > o->members;
}

static uint64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- the head */

static int open_head(struct resize *r, struct err *err)
{
    pid_t pid = ldvm_pid(r->l.dir, 0);

    if (ldvm_head_open(r->l.dir, &r->head, err) < 0)
        return -1;
    r->head_pid = pid;
    return 0;
}

static bool is_replaced(struct resize *r)
{
    pid_t pid = ldvm_pid(r->l.dir, 0);
    struct err why = {0};

    if (!pid || pid == r->head_pid)
        return false;
    ldvm_head_close(&r->head);
    return open_head(r, &why) == 0;
}

/* A step has failed with `why`. True: the head had ended, and its next process is there. */
static bool find_heir(struct resize *r, const struct err *why)
{
    uint64_t began_ms = clock_ms();
    pid_t former = r->head_pid;

    if (why->code >= 400) /* an answer of the head */
        return false;
    while (ldvm_supervisor(r->l.dir) && clock_ms() - began_ms < HEIR_MS) {
        if (ldvm_pid(r->l.dir, 0) == former && clock_ms() - began_ms >= END_MS)
            return false;
        if (is_replaced(r)) {
            print_event(r, "the head has another process");
            return true;
        }
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    return false;
}

/* Finds the superfluous members and the next sequence number. */
static int look_up_members(struct resize *r, struct err *err)
{
    struct cli_limit l = ldvm_call_limit();
    struct api_dvm d;

    if (cli_call_dvm_limit(r->head.calls, &l, &d, err) < 0)
        return -1;
    r->targets = xcalloc(d.nmembers + 1, sizeof(*r->targets));
    for (size_t i = 0; i < d.nmembers; i++) {
        if (is_to_leave(r->opts, d.members[i].vpid) && is_there(d.members[i].state))
            r->targets[r->ntargets++] = d.members[i].vpid;
    }
    r->sequence = d.size_sequence;
    for (size_t i = 0; i < d.ncampaigns; i++) {
        if (d.campaigns[i].sequence > r->sequence)
            r->sequence = d.campaigns[i].sequence;
    }
    r->sequence++;
    api_dvm_free(&d);
    if (r->ntargets < r->opts->nremove)
        return err_set(err, "--remove: only %zu of these %zu daemons are members", r->ntargets,
                       r->opts->nremove);
    return 0;
}

/* --- removing members */

/* Its phase and jobs; on the heap. */
static char *show_campaign(const struct api_campaign *c)
{
    FREE_AUTO char *waiting = show_job_refs(c->waiting, c->nwaiting);
    FREE_AUTO char *ended = show_job_refs(c->ended, c->nended);

    return xasprintf("%s%s%s%s%s", api_phase_name(c->phase), waiting[0] ? ", waits for " : "",
                     waiting, ended[0] ? ", has ended " : "", ended);
}

/* A request whose answer was lost is sent again: it has the same effect. NULL: refused, or there is
 * no head. Takes `body`. */
static json_t *call_head(struct resize *r, const char *path, json_t *body, struct err *err)
{
    json_t *reply;

    do {
        struct cli_limit l = ldvm_call_limit();

        reply = cli_call_limit(r->head.calls, "PUT", path, json_incref(body), &l, err);
    } while (!reply && find_heir(r, err));
    json_decref(body);
    return reply;
}

static int put_campaign(struct resize *r, struct api_campaign *c, struct err *err)
{
    struct api_campaign_request rq = {.sequence = r->sequence++,
                                      .drain_mode = r->opts->kill ? API_DRAIN_KILL : API_DRAIN_WAIT,
                                      .deadline_s = r->opts->deadline_s,
                                      .keeps_size = r->opts->nremove > 0,
                                      .ntargets = r->ntargets,
                                      .targets = r->targets};
    FREE_AUTO char *path = NULL;
    FREE_AUTO char *vpids = show_vpids(r->targets, r->ntargets);
    json_t *reply;
    int rc;

    r->id = xasprintf("prte-%" PRIu64, rq.sequence);
    path = xasprintf("/v1/campaigns/%s", r->id);
    print_event(r, "asked for campaign %s: remove vpids %s", r->id, vpids);
    reply = call_head(r, path, api_campaign_request_encode(&rq), err);
    if (!reply)
        return -1;
    rc = api_campaign_decode(reply, c, err);
    json_decref(reply);
    return rc;
}

/* Follows the campaign until it and all departures have ended. */
struct follow {
    bool terminal;
    bool complete;
    uint32_t departures; /* departures still to come */
    char *campaign;      /* as the head has last shown it */
    uint64_t until_ms;
};

static void note_campaign(const struct resize *r, struct follow *f, const char *what,
                          const struct api_campaign *c)
{
    free(f->campaign);
    f->campaign = show_campaign(c);
    print_event(r, "%s: %s", what, f->campaign);
}

static bool is_named(const struct resize *r, uint32_t vpid)
{
    for (size_t i = 0; i < r->ntargets; i++) {
        if (r->targets[i] == vpid)
            return true;
    }
    return false;
}

static void on_event(struct resize *r, struct follow *f, const struct api_event *e)
{
    const char *type = api_event_type_name(e->type);

    if (e->has_campaign && strcmp(e->campaign.id, r->id) == 0) {
        note_campaign(r, f, type, &e->campaign);
        /* A target that was absent has no departure event. */
        if (r->ntargets - e->campaign.ndeparted < f->departures)
            f->departures = (uint32_t)(r->ntargets - e->campaign.ndeparted);
        f->terminal = f->terminal ||
                      (e->type != API_EVENT_NODES_OFFERED && api_phase_terminal(e->campaign.phase));
        f->complete = f->complete || e->type == API_EVENT_CAMPAIGN_COMPLETE;
    } else if (e->type == API_EVENT_DAEMON_DEPARTED && is_named(r, e->vpid)) {
        print_event(r, "%s: vpid %u", type, e->vpid);
        if (f->departures)
            f->departures--;
    }
}

/* -1: there is no limit. */
static int time_left(uint64_t until_ms)
{
    uint64_t now = clock_ms();

    if (until_ms == NO_LIMIT)
        return -1;
    if (until_ms <= now)
        return 0;
    return until_ms - now < INT_MAX ? (int)(until_ms - now) : INT_MAX;
}

/* 0: the campaign has ended, but some daemons have not told that they left. */
static int end_late(const struct resize *r, const struct follow *f, struct err *err)
{
    if (!f->terminal)
        return err_set(err, "campaign %s is still %s, %llu s after its jobs were to end", r->id,
                       f->campaign, (unsigned long long)LATE_MS(&r->l.faults) / 1000);
    print_event(r, "%u daemons have not reported that they left", f->departures);
    return 0;
}

/* Another process is the head: events may have been missed. */
static int look_again(struct resize *r, struct follow *f, struct err *err)
{
    struct api_event e = {.type = API_EVENT_CAMPAIGN_CHANGED, .has_campaign = true};
    struct api_dvm d;
    bool found = false;

    if (cli_call_dvm(r->head.calls, &d, err) < 0)
        return -1;
    for (size_t i = 0; i < d.ncampaigns; i++) {
        if (strcmp(d.campaigns[i].id, r->id) != 0)
            continue;
        found = true;
        e.campaign = d.campaigns[i];
        if (e.campaign.phase == API_PHASE_COMPLETE)
            e.type = API_EVENT_CAMPAIGN_COMPLETE;
        on_event(r, f, &e);
    }
    api_dvm_free(&d);
    return found ? 0 : err_set(err, "the next head does not know campaign %s", r->id);
}

/* The event stream has ended. */
static int follow_heir(struct resize *r, struct follow *f, struct err *err)
{
    return find_heir(r, err) ? look_again(r, f, err) : -1;
}

/* The head is quiet: this may be because jobs run. */
static int ask_head(struct resize *r, const struct follow *f, struct err *err)
{
    int left = time_left(f->until_ms);
    int wait_ms = left >= 0 && left < ANSWER_MS ? left : ANSWER_MS;
    struct cli_limit l = cli_limit_begin(cli_now_ms(), wait_ms, NULL, NULL);
    struct api_dvm d;

    if (cli_call_dvm_limit(r->head.calls, &l, &d, err) == 0) {
        api_dvm_free(&d);
        return 0;
    }
    if (err->code != ETIMEDOUT)
        return -1;
    return err_code(err, EHOSTUNREACH,
                    "the head has not answered for %d s: campaign %s was last %s; the daemons and "
                    "their jobs are left as they are, and a later resize goes on from there",
                    wait_ms / 1000, r->id, f->campaign);
}

/* As cli_events_next(), until the limit of the campaign. */
static int next_event(struct resize *r, const struct follow *f, struct api_event *e,
                      struct err *err)
{
    for (;;) {
        int left = time_left(f->until_ms);
        bool last = left >= 0 && (f->terminal || left <= QUIET_MS);
        int got = cli_events_next(r->head.events, last ? left : QUIET_MS, e, err);

        if (got >= 0 || err->code != ETIMEDOUT || last)
            return got;
        if (ask_head(r, f, err) < 0)
            return -1;
    }
}

static int follow_events(struct resize *r, struct follow *f, struct err *err)
{
    while (!f->terminal || (f->complete && f->departures)) {
        struct api_event e;
        bool was_terminal = f->terminal;
        int got = next_event(r, f, &e, err);

        if (got < 0 && err->code == ETIMEDOUT)
            return end_late(r, f, err);
        if (got == 0)
            err_set(err, "the head has ended in the middle of campaign %s", r->id);
        if (got <= 0 && follow_heir(r, f, err) < 0)
            return -1;
        if (got > 0) {
            on_event(r, f, &e);
            api_event_free(&e);
        }
        if (f->terminal && !was_terminal)
            f->until_ms = r->leave_by_ms = clock_ms() + DEPART_MS;
    }
    return f->complete ? 0 : err_set(err, "campaign %s was cancelled", r->id);
}

static void print_end(void *arg, uint32_t vpid)
{
    print_event(arg, "process of vpid %u has ended", vpid);
}

/* A later resize then finds neither a process nor a session directory. */
static int wait_processes(struct resize *r, struct err *err)
{
    int left = time_left(r->leave_by_ms);
    FREE_AUTO uint32_t *vpids = NULL;
    FREE_AUTO char *text = NULL;

    for (size_t i = 0; i < r->ntargets; i++) {
        struct ldvm_daemon d = {r->targets[i], ldvm_pid(r->l.dir, r->targets[i])};

        if (d.pid && procs_adopt(r->procs, &d, err) < 0)
            return -1;
    }
    if (procs_all_end(r->procs, left > 0 ? left : 1, print_end, r))
        return 0;
    vpids = procs_vpids(r->procs);
    text = show_vpids(vpids, procs_living(r->procs));
    return err_set(err, "the removed daemons of vpids %s have not ended within %d s", text,
                   DEPART_MS / 1000);
}

static int follow_campaign(struct resize *r, const struct api_campaign *c, struct err *err)
{
    struct follow f = {
        .departures = (uint32_t)r->ntargets, .until_ms = NO_LIMIT, .campaign = show_campaign(c)};
    int64_t jobs_end_ms = r->opts->kill ? 0 : r->opts->deadline_s * 1000; /* <0: when they end */
    int rc = 0;

    if (jobs_end_ms >= 0)
        f.until_ms = clock_ms() + (uint64_t)jobs_end_ms + LATE_MS(&r->l.faults);
    r->leave_by_ms = clock_ms() + DEPART_MS;
    if (api_phase_terminal(c->phase))
        note_campaign(r, &f, "answered", c); /* no departure event follows */
    else
        rc = follow_events(r, &f, err);
    free(f.campaign);
    return rc;
}

static int shrink_dvm(struct resize *r, struct err *err)
{
    struct api_campaign c = {0};
    int rc;

    if (put_campaign(r, &c, err) < 0)
        return -1;
    rc = follow_campaign(r, &c, err);
    api_campaign_free(&c);
    return rc < 0 ? -1 : wait_processes(r, err);
}

/* --- adding members */

static int put_size(struct resize *r, struct err *err)
{
    struct api_size s = {.sequence = r->sequence++, .members = r->opts->members};
    json_t *reply = call_head(r, "/v1/size", api_size_encode(&s), err);

    json_decref(reply);
    return reply ? 0 : -1;
}

static int start_missing(struct resize *r, uint32_t *started, struct err *err)
{
    FREE_AUTO uint32_t *vpids = xcalloc(r->opts->members, sizeof(*vpids));
    struct ldvm_ports ports;

    if (ldvm_ports(r->l.dir, &ports, err) < 0)
        return -1;
    for (uint32_t vpid = 1; vpid <= r->opts->members; vpid++) {
        if (!ldvm_pid(r->l.dir, vpid))
            vpids[(*started)++] = vpid;
    }
    return procs_start_members(r->procs, &r->l, vpids, *started, &ports, err);
}

static int grow_dvm(struct resize *r, struct err *err)
{
    uint32_t started = 0;

    if (start_missing(r, &started, err) < 0)
        return -1;
    if (started)
        print_event(r, "members started: %u", started);
    while (ldvm_wait_wired(r->procs, &r->head, r->opts->members, err) < 0) {
        if (!find_heir(r, err))
            return -1;
    }
    print_event(r, "%u members are wired", r->opts->members);
    return 0;
}

static int resize_members(struct resize *r, struct err *err)
{
    r->procs = procs_create(false, err);
    if (!r->procs || open_head(r, err) < 0 || look_up_members(r, err) < 0)
        return -1;
    if (!r->ntargets && r->opts->drain_given)
        return err_set(err,
                       "nobody is to be removed: --drain and --deadline are for a smaller size");
    if (r->ntargets && shrink_dvm(r, err) < 0)
        return -1;
    if (r->opts->nremove)
        return 0;
    if (put_size(r, err) < 0)
        return -1;
    return grow_dvm(r, err);
}

int ldvm_resize(const struct ldvm_resize_opts *o, struct err *err)
{
    struct resize r = {.opts = o};
    int rc = -1;
    int lock = -1;

    clock_gettime(CLOCK_MONOTONIC, &r.start);
    if (ldvm_load(o->dir, &r.l, err) == 0 && (lock = ldvm_lock(o->dir, err)) >= 0)
        rc = resize_members(&r, err);
    if (lock >= 0)
        close(lock);
    ldvm_head_close(&r.head);
    procs_destroy(r.procs);
    ldvm_free(&r.l);
    free(r.id);
    free(r.targets);
    return rc;
}
