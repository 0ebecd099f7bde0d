/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws a lie of a member: a message that is well formed, names daemons and jobs of this DVM, and
 * is not the member's to send.
 *
 * In: a member with a lifeline. Out: one message to its parent, or a report to the head.
 *
 * The lies: a verb of the head for a job of another daemon, for a new job, or for the submitter of
 * a job, sent in the member's own name or in that of the head; the report of another member's loss
 * in its own name; the same report in the name of the lost member; the report that another member
 * has left; a call of the head or of another's parent in the name of that other one.
 * All but calls go up the tree. A daemon believes its parent, so a member could harm the daemons
 * below it. A liar that is called back as a neighbour would answer nothing.
 *
 * Invariant: no daemon and no job is affected. So a lie has no invariant of its own: all others
 * hold as if the message had not been sent.
 *
 * Limits: a report in the member's own name takes a number of its stream, like any message. A
 * forged frame has the number that the next one of its sender would have. A member reports only
 * members that are above it or in another branch in every tree: it is believed for its children. */
#include "dvm/sim/lie.h"

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <signal.h>
#include <stdio.h>

struct lie {
    struct sim *sim;
    struct core *liar;
    uint32_t vpid;
};

static bool forge_frame(const struct lie *l, uint32_t src, uint32_t dst, const struct msg *m)
{
    struct core *from = sim_core(l->sim, src);
    struct core *to = sim_core(l->sim, dst);
    BUF_AUTO struct buf b = {0};
    struct frame f = {.traffic = CLASS_CONTROL, .type = m->type, .src = src, .dst = dst};

    if (!from || !to || epoch_none(core_inspect_epoch(from)))
        return false;
    f.src_epoch = core_inspect_epoch(from);
    f.dst_ctr = (uint32_t)core_inspect_epoch(to).ctr;
    f.version = core_inspect_members(l->liar)->version;
    f.seq = core_inspect_sent(from, dst, CLASS_CONTROL) + 1;
    buf_init(&b, 1u << 20);
    frame_encode(&b, &f);
    msg_encode(&b, m);
    return sim_forge(l->sim, l->vpid, core_inspect_lifeline(l->liar), &b);
}

/* For a job that has ranks on another daemon. */
static bool give_order(const struct lie *l, uint32_t src, char text[LIE_TEXT_MAX])
{
    uint32_t dst = (uint32_t)sim_random(l->sim, l->vpid);
    struct msg m = {.type = MSG_KILL};
    const char *nspace;
    uint32_t rank;

    if (!sim_some_rank(l->sim, dst, &nspace, &rank))
        return false;
    switch (sim_random(l->sim, 3)) {
    case 0:
        m.kill = (struct msg_kill){(char *)nspace, SIGKILL, -1};
        break;
    case 1:
        m = (struct msg){.type = MSG_START, .start = {(char *)nspace}};
        break;
    default:
        m = (struct msg){.type = MSG_JOB_ENDED, .job_ended = {(char *)nspace, 0}};
    }
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: %s for job %s at vpid %u, from vpid %u", l->vpid,
             msg_name(m.type), nspace, dst, src);
    return forge_frame(l, src, dst, &m);
}

/* The end or the state of another daemon's job, for its submitter. */
static bool tell_submitter(const struct lie *l, uint32_t src, char text[LIE_TEXT_MAX])
{
    size_t n = sim_njobs(l->sim), i = n ? sim_random(l->sim, n) : 0;
    const struct sim_job *j = n ? sim_job(l->sim, i) : NULL;
    struct msg m = {.type = MSG_DONE};

    if (!j || !j->accepted || j->done || !sim_job_waits(l->sim, i) || j->home == l->vpid)
        return false;
    if (sim_random(l->sim, 2))
        m.done = (struct msg_done){
            .nspace = (char *)j->nspace, .client = (uint32_t)i, .text = (char *)""};
    else
        m = (struct msg){.type = MSG_JOB_STATE,
                         .job_state = {.nspace = (char *)j->nspace,
                                       .client = (uint32_t)i,
                                       .state = JOB_NEVER_LAUNCHED,
                                       .reason = (char *)""}};
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: %s for job %s, from vpid %u", l->vpid,
             msg_name(m.type), j->nspace, src);
    return forge_frame(l, src, j->home, &m);
}

