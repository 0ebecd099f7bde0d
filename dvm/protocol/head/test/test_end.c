/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a campaign that an application has asked for: record, events, answer, in this order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/head.h"
#include "dvm/protocol/neighbour/neighbour.h"

#define INC 5u
#define CONN 7u

struct world { /* a head with one member, that a tool has asked at */
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct head *head;
};

static void add_member(struct world *w, uint32_t vpid)
{
    struct msg_member facts = {
        .vpid = vpid, .epoch = {INC, vpid + 1}, .host = "h", .address = "10.0.0.1", .slots = 1};

    assert_int_equal(members_add(&w->members, &facts, 1), 1);
}

static void drop_actions(struct world *w)
{
    struct out_act act;

    while (out_take(&w->out, &act))
        out_act_free(&act);
}

static void open_world(struct world *w)
{
    struct head_opts o = {
        .cluster = "c", .incarnation = INC, .size = 1, .ack_ms = 10000, .silent_ms = 30000};
    struct neighbour *k;

    *w = (struct world){.out.now_ms = 1000};
    members_init(&w->members, VPID_HEAD, 2);
    add_member(w, VPID_HEAD);
    add_member(w, 1);
    w->neighbours = neighbours_create(&w->out);
    k = neighbours_accept(w->neighbours, CONN);
    k->vpid = 1;
    k->epoch = (struct epoch){INC, 2};
    neighbours_greeted(w->neighbours, k, 1);
    w->rml = rml_create(&w->out, &w->members, w->neighbours, 0);
    rml_set_epoch(w->rml, (struct epoch){INC, 1});
    w->head = head_create(&o, &w->out, &w->members, w->rml, NULL);
}

static void close_world(struct world *w)
{
    head_destroy(w->head);
    rml_destroy(w->rml);
    neighbours_destroy(w->neighbours);
    members_free(&w->members);
    out_free(&w->out);
}

/* A tool at vpid 1 asks for one more member, which does not come. */
static void ask_for_one_more(struct world *w)
{
    struct msg m = {.type = MSG_RESIZE_ASK,
                    .resize_ask = {.op = 1,
                                   .nspace = "tool",
                                   .kind = RESIZE_EXTEND,
                                   .deadline_s = -1,
                                   .req_id = "mine",
                                   .campaign = "",
                                   .count = 1,
                                   .vpids = (uint32_t[]){0}}};

    head_msg(w->head, 1, &m);
    head_run(w->head);
    drop_actions(w);
}

static void cancel_campaign(struct world *w)
{
    struct api_campaign record;
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    assert_int_equal(head_campaign_cancel(w->head, "alloc-1", &record, &reason, &err), 0);
    assert_int_equal(record.phase, API_PHASE_CANCELLED);
    api_campaign_free(&record);
}

static enum msg_type type_of(const struct out_act *act)
{
    struct cur c = cur_of(act->send.frame.data, act->send.frame.len);
    struct frame f;

    assert_int_equal(act->send.conn, CONN);
    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    return f.type;
}

/* The events and the message of an end, in the order of their actions. */
static void take_end(struct world *w, enum api_event_type events[2], size_t *nevents,
                     size_t *nanswers)
{
    struct out_act act;

    *nevents = *nanswers = 0;
    while (out_take(&w->out, &act)) {
        if (act.kind == OUT_EVENT) {
            const struct api_event *e = head_event(w->head, act.event.number);

            assert_int_equal(*nanswers, 0); /* events come before the answer */
            assert_true(*nevents < 2);
            assert_int_equal(e->campaign.phase, API_PHASE_CANCELLED); /* the record comes first */
            events[(*nevents)++] = e->type;
        } else if (act.kind == OUT_SEND) {
            assert_int_equal(type_of(&act), MSG_RESIZE_ENDED);
            (*nanswers)++;
        }
        out_act_free(&act);
    }
}

static void the_requester_is_answered_after_the_record_and_the_events(void **state)
{
    struct world w;
    enum api_event_type events[2];
    size_t nevents, nanswers;
    const struct api_event *last;

    open_world(&w);
    ask_for_one_more(&w);
    cancel_campaign(&w);
    take_end(&w, events, &nevents, &nanswers);
    assert_int_equal(nevents, 2);
    assert_int_equal(events[0], API_EVENT_NODES_OFFERED);
    assert_int_equal(events[1], API_EVENT_CAMPAIGN_CANCELLED);
    assert_int_equal(nanswers, 1);
    last = head_event(w.head, head_event_next(w.head) - 1);
    assert_int_equal(last->campaign.requester.told, API_TOLD_EVENT);
    cancel_campaign(&w); /* again: the record, and nothing else */
    take_end(&w, events, &nevents, &nanswers);
    assert_int_equal(nevents + nanswers, 0);
    close_world(&w);
}

static void a_requester_that_has_ended_is_recorded_so_and_gets_no_answer(void **state)
{
    struct world w;
    struct msg_target gone = {1, {INC, 2}};
    enum api_event_type events[2];
    size_t nevents, nanswers;
    const struct api_event *last;

    open_world(&w);
    ask_for_one_more(&w);
    assert_int_equal(members_remove(&w.members, &gone, 1, MEMBER_EV_LOSE), 1);
    cancel_campaign(&w);
    take_end(&w, events, &nevents, &nanswers);
    assert_int_equal(nevents, 2);
    assert_int_equal(nanswers, 0);
    last = head_event(w.head, head_event_next(w.head) - 1);
    assert_int_equal(last->campaign.requester.told, API_TOLD_GONE);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_requester_is_answered_after_the_record_and_the_events),
        cmocka_unit_test(a_requester_that_has_ended_is_recorded_so_and_gets_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
