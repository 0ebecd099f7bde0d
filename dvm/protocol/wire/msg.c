/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages' codec: a letter per field, a word of letters per message. */
#include "dvm/protocol/wire/msg.h"

#include "api/campaign.h"
#include "dvm/protocol/wire/alloc.h"
#include "dvm/protocol/wire/job_state.h"

#include <stdlib.h>
#include <string.h>

#define MEMBER_BYTES_MIN 34
#define TARGET_BYTES 20
#define RANK_BYTES_MIN 14
#define HOST_MAX 253

struct layout {
    const char *name;
    const char *fields;
};

/* o op, i number, I number2, e epoch, c client, r rank, n nspace, t text, u text2, w text3, v
 * vpids, M members, T targets, R ranks, d data, D data2, S spec, L launch */
static const struct layout layouts[MSG_TYPES] = {
    [MSG_HELLO] = {"HELLO", "itMou"},
    [MSG_WELCOME] = {"WELCOME", "ieM"},
    [MSG_REFUSE] = {"REFUSE", "it"},
    [MSG_BYE] = {"BYE", ""},
    [MSG_PING] = {"PING", ""},
    [MSG_PONG] = {"PONG", ""},
    [MSG_ADD] = {"ADD", "oM"},
    [MSG_REMOVE] = {"REMOVE", "oiTt"},
    [MSG_SHUTDOWN] = {"SHUTDOWN", "oit"},
    [MSG_SNAPSHOT] = {"SNAPSHOT", "oid"},
    [MSG_XACK] = {"XACK", "o"},
    [MSG_LEFT] = {"LEFT", "iT"},
    [MSG_RACK] = {"RACK", ""},
    [MSG_SUBMIT] = {"SUBMIT", "cS"},
    [MSG_SIGNAL] = {"SIGNAL", "ni"},
    [MSG_LAUNCHED] = {"LAUNCHED", "nR"},
    [MSG_REGISTERED] = {"REGISTERED", "n"},
    [MSG_EXITED] = {"EXITED", "nR"},
    [MSG_LOCAL_GONE] = {"LOCAL_GONE", "nic"},
    [MSG_ABORT] = {"ABORT", "nrit"},
    [MSG_LOST] = {"LOST", "Tt"},
    [MSG_GONE] = {"GONE", "iT"},
    [MSG_RELEASE_ME] = {"RELEASE_ME", "iI"},
    [MSG_REPORT] = {"REPORT", "oi"},
    [MSG_LOCAL_JOB] = {"LOCAL_JOB", "L"},
    [MSG_LAUNCH] = {"LAUNCH", "L"},
    [MSG_KILL] = {"KILL", "niI"},
    [MSG_ACCEPTED] = {"ACCEPTED", "nc"},
    [MSG_JOB_STATE] = {"JOB_STATE", "nciuv"},
    [MSG_JOB_MAP] = {"JOB_MAP", "ncd"},
    [MSG_DONE] = {"DONE", "ncitv"},
    [MSG_JOB_ENDED] = {"JOB_ENDED", "ni"},
    [MSG_ASK] = {"ASK", ""},
    [MSG_IOF_END] = {"IOF_END", "nc"},
    [MSG_APP] = {"APP", "id"},
    [MSG_GATHER_UP] = {"GATHER_UP", "oDvid"},
    [MSG_GATHER_DOWN] = {"GATHER_DOWN", "oDid"},
    [MSG_STAGE] = {"STAGE", "ncT"},
    [MSG_STAGED] = {"STAGED", "nit"},
    [MSG_START] = {"START", "n"},
    [MSG_RANKS_LOST] = {"RANKS_LOST", "nitrR"},
    [MSG_HELD] = {"HELD", "ni"},
    [MSG_CONTINUE_ASK] = {"CONTINUE_ASK", "nr"},
    [MSG_CONTINUE] = {"CONTINUE", "nr"},
    [MSG_ALLOC] = {"ALLOC", "onriItucv"},
    [MSG_ALLOC_ANSWER] = {"ALLOC_ANSWER", "oiItu"},
    [MSG_ALLOC_ENDED] = {"ALLOC_ENDED", "nrituw"},
};

const char *msg_name(unsigned type)
{
    return type < MSG_TYPES && layouts[type].name ? layouts[type].name : "?";
}