/* A rank of a job that the head does not know. */
static bool launch_job(const struct lie *l, uint32_t src, char text[LIE_TEXT_MAX])
{
    uint32_t dst = (uint32_t)sim_random(l->sim, l->vpid), zero = 0;
    const struct core *to = sim_core(l->sim, dst);
    char *argv[] = {(char *)"60000", (char *)"0", NULL}, *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = (char *)"/", .nprocs = 1};
    struct job_node node = {.vpid = dst, .epoch = 1, .host = (char *)"host"};
    struct msg m = {.type = MSG_LAUNCH,
                    .launch.map = {.nspace = (char *)"1.999999",
                                   .version = core_inspect_members(l->liar)->version,
                                   .home_vpid = JOB_NO_VPID,
                                   .files_vpid = JOB_NO_VPID,
                                   .spec = {.napps = 1,
                                            .apps = &app,
                                            .parent_nspace = (char *)"",
                                            .stdin_rank = JOB_RANK_NONE},
                                   .universe = 1,
                                   .nnodes = 1,
                                   .nodes = &node,
                                   .nranks = 1,
                                   .rank_node = &zero,
                                   .rank_app = &zero}};

    if (!to)
        return false;
    node.epoch = core_inspect_epoch(to).ctr;
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: LAUNCH at vpid %u, from vpid %u", l->vpid, dst,
             src);
    return forge_frame(l, src, dst, &m);
}

static bool continue_job(const struct lie *l, uint32_t src, char text[LIE_TEXT_MAX])
{
    uint32_t dst = (uint32_t)sim_random(l->sim, l->vpid);
    struct msg m = {.type = MSG_CONTINUE};
    const char *nspace;
    uint32_t rank;

    if (!sim_some_rank(l->sim, dst, &nspace, &rank))
        return false;
    m.go_on = (struct msg_continue){(char *)nspace, JOB_RANK_ALL};
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: CONTINUE for job %s at vpid %u, from vpid %u",
             l->vpid, nspace, dst, src);
    return forge_frame(l, src, dst, &m);
}

static bool report_departure(const struct lie *l, uint32_t who, char text[LIE_TEXT_MAX])
{
    const struct core *x = sim_core(l->sim, who);
    struct msg m = {.type = MSG_GONE};

    if (!x || epoch_none(core_inspect_epoch(x)))
        return false;
    m.gone.who = (struct msg_target){who, core_inspect_epoch(x)};
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: vpid %u has left", l->vpid, who);
    sim_clock(l->sim, l->vpid);
    if (core_inspect_send(l->liar, VPID_HEAD, CLASS_CONTROL, &m) < 0)
        return false;
    sim_drain(l->sim, l->vpid);
    return true;
}

/* From vpid `src`: the liar, or the daemon that it declares lost. */
static bool report_loss(const struct lie *l, uint32_t who, uint32_t src, char text[LIE_TEXT_MAX])
{
    const struct core *x = sim_core(l->sim, who);
    struct msg m = {.type = MSG_LOST, .lost = {.why = LIE_WHY}};

    if (!x || epoch_none(core_inspect_epoch(x)))
        return false;
    m.lost.who = (struct msg_target){who, core_inspect_epoch(x)};
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: vpid %u is lost, from vpid %u", l->vpid, who, src);
    if (src != l->vpid)
        return forge_frame(l, src, VPID_HEAD, &m);
    sim_clock(l->sim, l->vpid);
    if (core_inspect_send(l->liar, VPID_HEAD, CLASS_CONTROL, &m) < 0)
        return false;
    sim_drain(l->sim, l->vpid);
    return true;
}

static void put_greeting(struct buf *b, const struct frame *f, const struct msg *m)
{
    struct frame h = *f;

    h.type = m->type;
    buf_init(b, 4096);
    frame_encode(b, &h);
    msg_encode(b, m);
}

/* As the head knows that vpid, which may be a joiner; a head that asks knows none. */
static const struct members *table_with(struct sim *s, uint32_t who, uint32_t liar)
{
    const struct core *c = sim_core(s, VPID_HEAD);

    if (!c || !members_get(core_inspect_members(c), who))
        c = sim_core(s, liar);
    return c && members_get(core_inspect_members(c), who) ? core_inspect_members(c) : NULL;
}

