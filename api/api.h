/* SPDX-License-Identifier: BSD-3-Clause */
/* What operator and DVM say to each other over the head's control API: shared limits and words. */
#ifndef API_API_H
#define API_API_H

/* Longest texts on the wire, without the NUL; longer ones are refused by the decoders. */
#define API_ID_MAX 128
#define API_NAME_MAX 253
#define API_TEXT_MAX 1024
#define API_TARGETS_MAX 65536      /* vpids in one campaign */
#define API_DEADLINE_MAX 315360000 /* seconds, ten years */
#define API_BODY_MAX (1u << 20)
#define API_EVENTS_KEPT 4096 /* the head forgets older events: 410 */

/* Ports of a daemon. `control` is HTTPS (head only), `join` carries the daemons' own links (mutual
 * TLS, every daemon), `plain` serves /healthz, /readyz, /metrics. */
#define API_PORT_CONTROL 7443
#define API_PORT_JOIN 7400
#define API_PORT_PLAIN 7480

#endif
