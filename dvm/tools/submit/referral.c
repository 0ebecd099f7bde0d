/* SPDX-License-Identifier: BSD-3-Clause */
/* The head sends the client of a job on to a member, whose session outlives the head.
 *
 * In: a connection to a daemon. Out: the connection at which the job is submitted.
 *
 *   prun                         head                   member
 *    |-- REFERRAL_ASK ---------->|                        |
 *    |<- REFERRAL (addresses) ---|                        |
 *    |-- REFERRAL_ASK -------------------------------->|  it takes clients
 *    |<- REFERRAL (none) ---------------------------------|
 *    |  the connection to the head is closed              |
 *    |-- OPEN, SUBMIT ----------------------------------->|
 *
 * Until a member has answered, the connection to the head stays. If none answers within FOLLOW_MS,
 * the job is submitted at the head. Each address gets an equal share of the time that is left.
 *
 * Invariants: nothing is submitted here, so no job can be submitted twice. One daemon is asked for
 * members, so a client is sent on once at most.
 *
 * Failures: after a daemon that does not know the question, ends, gives no answer within ASK_MS or
 * a malformed one, the name is connected anew, at any of its addresses, and nobody is asked again.
 * An address that is not numeric, or that leads from the loopback interface elsewhere or back, is
 * left out: a forwarded port is at the loopback interface, and the members are not. */
#include "dvm/tools/submit/referral.h"

#include "base/buf/buf.h"
#include "dvm/tools/submit/now.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS 1000
#define FOLLOW_MS 1000 /* for all members */

/* False: the text is no numeric address. */
static bool read_address(const char *text, bool *loopback)
{
    struct in6_addr six;
    struct in_addr four;

    if (inet_pton(AF_INET, text, &four) == 1) {
        *loopback = ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
        return true;
    }
    if (inet_pton(AF_INET6, text, &six) != 1)
        return false;
    *loopback = IN6_IS_ADDR_LOOPBACK(&six) ||
                (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET);
    return true;
}

bool referral_fits(const struct client_place *to, const char *reached)
{
    bool there, here = false;

    if (!read_address(to->address, &there))
        return false;
    (void)read_address(reached, &here); /* one with a zone is link-local */
    return here == there;
}

int referral_ask(struct cli_conn *c, int signals, int timeout_ms, struct client_referral *out,
                 struct err *err)
{
    struct client_msg m = {.type = CLIENT_REFERRAL_ASK};
    int got = cli_conn_send(c, &m, err);

    if (got == 0)
        got = cli_conn_wait_or(c, &m, signals, timeout_ms, err);
    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(err, "the daemon closed the connection");
    if (got == 2)
        return err_code(err, EINTR, "interrupted");
    if (m.type == CLIENT_REFERRAL)
        *out = m.referral;
    else
        got = err_set(err, "the daemon does not say where the job should be submitted");
    client_msg_free(&m);
    return got < 0 ? -1 : 0;
}

static int time_left(int64_t until)
{
    int64_t left = until - submit_now_ms();

    return left > 0 ? (int)left : 0;
}

/* A member that takes clients; `at` is then its own. */
static struct cli_conn *connect_member(const struct client_place *to, struct cli_where *at,
                                       int signals, int ms, struct err *err)
{
    int64_t until = submit_now_ms() + ms;
    struct client_referral ignored = {0};
    struct cli_conn *c;

    at->host = xstrdup(to->address);
    snprintf(at->port, sizeof(at->port), "%u", to->port);
    c = cli_connect_within(at, signals, ms, err);
    if (c && referral_ask(c, signals, time_left(until), &ignored, err) == 0)
        return c;
    cli_conn_free(c);
    free(at->host);
    free(at->address);
    at->host = at->address = NULL;
    return NULL;
}

static void move_to(struct referral *r, struct cli_where *where, const struct cli_where *at)
{
    r->host = where->host;
    memcpy(r->port, where->port, sizeof(r->port));
    free(where->address);
    where->host = at->host;
    where->address = at->address;
    memcpy(where->port, at->port, sizeof(where->port));
}

/* NULL: none can be reached; EINTR: `signals` is readable. */
static struct cli_conn *connect_members(struct referral *r, const struct client_referral *to,
                                        struct cli_where *where, int signals, struct err *err)
{
    int64_t until = submit_now_ms() + FOLLOW_MS;

    for (int i = 0; i < to->n && err->code != EINTR; i++) {
        struct cli_where at = {.tls_dir = where->tls_dir};
        struct cli_conn *c;

        if (!referral_fits(&to->places[i], where->address))
            continue;
        *err = (struct err){0};
        c = connect_member(&to->places[i], &at, signals, time_left(until) / (to->n - i), err);
        if (c) {
            move_to(r, where, &at);
            return c;
        }
    }
    return NULL;
}

/* At any address of the name: the daemon that was reached may have ended. */
static struct cli_conn *connect_anew(struct cli_where *where, int signals, struct err *err)
{
    free(where->address);
    where->address = NULL;
    *err = (struct err){0};
    return cli_connect_or(where, signals, err);
}

struct cli_conn *referral_follow(struct referral *r, struct cli_conn *c, struct cli_where *where,
                                 int signals, struct err *err)
{
    struct client_referral to = {0};
    struct cli_conn *member;
    struct err why = {0};

    if (referral_ask(c, signals, ASK_MS, &to, &why) < 0) {
        cli_conn_free(c);
        *err = why;
        return why.code == EINTR ? NULL : connect_anew(where, signals, err);
    }
    member = connect_members(r, &to, where, signals, &why);
    if (!member && why.code != EINTR)
        return c;
    cli_conn_free(c);
    if (!member)
        *err = why;
    return member;
}

void referral_return(struct referral *r, struct cli_where *where)
{
    if (!r->host)
        return;
    free(where->host);
    free(where->address);
    where->host = r->host;
    where->address = NULL;
    memcpy(where->port, r->port, sizeof(where->port));
    r->host = NULL;
}

void referral_free(struct referral *r)
{
    free(r->host);
    *r = (struct referral){0};
}
