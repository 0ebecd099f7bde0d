/* SPDX-License-Identifier: BSD-3-Clause */
/* A journal with one record of every type. */
#include "dvm/protocol/head/journal/test/samples.h"

#include "dvm/protocol/member/member.h"

static const uint8_t snapshot[] = {1, 2, 3};

static struct msg_member head = {.vpid = VPID_HEAD,
                                 .epoch = {SAMPLE_INC, 1},
                                 .host = "x-head-0",
                                 .address = "10.0.0.1",
                                 .port = 7400,
                                 .slots = 4};
static struct msg_member joiner = {.vpid = 3,
                                   .epoch = {SAMPLE_INC, 2},
                                   .host = "x-3",
                                   .address = "10.0.0.3",
                                   .port = 7400,
                                   .slots = 8};
static struct msg_target target = {3, {SAMPLE_INC, 2}};

static struct api_event event = {.incarnation = "0000000000005f3a",
                                 .number = 1,
                                 .time_ms = 1700000000000,
                                 .type = API_EVENT_DAEMON_LOST,
                                 .vpid = 3,
                                 .epoch = 2};

static const struct record samples[RECORD_TYPES] = {
    [RECORD_SNAPSHOT] = {.snapshot = {snapshot, sizeof(snapshot)}},
    [RECORD_BEGIN] = {.begin = {.cluster = "default/x",
                                .incarnation = SAMPLE_INC,
                                .size = 3,
                                .now_ms = 1000,
                                .wall_ms = 1700000000000}},
    [RECORD_ENDING] = {.ending = {SHUTDOWN_DVM, 31000}},
    [RECORD_SIZE] = {.size = {7, 5, 4, 3, {true, 1, 9}}},
    [RECORD_CPUS] = {.cpus = {3, "x-3", ""}},
    [RECORD_ADMITTED] = {.admitted = {{0}}},
    [RECORD_STEP] = {.step = {3, MEMBER_EV_WIRE}},
    [RECORD_OP_STARTED] = {.op = {.urgent = true}},
    [RECORD_OP_APPLIED] = {.op = {.urgent = false}},
    [RECORD_COMPLETED] = {.completed = {1}},
};

struct record sample_record(unsigned type)
{
    struct record r = samples[type];
    struct msg remove = {.type = MSG_REMOVE,
                         .remove = {1, REMOVE_LOST, 1, &target, "it has not answered"}};

    r.type = (enum record_type)type;
    if (type == RECORD_BEGIN)
        r.begin.head = head;
    else if (type == RECORD_ADMITTED)
        r.admitted.facts = joiner;
    else if (type == RECORD_OP_STARTED || type == RECORD_OP_APPLIED)
        r.op.msg = remove;
    else if (type == RECORD_EVENT)
        r.event.event = event;
    return r;
}