/* --- lists, each encode beside its decode */

static void put_epoch(struct buf *b, struct epoch e)
{
    buf_put_u64(b, e.inc);
    buf_put_u64(b, e.ctr);
}

static struct epoch get_epoch(struct cur *c)
{
    struct epoch e;

    e.inc = cur_u64(c);
    e.ctr = cur_u64(c);
    return e;
}

/* Here and not at each caller: what no decoder takes, no encoder makes. */
static void put_text(struct buf *b, const char *s)
{
    size_t len = s ? strnlen(s, MSG_TEXT_MAX) : 0;

    buf_put_bytes(b, len ? s : "", len);
}

static void put_members(struct buf *b, const struct msg *m)
{
    buf_put_u32(b, (uint32_t)m->nmembers);
    for (size_t i = 0; i < m->nmembers; i++) {
        const struct msg_member *x = &m->members[i];

        buf_put_u32(b, x->vpid);
        put_epoch(b, x->epoch);
        buf_put_str(b, x->host);
        buf_put_str(b, x->address);
        buf_put_u16(b, x->port);
        buf_put_u32(b, x->slots);
    }
}

static void get_members(struct cur *c, struct msg *m)
{
    size_t n = cur_count(c, VPID_MAX + 1, MEMBER_BYTES_MIN);

    m->members = xcalloc(n + 1, sizeof *m->members);
    for (m->nmembers = 0; m->nmembers < n && !c->bad; m->nmembers++) {
        struct msg_member *x = &m->members[m->nmembers];

        x->vpid = cur_u32(c);
        x->epoch = get_epoch(c);
        x->host = cur_str(c, HOST_MAX);
        x->address = cur_str(c, HOST_MAX);
        x->port = cur_u16(c);
        x->slots = cur_u32(c);
        if (x->vpid > VPID_MAX)
            c->bad = true;
    }
}

static void put_targets(struct buf *b, const struct msg *m)
{
    buf_put_u32(b, (uint32_t)m->ntargets);
    for (size_t i = 0; i < m->ntargets; i++) {
        buf_put_u32(b, m->targets[i].vpid);
        put_epoch(b, m->targets[i].epoch);
    }
}

static void get_targets(struct cur *c, struct msg *m)
{
    size_t n = cur_count(c, VPID_MAX + 1, TARGET_BYTES);

    m->targets = xcalloc(n + 1, sizeof *m->targets);
    for (m->ntargets = 0; m->ntargets < n; m->ntargets++) {
        m->targets[m->ntargets].vpid = cur_u32(c);
        m->targets[m->ntargets].epoch = get_epoch(c);
        if (m->targets[m->ntargets].vpid > VPID_MAX)
            c->bad = true;
    }
}

static void put_ranks(struct buf *b, const struct msg *m)
{
    buf_put_u32(b, (uint32_t)m->nranks);
    for (size_t i = 0; i < m->nranks; i++) {
        buf_put_u32(b, m->ranks[i].rank);
        buf_put_u8(b, m->ranks[i].failed);
        buf_put_u8(b, m->ranks[i].how);
        buf_put_u32(b, (uint32_t)m->ranks[i].value);
        put_text(b, m->ranks[i].text);
    }
}

static void get_ranks(struct cur *c, struct msg *m)
{
    size_t n = cur_count(c, JOB_RANKS_MAX, RANK_BYTES_MIN);

    m->ranks = xcalloc(n + 1, sizeof *m->ranks);
    for (m->nranks = 0; m->nranks < n && !c->bad; m->nranks++) {
        struct msg_rank *x = &m->ranks[m->nranks];

        x->rank = cur_u32(c);
        x->failed = cur_u8(c);
        x->how = cur_u8(c);
        x->value = (int32_t)cur_u32(c);
        x->text = cur_str(c, MSG_TEXT_MAX);
        if (x->how >= RANK_HOWS)
            c->bad = true;
    }
}

static void put_vpids(struct buf *b, const struct msg *m)
{
    buf_put_u32(b, (uint32_t)m->nvpids);
    for (size_t i = 0; i < m->nvpids; i++)
        buf_put_u32(b, m->vpids[i]);
}

