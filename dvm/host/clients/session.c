/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: jobs that outlive a connection of their clients.
 *
 * In: CLIENT_OPEN, CLIENT_ATTACH, CLIENT_ACK and CLIENT_BYE; messages for the client; the loss of
 * its connection; the end of its job. Out: CLIENT_OPENED and CLIENT_ACK; repeated messages that a
 * client has missed; the end of a job whose client does not reconnect.
 *
 * A client that sends OPEN has a token. If its connection is lost, the job goes on for window_ms,
 * and a connection with the same token and a later attempt takes the session over. Messages in both
 * directions are numbered: each side keeps what the other one has not acknowledged
 * (dvm/host/replay), and sends it again. Acknowledgements are withheld from a client that sends
 * faster than its job reads, so that it stops sending.
 *
 * A detached job needs no client. It keeps its latest DETACH_OUTPUT_MAX bytes of output and its
 * states. A client that attaches gets all of that, then follows the job; one client at a time.
 *
 * A session ends with the client's BYE, with the end of its window (which ends the job), or, when
 * its job has ended, as soon as everything is acknowledged. The last output of DETACH_OVER_MAX
 * ended detached jobs is kept; the oldest one is removed for the next. */
#include "dvm/host/clients/session_private.h"

#include "base/log/log.h"
#include "dvm/host/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MAX (2u << 20)   /* unacknowledged input at which a client is refused */
#define OWED_LOW (256u << 10) /* below it a slow client's job goes on */

struct session {
    struct clients *c;
    uint32_t client;
    /* state of a client that may come back: */
    bool open;
    uint8_t token[CLIENT_TOKEN_BYTES];
    uint32_t attempt;
    uint32_t window_ms;
    struct loop_timer *window; /* armed while the job goes on without its client */
    uint64_t heard;            /* number of the client's last message */
    size_t unacked;            /* bytes of these messages */
    bool hold;                 /* acknowledgements are withheld, so that the client stops sending */
    /* state of the job: */
    char *nspace;
    bool over;
    bool detached;
    bool inherited; /* from the former head, whose kept output is lost */
    bool followed;  /* a client has attached */
    uint64_t dropped_told;
    struct replay *said;
};

static struct session *create_session(struct clients *c, const struct client *k, size_t latest_max)
{
    struct session *s = xcalloc(1, sizeof(*s));

    s->c = c;
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

/* --- messages are sent again */

static void say_opened(struct clients *c, const struct client *k, uint64_t next)
{
    struct client_msg m = {.type = CLIENT_OPENED, .opened = {k->session->heard, next}};

    client_say(c, k, &m);
}

static void say_dropped(struct clients *c, const struct client *k)
{
    uint64_t dropped = replay_dropped(k->session->said);
    FREE_AUTO char *text =
        xasprintf("about %llu bytes of earlier output were not kept", (unsigned long long)dropped);
    struct client_msg m = {.type = CLIENT_NOTE, .note = {text}};

    if (dropped > k->session->dropped_told)
        client_say(c, k, &m);
    k->session->dropped_told = dropped;
    if (!k->session->inherited)
        return;
    m.note.text = (char *)"the head was replaced: earlier output of the job was not kept";
    client_say(c, k, &m);
}

struct again {
    struct clients *c;
    const struct client *k;
    uint64_t next; /* number of the next message that the client expects */
};

static void say_one(uint64_t number, const void *data, size_t len, void *arg)
{
    struct again *a = arg;

    if (a->k->session->open && number != a->next)
        say_opened(a->c, a->k, number);
    net_send(a->c->parts.net, a->k->net_id, data, len);
    a->next = number + 1;
}

/* Sends all messages from number `next` on to the client. */
static void say_again(struct clients *c, const struct client *k, uint64_t next)
{
    struct again a = {.c = c, .k = k, .next = next};
    uint64_t last = replay_last(k->session->said);

    say_dropped(c, k);
    if (k->session->open)
        say_opened(c, k, next);
    replay_each(k->session->said, say_one, &a);
    if (k->session->open && a.next != last + 1) /* the newest messages were dropped */
        say_opened(c, k, last + 1);
}

/* --- a client that may come back */

/* Takes the same time for every wrong token, so that the time gives no hint about the right one. */
static bool is_token(const struct session *s, const uint8_t *token)
{
    unsigned differs = 0;

    for (size_t i = 0; i < CLIENT_TOKEN_BYTES; i++)
        differs |= (unsigned)(s->token[i] ^ token[i]);
    return s->open && differs == 0;
}

static struct client *find_by_token(const struct clients *c, const uint8_t *token, size_t *nopen)
{
    struct client *found = NULL;

