/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of transfers with neighbours, handed to the routed messages (dvm/protocol/rml/hop.h). */
#include "dvm/protocol/core/core_private.h"

static void take_transfer(struct core *c, struct neighbour *k, struct msg *m)
{
    struct buf b;

    rml_transfer(c->rml, k, m);
    while (rml_transferred(c->rml, &b)) {
        struct cur cur = cur_of(b.data, b.len);
        struct frame f;

        if (frame_decode(&cur, &f, NULL) == 0)
            conn_take_routed(c, k, &f, b.data, b.len);
        buf_free(&b);
    }
}

const struct neighbour_handler transfer_handlers[] = {
    {MSG_MATCH, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDV, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RGET, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_FRAG, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_ACK, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_PUT, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_GET, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_TRANSFER_FIN, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTNOTIFY, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RECVERRNOTIFY, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTACK, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTNACK, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_ANEW, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {MSG_TAKEN, NEIGHBOUR_WHEN_GREETED, take_transfer},
    {0},
};