static void get_vpids(struct cur *c, struct msg *m)
{
    size_t n = cur_count(c, VPID_MAX + 1, 4);

    m->vpids = xcalloc(n + 1, sizeof *m->vpids);
    for (m->nvpids = 0; m->nvpids < n; m->nvpids++) {
        m->vpids[m->nvpids] = cur_u32(c);
        if (m->vpids[m->nvpids] > VPID_MAX)
            c->bad = true;
    }
}

/* --- one field */

static void put_field(struct buf *b, char field, const struct msg *m)
{
    switch (field) {
    case 'o':
        buf_put_u64(b, m->op);
        break;
    case 'i':
        buf_put_u64(b, (uint64_t)m->number);
        break;
    case 'I':
        buf_put_u64(b, (uint64_t)m->number2);
        break;
    case 'e':
        put_epoch(b, m->epoch);
        break;
    case 'c':
        buf_put_u32(b, m->client);
        break;
    case 'r':
        buf_put_u32(b, m->rank);
        break;
    case 'n':
        buf_put_str(b, m->nspace);
        break;
    case 't':
        put_text(b, m->text);
        break;
    case 'u':
        put_text(b, m->text2);
        break;
    case 'w':
        put_text(b, m->text3);
        break;
    case 'v':
        put_vpids(b, m);
        break;
    case 'M':
        put_members(b, m);
        break;
    case 'T':
        put_targets(b, m);
        break;
    case 'R':
        put_ranks(b, m);
        break;
    case 'd':
        buf_put_bytes(b, m->data, m->len);
        break;
    case 'D':
        buf_put_bytes(b, m->data2, m->len2);
        break;
    case 'S':
        job_spec_encode(b, &m->spec);
        break;
    case 'L':
        job_launch_encode(b, &m->launch);
        break;
    }
}

static int get_field(struct cur *c, char field, struct msg *m, struct err *err)
{
    switch (field) {
    case 'o':
        m->op = cur_u64(c);
        break;
    case 'i':
        m->number = (int64_t)cur_u64(c);
        break;
    case 'I':
        m->number2 = (int64_t)cur_u64(c);
        break;
    case 'e':
        m->epoch = get_epoch(c);
        break;
    case 'c':
        m->client = cur_u32(c);
        break;
    case 'r':
        m->rank = cur_u32(c);
        break;
    case 'n':
        m->nspace = cur_str(c, JOB_NSPACE_MAX);
        break;
    case 't':
        m->text = cur_str(c, MSG_TEXT_MAX);
        break;
    case 'u':
        m->text2 = cur_str(c, MSG_TEXT_MAX);
        break;
    case 'w':
        m->text3 = cur_str(c, MSG_TEXT_MAX);
        break;
    case 'v':
        get_vpids(c, m);
        break;
    case 'M':
        get_members(c, m);
        break;
    case 'T':
        get_targets(c, m);
        break;
    case 'R':
        get_ranks(c, m);
        break;
    case 'd':
        m->data = cur_bytes(c, MSG_DATA_MAX, &m->len);
        break;
    case 'D':
        m->data2 = cur_bytes(c, MSG_DATA_MAX, &m->len2);
        break;
    case 'S':
        return job_spec_decode(c, &m->spec, err);
    case 'L':
        return job_launch_decode(c, &m->launch, err);
    }
    return 0;
}

void msg_encode(struct buf *b, const struct msg *m)
{
    for (const char *f = layouts[m->type].fields; *f; f++)
        put_field(b, *f, m);
}

/* --- what decodes and still may not be believed */

static int check_radix(const struct msg *m, struct err *err)
{
    if (m->number < RADIX_MIN || m->number > RADIX_MAX)
        return err_set(err, "radix %lld is not in %d..%d", (long long)m->number, RADIX_MIN,
                       RADIX_MAX);
    return 0;
}

static int check_no_head(const struct msg *m, struct err *err)
{
    for (size_t i = 0; i < m->nmembers; i++) {
        if (m->members[i].vpid == VPID_HEAD)
            return err_set(err, "the head does not join");
    }
    for (size_t i = 0; i < m->ntargets; i++) {
        if (m->targets[i].vpid == VPID_HEAD)
            return err_set(err, "the head does not leave");
    }
    return 0;
}

static int check_lives(const struct msg *m, struct err *err)
{
    for (size_t i = 0; i < m->nmembers; i++) {
        if (epoch_none(m->members[i].epoch))
            return err_set(err, "vpid %u without an epoch", m->members[i].vpid);
    }
    return 0;
}

