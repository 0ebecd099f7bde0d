/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: jobs that outlive a connection of their clients, for a time (the client comes back with
 * its token) or for good (detached: anybody attaches). What was said is kept to be said again. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/protocol/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MAX (2u << 20)   /* input that may come although nothing is acknowledged */
#define OWED_LOW (256u << 10) /* not acknowledged by a client that was slow: the job goes on */

struct session {
    struct daemon *d;
    uint32_t client;
    /* of the client, which may come back: */
    bool open;
    uint8_t token[CLIENT_TOKEN_BYTES];
    uint32_t attempt;
    uint32_t window_ms;
    struct loop_timer *window; /* armed while a job goes on without it */
    uint64_t heard;            /* numbered messages that it has said */
    size_t unacked;            /* bytes of these */
    bool hold;                 /* no acknowledgements, so that it stops */
    /* of the job: */
    char *nspace;
    bool over;
    bool detached;
    bool followed; /* somebody has attached */
    uint64_t dropped_told;
    struct replay *said;
};

static struct session *create(struct daemon *d, const struct dclient *k, size_t latest_max)
{
    struct session *s = xcalloc(1, sizeof *s);

    s->d = d;
    s->client = k->id;
    s->nspace = xstrdup("");
    s->detached = latest_max != 0;
    s->said = replay_create(latest_max);
    return s;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    loop_timer_destroy(s->window);
    replay_destroy(s->said);
    free(s->nspace);
    free(s);
}

bool session_detached(const struct session *s)
{
    return s->detached;
}

bool session_numbered(const struct session *s)
{
    return s->open;
}

bool session_is_over(const struct session *s)
{
    return s->over;
}

/* --- what was said is said again */

static void say_opened(struct daemon *d, const struct dclient *k, uint64_t next)
{
    struct client_msg m = {.type = CLIENT_OPENED, .opened = {k->session->heard, next}};

    dclient_say(d, k, &m);
}

static void say_dropped(struct daemon *d, const struct dclient *k)
{
    uint64_t dropped = replay_dropped(k->session->said);
    char *text FREE_AUTO =
        xasprintf("about %llu bytes of earlier output were not kept", (unsigned long long)dropped);
    struct client_msg m = {.type = CLIENT_NOTE, .note = {text}};

    if (dropped > k->session->dropped_told)
        dclient_say(d, k, &m);
    k->session->dropped_told = dropped;
}

struct again {
    struct daemon *d;
    const struct dclient *k;
    uint64_t next; /* number that the client expects */
};

static void say_one(uint64_t number, const void *data, size_t len, void *arg)
{
    struct again *a = arg;

    if (a->k->session->open && number != a->next)
        say_opened(a->d, a->k, number);
    net_send(a->d->net, a->k->net_id, data, len);
    a->next = number + 1;
}

/* All that the client, who has those before `next`, has not got. */
static void say_again(struct daemon *d, const struct dclient *k, uint64_t next)
{
    struct again a = {.d = d, .k = k, .next = next};
    uint64_t last = replay_last(k->session->said);

    say_dropped(d, k);
    if (k->session->open)
        say_opened(d, k, next);
    replay_each(k->session->said, say_one, &a);
    if (k->session->open && a.next != last + 1) /* the newest were dropped */
        say_opened(d, k, last + 1);
}

/* --- a client that may come back */

/* Takes as long for every other token: nobody finds out how much of one is right. */
static bool is_token(const struct session *s, const uint8_t *token)
{
    unsigned differs = 0;

    for (size_t i = 0; i < CLIENT_TOKEN_BYTES; i++)
        differs |= (unsigned)(s->token[i] ^ token[i]);
    return s->open && differs == 0;
}

static struct dclient *by_token(const struct daemon *d, const uint8_t *token, size_t *nopen)
{
    struct dclient *found = NULL;

    *nopen = 0;
    for (struct dclient *k = d->clients; k; k = k->hh.next) {
        *nopen += k->session && k->session->open;
        if (k->session && is_token(k->session, token))
            found = k;
    }
    return found;
}

static void begin(struct daemon *d, struct dclient *k, const struct client_open *m)
{
    struct session *s = create(d, k, 0);

    s->open = true;
    memcpy(s->token, m->token, sizeof s->token);
    s->attempt = m->attempt;
    s->window_ms = m->window_ms;
    k->session = s;
    say_opened(d, k, 1);
}

