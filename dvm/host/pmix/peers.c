/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets the library see that a client is gone, and releases what libpmix 4.2.2 keeps of it: its
 * object, and through it that of its namespace with all job info, 5 kB per rank, until the server
 * ends. Version 5.0.7 does it itself. */
#include "dvm/host/pmix/pmix_private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

static bool is_of(const pmix_peer_t *peer, const pmix_proc_t *proc)
{
    return peer && peer->info && peer->info->pname.rank == proc->rank &&
           strcmp(peer->info->pname.nspace, proc->nspace) == 0;
}

/* As in src/mca/ptl/base/base.h, which cannot be included from outside. */
typedef void handler_fn(int sd, short flags, void *cbdata);

/* On the library's thread, which makes no use of what has not been read yet either way. */
static void part(void *arg)
{
    pmix_proc_t *proc = arg;
    pmix_pointer_array_t *all = clients();
    handler_fn *on_readable = (handler_fn *)dlsym(RTLD_DEFAULT, "pmix_ptl_base_recv_handler");
    char unread[4096];

    for (int i = 0; all && on_readable && i < all->size; i++) {
        pmix_peer_t *peer = pmix_pointer_array_get_item(all, i);

        if (!is_of(peer, proc) || peer->sd < 0 || peer->finalized || !peer->recv_ev_active)
            continue;
        shutdown(peer->sd, SHUT_RDWR);
        while (recv(peer->sd, unread, sizeof(unread), MSG_DONTWAIT) > 0)
            continue;
        on_readable(peer->sd, 0, peer);
    }
    free(proc);
}

/* Who is deregistered first is not taken off the fences that wait for it, nor off those to come. */
void peers_part(struct pmix_srv *p, const pmix_proc_t *proc)
{
    pmix_proc_t *copy;

    if (!p->knows_library)
        return;
    copy = xmalloc(sizeof(*copy));
    *copy = *proc;
    handback(p, part, free, copy);
}

/* On the library's thread, after it has taken the client off its lists. What still works for the
 * client holds a reference of its own. */
static void release(void *arg)
{
    pmix_proc_t *proc = arg;
    pmix_pointer_array_t *all = clients();

    for (int i = 0; all && i < all->size; i++) {
        pmix_peer_t *peer = pmix_pointer_array_get_item(all, i);

        if (!is_of(peer, proc))
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
