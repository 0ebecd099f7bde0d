/* SPDX-License-Identifier: BSD-3-Clause */
/* A journal with one record of every type. */
#include "dvm/protocol/head/journal/test/samples.h"

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/test/samples.h"

#include <string.h>

static const uint8_t snapshot[] = {1, 2, 3};

static struct msg_member head = {.vpid = VPID_HEAD,
                                 .epoch = {SAMPLE_INC, 1},
                                 .host = "x-head-0",
                                 .address = "10.0.0.1",
                                 .port = 7400,
                                 .slots = 4};
static struct msg_member heir = {.vpid = VPID_HEAD,
                                 .epoch = {SAMPLE_INC, 3},
                                 .host = "x-head-1",
                                 .address = "10.0.0.2",
                                 .port = 7400,
                                 .slots = 4};
static struct msg_member joiner = {.vpid = 3,
                                   .epoch = {SAMPLE_INC, 2},
                                   .host = "x-3",
                                   .address = "10.0.0.3",
                                   .port = 7400,
                                   .slots = 8,
                                   .nmore = 1,
                                   .more = {"10.1.0.3"},
                                   .key = {1, 2}};
static struct msg_target target = {3, {SAMPLE_INC, 2}};

static struct api_event event = {.incarnation = "0000000000005f3a",
                                 .number = 1,
                                 .time_ms = 1700000000000,
                                 .type = API_EVENT_DAEMON_LOST,
                                 .vpid = 3,
                                 .epoch = 2};

static uint32_t ranks[] = {0, 2};
static struct api_job_ref ended = {"5f3a.1", 2, ranks};
static uint32_t asked[] = {3};
static struct campaign_target targets[] = {{.id = {3, {SAMPLE_INC, 2}}}, {.id = {4, {0, 0}}}};
static struct campaign_target left = {
    .id = {3, {SAMPLE_INC, 2}}, .out = true, .offered = true, .last = {SAMPLE_INC, 2}};
static struct campaign campaign = {.id = "alloc-1",
                                   .req = {.sequence = 7, .deadline_s = 30},
                                   .has_requester = true,
                                   .asker = {.nspace = "5f3a.2",
                                             .rank = 1,
                                             .is_rank = true,
                                             .daemon = {3, {SAMPLE_INC, 2}},
                                             .op = 5,
                                             .req_id = "mine",
                                             .of = "",
                                             .kind = RESIZE_RELEASE,
                                             .deadline_s = 30,
                                             .nvpids = 1,
                                             .vpids = asked},
                                   .ntargets = 2,
                                   .targets = targets,
                                   .size_sequence = 7,
                                   .deadline_ms = 31000,
                                   .accepted_wall = 1700000000000};

static struct job_node map_nodes[] = {{3, 2, "x-3"}, {0, 1, "x-head-0"}};
static uint32_t map_rank_node[] = {0, 1, 0};
static uint32_t map_rank_app[] = {0, 0, 0};

/* who (nspace "5f3a.1", rank 0, vpid 3, uid 0), session, app, 1 pair: "k", "v" */
static const uint8_t publish[] = {0, 0, 0, 6, '5', 'f', '3', 'a', '.', '1', 0, 0,  0,
                                  0, 0, 0, 0, 3,   0,   0,   0,   0,   4,   3, 0,  0,
                                  0, 1, 0, 0, 0,   1,   'k', 0,   0,   0,   1, 'v'};
static uint64_t removed[] = {1};

