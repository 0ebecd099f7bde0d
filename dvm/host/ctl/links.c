/* SPDX-License-Identifier: BSD-3-Clause */
/* GET /v1/links: of the daemon that is asked. */
#include "dvm/host/ctl/ctl_private.h"

void ctl_get_links(struct ctl *ctl, const struct ctl_request *rq, struct ctl_reply *rp)
{
    struct api_links links = core_links(ctl->core);

    rp->status = 200;
    rp->body = api_links_encode(&links);
    api_links_free(&links);
}
