/* SPDX-License-Identifier: BSD-3-Clause */
#include "dvm/protocol/core/test/requests.h"

#include "dvm/protocol/core/test/dvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void requests_copy(char *to, const char *from)
{
    strncpy(to, from, 63);
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct requests *w = arg;

    if (act->kind == OUT_RESIZE_ANSWER) {
        const struct out_resize_answer *a = &act->resize_answer;
        struct heard *h = &w->answers[a->req];

        w->answered[a->req]++;
        *h = (struct heard){.vpid = vpid, .status = a->status, .phase = a->phase};
        requests_copy(h->id, a->campaign);
    } else if (act->kind == OUT_RESIZE_ENDED) {
        const struct msg_resize_ended *end = &act->resize_ended.end;
        struct heard *h = &w->ends[w->nends++];

        *h = (struct heard){.vpid = vpid, .status = end->status, .rank = end->rank};
        requests_copy(h->nspace, end->nspace);
        requests_copy(h->id, end->campaign);
        requests_copy(h->own, end->req_id);
        requests_copy(h->cause, end->cause);
    }
}

struct requests *requests_boot_with(uint32_t nodes, uint32_t size, bool disk)
{
    struct requests *w = xcalloc(1, sizeof(*w));
    const struct sim_hooks h = {.arg = w, .action = on_action};

    w->sim = dvm_boot(&(struct dvm_shape){.members = size,
                                          .started = size,
                                          .more = nodes - size - 1,
                                          .slots = 2,
                                          .delay_ms = 5,
                                          .disk = disk,
                                          .hooks = &h});
    sim_for(w->sim, 2000);
    return w;
}

/* The head and members 1..size run; at most `nodes` daemons exist. */
struct requests *requests_boot(uint32_t nodes, uint32_t size)
{
    return requests_boot_with(nodes, size, false);
}

void requests_end(struct requests *w)
{
    for (uint64_t i = 1; i <= w->req; i++)
        assert_int_equal(w->answered[i], 1);
    sim_destroy(w->sim);
    free(w);
}

/* By a tool at that daemon, unless the request names another process. */
uint64_t requests_send(struct requests *w, uint32_t vpid, struct resize_request a)
{
    struct core *c = sim_core(w->sim, vpid);

    a.nspace = a.nspace ? a.nspace : "tool";
    a.req_id = a.req_id ? a.req_id : "";
    a.id = a.id ? a.id : "";
    sim_clock(w->sim, vpid);
    core_resize(c, ++w->req, &a);
    sim_drain(w->sim, vpid);
    return w->req;
}

const struct heard *requests_answer(struct requests *w, uint64_t req)
{
    sim_for(w->sim, 200);
    assert_int_equal(w->answered[req], 1);
    return &w->answers[req];
}

struct api_requester requests_asker(struct requests *w, const char *id, enum api_phase *phase)
{
    struct api_campaign c;
    enum api_reason reason;
    struct api_requester r;

    assert_int_equal(core_campaign_get(sim_core(w->sim, 0), id, &c, &reason, NULL), 0);
    r = c.requester;
    *phase = c.phase;
    r.job = r.id = NULL;
    api_campaign_free(&c);
    return r;
}

void requests_assert_end(struct requests *w, const char *id, enum api_phase phase,
                         enum api_told told)
{
    enum api_phase is;
    struct api_requester r = requests_asker(w, id, &is);

    assert_int_equal(is, phase);
    assert_int_equal(r.told, told);
}

struct resize_request requests_extend(uint32_t count, int64_t deadline_s)
{
    return (struct resize_request){.kind = RESIZE_EXTEND, .count = count, .deadline_s = deadline_s};
}

struct resize_request requests_release(uint32_t count)
{
    return (struct resize_request){.kind = RESIZE_RELEASE, .count = count, .deadline_s = -1};
}

void requests_put_size(struct requests *w, struct api_size in)
{
    enum api_reason reason;
    struct api_size out;

    assert_int_equal(core_size_put(sim_core(w->sim, 0), &in, &out, &reason, NULL), 0);
    assert_true(api_size_limits_equal(&in.limits, &out.limits));
    sim_drain(w->sim, 0);
}
