/* SPDX-License-Identifier: BSD-3-Clause */
/* Local clients (prun, and ranks that spawn): acceptance, states and end of their jobs.
 *
 * In: a job to submit, a signal, the departure of a client; messages of the head about the job;
 * IOF_END of daemons with ranks. Out: SUBMIT and SIGNAL to the head, messages for the client.
 *
 * A client waits for ACCEPTED, then gets the states of its job, then its end. DONE names the
 * daemons whose output is still to come. The state NEVER_LAUNCHED says that the head gives a job
 * back of which nothing ran.
 *
 * Invariants: the client is notified of the end once, after the last of the output. At the
 * head, LOCAL_GONE of a daemon counts only after that daemon's output for a local client has ended.
 * Input goes to the job only after its start.
 *
 * A new head has the clients of its former process whose detached jobs go on: nobody is connected,
 * and each waits for its job as the others do.
 *
 * Failures: a job that cannot be sent to the head is refused with NOT_LAUNCHED. When this
 * daemon's epoch ends, all its clients get LOST. When a shrink removes it, clients whose job the
 * head has not taken, or gives back, get AWAY: the head sends the removal only after it knows that
 * this daemon has all its messages about jobs. When a client departs, its job is ended. */
#include "dvm/protocol/core/core_private.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/protocol/wire/client.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static struct client *find_client(const struct core *c, uint32_t id)
{
    struct client *x;

    DL_FOREACH(c->clients, x)
    {
        if (x->id == id)
            return x;
    }
    return NULL;
}

static struct client *find_nspace(const struct core *c, const char *nspace)
{
    struct client *x;

    DL_FOREACH(c->clients, x)
    {
        if (x->nspace && strcmp(x->nspace, nspace) == 0)
            return x;
    }
    return NULL;
}

static void drop_client(struct core *c, struct client *x)
{
    DL_DELETE(c->clients, x);
    c->nclients--;
    free(x->nspace);
    free(x->text);
    free(x->stdin_vpids);
    free(x->targets);
    free(x->wait);
    hwloc_bitmap_free(x->ended);
    hwloc_bitmap_free(x->gone_early);
    free(x);
}

void client_free_all(struct core *c)
{
    while (c->clients)
        drop_client(c, c->clients);
}

static void send_to_client(struct core *c, uint32_t client, const struct client_msg *m, bool close)
{
    struct out_act *act = out_add(&c->out, OUT_CLIENT);

    act->client.client = client;
    act->client.last = close;
    client_msg_encode(&act->client.msg, m);
}

static void fail_client(struct core *c, uint32_t client, enum exit_code code, const char *text)
{
    struct client_msg m = {.type = CLIENT_ERROR, .error = {code, (char *)text}};

    send_to_client(c, client, &m, true);
}

/* The job has gone nowhere: the client may submit it at another daemon. */
static void turn_away(struct core *c, uint32_t client, const char *text)
{
    struct client_msg m = {.type = CLIENT_AWAY, .away = {EXIT_CODE_NOT_LAUNCHED, (char *)text}};

    send_to_client(c, client, &m, true);
}

void client_turn_away_all(struct core *c, const char *why)
{
    struct client *x, *tmp;

    DL_FOREACH_SAFE(c->clients, x, tmp)
    {
        if (x->nspace)
            continue;
        if (!x->gone)
            turn_away(c, x->id, why);
        drop_client(c, x);
    }
}

void client_fail_all(struct core *c, const char *why)
{
    while (c->clients) {
        if (!c->clients->gone)
            fail_client(c, c->clients->id, EXIT_CODE_LOST, why);
        drop_client(c, c->clients);
    }
}

static struct client *add_client(struct core *c, uint32_t id)
{
    struct client *x = xcalloc(1, sizeof(*x));

    x->id = id;
    x->ended = bitmap_alloc();
    x->gone_early = bitmap_alloc();
    DL_APPEND(c->clients, x);
    c->nclients++;
    return x;
}

