/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits and port numbers of the control API, which the operator and the DVM share. */
#ifndef API_API_H
#define API_API_H

#include "api/vpid.h"

/* Longest texts in a message, without the NUL. The decoders refuse longer ones. */
#define API_ID_MAX 128
#define API_NAME_MAX 253
#define API_TEXT_MAX 1024
#define API_TARGETS_MAX VPID_MAX   /* vpids in one campaign */
#define API_DEADLINE_MAX 315360000 /* seconds, ten years */
#define API_BODY_MAX (1u << 20)
#define API_EVENTS_KEPT 4096 /* events that the head keeps; an older one is answered 410 */

/* Ports of a daemon. `control` is HTTPS (head only), `join` carries the daemons' own links (mutual
 * TLS, every daemon), `plain` serves /healthz, /readyz, /metrics. */
#define API_PORT_CONTROL 7443
#define API_PORT_JOIN 7400
#define API_PORT_PLAIN 7480

#endif