static void resume(struct daemon *d, struct dclient *newcomer, struct dclient *k,
                   const struct client_open *m)
{
    struct session *s = k->session;

    loop_timer_destroy(s->window);
    s->window = NULL;
    s->attempt = m->attempt;
    s->window_ms = m->window_ms;
    s->followed = s->detached;
    dclient_hand_over(d, newcomer, k);
    log_info("job %s: its client is back", s->nspace);
    say_again(d, k, m->have + 1);
    stage_tell_room(d->stage, k->id);
    if (replay_owed(s->said) < OWED_LOW)
        iof_client_drained(d->iof, k->id);
}

void session_open(struct daemon *d, struct dclient *k, const struct client_open *m)
{
    size_t nopen;
    struct dclient *known = by_token(d, m->token, &nopen);
    int code = EXIT_CODE_LOST;
    const char *why = NULL;

    if (k->submitted || k->session) {
        code = EXIT_CODE_USAGE;
        why = "a session is opened once, before its job";
    } else if (known && m->attempt <= known->session->attempt) {
        why = "the session has a later connection";
    } else if (known && replay_ack(known->session->said, m->have) < 0) {
        why = "what was never said cannot have come";
    } else if (!known && m->have) {
        why =
            "the daemon knows nothing of the job any more: it has begun anew, or it has ended the "
            "job because nobody came back in time";
    } else if (!known && nopen >= SESSIONS_MAX) {
        code = EXIT_CODE_NOT_LAUNCHED;
        why = "too many jobs of clients outside at this daemon";
    }
    if (why)
        dclient_refuse(d, k, code, why);
    else if (known)
        resume(d, k, known, m);
    else
        begin(d, k, m);
}

/* --- detached jobs */

void session_detach(struct daemon *d, struct dclient *k)
{
    if (!k->session) {
        k->session = create(d, k, DETACH_OUTPUT_MAX);
        return;
    }
    /* Nothing is said before a job is there. */
    replay_destroy(k->session->said);
    k->session->said = replay_create(DETACH_OUTPUT_MAX);
    k->session->detached = true;
}

static struct dclient *detached(const struct daemon *d, const char *nspace)
{
    for (struct dclient *k = d->clients; k; k = k->hh.next) {
        if (k->session && k->session->detached && strcmp(k->session->nspace, nspace) == 0)
            return k;
    }
    return NULL;
}

/* Nobody listens any more. */
static void left(struct daemon *d, struct dclient *k)
{
    k->session->followed = false;
    iof_client_drained(d->iof, k->id);
}

/* The connection of `newcomer` becomes the job's, and its session if it has opened one. */
static void follow(struct daemon *d, struct dclient *newcomer, struct dclient *k)
{
    struct session *s = k->session;
    const struct session *of = newcomer->session;

    s->open = of != NULL;
    if (of) {
        memcpy(s->token, of->token, sizeof s->token);
        s->attempt = of->attempt;
        s->window_ms = of->window_ms;
        s->heard = of->heard;
    }
    s->unacked = 0;
    s->hold = false;
    s->followed = true;
    s->dropped_told = 0;
    dclient_hand_over(d, newcomer, k);
    replay_rewind(s->said);
    say_again(d, k, 1);
    if (!s->over || s->open)
        return;
    dclient_disconnect(d, k, true);
    left(d, k);
}

void session_attach(struct daemon *d, struct dclient *k, const char *nspace)
{
    struct dclient *job = detached(d, nspace);
    char *why FREE_AUTO = NULL;

    if (k->submitted)
        why = xasprintf("one job per connection");
    else if (!job)
        why = xasprintf("no detached job %s was submitted at this daemon (vpid %u)", nspace,
                        d->opts.vpid);
    else if (stage_owes(d->stage, job->id))
        why = xasprintf("the files of job %s are on their way still", nspace);
    else if (job->session->followed)
        why = xasprintf("somebody follows job %s already", nspace);
    if (why)
        dclient_refuse(d, k, EXIT_CODE_NOT_LAUNCHED, why);
    else
        follow(d, k, job);
}

/* The last words of jobs that are over are kept for so many of them; ids grow with time. */
static void forget_oldest_over(struct daemon *d)
{
    struct dclient *oldest = NULL;
    size_t n = 0;

    for (struct dclient *k = d->clients; k; k = k->hh.next) {
        if (!k->session || !k->session->detached || !k->session->over || k->net_id)
            continue;
        n++;
        if (!oldest || k->id < oldest->id)
            oldest = k;
    }
    if (n > DETACH_OVER_MAX)
        dclient_forget(d, oldest);
}

/* --- what is said */

