/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon's links to its neighbours in the tree: the answer to GET /v1/links. */
#ifndef API_LINKS_H
#define API_LINKS_H

#include "base/err/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* {"vpid": 1,
 *  "peers": [{"vpid": 0, "role": "parent", "up": 2, "mappedOut": 0, "roundTripMs": 1,
 *             "queuedBytes": 0, "lost": 3, "sentAgain": 12,
 *             "addresses": [{"own": "10.1.0.2", "other": "10.1.0.1", "up": 1, "mappedOut": 0,
 *                            "roundTripMs": 1}]}]}
 * The first vpid is that of the daemon that answers. `lost` and `sentAgain` count since the peer
 * became its neighbour. `addresses` has each pair of addresses that links join at present; a daemon
 * that does not send it is of release 0.1.0. */
enum api_link_role { API_LINK_PARENT, API_LINK_CHILD };
const char *api_link_role_word(enum api_link_role role);

#define API_LINK_ADDRESS_MAX 46 /* text of an IPv4 or IPv6 address, with its end */
#define API_LINK_PATHS_MAX 8    /* a neighbour has no more links */

struct api_link_path { /* the links between two addresses */
    char own[API_LINK_ADDRESS_MAX], other[API_LINK_ADDRESS_MAX];
    uint32_t up, mapped_out;
    int64_t round_trip_ms; /* as below, of these links */
};

struct api_link_peer {
    uint32_t vpid;
    enum api_link_role role;
    uint32_t up, mapped_out; /* links */
    int64_t
        round_trip_ms; /* of the last probe on the fastest link; -1: none is up and was probed */
    uint64_t queued_bytes; /* of frames that wait or are not acknowledged */
    uint64_t lost;         /* links that broke or fell silent */
    uint64_t sent_again;   /* frames, after the failure of a link */
    size_t npaths;
    struct api_link_path paths[API_LINK_PATHS_MAX];
};

struct api_links {
    uint32_t vpid;
    size_t npeers;
    struct api_link_peer *peers;
};

int api_links_decode(const json_t *o, struct api_links *out, struct err *err)
    __attribute__((warn_unused_result));
json_t *api_links_encode(const struct api_links *l);
void api_links_free(struct api_links *l);

#endif
