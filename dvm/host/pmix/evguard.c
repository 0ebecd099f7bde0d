/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the PMIx library's event base right about its descriptors.
 *
 * libpmix (4.2.2) closes a client's socket in PMIx_server_deregister_client() and leaves its event
 * in the event base, if the client's end has not been read from the socket by then. The next socket
 * with the same number is then thought to be watched already, the kernel never hears of it, and the
 * client on it waits in PMIx_Init() for ever. The library's calls of event_add(), event_del(),
 * event_free() and close() come here first: an event goes before its descriptor does. Calls of
 * other libraries and of the threads that start and end the server pass through.
 *
 * And lets the library's listening thread sleep: it looks up every two seconds whether it is to
 * end, of which a pipe that it watches tells it anyway. */
#include "dvm/host/pmix/pmix_private.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>

#define FDS_MAX 65536 /* what is above is not guarded; a daemon's limit is lower */

static atomic_bool active;
static _Thread_local bool outside; /* this thread is none of the library's */
/* Pending persistent events by descriptor: for reading, for writing. One thread uses a descriptor.
 */
static _Atomic(struct event *) watched[FDS_MAX][2];

typedef int add_fn(struct event *ev, const struct timeval *tv);
typedef int del_fn(struct event *ev);
typedef void free_fn(struct event *ev);

static int next_del(struct event *ev)
{
    return NEXT(del_fn *, "event_del")(ev);
}

static bool is_library(void)
{
    return atomic_load(&active) && !outside;
}

static _Atomic(struct event *) *slot_of(const struct event *ev)
{
    evutil_socket_t fd = event_get_fd(ev);
    short what = event_get_events(ev);

    if (fd < 0 || fd >= FDS_MAX || !(what & EV_PERSIST) || !(what & (EV_READ | EV_WRITE)))
        return NULL;
    return &watched[fd][what & EV_WRITE ? 1 : 0];
}

int event_add(struct event *ev, const struct timeval *timeout)
{
    _Atomic(struct event *) *slot = is_library() ? slot_of(ev) : NULL;

    if (slot)
        atomic_store(slot, ev);
    return NEXT(add_fn *, "event_add")(ev, timeout);
}

static void forget(const struct event *ev)
{
    _Atomic(struct event *) *slot = is_library() ? slot_of(ev) : NULL;
    struct event *mine = (struct event *)ev;

    if (slot)
        atomic_compare_exchange_strong(slot, &mine, NULL);
}

int event_del(struct event *ev)
{
    forget(ev);
    return next_del(ev);
}

void event_free(struct event *ev)
{
    forget(ev);
    NEXT(free_fn *, "event_free")(ev);
}

int close(int fd)
{
    if (fd >= 0 && fd < FDS_MAX && is_library()) {
        for (int i = 0; i < 2; i++) {
            struct event *ev = atomic_exchange(&watched[fd][i], NULL);

            if (ev)
                next_del(ev);
        }
    }
    return (int)syscall(SYS_close, fd);
}

int select(int nfds, fd_set *restrict readfds, fd_set *restrict writefds,
           fd_set *restrict exceptfds, struct timeval *restrict timeout)
{
    bool listens =
        is_library() && readfds && !writefds && !exceptfds && timeout && timeout->tv_sec >= 2;
    struct timespec ts = {0};

    if (timeout && !listens)
        ts = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    return pselect(nfds, readfds, writefds, exceptfds, timeout && !listens ? &ts : NULL, NULL);
}

void evguard_start(void)
{
    outside = true;
    atomic_store(&active, true);
}
