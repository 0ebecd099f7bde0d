/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the control API and its event stream over a daemon's local socket. */
#ifndef DVM_CLI_CALL_H
#define DVM_CLI_CALL_H

#include "api/dvm.h"
#include "api/event.h"
#include "api/links.h"
#include "base/err/err.h"
#include "dvm/tools/cli/conn.h"

#include <jansson.h>

#define CLI_CALL_TIMEOUT_MS 30000

/* Sends one request and returns the body of the answer as a new reference. NULL: no answer, or a
 * refusal; err->code is then the HTTP status and the message has its reason and text. Takes the
 * reference `body` (may be NULL). `status` may be NULL. */
json_t *cli_call(struct cli_conn *c, const char *method, const char *path, json_t *body,
                 int *status, struct err *err);
/* The same within another limit than CLI_CALL_TIMEOUT_MS. */
json_t *cli_call_limit(struct cli_conn *c, const char *method, const char *path, json_t *body,
                       struct cli_limit *l, struct err *err);
/* GET /v1/dvm, decoded; api_dvm_free() it. */
int cli_call_dvm(struct cli_conn *c, struct api_dvm *out, struct err *err)
    __attribute__((warn_unused_result));
int cli_call_dvm_limit(struct cli_conn *c, struct cli_limit *l, struct api_dvm *out,
                       struct err *err) __attribute__((warn_unused_result));
/* GET /v1/links of the daemon itself, decoded; api_links_free() it. */
int cli_call_links(struct cli_conn *c, struct api_links *out, struct err *err)
    __attribute__((warn_unused_result));

/* Opens the event stream; the connection then serves nothing else. A stream that is opened
 * before a GET /v1/dvm on another connection misses no event that the answer does not include. */
int cli_events_begin(struct cli_conn *c, struct err *err) __attribute__((warn_unused_result));
int cli_events_begin_limit(struct cli_conn *c, struct cli_limit *l, struct err *err)
    __attribute__((warn_unused_result));
/* Reads the next event as one line. 1: an event; 0: the daemon closed; -1: a fault, or the time has
 * passed (ETIMEDOUT). */
int cli_events_line(struct cli_conn *c, int timeout_ms, char **line, struct err *err)
    __attribute__((warn_unused_result));
int cli_events_next(struct cli_conn *c, int timeout_ms, struct api_event *out, struct err *err)
    __attribute__((warn_unused_result));
/* The same within a limit, and 2 as soon as other_fd is readable. */
int cli_events_next_or(struct cli_conn *c, int other_fd, struct cli_limit *l, struct api_event *out,
                       struct err *err) __attribute__((warn_unused_result));

#endif
