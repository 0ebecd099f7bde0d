/* SPDX-License-Identifier: BSD-3-Clause */
/* What prun, pstat, pterm and prte say to a daemon: over its local socket (<session>/prted.sock),
 * or over mutual TLS at its join port, by way of a relay (dvm/tools/cli/relay.h). */
#ifndef DVM_WIRE_CLIENT_H
#define DVM_WIRE_CLIENT_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/exit_code.h"
#include "dvm/protocol/wire/job.h"

/* One frame of dvm/host/net carries one message: u8 CLIENT_VERSION, u8 type, fields. A connection
 * carries either one job (SUBMIT or ATTACH first) or any number of calls. An unknown version or
 * type, or a malformed message, is answered ERROR and closed.
 *
 * OPEN before SUBMIT or ATTACH makes the connection a session's, which outlives it (docs/prun.md,
 * Lost connections). Each side numbers what it says in a session from 1 on, without OPEN, OPENED,
 * ACK, NOTE, FILES_ROOM (told anew) and BYE, and keeps it until the other has acknowledged it.
 * Later connections of the session begin with the same token and a higher attempt; what the other
 * does not have yet is said again. Numbers are not sent: OPENED tells that of the daemon's next
 * message, again where some are left out. */
#define CLIENT_VERSION 1
#define CLIENT_TOKEN_BYTES 16
#define CLIENT_WINDOW_MAX_MS 600000u
/* Bytes of messages after which an ACK is due, each message counted with so many more. */
#define CLIENT_ACK_EVERY (64u << 10)
#define CLIENT_OVERHEAD 64
#define CLIENT_DATA_MAX (256u << 10)
#define CLIENT_TEXT_MAX (16u << 10)
#define CLIENT_BODY_MAX (64u << 20)

enum client_type {
    /* client -> daemon */
    CLIENT_SUBMIT = 1, /* job_spec */
    CLIENT_STDIN,      /* bytes; none: end of input */
    CLIENT_SIGNAL,     /* u32 signal number for all ranks of the job */
    CLIENT_CALL,   /* the control API: str method, str path (with ?query), str body ("" or JSON) */
    CLIENT_ATTACH, /* str nspace: follows a detached job from now on, as its submitter would */
    CLIENT_OPEN, /* 16 bytes token (random, secret), u32 attempt (1: the session is new), u64 number
                    of the daemon's last message that has come, u32 ms that the job goes on without
                    a connection */
    CLIENT_ACK,  /* u64 number of the last message that has come; both ways */
    CLIENT_BYE,  /* the session is over, and its job with it unless that is detached */
    CLIENT_FILES, /* bytes: one piece of the job's files (dvm/protocol/wire/piece.h) */
    /* daemon -> client */
    CLIENT_ACCEPTED = 64, /* str nspace */
    CLIENT_STATE,         /* str state ("WAITING_FOR_DAEMONS", "RUNNING", …), str reason */
    CLIENT_OUTPUT,        /* u32 rank, u8 stream (1, 2), bytes */
    CLIENT_DONE,          /* u32 exit code (0..255), str text: who, where, why; "" if all is well */
    CLIENT_ERROR,         /* u32 exit code, str text; the daemon closes */
    CLIENT_REPLY,         /* u32 HTTP status, str body (JSON) */
    CLIENT_LINE,          /* answer of GET /v1/events: str one event as JSON; after REPLY 200 */
    CLIENT_STDIN_PAUSE,   /* u8 1: stop sending STDIN, 0: go on */
    CLIENT_NOTE,          /* str text for the user that says nothing about the job's end */
    CLIENT_MAP,           /* bytes: where the ranks are, as a table; before their output */
    CLIENT_OPENED, /* u64 number of the client's last message that has come, u64 of the next from
                    * here
                    */
    CLIENT_FILES_ROOM, /* u64: so many bytes of FILES may be sent, in all, from the begin */
    /* relay -> client */
    CLIENT_REACHED,   /* str numeric address of the daemon; everything later is the daemon's */
    CLIENT_UNREACHED, /* u8 1: trying again is of no use, str why */
};

struct client_msg {
    enum client_type type;
    struct job_spec spec; /* SUBMIT */
    const uint8_t *data;  /* STDIN, OUTPUT, MAP, FILES: borrowed from the input */
    size_t len;
    uint32_t number;    /* signal, exit code, status, rank, pause, attempt, final */
    uint8_t stream;     /* OUTPUT */
    uint64_t room;      /* FILES_ROOM */
    uint64_t have;      /* OPEN, OPENED, ACK: number of the last message that has come */
    uint64_t next;      /* OPENED */
    uint32_t window_ms; /* OPEN */
    uint8_t token[CLIENT_TOKEN_BYTES];
    char *a; /* method, nspace, state, text, address, body of REPLY, LINE */
    char *b; /* path, reason */
    char *c; /* body of CALL */
};

/* Encodes into b, which the caller has initialised; unused fields are ignored. */
void client_msg_encode(struct buf *b, const struct client_msg *m);
int client_msg_decode(const void *data, size_t len, struct client_msg *out, struct err *err)
    __attribute__((warn_unused_result));
void client_msg_free(struct client_msg *m);
/* Whether a session numbers messages of the type. */
bool client_msg_numbered(enum client_type type);

#endif
