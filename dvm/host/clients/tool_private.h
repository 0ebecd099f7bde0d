/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output of a job that a tool has spawned by PMIx. */
#ifndef DVM_CLIENTS_TOOL_PRIVATE_H
#define DVM_CLIENTS_TOOL_PRIVATE_H

#include "dvm/host/clients/client_private.h"

void tool_create(struct client *k, const struct job_spec *spec);
/* `answer`: a pending input request is answered. A client without a tool is allowed. */
void tool_free(struct clients *c, struct client *k, bool answer);
/* An encoded message of dvm/host/iof. It is kept until the tool knows the job's name. */
void tool_send(struct clients *c, struct client *k, const void *data, size_t len);
void tool_named(struct clients *c,
                struct client *k); /* the tool knows the name; again: no effect */
size_t tool_pending(const struct tool *t);
void tool_pause(struct clients *c, struct client *k, bool paused); /* its input */

#endif