void core_submit(struct core *c, uint32_t client, const struct job_spec *spec)
{
    struct msg m = {.type = MSG_SUBMIT, .submit = {client, *spec}};

    if (!members_live(&c->members, c->opts.vpid) || c->finishing) {
        turn_away(c, client, c->text);
    } else if (c->nclients >= CORE_CLIENTS_MAX) {
        turn_away(c, client, "too many clients at this daemon");
    } else if (core_send(c, VPID_HEAD, CLASS_LAUNCH, &m) < 0) {
        fail_client(c, client, EXIT_CODE_NOT_LAUNCHED, "the job is too large to be sent");
    } else {
        add_client(c, client);
    }
    core_settle(c);
}

static void inherit_client(void *arg, const struct job_client *k)
{
    struct client_msg accepted = {.type = CLIENT_ACCEPTED, .accepted = {(char *)k->name}};
    struct core *c = arg;
    struct client *x;

    out_add(&c->out, OUT_INHERITED)->inherited = (struct out_inherited){k->id, k->stays};
    if (!k->stays)
        return;
    x = add_client(c, k->id);
    x->nspace = xstrdup(k->name);
    for (size_t i = 0; i < k->nended; i++)
        bitmap_set(x->ended, k->ended[i]);
    send_to_client(c, x->id, &accepted, false);
}

void client_inherit_all(struct core *c)
{
    head_each_client(c->head, inherit_client, c);
}

