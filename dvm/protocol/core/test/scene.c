/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings daemons into the state to be tested, and reads their actions after an input. */
#include "dvm/protocol/core/test/scene.h"

#include "base/log/log.h"
#include "dvm/protocol/wire/msg/test/samples.h"

#include <stdlib.h>
#include <string.h>

#define MEMBERS 4
#define FIRST_CONN 1000000u

static bool has_keeper(enum scene_kind kind)
{
    return kind >= SCENE_HEAD_KEEPER;
}

static void note_records(struct scene *s, struct cur *c)
{
    struct msg m;

    if (msg_decode(c, MSG_RECORDS, &m, NULL) < 0)
        return;
    s->kept.stream = m.records.stream;
    s->kept.seq = m.records.seq;
    msg_free(&m);
}

static void on_frame(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct scene *s = arg;
    struct cur c = cur_of(data, len);
    struct frame f;

    if (frame_decode(&c, &f, NULL) < 0 || f.src > MEMBERS || msg_is_routed(f.type))
        return;
    s->links[vpid][f.src] = conn;
    s->greeted |= f.type == MSG_HELLO && vpid == VPID_HEAD;
    if (f.type == MSG_RECORDS && f.src == VPID_HEAD)
        note_records(s, &c);
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct scene *s = arg;

    if (vpid == 1 && act->kind == OUT_CONNECT)
        s->called = act->connect.conn;
}

static void start_shrink(struct sim *sim)
{
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .ntargets = 1,
                                     .targets = (uint32_t[]){MEMBERS}};
    struct api_campaign c;
    enum api_reason reason;

    if (core_campaign_put(sim_core(sim, 0), "c", &r, &c, &reason, NULL) < 0)
        abort();
    api_campaign_free(&c);
    sim_drain(sim, 0);
    sim_for(sim, 100);
}

static void open_sim(struct scene *s)
{
    uint32_t members = has_keeper(s->kind) ? 1 : MEMBERS;
    struct sim_opts o = {.nodes = members + 1,
                         .radix = 2,
                         .slots = 1,
                         .size = members,
                         .seed = 1,
                         .delay_ms = 3,
                         .keepers = has_keeper(s->kind)};
    struct sim_hooks h = {.arg = s, .frame = on_frame, .action = on_action};

    s->sim = sim_create(&o);
    sim_watch(s->sim, &h);
    for (uint32_t v = 0; v <= members; v++)
        sim_start(s->sim, v);
    sim_for(s->sim, 500);
    sim_submit(s->sim, 1, members, 1u << 30, 0);
    sim_for(s->sim, 100);
    if (!has_keeper(s->kind))
        start_shrink(s->sim);
    s->core = sim_core(s->sim, s->self);
    s->kept.ctr = core_inspect_epoch(sim_core(s->sim, VPID_HEAD)).ctr;
    s->kept.callers = 1;
    s->kept.child = true;
}

static void note_sent(struct scene *s, const struct out_send *send)
{
    struct cur c = cur_of(send->frame.data, send->frame.len);
    struct frame f;

    if (send->conn == s->conn && frame_decode(&c, &f, NULL) == 0 && f.type == MSG_RECORDS)
        note_records(s, &c);
}

static void drain(struct scene *s, struct scene_answer *a)
{
    struct out_act act;

    while (core_next(s->core, &act)) {
        a->acts++;
        if (act.kind == OUT_SEND && s->kind == SCENE_HEAD_KEEPER)
            note_sent(s, &act.send);
        if (act.kind == OUT_CONNECT && !s->sim)
            s->conn = act.connect.conn;
        if (act.kind == OUT_CLOSE && act.close.conn == s->conn)
            a->closed = true;
        if (act.kind == OUT_LOG && act.log.level <= LOG_LEVEL_INFO) {
            size_t len = strlen(a->why);

            snprintf(a->why + len, sizeof(a->why) - len, "%s; ", act.log.text);
        }
        out_act_free(&act);
    }
}

static void open_joiner(struct scene *s)
{
    struct core_opts o = {.vpid = MEMBERS + 1,
                          .cluster = "sim",
                          .host = "n",
                          .address = "a",
                          .head_host = "h",
                          .head_port = 1,
                          .slots = 1,
                          .radix = 2};
    struct scene_answer a = {0};

    s->core = core_create(&o, 1000, 1000);
    core_tick(s->core);
    drain(s, &a);
    core_conn_open(s->core, s->conn, &(struct core_conn){.role = API_ROLE_HEAD, .cluster = "sim"});
    drain(s, &a);
}

