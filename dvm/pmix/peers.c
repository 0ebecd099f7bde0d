/* SPDX-License-Identifier: BSD-3-Clause */
/* Releases what libpmix 4.2.2 keeps of a client that is gone: its object, and through it that of
 * its namespace with all job info, 5 kB per rank, until the server ends. Version 5.0.7 does it
 * itself. */
#include "dvm/pmix/pmix_private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_pointer_array.h>
#include <src/include/pmix_globals.h>

/* How the library's pmix_server_globals begins (src/server/pmix_server_ops.h, which cannot be
 * included from outside). */
struct server_globals {
    pmix_list_t nspaces;
    pmix_pointer_array_t clients; /* pmix_peer_t */
};

static pmix_pointer_array_t *clients(void)
{
    struct server_globals *g = dlsym(RTLD_DEFAULT, "pmix_server_globals");
    const pmix_object_t *array = g ? (const pmix_object_t *)&g->clients : NULL;

    return array && array->obj_class == PMIX_CLASS(pmix_pointer_array_t) ? &g->clients : NULL;
}

/* On the library's thread, after it has taken the client off its lists. What still works for the
 * client holds a reference of its own. */
static void release(void *arg)
{
    pmix_proc_t *proc = arg;
    pmix_pointer_array_t *all = clients();

    for (int i = 0; all && i < all->size; i++) {
        pmix_peer_t *peer = pmix_pointer_array_get_item(all, i);

        if (!peer || !peer->info || peer->info->pname.rank != proc->rank ||
            strcmp(peer->info->pname.nspace, proc->nspace) != 0)
            continue;
        pmix_pointer_array_set_item(all, i, NULL);
        PMIX_RELEASE(peer);
    }
    free(proc);
}

void peers_release(struct pmix_srv *p, const pmix_proc_t *proc)
{
    pmix_proc_t *copy;

    if (PMIX_VERSION_MAJOR >= 5 || !p->knows_library)
        return;
    copy = xmalloc(sizeof(*copy));
    *copy = *proc;
    handback(p, release, free, copy);
}