static int check_alloc(const struct msg *m, struct err *err)
{
    if (m->number < 0 || m->number >= ALLOC_KINDS)
        return err_set(err, "kind %lld of a request", (long long)m->number);
    if (m->number2 < -1 || m->number2 > API_DEADLINE_MAX || m->client > VPID_MAX ||
        m->nvpids > API_TARGETS_MAX || (m->client && m->nvpids))
        return err_set(err, "%zu and %u daemons within %lld s", m->nvpids, m->client,
                       (long long)m->number2);
    for (size_t i = 1; i < m->nvpids; i++) {
        if (m->vpids[i] <= m->vpids[i - 1])
            return err_set(err, "vpid %u after %u", m->vpids[i], m->vpids[i - 1]);
    }
    return 0;
}

static int check_alloc_answer(const struct msg *m, struct err *err)
{
    if (m->number < 0 || m->number >= ALLOC_STATUSES)
        return err_set(err, "status %lld of a request", (long long)m->number);
    if (m->number2 < 0 || m->number2 >= API_PHASES)
        return err_set(err, "phase %lld of a request", (long long)m->number2);
    return 0;
}

static int check(const struct msg *m, struct err *err)
{
    switch (m->type) {
    case MSG_HELLO:
        return m->nmembers == 1 ? 0 : err_set(err, "%zu daemons greet as one", m->nmembers);
    case MSG_WELCOME:
        if (m->nmembers != 1 || epoch_none(m->epoch))
            return err_set(err, "%zu daemons answer, epoch %llu", m->nmembers,
                           (unsigned long long)m->epoch.ctr);
        return check_radix(m, err) < 0 ? -1 : check_lives(m, err);
    case MSG_ADD:
    case MSG_REMOVE:
        return check_no_head(m, err) < 0 ? -1 : check_lives(m, err);
    case MSG_SNAPSHOT:
        return check_radix(m, err); /* the table is for members_decode() */
    case MSG_JOB_STATE:
        if (m->number < 0 || !job_state_word((unsigned)m->number))
            return err_set(err, "%lld is no state of a job", (long long)m->number);
        return 0;
    case MSG_ALLOC:
        return check_alloc(m, err);
    case MSG_ALLOC_ANSWER:
    case MSG_ALLOC_ENDED:
        return check_alloc_answer(m, err);
    default:
        return 0;
    }
}

static int decode(struct cur *c, struct msg *m, struct err *err)
{
    for (const char *f = layouts[m->type].fields; *f && !c->bad; f++) {
        if (get_field(c, *f, m, err) < 0)
            return -1;
    }
    if (!cur_done(c))
        return err_set(err, c->bad ? "cut or out of its limits" : "bytes left over");
    return check(m, err);
}

int msg_decode(struct cur *c, unsigned type, struct msg *out, struct err *err)
{
    struct msg m = {.type = type};

    if (type >= MSG_TYPES || !layouts[type].name)
        return err_set(err, "frame: unknown message type %u", type);
    if (decode(c, &m, err) < 0) {
        msg_free(&m);
        return err_wrap(err, "message %s", layouts[type].name);
    }
    *out = m;
    return 0;
}

void msg_free(struct msg *m)
{
    free(m->nspace);
    free(m->text);
    free(m->text2);
    free(m->text3);
    free(m->vpids);
    free(m->targets);
    for (size_t i = 0; i < m->nmembers; i++)
        msg_member_free(&m->members[i]);
    free(m->members);
    for (size_t i = 0; i < m->nranks; i++)
        free(m->ranks[i].text);
    free(m->ranks);
    if (m->type == MSG_SUBMIT)
        job_spec_free(&m->spec);
    if (m->type == MSG_LAUNCH || m->type == MSG_LOCAL_JOB)
        job_launch_free(&m->launch);
    memset(m, 0, sizeof *m);
}

void msg_member_copy(struct msg_member *dst, const struct msg_member *src)
{
    *dst = *src;
    dst->host = xstrdup(src->host);
    dst->address = xstrdup(src->address);
}

void msg_member_free(struct msg_member *m)
{
    free(m->host);
    free(m->address);
    m->host = m->address = NULL;
}
