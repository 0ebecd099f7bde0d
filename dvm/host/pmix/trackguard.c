/* SPDX-License-Identifier: BSD-3-Clause */
/* Has libpmix 4.2.2 and 5.0.7 end a collective once. Those end one by themselves when a rank of it
 * is lost or its time is over, and do so again for the next rank that is lost before the first end
 * has been dealt with: the tracker is then used, and released, after it has been freed. And one
 * that waits for the host is ended by its time beside the host, which answers for a freed tracker.
 * Both ends go by a function that the tracker is given with the request, and ours comes first. */
#include "dvm/host/pmix/pmix_private.h"

#define IS_4_2_2 (PMIX_VERSION_MAJOR == 4 && PMIX_VERSION_MINOR == 2 && PMIX_VERSION_RELEASE == 2)
#define IS_5_0_7 (PMIX_VERSION_MAJOR == 5 && PMIX_VERSION_MINOR == 0 && PMIX_VERSION_RELEASE == 7)

#if IS_4_2_2 || IS_5_0_7

#include <src/include/pmix_config.h>

#include <src/include/pmix_globals.h>

/* As in src/server/pmix_server_ops.h, which cannot be included from outside. */
typedef pmix_status_t connect_fn(pmix_server_caddy_t *cd, pmix_buffer_t *buf, pmix_op_cbfunc_t cb);
connect_fn pmix_server_connect;
connect_fn pmix_server_disconnect;

static atomic_bool active; /* the library that runs is the one that has been read */
/* The library's own ends; each is one function for all trackers. Of its thread. */
static pmix_modex_cbfunc_t library_fenced;
static pmix_op_cbfunc_t library_connected, library_disconnected;

/* Whether the library may end it: the host has not been asked, and nobody has ended it. What the
 * host has been asked is left alone when further ranks are lost, so that this is what it is then
 * taken for. */
static bool is_first_end(pmix_server_trkr_t *trk)
{
    bool first = !trk->host_called;

    trk->host_called = true;
    return first;
}

static void fenced(pmix_status_t status, const char *data, size_t len, void *trk,
                   pmix_release_cbfunc_t release, void *release_arg)
{
    if (is_first_end(trk))
        library_fenced(status, data, len, trk, release, release_arg);
}

static void connected(pmix_status_t status, void *trk)
{
    if (is_first_end(trk))
        library_connected(status, trk);
}

static void disconnected(pmix_status_t status, void *trk)
{
    if (is_first_end(trk))
        library_disconnected(status, trk);
}

pmix_modex_cbfunc_t trackguard_fence(pmix_modex_cbfunc_t cb)
{
    if (!atomic_load(&active))
        return cb;
    library_fenced = cb;
    return fenced;
}

#if IS_5_0_7 /* with 4.2.2 that function is in losses.c */
typedef pmix_status_t fence_fn(pmix_server_caddy_t *cd, pmix_buffer_t *buf, pmix_modex_cbfunc_t cb,
                               pmix_op_cbfunc_t op_cb);
fence_fn pmix_server_fence;

pmix_status_t pmix_server_fence(pmix_server_caddy_t *cd, pmix_buffer_t *buf, pmix_modex_cbfunc_t cb,
                                pmix_op_cbfunc_t op_cb)
{
    return NEXT(fence_fn *, "pmix_server_fence")(cd, buf, trackguard_fence(cb), op_cb);
}
#endif

pmix_status_t pmix_server_connect(pmix_server_caddy_t *cd, pmix_buffer_t *buf, pmix_op_cbfunc_t cb)
{
    connect_fn *library = NEXT(connect_fn *, "pmix_server_connect");

    if (!atomic_load(&active))
        return library(cd, buf, cb);
    library_connected = cb;
    return library(cd, buf, connected);
}

pmix_status_t pmix_server_disconnect(pmix_server_caddy_t *cd, pmix_buffer_t *buf,
                                     pmix_op_cbfunc_t cb)
{
    connect_fn *library = NEXT(connect_fn *, "pmix_server_disconnect");

    if (!atomic_load(&active))
        return library(cd, buf, cb);
    library_disconnected = cb;
    return library(cd, buf, disconnected);
}

pmix_modex_cbfunc_t trackguard_answer_fence(pmix_modex_cbfunc_t cb)
{
    return cb == fenced ? library_fenced : cb;
}

pmix_op_cbfunc_t trackguard_answer(pmix_op_cbfunc_t cb)
{
    if (cb == connected)
        return library_connected;
    return cb == disconnected ? library_disconnected : cb;
}

void trackguard_start(const struct pmix_srv *p)
{
    atomic_store(&active, p->knows_library);
}

#else

pmix_modex_cbfunc_t trackguard_answer_fence(pmix_modex_cbfunc_t cb)
{
    return cb;
}

pmix_op_cbfunc_t trackguard_answer(pmix_op_cbfunc_t cb)
{
    return cb;
}

void trackguard_start(const struct pmix_srv *p)
{
}

#endif