static void signal_job(struct core *c, const struct client *x, int signum)
{
    struct msg m = {.type = MSG_SIGNAL, .signal = {x->nspace, signum}};

    if (x->nspace && !x->done)
        core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

void core_client_signal(struct core *c, uint32_t client, int signum)
{
    const struct client *x = find_client(c, client);

    if (x && signum > 0)
        signal_job(c, x, signum);
    core_settle(c);
}

void core_client_gone(struct core *c, uint32_t client)
{
    struct client *x = find_client(c, client);

    if (x) {
        x->gone = true;
        signal_job(c, x, 0);
        if (x->done)
            drop_client(c, x);
    }
    core_settle(c);
}

bool core_client_of(const struct core *c, const char *nspace, uint32_t *client)
{
    const struct client *x = find_nspace(c, nspace);

    if (!x || x->gone)
        return false;
    *client = x->id;
    return true;
}

bool core_client_there(const struct core *c, uint32_t client)
{
    const struct client *x = find_client(c, client);

    return x && !x->gone;
}

bool core_live(const struct core *c, uint32_t vpid)
{
    return members_live(&c->members, vpid);
}

bool core_live_in(const struct core *c, uint32_t vpid, uint64_t epoch)
{
    return members_current(&c->members, vpid, (struct epoch){c->self.epoch.inc, epoch});
}

/* The client is notified of the end when each daemon in the list has sent its end of output, or
 * has departed. */
static void check_done(struct core *c, struct client *x)
{
    struct client_end end = {(uint32_t)x->exit_code, x->text};
    struct client_msg m = {.type = CLIENT_DONE, .done = end};

    if (!x->done)
        return;
    if (!x->nspace || x->given_back) /* not taken, or given back: another daemon may take it */
        m = (struct client_msg){.type = CLIENT_AWAY, .away = end};
    while (x->nwait > 0) {
        uint32_t vpid = x->wait[x->nwait - 1];

        if (!hwloc_bitmap_isset(x->ended, vpid) && members_live(&c->members, vpid))
            return;
        x->nwait--;
    }
    if (!x->gone)
        send_to_client(c, x->id, &m, true);
    drop_client(c, x);
}

/* By the client's own id: the job's name may still be on its way in another stream. */
static struct client *of_job(const struct core *c, uint32_t client, const char *nspace)
{
    struct client *x = find_client(c, client);

    return x && x->nspace && strcmp(x->nspace, nspace) != 0 ? NULL : x;
}

static void take_local_gone(struct core *c, const struct frame *f, struct msg *m)
{
    struct client *x = NULL;

    if (!core_is_head(c))
        return;
    if (m->local_gone.after_output)
        x = of_job(c, m->local_gone.client, m->local_gone.nspace);
    if (!x || hwloc_bitmap_isset(x->ended, f->src))
        head_msg(c->head, f->src, m);
    else
        bitmap_set(x->gone_early, f->src);
}

static void take_iof_end(struct core *c, const struct frame *f, struct msg *m)
{
    struct client *x = of_job(c, m->iof_end.client, m->iof_end.nspace);
    struct msg gone = {.type = MSG_LOCAL_GONE, .local_gone = {.nspace = m->iof_end.nspace}};

    if (!x || hwloc_bitmap_isset(x->ended, f->src))
        return;
    bitmap_set(x->ended, f->src);
    if (hwloc_bitmap_isset(x->gone_early, f->src))
        head_msg(c->head, f->src, &gone);
    check_done(c, x);
}

void client_member_gone(struct core *c, uint32_t vpid)
{
    struct client *x, *tmp;

    DL_FOREACH_SAFE(c->clients, x, tmp)
    {
        check_done(c, x);
    }
}

void client_ask_all(struct core *c)
{
    const struct client *x;

    DL_FOREACH(c->clients, x)
    {
        struct msg m = {.type = MSG_JOB_ASK,
                        .job_ask = {x->nspace ? x->nspace : (char *)"", x->id}};

        if (!x->done)
            core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
        if (x->gone)
            signal_job(c, x, 0);
    }
}

/* A former head has reported the end of the job in records that are lost, and the new one has begun
 * the job again. */
static void end_unknown(struct core *c, const char *nspace)
{
    struct msg m = {.type = MSG_SIGNAL, .signal = {(char *)nspace, 0}};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

static void take_accepted(struct core *c, const struct frame *f, struct msg *m)
{
    struct client *x = of_job(c, m->accepted.client, m->accepted.nspace);
    struct client_msg out = {.type = CLIENT_ACCEPTED, .accepted = {m->accepted.nspace}};

    if (!x)
        end_unknown(c, m->accepted.nspace);
    if (!x || x->nspace)
        return;
    x->nspace = xstrdup(m->accepted.nspace);
    if (x->gone)
        signal_job(c, x, 0);
    else
        send_to_client(c, x->id, &out, false);
}

static void take_job_state(struct core *c, const struct frame *f, struct msg *m)
{
    struct msg_job_state *s = &m->job_state;
    struct client *x = of_job(c, s->client, s->nspace);
    struct client_msg out = {.type = CLIENT_STATE, .state = {s->state, s->reason}};

    if (!x || x->gone || (x->started && s->state == JOB_STARTED)) /* a new head repeats it */
        return;
    send_to_client(c, x->id, &out, false);
    x->given_back = s->state == JOB_NEVER_LAUNCHED && !x->started;
    if (x->started || s->state != JOB_STARTED)
        return;
    x->started = true;
    x->nstdin = s->nstdin;
    x->stdin_vpids = s->stdin_vpids;
    s->stdin_vpids = NULL; /* taken */
    out_add(&c->out, OUT_STDIN)->input.client = x->id;
}

bool core_stdin(const struct core *c, uint32_t client, const char **nspace, const uint32_t **vpids,
                size_t *n)
{
    const struct client *x = find_client(c, client);

    if (!x || !x->started)
        return false;
    *nspace = x->nspace;
    *vpids = x->stdin_vpids;
    *n = x->nstdin;
    return true;
}

static bool has_targets(const struct client *x, const struct msg_files *m)
{
    bool same = x->ntargets == m->ntargets;

    for (size_t i = 0; same && i < m->ntargets; i++)
        same = x->targets[i].vpid == m->targets[i].vpid &&
               epoch_eq(x->targets[i].epoch, m->targets[i].epoch);
    return same;
}

/* A former head had named other daemons, in records that are lost. A client sends them once. */
static void report_files_sent(struct core *c, const struct client *x)
{
    struct msg m = {.type = MSG_NO_FILES,
                    .no_files = {x->nspace, NO_FILES_TO_SEND,
                                 "its files have been sent already, for a former head"}};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

static void take_files(struct core *c, const struct frame *f, struct msg *m)
{
    struct client *x = of_job(c, m->files.client, m->files.nspace);

    if (!x || x->gone || !x->nspace)
        return;
    if (x->targets) { /* a new head repeats them */
        if (!has_targets(x, &m->files))
            report_files_sent(c, x);
        return;
    }
    x->ntargets = m->files.ntargets;
    x->targets = m->files.targets;
    m->files.targets = NULL; /* taken */
    out_add(&c->out, OUT_FILES)->files.client = x->id;
}

bool core_files_targets(const struct core *c, uint32_t client, const char **nspace,
                        const struct msg_target **targets, size_t *n)
{
    const struct client *x = find_client(c, client);

    if (!x || x->gone || !x->targets)
        return false;
    *nspace = x->nspace;
    *targets = x->targets;
    *n = x->ntargets;
    return true;
}

static void take_job_map(struct core *c, const struct frame *f, struct msg *m)
{
    const struct client *x = of_job(c, m->job_map.client, m->job_map.nspace);
    struct client_msg to = {.type = CLIENT_MAP, .map = {m->job_map.table, m->job_map.len}};

    if (x && !x->gone)
        send_to_client(c, x->id, &to, false);
}

static void take_done(struct core *c, const struct frame *f, struct msg *m)
{
    struct msg_done *d = &m->done;
    struct client *x = of_job(c, d->client, d->nspace);

    if (!x || x->done)
        return;
    x->done = true;
    x->exit_code = d->exit_code;
    x->text = d->text;
    x->nwait = d->noutput;
    x->wait = d->output_vpids;
    d->text = NULL; /* taken, as is the list */
    d->output_vpids = NULL;
    check_done(c, x);
}

const struct routed_handler client_handlers[] = {
    {MSG_ACCEPTED, take_accepted},
    {MSG_JOB_STATE, take_job_state},
    {MSG_JOB_MAP, take_job_map},
    {MSG_FILES, take_files},
    {MSG_DONE, take_done},
    {MSG_IOF_END, take_iof_end},
    {MSG_LOCAL_GONE, take_local_gone}, /* at the head, before head_msg() */
    {0},
};

/* --- members at which a client of the head should submit its job instead
 *
 * The session of such a client outlives the head's process. A shrink removes the highest vpids, and
 * waits for jobs whose clients are there. So the lower half of the wired members takes turns, and
 * the others only fill the list. There are none at a member, without records that another process
 * could go on with, and while the head is not wired or the incarnation ends. */

static bool can_have_heir(const struct core *c)
{
    return core_is_head(c) && (c->opts.keepers || c->opts.keeps_records) &&
           core_state(c) == CORE_WIRED && !core_incarnation_ends(c);
}

/* The vpids, on the heap. */
static uint32_t *list_wired(const struct core *c, size_t *n)
{
    uint32_t *vpids = xcalloc((size_t)c->members.n + 1, sizeof(*vpids));

    *n = 0;
    for (uint32_t v = 1; v < c->members.n; v++) {
        const struct member *x = members_get(&c->members, v);

        if (x && x->state == MEMBER_WIRED && members_live(&c->members, v))
            vpids[(*n)++] = v;
    }
    return vpids;
}

static void add_place(const struct core *c, uint32_t vpid, struct client_referral *to)
{
    struct msg_member facts = members_facts(&c->members, vpid);
    size_t len = strlen(facts.address);

    if (len && len < CLIENT_ADDRESS_MAX && facts.port) {
        memcpy(to->places[to->n].address, facts.address, len + 1);
        to->places[to->n++].port = facts.port;
    }
    msg_member_free(&facts);
}

struct client_referral core_referral(const struct core *c, uint64_t turn)
{
    struct client_referral to = {0};
    FREE_AUTO uint32_t *vpids = NULL;
    size_t n = 0, half;

    if (!can_have_heir(c))
        return to;
    vpids = list_wired(c, &n);
    half = (n + 1) / 2;
    for (size_t i = 0; i < n && to.n < CLIENT_PLACES_MAX; i++)
        add_place(c, i < half ? vpids[(turn + i) % half] : vpids[i], &to);
    return to;
}
