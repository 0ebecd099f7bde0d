/* SPDX-License-Identifier: BSD-3-Clause */
/* How a tool finds the DVM without directives. A tool's library looks for files with the host's
 * name in theirs. The files that the library writes in a daemon have the node's name. Of daemons
 * that share a host, only one can have these files. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES 2 /* the file of the system's server, and of the session's */

static char *path_of(const struct pmix_srv *p, size_t i)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
        return NULL;
    return i == 0 ? xasprintf("%s/pmix.sys.%s", p->session_dir, host)
                  : xasprintf("%s/pmix.%s.tool", p->session_dir, host);
}

void rendezvous_open(const struct pmix_srv *p)
{
    FREE_AUTO char *own = xasprintf("%s/pmix.%s.tool.%s", p->session_dir, p->host, PMIX_SRV_NSPACE);

    for (size_t i = 0; p->tools && p->vpid == 0 && i < PLACES; i++) {
        FREE_AUTO char *path = path_of(p, i);

        if (!path)
            return;
        unlink(path); /* of an earlier incarnation */
        if (link(own, path) < 0)
            log_warn("pmix: tools will not find %s: %s", path, strerror(errno));
    }
}

void rendezvous_close(const struct pmix_srv *p)
{
    for (size_t i = 0; p->tools && p->vpid == 0 && i < PLACES; i++) {
        FREE_AUTO char *path = path_of(p, i);

        if (path)
            unlink(path);
    }
}
