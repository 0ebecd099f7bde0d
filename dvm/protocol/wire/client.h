/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages between prun, pstat, pterm or prte and a daemon: over its local socket
 * (<session>/prted.sock), or over mutual TLS at its join port, through a relay
 * (dvm/tools/cli/relay.h).
 *
 * One frame of dvm/host/net carries one message: u8 CLIENT_VERSION, u8 type, then the fields of the
 * type's struct in order. A connection carries either one job (SUBMIT or ATTACH first) or any
 * number of calls. An unknown version or type, or a malformed message, is answered with ERROR, and
 * the connection is closed.
 *
 * OPEN before SUBMIT or ATTACH puts the connection into a session, which outlives it (docs/prun.md,
 * Lost connections). Each side of a session numbers its messages from 1, except OPEN, OPENED, ACK,
 * NOTE, FILES_ROOM, BYE and those before OPEN. It keeps each until the other side has acknowledged
 * it.
 *
 * Later connections of the session begin with the same token and a higher attempt, and missing
 * messages are sent again. Numbers are not sent: OPENED gives that of the daemon's next message,
 * and comes again before a gap.
 *
 * REFERRAL_ASK before that asks where the job is to be submitted. A daemon that does not know the
 * message answers ERROR; a client that does not send it gets no REFERRAL.
 *
 * To add a message: its struct here, one line in CLIENT_MSGS, its put_ and get_ function in
 * client.c, a sample in test/samples.c. */
#ifndef DVM_WIRE_CLIENT_H
#define DVM_WIRE_CLIENT_H

#include "api/job_state.h"
#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/exit_code.h"
#include "dvm/protocol/wire/job.h"

#define CLIENT_VERSION 2
#define CLIENT_TOKEN_BYTES 16
#define CLIENT_WINDOW_MAX_MS 600000u
/* An ACK is due after so many bytes of messages. Each message counts this much more than its
 * length. */
#define CLIENT_ACK_EVERY (64u << 10)
#define CLIENT_OVERHEAD 64
#define CLIENT_DATA_MAX (256u << 10)
#define CLIENT_TEXT_MAX (16u << 10)
#define CLIENT_BODY_MAX (64u << 20)
#define CLIENT_PLACES_MAX 3
#define CLIENT_ADDRESS_MAX 46 /* bytes of a numeric address with its end */

/* X(TYPE, number, member of struct client_msg's union, kind of its fields, what client_msg_free()
 * frees of them) */
#define CLIENT_MSGS(X)                                                                             \
    /* client -> daemon */                                                                         \
    X(SUBMIT, 1, submit, submit, submit)                                                           \
    X(STDIN, 2, input, bytes, nothing) /* no bytes: end of input */                                \
    X(SIGNAL, 3, signal, signal, nothing)                                                          \
    X(CALL, 4, call, call, call)                                                                   \
    X(ATTACH, 5, attach, job,                                                                      \
      job) /* from now on the client follows a detached job, like its submitter */                 \
    X(OPEN, 6, open, open, nothing)                                                                \
    X(ACK, 7, ack, ack, nothing)  /* both ways */                                                  \
    X(BYE, 8, bye, none, nothing) /* ends the session, and its job unless that is detached */      \
    X(FILES, 9, files, bytes,                                                                      \
      nothing) /* a piece of the job's files (dvm/protocol/wire/piece.h) */                        \
    X(REFERRAL_ASK, 10, referral_ask, none, nothing) /* before OPEN and SUBMIT */                  \
    /* daemon -> client */                                                                         \
    X(ACCEPTED, 64, accepted, job, job)                                                            \
    X(STATE, 65, state, state, state)                                                              \
    X(OUTPUT, 66, output, output, nothing)                                                         \
    X(DONE, 67, done, end, end)                                                                    \
    X(ERROR, 68, error, end, end) /* the daemon closes the connection */                           \
    X(REPLY, 69, reply, reply, reply)                                                              \
    X(LINE, 70, line, line, line)                                                                  \
    X(STDIN_PAUSE, 71, pause, pause, nothing)                                                      \
    X(NOTE, 72, note, note, note)                                                                  \
    X(MAP, 73, map, bytes, nothing) /* the nodes of the ranks, as a table; before their output */  \
    X(OPENED, 74, opened, opened, nothing)                                                         \
    X(FILES_ROOM, 75, room, room, nothing)                                                         \
    X(AWAY, 78, away, end, end) /* in place of ERROR: another daemon may take the job */           \
    X(REFERRAL, 79, referral, referral, nothing)                                                   \
    /* relay -> client */                                                                          \
    X(REACHED, 76, reached, reached, reached)                                                      \
    X(UNREACHED, 77, unreached, unreached, unreached)

