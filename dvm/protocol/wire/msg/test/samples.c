/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples: small, valid, and with something in every field. */
#include "dvm/protocol/wire/msg/test/samples.h"

#include "dvm/protocol/wire/test/samples.h"

#define BYTES(s) .data = (const uint8_t *)(s), .len = sizeof(s) - 1

static uint32_t some_vpids[] = {1, 3};

static struct job_launch sample_launch(void)
{
    static struct job_node nodes[] = {{1, 7, "x-1"}, {3, 9, "x-3"}};
    static uint32_t rank_node[] = {0, 1};
    static uint32_t rank_app[] = {0, 0};

    return (struct job_launch){.nspace = "5.12",
                               .version = 4,
                               .home_vpid = 1,
                               .home_client = 44,
                               .files_vpid = 3,
                               .files_client = 45,
                               .spec = sample_spec(),
                               .universe = 8,
                               .nnodes = 2,
                               .nodes = nodes,
                               .nranks = 2,
                               .rank_node = rank_node,
                               .rank_app = rank_app};
}

static struct msg_member sample_member = {
    .vpid = 3, .epoch = {5, 9}, .host = "n3", .address = "x-3", .port = 7001, .slots = 4};
static struct msg_target sample_targets[] = {{3, {5, 9}}, {8, {5, 12}}};
static struct msg_rank sample_ranks[] = {{0, false, RANK_WO_SYNC, 4711, ""},
                                         {1, true, RANK_PLAIN, 2, "exec of prog"}};

#define SOME_GATHER                                                                                \
    {                                                                                              \
        .seq = 4, .sig = (const uint8_t *)"sig", .siglen = 3, .outcome = GATHER_TIMEOUT,           \
        .nvpids = 2, .vpids = some_vpids, BYTES("da\0ta")                                          \
    }

#define SOME_REF                                                                                   \
    {                                                                                              \
        3, 4, 1, 17, 2                                                                             \
    }
#define SOME_MATCH                                                                                 \
    {                                                                                              \
        .src = 3, .dst = 8, .src_epoch = {5, 9}, .traffic = CLASS_BULK, .seq = 12                  \
    }
#define SOME_RNDV                                                                                  \
    {                                                                                              \
        SOME_REF, SOME_MATCH, 1u << 20                                                             \
    }
#define SOME_GRANT                                                                                 \
    {                                                                                              \
        SOME_REF, TRANSFER_FRAG_BYTES, 1u << 18                                                    \
    }

