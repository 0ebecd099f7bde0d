/* SPDX-License-Identifier: BSD-3-Clause */
/* The reasons of a refusal in the control API (docs/control-api.md): `reason` inside `error`. */
#ifndef API_REASON_H
#define API_REASON_H

/* X(REASON, word) */
#define API_REASON_LIST(X)                                                                         \
    X(BAD_REQUEST, "BadRequest")                                                                   \
    X(ROLE_NOT_ALLOWED, "RoleNotAllowed")                                                          \
    X(NOT_FOUND, "NotFound")                                                                       \
    X(METHOD_NOT_ALLOWED, "MethodNotAllowed")                                                      \
    X(NOT_STOPPED, "NotStopped")                                                                   \
    X(SEQUENCE_TOO_OLD, "SequenceTooOld")                                                          \
    X(ID_REUSED, "IdReused")                                                                       \
    X(TOO_LATE, "TooLate")                                                                         \
    X(GROW_RUNNING, "GrowRunning")                                                                 \
    X(GONE, "Gone")                                                                                \
    X(HEAD_CANNOT_LEAVE, "HeadCannotLeave")                                                        \
    X(UNKNOWN_VPID, "UnknownVpid")                                                                 \
    X(NOT_TRAILING, "NotTrailing")                                                                 \
    X(INTERNAL, "Internal")                                                                        \
    X(SHUTTING_DOWN, "ShuttingDown")                                                               \
    X(NOT_HEAD, "NotHead")                                                                         \
    X(TOO_MANY_STREAMS, "TooManyStreams")                                                          \
    X(TOO_MANY_CAMPAIGNS, "TooManyCampaigns")                                                      \
    X(TOO_LONG, "TooLong")                                                                         \
    X(NOT_WIRED, "NotWired")

#define API_REASON_MEMBER(reason, word) API_REASON_##reason,
enum api_reason { API_REASON_NONE, API_REASON_LIST(API_REASON_MEMBER) API_REASONS };
#undef API_REASON_MEMBER

const char *api_reason_word(enum api_reason r); /* "BadRequest"; of NONE: "" */
/* NONE: no reason of this list has the word. The HTTP status still tells what to do then. */
enum api_reason api_reason_of(const char *word);

#endif