static void acknowledge(struct daemon *d, const struct dclient *k)
{
    struct client_msg m = {.type = CLIENT_ACK, .ack = {k->session->heard}};

    k->session->unacked = 0;
    dclient_say(d, k, &m);
}

int session_heard(struct daemon *d, const struct dclient *k, size_t len)
{
    struct session *s = k->session;

    if (!s || !s->open)
        return 0;
    s->heard++;
    s->unacked += len + CLIENT_OVERHEAD;
    if (s->hold)
        return s->unacked > HELD_MAX ? -1 : 0;
    if (s->unacked >= CLIENT_ACK_EVERY)
        acknowledge(d, k);
    return 0;
}

void session_hold(struct daemon *d, const struct dclient *k, bool hold)
{
    struct session *s = k->session;

    if (!s->open) {
        if (k->net_id)
            net_pause(d->net, k->net_id, hold);
        return;
    }
    s->hold = hold;
    if (!hold && s->unacked)
        acknowledge(d, k);
}

int session_ack(struct daemon *d, const struct dclient *k, uint64_t have)
{
    struct session *s = k->session;

    if (!s || !s->open || replay_ack(s->said, have) < 0)
        return -1;
    if (replay_owed(s->said) < OWED_LOW)
        iof_client_drained(d->iof, k->id);
    return 0;
}

static void learn_name(struct session *s, const uint8_t *data, size_t len)
{
    struct client_msg m;

    if (client_msg_decode(data, len, &m, NULL) < 0)
        return;
    free(s->nspace);
    s->nspace = m.accepted.nspace;
    m.accepted.nspace = NULL;
    client_msg_free(&m);
}

void session_said(struct session *s, const uint8_t *data, size_t len)
{
    enum client_type type = data[1];

    if (!client_msg_numbered(type))
        return;
    if (type == CLIENT_ACCEPTED)
        learn_name(s, data, len);
    s->over = s->over || type == CLIENT_DONE || type == CLIENT_ERROR;
    replay_add(s->said,
               type == CLIENT_OUTPUT  ? REPLAY_OUTPUT
               : type == CLIENT_STATE ? REPLAY_STATE
                                      : REPLAY_ALWAYS,
               data, len);
}

size_t session_pending(const struct daemon *d, const struct dclient *k)
{
    size_t unwritten = k->net_id ? net_pending(d->net, k->net_id) : 0;
    size_t owed = replay_owed(k->session->said);

    if (!k->session->open || (k->session->detached && !k->net_id))
        return unwritten;
    return owed > unwritten ? owed : unwritten;
}

/* --- ends */

static void on_window(void *arg)
{
    const struct session *s = arg;
    struct daemon *d = s->d;

    daemon_enter(d);
    log_info("job %s: nobody came back within %u ms, it is ended", s->nspace, s->window_ms);
    dclient_end(d, dclient_by_id(d, s->client));
    daemon_drain(d);
}

bool session_lost(struct daemon *d, struct dclient *k, const char *why)
{
    struct session *s = k->session;

    if (s->detached && !stage_owes(d->stage, k->id)) {
        left(d, k);
        forget_oldest_over(d);
        return true;
    }
    if (!k->submitted || !s->window_ms || (s->over && !replay_owed(s->said)))
        return false;
    log_info("job %s: the connection to its client is lost (%s), it goes on for %u ms", s->nspace,
             why, s->window_ms);
    if (!s->window)
        s->window = loop_timer_create(d->loop, on_window, s);
    loop_timer_arm(s->window, s->window_ms);
    return true;
}

void session_bye(struct daemon *d, struct dclient *k)
{
    struct session *s = k->session;

    if (!s || !s->open) {
        dclient_refuse(d, k, EXIT_CODE_USAGE, "there is no session to leave");
        return;
    }
    dclient_disconnect(d, k,
                       true); /* it may have said more, and a reset would tell it of a failure */
    if (!s->detached || stage_owes(d->stage, k->id)) {
        dclient_end(d, k);
        return;
    }
    s->open = false;
    left(d, k);
    forget_oldest_over(d);
}

void session_over(struct daemon *d, struct dclient *k)
{
    struct session *s = k->session;

    iof_client_gone(d->iof, k->id);
    stage_client_gone(d->stage, k->id); /* its turn is another's, though the job is remembered */
    if (!s->detached || (s->open && k->net_id))
        return; /* it will say BYE, or its time will be over */
    dclient_disconnect(d, k, true);
    left(d, k);
    forget_oldest_over(d);
}