/* By type; types without fields have no entry. */
static struct msg samples[MSG_TYPES] = {
    [MSG_HELLO] = {.hello = {.why = HELLO_RESUME,
                             .cluster = "why",
                             .version = 4,
                             .cpus = "0-3",
                             .session = 3,
                             .received = 17,
                             .number = 2,
                             .alone = true}},
    [MSG_WELCOME] = {.welcome = {.radix = 2, .epoch = {5, 9}, .session = 3, .received = 12}},
    [MSG_PING] = {.ping = {1234}},
    [MSG_PONG] = {.pong = {1234}},
    [MSG_HOP_ACK] = {.hop_ack = {2, {{4, 4}, {7, 9}}}},
    [MSG_LINK_OUT] = {.link_out = {2, true}},
    [MSG_REFUSE] = {.refuse = {REFUSE_LEFT, "why"}},
    [MSG_ADD] = {.add = {.op = 4, .nmembers = 1, .members = &sample_member}},
    [MSG_REMOVE] = {.remove = {.op = 4,
                               .why = REMOVE_LOST,
                               .ntargets = 2,
                               .targets = sample_targets,
                               .text = "why"}},
    [MSG_SHUTDOWN] = {.shutdown = {.op = 4, .why = SHUTDOWN_INCARNATION, .text = "why"}},
    [MSG_SNAPSHOT] =
        {.snapshot = {.op = 4, .radix = 2, .table = (const uint8_t *)"da\0ta", .len = 5}},
    [MSG_XACK] = {.xack = {4}},
    [MSG_LEFT] = {.left = {.who = {3, {5, 9}}, .link_closed = true}},
    [MSG_MATCH] = {.match = {SOME_REF, SOME_MATCH, BYTES("da\0ta")}},
    [MSG_RNDV] = {.rndv = SOME_RNDV},
    [MSG_RGET] = {.rget = SOME_RNDV},
    [MSG_FRAG] = {.frag = {SOME_REF, TRANSFER_FRAG_BYTES, BYTES("da\0ta")}},
    [MSG_ACK] = {.ack = SOME_GRANT},
    [MSG_PUT] = {.put = SOME_GRANT},
    [MSG_GET] = {.get = SOME_GRANT},
    [MSG_TRANSFER_FIN] = {.fin = {SOME_REF, SOME_MATCH, 1u << 20, true}},
    [MSG_RNDVRESTARTNOTIFY] = {.notify = SOME_RNDV},
    [MSG_RECVERRNOTIFY] = {.recverr = {SOME_REF}},
    [MSG_RNDVRESTARTACK] = {.restart = SOME_GRANT},
    [MSG_RNDVRESTARTNACK] = {.nack = {SOME_REF}},
    [MSG_ANEW] = {.anew = {SOME_REF}},
    [MSG_TAKEN] = {.taken = {4}},
    [MSG_SUBMIT] = {.submit = {.client = 44}},
    [MSG_SIGNAL] = {.signal = {"5.12", 2}},
    [MSG_LAUNCHED] = {.launched = {"5.12", 2, sample_ranks}},
    [MSG_REGISTERED] = {.registered = {"5.12"}},
    [MSG_EXITED] = {.exited = {"5.12", 2, sample_ranks}},
    [MSG_LOCAL_GONE] = {.local_gone = {"5.12", 44, true}},
    [MSG_ABORT] = {.abort = {"5.12", 1, 2, "why"}},
    [MSG_LOST] = {.lost = {{3, {5, 9}}, "why"}},
    [MSG_GONE] = {.gone = {.who = {3, {5, 9}}, .link_closed = true}},
    [MSG_RELEASE_ME] = {.release_me = {.deadline_s = -1, .kill = true}},
    [MSG_REPORT] = {.report = {.version = 4, .repairs = 2}},
    [MSG_READY] = {.ready = {"5.12"}},
    [MSG_NO_FILES] = {.no_files = {"5.12", 2, "why"}},
    [MSG_HELD] = {.held = {"5.12", 2}},
    [MSG_CONTINUE_ASK] = {.continue_ask = {"5.12", 1}},
    [MSG_RESIZE_ASK] = {.resize_ask = {.op = 4,
                                       .nspace = "5.12",
                                       .rank = 1,
                                       .kind = RESIZE_RELEASE_KILL,
                                       .deadline_s = -1,
                                       .req_id = "why",
                                       .campaign = "and why not",
                                       .nvpids = 2,
                                       .vpids = some_vpids}},
    [MSG_START] = {.start = {"5.12"}},
    [MSG_KILL] = {.kill = {"5.12", 2, -1}},
    [MSG_CONTINUE] = {.go_on = {"5.12", 1}},
    [MSG_RANKS_LOST] = {.ranks_lost = {.nspace = "5.12",
                                       .others_go_on = true,
                                       .parent_nspace = "5.1",
                                       .parent_rank = 1,
                                       .nranks = 2,
                                       .ranks = sample_ranks}},
    [MSG_JOB_ENDED] = {.job_ended = {"5.12", 2}},
    [MSG_JOB_ASK] = {.job_ask = {"5.12", 44}},
    [MSG_ACCEPTED] = {.accepted = {"5.12", 44}},
    [MSG_JOB_STATE] = {.job_state = {.nspace = "5.12",
                                     .client = 44,
                                     .state = JOB_STARTED,
                                     .reason = "and why not",
                                     .nstdin = 2,
                                     .stdin_vpids = some_vpids}},
    [MSG_JOB_MAP] =
        {.job_map = {.nspace = "5.12", .client = 44, .table = (const uint8_t *)"da\0ta", .len = 5}},
    [MSG_FILES] = {.files = {"5.12", 44, 2, sample_targets}},
    [MSG_DONE] = {.done = {.nspace = "5.12",
                           .client = 44,
                           .exit_code = 2,
                           .text = "why",
                           .noutput = 2,
                           .output_vpids = some_vpids}},
    [MSG_RESIZE_ANSWER] = {.resize_answer = {.op = 4,
                                             .status = RESIZE_NOT_FOUND,
                                             .phase = API_PHASE_GATHERING,
                                             .campaign = "why",
                                             .why = "and why not"}},
    [MSG_RESIZE_ENDED] = {.resize_ended = {.nspace = "5.12",
                                           .rank = 1,
                                           .status = RESIZE_NOT_FOUND,
                                           .campaign = "why",
                                           .req_id = "or else",
                                           .cause = "and why not"}},
    [MSG_IOF_END] = {.iof_end = {"5.12", 44}},
    [MSG_APP] = {.app = {.kind = 2, BYTES("da\0ta")}},
    [MSG_GATHER_UP] = {.gather_up = SOME_GATHER},
    [MSG_GATHER_DOWN] = {.gather_down = SOME_GATHER},
    [MSG_ORPHANED] = {.orphaned = {{3, {5, 9}}}},
    [MSG_RECORDS] = {.records = {.stream = 2, .seq = 7, .ends = true, BYTES("da\0ta")}},
    [MSG_KEPT] = {.kept = {.stream = 2, .ctr = 1, .seq = 7, .callers = 2, .child = true}},
    [MSG_RECORDS_ASK] = {.records_ask = {true, false}},
    [MSG_TABLE] = {.table = {.version = 7,
                             .table = (const uint8_t *)"da\0ta",
                             .len = 5,
                             .nlinked = 2,
                             .linked = some_vpids}},
};

struct msg sample_msg(unsigned type)
{
    struct msg m = samples[type];

    m.type = type;
    if (type == MSG_HELLO)
        m.hello.self = sample_member;
    if (type == MSG_WELCOME)
        m.welcome.self = sample_member;
    if (type == MSG_SUBMIT)
        m.submit.spec = sample_spec();
    if (type == MSG_LAUNCH || type == MSG_LOCAL_JOB)
        m.launch.map = sample_launch(); /* as is .local_job */
    return m;
}

void sample_frame(struct buf *b, unsigned type)
{
    struct frame f = {.traffic = 1,
                      .type = (uint16_t)type,
                      .src = 3,
                      .dst = 0,
                      .src_epoch = {5, 9},
                      .dst_ctr = 1,
                      .version = 4,
                      .seq = 17,
                      .ack = 16};
    struct msg m = sample_msg(type);

    frame_encode(b, &f);
    msg_encode(b, &m);
}
