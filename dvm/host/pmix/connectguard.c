/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the library right about a rank or a tool that is gone before its hello has been answered.
 * Of a rank libpmix (4.2.2, 5.0.7) lets go of the record once more than it has taken it, while the
 * job's list still has it, and leaves the number of a connection in it that another rank will have
 * next: the end of the job then makes the library's thread wait for ever, or closes the other's
 * connection. (Later versions say so where they mend it.) The library gives the connection's place
 * in its table back just then, by a function that it calls by name, and that comes here first. */
#include "dvm/host/pmix/pmix_private.h"

#if (PMIX_VERSION_MAJOR == 4 && PMIX_VERSION_MINOR == 2 && PMIX_VERSION_RELEASE == 2) ||           \
    (PMIX_VERSION_MAJOR == 5 && PMIX_VERSION_MINOR == 0 && PMIX_VERSION_RELEASE == 7)

#include <string.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_pointer_array.h>
#include <src/include/pmix_globals.h>

/* As in src/mca/ptl/base/base.h, which cannot be included from outside. */
typedef void handler_fn(int sd, short args, void *cbdata);
handler_fn pmix_ptl_base_connection_handler;

typedef int set_fn(pmix_pointer_array_t *table, int index, void *value);

typedef pmix_status_t send_fn(int sd, char *data, size_t len);
send_fn pmix_ptl_base_send_blocking;

static atomic_bool active;          /* the library that runs is the one that has been read */
static _Thread_local bool greeting; /* a hello is being answered */

void pmix_ptl_base_connection_handler(int sd, short args, void *cbdata)
{
    greeting = atomic_load(&active);
    NEXT(handler_fn *, "pmix_ptl_base_connection_handler")(sd, args, cbdata);
    greeting = false;
}

/* The connection is closed once, by who has opened it. */
static void give_up(pmix_peer_t *peer)
{
    PMIX_RETAIN(peer->info);
    peer->info->peerid = -1;
    peer->sd = -1;
}

int pmix_pointer_array_set_item(pmix_pointer_array_t *table, int index, void *value)
{
    pmix_object_t *old = greeting ? pmix_pointer_array_get_item(table, index) : NULL;

    if (old && !value && strcmp(old->obj_class->cls_name, "pmix_peer_t") == 0)
        give_up((pmix_peer_t *)old);
    return NEXT(set_fn *, "pmix_pointer_array_set_item")(table, index, value);
}

/* A tool that is gone before the host has admitted it costs the library its namespace twice, and
 * one that is in no list is taken off it. So its end is left to be found where it is read, as that
 * of any tool. What is sent while no hello is answered is for tools. */
pmix_status_t pmix_ptl_base_send_blocking(int sd, char *data, size_t len)
{
    pmix_status_t rc = NEXT(send_fn *, "pmix_ptl_base_send_blocking")(sd, data, len);

    return atomic_load(&active) && !greeting ? PMIX_SUCCESS : rc;
}

void connectguard_start(const struct pmix_srv *p)
{
    atomic_store(&active, p->knows_library);
}

#else

void connectguard_start(const struct pmix_srv *p)
{
}

#endif
