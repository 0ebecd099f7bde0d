/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps groups of libpmix 4.2.2 right. A group that is named by "all of a job" is one of this
 * server's own clients for that library, and made as soon as those have come: the host, which knows
 * of the others, is not asked. And a limit in time takes the server with it: each member that comes
 * sets the one timer that runs, and at its end it takes the tracker for a member's request. Both
 * functions go through others that they call by name, and those come here first. */
#include "dvm/host/pmix/pmix_private.h"

#if PMIX_VERSION_MAJOR == 4 && PMIX_VERSION_MINOR == 2 && PMIX_VERSION_RELEASE == 2

#include <event2/event.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_list.h>
#include <src/include/pmix_globals.h>

/* As in src/server/pmix_server_ops.h, which cannot be included from outside. */
typedef pmix_status_t group_fn(pmix_server_caddy_t *cd, pmix_buffer_t *buf);
group_fn pmix_server_grpconstruct;
group_fn pmix_server_grpdestruct;

typedef int assign_fn(struct event *ev, struct event_base *base, int fd, short what,
                      event_callback_fn cb, void *arg);
typedef pmix_status_t info_load_fn(pmix_info_t *info, const char *key, const void *data,
                                   pmix_data_type_t type);

static atomic_bool active; /* the library that runs is the one that has been read */
static _Thread_local enum { NO_GROUP, CONSTRUCT, DESTRUCT } doing;
static event_callback_fn library_timeout; /* of the library's thread */

/* --- the host is asked */

/* What the library adds to a request, and nobody reads, becomes what makes it ask the host. */
pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data,
                             pmix_data_type_t type)
{
    info_load_fn *library = NEXT(info_load_fn *, "PMIx_Info_load");
    pmix_status_t rc;

    if (doing != CONSTRUCT || strcmp(key, PMIX_LOCAL_COLLECTIVE_STATUS) != 0)
        return library(info, key, data, type);
    rc = library(info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &(bool){true}, PMIX_BOOL);
    info->flags |= GROUP_GUARD_FLAG;
    return rc;
}

/* --- a group's time is over */

static void release_tracker(pmix_server_trkr_t *trk)
{
    pmix_list_item_t *item = &trk->super;

    /* The list's own item is the one that is no tracker. */
    while (item->super.obj_class == trk->super.super.obj_class)
        item = (pmix_list_item_t *)item->pmix_list_next;
    pmix_list_remove_item((pmix_list_t *)((char *)item - offsetof(pmix_list_t, pmix_list_sentinel)),
                          &trk->super);
    PMIX_RELEASE(trk);
}

/* Those who are here are told, each by the library's own function. What the host has been asked it
 * answers, within the same time. */
static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    pmix_server_trkr_t *trk = arg;
    pmix_server_caddy_t *cd, *next;

    trk->event_active = false;
    if (trk->def_complete && pmix_list_get_size(&trk->local_cbs) == trk->nlocal)
        return;
    PMIX_LIST_FOREACH_SAFE(cd, next, &trk->local_cbs, pmix_server_caddy_t)
    {
        PMIX_RETAIN(trk); /* goes with the request */
        cd->trk = trk;
        library_timeout(fd, what, cd);
    }
    release_tracker(trk);
}

int pmix_event_assign(struct event *ev, struct event_base *base, int fd, short what,
                      event_callback_fn cb, void *arg)
{
    assign_fn *library = NEXT(assign_fn *, "pmix_event_assign");
    pmix_server_trkr_t *trk = arg;

    if (doing == NO_GROUP || ev != &trk->ev)
        return library(ev, base, fd, what, cb, arg);
    if (trk->event_active) /* each member that comes sets the timer anew, which may run */
        event_del(ev);
    library_timeout = cb;
    return library(ev, base, fd, what, on_timeout, arg);
}

pmix_status_t pmix_server_grpconstruct(pmix_server_caddy_t *cd, pmix_buffer_t *buf)
{
    pmix_status_t rc;

    doing = atomic_load(&active) ? CONSTRUCT : NO_GROUP;
    rc = NEXT(group_fn *, "pmix_server_grpconstruct")(cd, buf);
    doing = NO_GROUP;
    return rc;
}

pmix_status_t pmix_server_grpdestruct(pmix_server_caddy_t *cd, pmix_buffer_t *buf)
{
    pmix_status_t rc;

    doing = atomic_load(&active) ? DESTRUCT : NO_GROUP;
    rc = NEXT(group_fn *, "pmix_server_grpdestruct")(cd, buf);
    doing = NO_GROUP;
    return rc;
}

void groupguard_start(const struct pmix_srv *p)
{
    atomic_store(&active, p->knows_library);
}

#else

void groupguard_start(const struct pmix_srv *p)
{
}

#endif