static void open_stranger(struct scene *s)
{
    struct scene_answer a = {0};

    s->conn = FIRST_CONN + ++s->conns;
    core_conn_open(s->core, s->conn,
                   &(struct core_conn){.incoming = true,
                                       .role = API_ROLE_MEMBER,
                                       .cluster = "sim",
                                       .key = members_key(core_inspect_members(s->core), s->peer)});
    drain(s, &a);
}

static bool has_called(struct sim *sim, void *arg)
{
    return ((struct scene *)arg)->called;
}

static bool has_greeted(struct sim *sim, void *arg)
{
    return ((struct scene *)arg)->greeted;
}

/* The connection opens; vpid 1 greets the next head. */
static void open_caller(struct scene *s)
{
    struct scene_answer a = {0};

    s->called = 0;
    sim_crash(s->sim, VPID_HEAD);
    if (!sim_until(s->sim, has_called, s, 10000))
        abort();
    s->conn = s->called;
    s->peer_epoch.ctr++;
    core_conn_open(s->core, s->conn, &(struct core_conn){.role = API_ROLE_HEAD, .cluster = "sim"});
    drain(s, &a);
}

/* It has asked vpid 1, and no answer has come. */
static void open_new_head(struct scene *s)
{
    buf_init(&s->records, RECORD_SNAPSHOT_MAX);
    core_snapshot(s->core, &s->records);
    sim_crash(s->sim, VPID_HEAD);
    s->greeted = false;
    sim_start(s->sim, VPID_HEAD);
    if (!sim_until(s->sim, has_greeted, s, 10000))
        abort();
    s->core = sim_core(s->sim, VPID_HEAD);
    s->conn = s->links[VPID_HEAD][1];
}

void scene_open(struct scene *s, enum scene_kind kind)
{
    static const struct {
        uint32_t self, peer;
        bool stranger;
    } who[] = {{0, 1, false}, {0, MEMBERS + 1, true}, {1, 0, false},
               {1, 3, false}, {1, 3, true},           {MEMBERS + 1, 0, false},
               {0, 1, false}, {1, 0, false},          {1, 0, false},
               {0, 1, false}};

    memset(s, 0, sizeof(*s));
    s->kind = kind;
    s->self = who[kind].self;
    s->peer = who[kind].peer;
    if (kind == SCENE_JOINER) {
        s->peer_epoch = (struct epoch){0xabc1, 1};
        open_joiner(s);
        return;
    }
    open_sim(s);
    if (s->peer <= MEMBERS)
        s->peer_epoch = core_inspect_epoch(sim_core(s->sim, s->peer));
    s->conn = s->peer <= MEMBERS ? s->links[s->self][s->peer] : 0;
    if (who[kind].stranger)
        open_stranger(s);
    if (kind == SCENE_KEEPER_CALLER)
        open_caller(s);
    if (kind == SCENE_NEW_HEAD)
        open_new_head(s);
}

void scene_close(struct scene *s)
{
    buf_free(&s->records);
    if (s->sim)
        sim_destroy(s->sim);
    else
        core_destroy(s->core);
}

void scene_input(struct scene *s, const uint8_t *data, size_t len, struct scene_answer *a)
{
    bool up = core_inspect_up(s->core, s->conn);

    memset(a, 0, sizeof(*a));
    core_conn_frame(s->core, s->conn, data, len);
    drain(s, a);
    a->held = core_holds(s->core);
    a->closed |= a->held && up && !core_inspect_up(s->core, s->conn);
}