static const struct record samples[RECORD_TYPES] = {
    [RECORD_SNAPSHOT] = {.snapshot = {snapshot, sizeof(snapshot)}},
    [RECORD_BEGIN] = {.begin = {.cluster = "default/x",
                                .incarnation = SAMPLE_INC,
                                .size = 3,
                                .now_ms = 1000,
                                .wall_ms = 1700000000000}},
    [RECORD_CLOCK] = {.clock = {2000, 1700000001000}},
    [RECORD_ENDING] = {.ending = {SHUTDOWN_DVM, 31000}},
    [RECORD_SIZE] = {.size = {7, 5, 4, 3, {true, 1, 9}}},
    [RECORD_CPUS] = {.cpus = {3, "x-3", ""}},
    [RECORD_ADMITTED] = {.admitted = {{0}}},
    [RECORD_STEP] = {.step = {3, MEMBER_EV_WIRE}},
    [RECORD_OP_STARTED] = {.op = {.urgent = true}},
    [RECORD_OP_APPLIED] = {.op = {.urgent = false}},
    [RECORD_COMPLETED] = {.completed = {1}},
    [RECORD_CAMPAIGN] = {.campaign = &campaign},
    [RECORD_CAMPAIGN_JOBS] = {.campaign_jobs = {"alloc-1", 1, &ended}},
    [RECORD_CAMPAIGN_ASKER] = {.campaign_asker = {"alloc-1", {0, {SAMPLE_INC, 1}}, 6}},
    [RECORD_CAMPAIGN_TARGETS] = {.campaign_targets = {"alloc-1", 1, &left}},
    [RECORD_CAMPAIGN_OP] = {.campaign_op = {"alloc-1", 2, 41000}},
    [RECORD_CAMPAIGN_STEP] = {.campaign_step = {"alloc-1", CAMPAIGN_EV_CANCEL, 1700000000500,
                                                RESIZE_CANCELLED, "", API_TOLD_EVENT}},
    [RECORD_RELEASE] = {.release = {{3, {SAMPLE_INC, 2}}, 30, true, 1050}},
    [RECORD_RELEASE_WINDOW] = {.release_window = {1100}},
    [RECORD_JOB_ACCEPTED] = {.job = {.number = 1,
                                     .submit_vpid = 3,
                                     .submit_client = 7,
                                     .submit_epoch = {SAMPLE_INC, 2},
                                     .home_vpid = 0,
                                     .home_client = 8,
                                     .adopted = true}},
    [RECORD_JOB_JUDGED] = {.job_judged = {1, JOB_FITS_GROWN}},
    [RECORD_JOB_MAPPED] = {.job_map = {.number = 1,
                                       .universe = 12,
                                       .nnodes = 2,
                                       .nodes = map_nodes,
                                       .nranks = 3,
                                       .rank_node = map_rank_node,
                                       .rank_app = map_rank_app,
                                       .bind = JOB_LEVEL_CORE,
                                       .note = "only 2 cores are idle"}},
    [RECORD_JOB_SENT] = {.job_sent = {1, 61000}},
    [RECORD_JOB_RANK_ENDED] = {.job_rank_ended = {1, 2, PROC_TERMINATED, 3 << 8,
                                                  "rank 2 exited with code 3"}},
    [RECORD_JOB_NODE_GONE] = {.job_node_gone = {1, 0, true, "1 rank on x-3 was lost"}},
    [RECORD_JOB_KIN_FAILED] = {.job_kin_failed = {1, 7, "spawned job 5f3a.2: rank 0 exited"}},
    [RECORD_JOB_RESULT] = {.job_result = {1, JOB_EV_NO_MAP, 213, "not launched"}},
    [RECORD_JOB_STEP] = {.job_step = {1, JOB_EV_NO_MAP}},
    [RECORD_JOB_FORGOTTEN] = {.job_forgotten = {1}},
    [RECORD_HEIR] = {.heir = {{.vpid = 0}, 3000}},
    [RECORD_MEMBERS] = {.members = {.cluster = (char *)"default/x",
                                    .incarnation = SAMPLE_INC,
                                    .size = 3,
                                    .now_ms = 1000,
                                    .wall_ms = 1700000000000,
                                    .version = 7,
                                    .last_epoch = 1000004,
                                    .last_name = 16000064}},
    [RECORD_PUBLISHED] = {.published = {{{3, {SAMPLE_INC, 2}}, 4, 3}, publish, sizeof(publish)}},
    [RECORD_UNPUBLISHED] =
        {.unpublished = {{{4, {SAMPLE_INC, 4}}, 2, 1}, 0, snapshot, sizeof(snapshot), 1, removed}},
};

/* The head and one member. */
static void put_members(struct record_members *r)
{
    static uint8_t table[512];
    struct msg_member list[] = {head, joiner};
    BUF_AUTO struct buf b = {0};
    struct members m;

    buf_init(&b, sizeof(table));
    members_init(&m, VPID_HEAD, 2);
    members_add(&m, list, 2);
    members_encode(&m, &b);
    members_free(&m);
    memcpy(table, b.data, b.len);
    r->table = table;
    r->len = b.len;
}

struct record sample_record(unsigned type)
{
    struct record r = samples[type];
    struct msg remove = {.type = MSG_REMOVE,
                         .remove = {1, REMOVE_LOST, 1, &target, "it has not answered"}};

    r.type = (enum record_type)type;
    if (type == RECORD_BEGIN)
        r.begin.head = head;
    else if (type == RECORD_MEMBERS)
        put_members(&r.members);
    else if (type == RECORD_HEIR)
        r.heir.head = heir;
    else if (type == RECORD_ADMITTED)
        r.admitted.facts = joiner;
    else if (type == RECORD_OP_STARTED || type == RECORD_OP_APPLIED)
        r.op.msg = remove;
    else if (type == RECORD_EVENT)
        r.event.event = event;
    else if (type == RECORD_JOB_ACCEPTED)
        r.job.spec = sample_spec();
    return r;
}
