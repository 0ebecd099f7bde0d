/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for a daemon that libpmix has not, built into it: they use its private headers. */
#include "src/include/pmix_config.h"

#include "pmix_extend.h"

#include "src/class/pmix_pointer_array.h"
#include "src/common/pmix_iof.h"
#include "src/include/pmix_globals.h"
#include "src/server/pmix_server_ops.h"

#include <event.h>

struct call {
    void (*fn)(void *arg);
    void *arg;
};

static void on_call(int fd, short events, void *arg)
{
    struct call call = *(struct call *)arg;

    (void)fd;
    (void)events;
    free(arg);
    call.fn(call.arg);
}

pmix_status_t pmix_extend_run(void (*fn)(void *arg), void *arg, unsigned delay_ms)
{
    const struct timeval delay = {delay_ms / 1000, delay_ms % 1000 * 1000};
    struct call *call;

    if (!pmix_globals.evbase)
        return PMIX_ERR_INIT;
    call = malloc(sizeof(*call));
    if (!call)
        return PMIX_ERR_NOMEM;
    *call = (struct call){fn, arg};
    if (event_base_once(pmix_globals.evbase, -1, EV_TIMEOUT, on_call, call,
                        delay_ms ? &delay : NULL) < 0) {
        free(call);
        return PMIX_ERR_NOMEM;
    }
    return PMIX_SUCCESS;
}

static void (*refused_told)(const pmix_proc_t *rank, const char *version);

void pmix_extend_on_refused(void (*told)(const pmix_proc_t *rank, const char *version))
{
    refused_told = told;
}

void pmix_extend_refused(const pmix_proc_t *rank, const char *version)
{
    if (refused_told)
        refused_told(rank, version);
}

static pmix_iof_req_t *request_at(size_t at)
{
    pmix_iof_req_t *r = pmix_pointer_array_get_item(&pmix_globals.iof_requests, (int)at);

    return r && r->requestor && r->requestor->info ? r : NULL;
}

static size_t unread_by(pmix_peer_t *peer)
{
    size_t n = peer->send_msg && peer->send_msg->data ? peer->send_msg->data->bytes_used : 0;
    pmix_ptl_send_t *m;

    PMIX_LIST_FOREACH(m, &peer->send_queue, pmix_ptl_send_t)
    {
        n += m->data ? m->data->bytes_used : 0;
    }
    return n;
}

size_t pmix_extend_pulls(void)
{
    return (size_t)pmix_globals.iof_requests.size;
}

bool pmix_extend_pull_at(size_t at, struct pmix_extend_pull *out)
{
    pmix_iof_req_t *r = request_at(at);

    if (!r)
        return false;
    *out = (struct pmix_extend_pull){
        .id = r->remote_id,
        .channels = r->channels,
        .procs = r->procs,
        .nprocs = r->nprocs,
        .connected = r->requestor->sd >= 0 && !r->requestor->finalized,
        .unread_bytes = unread_by(r->requestor),
    };
    PMIX_LOAD_PROCID(&out->tool, r->requestor->info->pname.nspace, r->requestor->info->pname.rank);
    return true;
}

pmix_status_t pmix_extend_pull_deliver(size_t at, pmix_iof_channel_t channel,
                                       const pmix_proc_t *source, const pmix_byte_object_t *bytes)
{
    pmix_iof_req_t *r = request_at(at);

    return r ? pmix_iof_process_iof(channel, source, bytes, NULL, 0, r) : PMIX_ERR_NOT_FOUND;
}

bool pmix_extend_is_connected(const pmix_proc_t *rank)
{
    for (int i = 0; i < pmix_server_globals.clients.size; i++) {
        pmix_peer_t *peer = pmix_pointer_array_get_item(&pmix_server_globals.clients, i);

        if (peer && peer->info && peer->sd >= 0 && peer->info->pname.rank == rank->rank &&
            PMIX_CHECK_NSPACE(peer->info->pname.nspace, rank->nspace))
            return true;
    }
    return false;
}