    *nopen = 0;
    for (struct client *k = c->by_id; k; k = k->hh.next) {
        *nopen += k->session && k->session->open;
        if (k->session && is_token(k->session, token))
            found = k;
    }
    return found;
}

static void begin_session(struct clients *c, struct client *k, const struct client_open *m)
{
    struct session *s = create_session(c, k, 0);

    s->open = true;
    memcpy(s->token, m->token, sizeof(s->token));
    s->attempt = m->attempt;
    s->window_ms = m->window_ms;
    k->session = s;
    say_opened(c, k, 1);
}

static void resume_session(struct clients *c, struct client *newcomer, struct client *k,
                           const struct client_open *m)
{
    struct session *s = k->session;

    loop_timer_destroy(s->window);
    s->window = NULL;
    s->attempt = m->attempt;
    s->window_ms = m->window_ms;
    s->followed = s->detached;
    client_hand_over(c, newcomer, k);
    log_info("job %s: its client has reconnected", s->nspace);
    say_again(c, k, m->have + 1);
    files_tell_room(c->parts.files, k->id);
    if (replay_owed(s->said) < OWED_LOW)
        iof_client_drained(c->parts.iof, k->id);
}

bool session_has_room(const struct clients *c)
{
    size_t nopen = 0;

    for (const struct client *k = c->by_id; k; k = k->hh.next)
        nopen += k->session && k->session->open;
    return nopen < SESSIONS_MAX;
}

void session_open(struct clients *c, struct client *k, const struct client_open *m)
{
    size_t nopen;
    struct client *known = find_by_token(c, m->token, &nopen);
    int code = EXIT_CODE_LOST;
    const char *why = NULL;

    if (k->submitted || k->session) {
        code = EXIT_CODE_USAGE;
        why = "a session is opened once, before its job";
    } else if (known && m->attempt <= known->session->attempt) {
        why = "the session has a later connection";
    } else if (known && replay_ack(known->session->said, m->have) < 0) {
        why = "the client acknowledges messages that were never sent";
    } else if (!known && m->have) {
        why = "the daemon does not know the job any more: it was restarted, or it has ended the "
              "job because prun did not reconnect in time";
    } else if (!known && nopen >= SESSIONS_MAX) {
        code = EXIT_CODE_NOT_LAUNCHED;
        why = SESSION_NO_ROOM;
    }
    if (why)
        client_refuse(c, k, code, why);
    else if (known)
        resume_session(c, k, known, m);
    else
        begin_session(c, k, m);
}

/* --- detached jobs */

void session_detach(struct clients *c, struct client *k)
{
    if (!k->session) {
        k->session = create_session(c, k, DETACH_OUTPUT_MAX);
        return;
    }
    /* No message is sent before the job is accepted. */
    replay_destroy(k->session->said);
    k->session->said = replay_create(DETACH_OUTPUT_MAX);
    k->session->detached = true;
}

void session_inherit(struct clients *c, struct client *k)
{
    session_detach(c, k);
    k->session->inherited = true;
}

static struct client *find_detached(const struct clients *c, const char *nspace)
{
    for (struct client *k = c->by_id; k; k = k->hh.next) {
        if (k->session && k->session->detached && strcmp(k->session->nspace, nspace) == 0)
            return k;
    }
    return NULL;
}

/* The job has no reader any more. */
static void stop_following(struct clients *c, struct client *k)
{
    k->session->followed = false;
    iof_client_drained(c->parts.iof, k->id);
}

/* The connection of `newcomer` becomes the connection of this job. If the newcomer has opened a
 * session, that moves too. */
static void follow_job(struct clients *c, struct client *newcomer, struct client *k)
{
    struct session *s = k->session;
    const struct session *of = newcomer->session;

    s->open = of != NULL;
    if (of) {
        memcpy(s->token, of->token, sizeof(s->token));
        s->attempt = of->attempt;
        s->window_ms = of->window_ms;
        s->heard = of->heard;
    }
    s->unacked = 0;
    s->hold = false;
    s->followed = true;
    s->dropped_told = 0;
    client_hand_over(c, newcomer, k);
    replay_rewind(s->said);
    say_again(c, k, 1);
    if (!s->over || s->open)
        return;
    client_disconnect(c, k, true);
    stop_following(c, k);
}

void session_attach(struct clients *c, struct client *k, const char *nspace)
{
    struct client *job = find_detached(c, nspace);
    FREE_AUTO char *why = NULL;

    if (k->submitted)
        why = xasprintf("one job per connection");
    else if (!job)
        why = xasprintf("no detached job %s was submitted at this daemon (vpid %u)", nspace,
                        c->env->vpid);
    else if (files_owes(c->parts.files, job->id))
        why = xasprintf("the files of job %s are still being transferred", nspace);
    else if (job->session->followed)
        why = xasprintf("another prun is attached to job %s already", nspace);
    if (why)
        client_refuse(c, k, EXIT_CODE_NOT_LAUNCHED, why);
    else
        follow_job(c, k, job);
}

/* The last output of ended jobs is kept for DETACH_OVER_MAX of them. Ids grow with time, so the
 * smallest is the oldest. */
static void forget_oldest_over(struct clients *c)
{
    struct client *oldest = NULL;
    size_t n = 0;

    for (struct client *k = c->by_id; k; k = k->hh.next) {
        if (!k->session || !k->session->detached || !k->session->over || k->net_id)
            continue;
        n++;
        if (!oldest || k->id < oldest->id)
            oldest = k;
    }
    if (n > DETACH_OVER_MAX)
        client_forget(c, oldest);
}

/* --- messages to the client */

static void acknowledge_input(struct clients *c, const struct client *k)
{
    struct client_msg m = {.type = CLIENT_ACK, .ack = {k->session->heard}};

    k->session->unacked = 0;
    client_say(c, k, &m);
}

int session_heard(struct clients *c, const struct client *k, size_t len)
{
    struct session *s = k->session;

    if (!s || !s->open)
        return 0;
    s->heard++;
    s->unacked += len + CLIENT_OVERHEAD;
    if (s->hold)
        return s->unacked > HELD_MAX ? -1 : 0;
    if (s->unacked >= CLIENT_ACK_EVERY)
        acknowledge_input(c, k);
    return 0;
}

void session_hold(struct clients *c, const struct client *k, bool hold)
{
    struct session *s = k->session;

    if (!s->open) {
        if (k->net_id)
            net_pause(c->parts.net, k->net_id, hold);
        return;
    }
    s->hold = hold;
    if (!hold && s->unacked)
        acknowledge_input(c, k);
}

int session_ack(struct clients *c, const struct client *k, uint64_t have)
{
    struct session *s = k->session;

    if (!s || !s->open || replay_ack(s->said, have) < 0)
        return -1;
    if (replay_owed(s->said) < OWED_LOW)
        iof_client_drained(c->parts.iof, k->id);
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
    s->over = s->over || type == CLIENT_DONE || type == CLIENT_ERROR || type == CLIENT_AWAY;
    replay_add(s->said,
               type == CLIENT_OUTPUT  ? REPLAY_OUTPUT
               : type == CLIENT_STATE ? REPLAY_STATE
                                      : REPLAY_ALWAYS,
               data, len);
}

size_t session_pending(const struct clients *c, const struct client *k)
{
    size_t unwritten = k->net_id ? net_pending(c->parts.net, k->net_id) : 0;
    size_t owed = replay_owed(k->session->said);

    if (!k->session->open || (k->session->detached && !k->net_id))
        return unwritten;
    return owed > unwritten ? owed : unwritten;
}

/* --- end of a session */

static void on_window(void *arg)
{
    const struct session *s = arg;
    struct clients *c = s->c;

    host_enter(c->env);
    log_info("job %s: prun did not reconnect within %u ms, the job is ended", s->nspace,
             s->window_ms);
    client_end(c, client_find(c, s->client));
    host_drain(c->env);
}

bool session_lost(struct clients *c, struct client *k, const char *why)
{
    struct session *s = k->session;

    if (s->detached && !files_owes(c->parts.files, k->id)) {
        stop_following(c, k);
        forget_oldest_over(c);
        return true;
    }
    if (!k->submitted || !s->window_ms || (s->over && !replay_owed(s->said)))
        return false;
    log_info("job %s: the connection to its client is lost (%s), it goes on for %u ms", s->nspace,
             why, s->window_ms);
    if (!s->window)
        s->window = loop_timer_create(c->env->loop, on_window, s);
    loop_timer_arm(s->window, s->window_ms);
    return true;
}

void session_bye(struct clients *c, struct client *k)
{
    struct session *s = k->session;

    if (!s || !s->open) {
        client_refuse(c, k, EXIT_CODE_USAGE, "there is no session to leave");
        return;
    }
    client_disconnect(c, k, true); /* it may have sent more: no reset */
    if (!s->detached || files_owes(c->parts.files, k->id)) {
        client_end(c, k);
        return;
    }
    s->open = false;
    stop_following(c, k);
    forget_oldest_over(c);
}

void session_over(struct clients *c, struct client *k)
{
    struct session *s = k->session;

    iof_client_gone(c->parts.iof, k->id);
    files_client_gone(c->parts.files, k->id); /* its turn goes to another job */
    if (!s->detached || (s->open && k->net_id))
        return; /* the client will send BYE, or its window will end */
    client_disconnect(c, k, true);
    stop_following(c, k);
    forget_oldest_over(c);
}