#define CLIENT_MSG_TYPE(ID, number, member, kind, owned) CLIENT_##ID = (number),
enum client_type { CLIENT_NO_TYPE, CLIENT_MSGS(CLIENT_MSG_TYPE) };
#undef CLIENT_MSG_TYPE

struct client_none {
    char unused;
};

struct client_submit {
    struct job_spec spec;
};

struct client_bytes {
    const uint8_t *data; /* borrowed, from the input after decoding */
    size_t len;          /* at most CLIENT_DATA_MAX */
};

struct client_signal { /* to all ranks of the job */
    uint32_t signum;
};

struct client_call { /* of the control API */
    char *method;
    char *path; /* with ?query */
    char *body; /* "" or JSON */
};

struct client_job {
    char *nspace;
};

struct client_open {
    uint8_t token[CLIENT_TOKEN_BYTES]; /* random, secret */
    uint32_t attempt;                  /* 1: the session is new */
    uint64_t have;                     /* number of the last message received from the daemon */
    uint32_t window_ms;                /* time for which the job goes on without a connection */
};

struct client_ack {
    uint64_t have; /* number of the last message received */
};

struct client_opened {
    uint64_t have; /* number of the last message received from the client */
    uint64_t next; /* number of the daemon's next message */
};

struct client_state {
    enum job_state state;
    char *reason;
};

struct client_output {
    uint32_t rank;
    uint8_t stream;      /* 1, 2 */
    const uint8_t *data; /* as in struct client_bytes */
    size_t len;
};

struct client_end {
    uint32_t code; /* enum exit_code, or a rank's; at most EXIT_CODE_MAX */
    char *text;    /* who, where, why; "" after success */
};

struct client_reply {
    uint32_t status; /* HTTP */
    char *body;      /* JSON */
};

struct client_line { /* after REPLY 200 to GET /v1/events */
    char *event;     /* JSON */
};

struct client_pause {
    bool paused; /* no STDIN until it is false again */
};

struct client_note {
    char *text; /* for the user; it does not mean the job's end */
};

struct client_room {
    uint64_t total; /* bytes of FILES that may be sent, from the first */
};

struct client_referral { /* where the job outlives the daemon that was asked */
    uint8_t n;           /* 0: there is no better place */
    struct client_place {
        char address[CLIENT_ADDRESS_MAX];
        uint16_t port;
    } places[CLIENT_PLACES_MAX];
};

struct client_reached { /* all later messages are the daemon's */
    char *address;      /* numeric address of the daemon */
};

struct client_unreached {
    bool final; /* a further attempt would fail too */
    char *why;
};

#define CLIENT_MSG_MEMBER(ID, number, member, kind, owned) struct client_##kind member;
struct client_msg {
    enum client_type type;
    union {
        CLIENT_MSGS(CLIENT_MSG_MEMBER)
    };
};
#undef CLIENT_MSG_MEMBER

const char *client_msg_name(unsigned type); /* "SUBMIT"; "?": no such type */
/* Encodes into b, which the caller has initialised; b->failed if a limit is exceeded. */
void client_msg_encode(struct buf *b, const struct client_msg *m);
/* -1, a reason and a zeroed message if the bytes are malformed or a field is out of its limits. */
int client_msg_decode(const void *data, size_t len, struct client_msg *out, struct err *err)
    __attribute__((warn_unused_result));
void client_msg_free(struct client_msg *m);
/* The end of the job, of DONE, ERROR or AWAY; NULL: the message is none of these. */
const struct client_end *client_msg_end(const struct client_msg *m);
/* Whether a session numbers messages of the type. */
bool client_msg_numbered(enum client_type type);

#endif
