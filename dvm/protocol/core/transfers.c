/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of transfers with neighbours, handed to the routed messages (dvm/protocol/rml/hop.h). */
#include "dvm/protocol/core/core_private.h"

static void take_transfer(struct core *c, struct link *k, struct msg *m)
{
    rml_transfer(c->rml, k, m);
}

const struct link_handler transfer_handlers[] = {
    {MSG_MATCH, LINK_WHEN_GREETED, take_transfer},
    {MSG_RNDV, LINK_WHEN_GREETED, take_transfer},
    {MSG_RGET, LINK_WHEN_GREETED, take_transfer},
    {MSG_FRAG, LINK_WHEN_GREETED, take_transfer},
    {MSG_ACK, LINK_WHEN_GREETED, take_transfer},
    {MSG_PUT, LINK_WHEN_GREETED, take_transfer},
    {MSG_GET, LINK_WHEN_GREETED, take_transfer},
    {MSG_TRANSFER_FIN, LINK_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTNOTIFY, LINK_WHEN_GREETED, take_transfer},
    {MSG_RECVERRNOTIFY, LINK_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTACK, LINK_WHEN_GREETED, take_transfer},
    {MSG_RNDVRESTARTNACK, LINK_WHEN_GREETED, take_transfer},
    {MSG_ANEW, LINK_WHEN_GREETED, take_transfer},
    {MSG_TAKEN, LINK_WHEN_GREETED, take_transfer},
    {0},
};