/* The peer greets again as it did the first time. */
static void greet(struct scene *s)
{
    struct msg_member me = {s->peer, s->peer_epoch, "host", "wire", 1, 1, 0, {0}, {0}};
    struct msg m = {.type = MSG_HELLO,
                    .hello = {.why = HELLO_RESUME,
                              .cluster = "sim",
                              .self = me,
                              .version = core_stats(s->core).version}};
    struct frame f = {.type = MSG_HELLO,
                      .src = s->peer,
                      .dst = VPID_NONE,
                      .src_epoch = s->peer_epoch,
                      .version = m.hello.version};
    struct scene_answer a;
    BUF_AUTO struct buf b = {0};

    buf_init(&b, MSG_TEXT_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    open_stranger(s);
    scene_input(s, b.data, b.len, &a);
}

void scene_again(struct scene *s)
{
    enum scene_kind kind = s->kind;
    bool greets = kind == SCENE_HEAD_MEMBER || kind == SCENE_MEMBER_CHILD ||
                  kind == SCENE_HEAD_KEEPER || kind == SCENE_NEW_HEAD;

    if (kind == SCENE_HEAD_STRANGER || kind == SCENE_MEMBER_STRANGER) {
        open_stranger(s);
    } else if (greets && !core_holds(s->core)) {
        greet(s);
    } else {
        scene_close(s);
        scene_open(s, kind);
    }
}

static void put_nidmap(struct buf *b, struct msg *m)
{
    struct msg_member list[] = {{0, {5, 1}, "n0", "x-0", 7000, 0, 0, {0}, {0}},
                                {3, {5, 9}, "n3", "10.0.0.3", 7001, 4, 1, {(char *)"fd00::3"}, {0}},
                                {4, {5, 12}, "n4", "10.0.0.4", 7001, 4, 0, {0}, {0}}};
    struct members t;

    members_init(&t, 0, 2);
    members_add(&t, list, sizeof(list) / sizeof(*list));
    buf_init(b, MSG_DATA_MAX);
    members_encode(&t, b);
    members_free(&t);
    m->snapshot.table = b->data;
    m->snapshot.len = b->len;
}

/* RECORDS are the next group of the stream, or all of them. */
static void set_kept(const struct scene *s, struct msg *m)
{
    bool all = s->kind == SCENE_NEW_HEAD;

    if (m->type == MSG_KEPT)
        m->kept = s->kept;
    if (m->type != MSG_RECORDS)
        return;
    m->records.stream = s->kept.stream;
    m->records.seq = s->kept.seq + !all;
    m->records.begins = true;
    m->records.snapshot = all;
    if (all) {
        m->records.data = s->records.data;
        m->records.len = s->records.len;
    }
}

void scene_frame(const struct scene *s, unsigned type, struct buf *b)
{
    uint64_t version = core_stats(s->core).version;
    struct epoch own = core_inspect_epoch(s->core);
    struct msg_member me = {s->peer, s->peer_epoch, "host", "wire", 1, 1, 0, {0}, {0}};
    struct msg m = sample_msg(type);
    struct frame f = {.traffic = CLASS_CONTROL,
                      .type = (uint16_t)type,
                      .src = s->peer,
                      .dst = s->self,
                      .src_epoch = s->peer_epoch,
                      .dst_ctr = !msg_is_routed(type) ? 0 : (uint32_t)own.ctr,
                      .version = version,
                      .seq = !msg_is_routed(type) ? 0 : 1};
    BUF_AUTO struct buf nidmap = {0};

    if (type == MSG_SNAPSHOT)
        put_nidmap(&nidmap, &m);
    msg_set_op(&m, version + 1);
    if (type == MSG_SNAPSHOT)
        m.snapshot.op = version + 1;
    if (type == MSG_XACK)
        m.xack.op = version;
    if (type == MSG_HELLO) {
        m.hello.cluster = "sim";
        m.hello.version = version + 1;
        m.hello.why = epoch_none(s->peer_epoch) ? HELLO_JOIN : HELLO_LINK;
        m.hello.self = me;
    }
    if (type == MSG_WELCOME) {
        m.welcome.self = me;
        m.welcome.epoch = epoch_none(own) ? (struct epoch){s->peer_epoch.inc, 77} : own;
    }
    if (has_keeper(s->kind))
        set_kept(s, &m);
    frame_encode(b, &f);
    msg_encode(b, &m);
}

static void put_members(const struct members *t, struct buf *b)
{
    buf_put_u64(b, t->version);
    buf_put_u64(b, t->repairs);
    buf_put_u32(b, t->radix);
    for (uint32_t v = 0; v < t->n; v++) {
        const struct member *x = members_get(t, v);
        struct msg_member facts;

        if (!x)
            continue;
        buf_put_u32(b, v);
        buf_put_u8(b, (uint8_t)x->state);
        buf_put_u8(b, members_live(t, v));
        facts = members_facts(t, v);
        buf_put_u64(b, facts.epoch.inc);
        buf_put_u64(b, facts.epoch.ctr);
        buf_put_str(b, facts.host);
        buf_put_str(b, facts.address);
        buf_put_u16(b, facts.port);
        buf_put_u32(b, facts.slots);
        for (size_t i = 0; i < facts.nmore; i++)
            buf_put_str(b, facts.more[i]);
        msg_member_free(&facts);
        buf_put_u32(b, x->slots_used);
    }
}

void scene_digest(const struct scene *s, struct buf *b)
{
    struct core_stats st = core_stats(s->core);
    struct api_dvm d;
    enum api_reason reason;
    json_t *json;
    char *text;

    put_members(core_inspect_members(s->core), b);
    buf_put_u64(b, core_inspect_epoch(s->core).ctr);
    buf_put_u64(b, core_inspect_complete(s->core));
    buf_put_u32(b, core_state(s->core));
    buf_put_u64(b, st.version);
    buf_put_u64(b, st.repairs);
    if (core_dvm(s->core, &d, &reason, NULL) < 0)
        return;
    json = api_dvm_encode(&d);
    text = json_dumps(json, JSON_SORT_KEYS);
    buf_put_str(b, text);
    free(text);
    json_decref(json);
    api_dvm_free(&d);
}