bool lie_call(struct sim *s, uint32_t liar, uint32_t to, uint32_t who, bool anew)
{
    const struct members *table = table_with(s, who, liar);
    struct msg bye = {.type = MSG_BYE};
    struct msg hello = {.type = MSG_HELLO};
    struct buf frames[2] = {{0}};
    struct frame f = {.traffic = CLASS_CONTROL, .src = who, .dst = to, .speaks = WIRE_EDITION};

    if (!table)
        return false;
    hello.hello = (struct msg_hello){.why = anew ? HELLO_JOIN : HELLO_RESUME,
                                     .cluster = (char *)"sim",
                                     .self = members_facts(table, who),
                                     .version = table->version,
                                     .alone = true};
    if (anew)
        hello.hello.self.epoch = (struct epoch){0, 0};
    f.src_epoch = hello.hello.self.epoch;
    put_greeting(&frames[0], &f, &hello);
    put_greeting(&frames[1], &f, &bye);
    sim_forge_call(s, liar, to, frames);
    msg_member_free(&hello.hello.self);
    buf_free(&frames[0]);
    buf_free(&frames[1]);
    return true;
}

static bool call_as(const struct lie *l, bool anew, char text[LIE_TEXT_MAX])
{
    const struct core *head = sim_core(l->sim, VPID_HEAD);
    uint32_t n = head ? core_inspect_members(head)->n : 0;
    uint32_t who = n > 1 ? 1 + (uint32_t)sim_random(l->sim, n - 1) : l->vpid;
    uint32_t to = VPID_HEAD;

    if (who == l->vpid || !members_live(core_inspect_members(head), who))
        return false;
    if (!anew && sim_random(l->sim, 2) && sim_core(l->sim, who))
        to = core_inspect_lifeline(sim_core(l->sim, who));
    snprintf(text, LIE_TEXT_MAX, "vpid %u lies: it calls vpid %u as %s vpid %u", l->vpid, to,
             anew ? "a new process of" : "", who);
    return to != VPID_NONE && to != l->vpid && lie_call(l->sim, l->vpid, to, who, anew);
}

static uint32_t branch_of(uint32_t vpid, uint32_t radix)
{
    while (vpid > radix)
        vpid = (vpid - 1) / radix;
    return vpid;
}

/* A live vpid keeps its own position, so no daemon from below it is promoted to one above it. */
static bool is_never_below(uint32_t who, uint32_t vpid, uint32_t radix)
{
    if (branch_of(who, radix) != branch_of(vpid, radix))
        return true;
    while (vpid > who)
        vpid = (vpid - 1) / radix;
    return vpid == who;
}

static bool can_lie(const struct lie *l)
{
    return l->liar && !sim_stopped(l->sim, l->vpid) && core_state(l->liar) == CORE_WIRED &&
           core_inspect_lifeline(l->liar) != VPID_NONE;
}

bool lie_some_call(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX])
{
    struct lie l = {s, sim_core(s, vpid), vpid};

    return can_lie(&l) && call_as(&l, sim_random(s, 2), text);
}

bool lie_some(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX])
{
    struct lie l = {s, sim_core(s, vpid), vpid};
    uint64_t d = sim_random(s, 4);
    uint32_t who = vpid > 1 ? 1 + (uint32_t)sim_random(s, vpid - 1) : VPID_NONE;

    if (!can_lie(&l))
        return false;
    if (d < 2 || who == VPID_NONE)
        return give_order(&l, d % 2 ? vpid : VPID_HEAD, text);
    if (!is_never_below(who, vpid, core_inspect_members(l.liar)->radix))
        return false;
    return report_loss(&l, who, d == 2 ? vpid : who, text);
}

bool lie_some_more(struct sim *s, uint32_t vpid, char text[LIE_TEXT_MAX])
{
    struct lie l = {s, sim_core(s, vpid), vpid};
    uint32_t src = sim_random(s, 2) ? vpid : VPID_HEAD;
    uint32_t who = vpid > 1 ? 1 + (uint32_t)sim_random(s, vpid - 1) : VPID_NONE;

    if (!can_lie(&l))
        return false;
    switch (sim_random(s, 4)) {
    case 0:
        return tell_submitter(&l, src, text);
    case 1:
        return launch_job(&l, src, text);
    case 2:
        return continue_job(&l, src, text);
    default:
        return who != VPID_NONE && is_never_below(who, vpid, core_inspect_members(l.liar)->radix) &&
               report_departure(&l, who, text);
    }
}
