/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks which daemon may be declared lost, and which job may end when only links have failed.
 *
 * In: the links of each daemon after each input, LOST and REPORT messages, the head's events and
 * its table of members. Out: failures by check_fail(), and the answer of check_excused().
 *
 * Memory: for each epoch of a vpid, whether it was wired, reported, lost, or has left (struct
 * seen_life); for each daemon and epoch of a peer, when their link was last up (struct seen_link).
 *
 * unrelated-loss: a daemon reports a peer only after link_grace_ms without a link to it, or after
 * silence_ms without a frame of it if a child of the peer has no link to it either. The head
 * declares a running daemon lost only for one of three causes: it was reported, the head itself
 * could report it, or its report of a removal is api_faults_lost_ms() late. left-parks: a wired
 * daemon that was removed parks, and does not join anew while that head runs.
 *
 * runs-once: a job that was given back to its submitter, who may submit it elsewhere, is launched
 * nowhere, unless the head has older records.
 *
 * Limits: a daemon whose process or epoch has ended may always be declared lost. A report that is
 * sent again is not checked again. check_excused() reads the cause of a job's end in the text for
 * its submitter, so it depends on those words. */
#include "dvm/sim/check_private.h"
#include "dvm/sim/lie.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static struct seen_life *life_of(struct check *c, uint32_t vpid, struct epoch e)
{
    struct seen_life key;
    struct seen_life *x;

    memset(&key, 0, sizeof(key));
    key.id = (struct msg_target){vpid, e};
    HASH_FIND(hh, c->lives, &key.id, sizeof(key.id), x);
    if (!x) {
        x = xcalloc(1, sizeof(*x));
        x->id.vpid = vpid;
        x->id.epoch = e;
        x->since_ms = sim_now(c->sim);
        HASH_ADD(hh, c->lives, id, sizeof(x->id), x);
    }
    return x;
}

static struct seen_link *link_of(struct check *c, uint32_t at, uint32_t vpid, struct epoch e)
{
    struct seen_link key;
    struct seen_link *x;

    memset(&key, 0, sizeof(key));
    key.id.at = at;
    key.id.vpid = vpid;
    key.id.epoch = e;
    HASH_FIND(hh, c->links, &key.id, sizeof(key.id), x);
    if (!x) {
        x = xcalloc(1, sizeof(*x));
        x->id = key.id;
        HASH_ADD(hh, c->links, id, sizeof(x->id), x);
    }
    return x;
}

struct at {
    struct check *check;
    uint32_t vpid;
};

static void on_link(void *arg, uint32_t vpid, struct epoch e)
{
    struct at *a = arg;
    struct seen_link *x = link_of(a->check, a->vpid, vpid, e);

    if (!x->up)
        DL_APPEND(a->check->nodes[a->vpid].up, x);
    if (!x->seen || x->up_ms != sim_now(a->check->sim))
        x->since_ms = sim_now(a->check->sim);
    x->up = x->seen = true;
}

/* After an event: the state before it, and the state now. */
void check_links(struct check *c, uint32_t vpid)
{
    struct at a = {c, vpid};
    struct seen_link **up = &c->nodes[vpid].up;
    struct seen_link *x;

    while (*up) {
        x = *up;
        x->up = false;
        x->up_ms = sim_now(c->sim);
        DL_DELETE(*up, x);
    }
    core_inspect_links(sim_core(c->sim, vpid), on_link, &a);
    DL_FOREACH(*up, x)
    {
        if (x->id.vpid == core_inspect_lifeline(sim_core(c->sim, vpid)))
            c->nodes[vpid].linked_ran_ms = sim_ran_ms(c->sim, vpid);
    }
}

/* The daemon at `at` has had no link to that epoch for the grace, or has waited that long for
 * the first one. */
static bool was_waited_for(struct check *c, uint32_t at, const struct msg_target *t)
{
    const struct seen_link *x = link_of(c, at, t->vpid, t->epoch);
    uint64_t since = x->seen ? x->up_ms : life_of(c, t->vpid, t->epoch)->since_ms;

    return !x->up && since + sim_faults(c->sim).link_grace_ms <= sim_now(c->sim);
}

void check_heard(struct check *c, uint32_t at, const struct frame *f)
{
    link_of(c, at, f->src, f->src_epoch)->heard_ms = sim_now(c->sim);
}

/* A child of that epoch in the tree of `at` has no link to it, or had none within the grace; or a
 * former child, before a change of the tree that is on its way. */
static bool has_orphan(struct check *c, uint32_t at, const struct msg_target *t)
{
    const struct members *m = core_inspect_members(sim_core(c->sim, at));
    struct tree tree = members_tree(m);
    size_t n = members_live(m, t->vpid) ? tree_children(&tree, t->vpid, NULL, 0) : 0;
    FREE_AUTO uint32_t *kids = xcalloc(n + 1, sizeof(*kids));

    if (n)
        tree_children(&tree, t->vpid, kids, n);
    for (size_t i = 0; i < n; i++) {
        const struct seen_link *x = link_of(c, kids[i], t->vpid, t->epoch);

        if (!x->up || x->since_ms + sim_faults(c->sim).link_grace_ms > sim_now(c->sim))
            return true;
    }
    return check_was_cut(c, t, sim_now(c->sim), 0);
}

/* It was silent at its parent, and a child has no link to it either. */
static bool is_hung(struct check *c, uint32_t at, const struct msg_target *t)
{
    const struct seen_link *x = link_of(c, at, t->vpid, t->epoch);

    return !x->up && x->seen && x->up_ms + CORE_HUNG_MS <= sim_now(c->sim) &&
           x->heard_ms + sim_faults(c->sim).silence_ms + CORE_HUNG_MS <= sim_now(c->sim) &&
           has_orphan(c, at, t);
}

void check_loss_report(struct check *c, uint32_t from, const uint8_t *data, size_t len)
{
    struct cur cur = cur_of(data, len);
    struct seen_link *x;
    struct msg_target who;
    struct frame f;
    struct msg m;
    bool lies;

    if (frame_decode(&cur, &f, NULL) < 0 || f.type != MSG_LOST || f.src != from ||
        msg_decode(&cur, f.type, &m, NULL) < 0)
        return;
    who = m.lost.who;
    lies = strcmp(m.lost.why, LIE_WHY) == 0;
    msg_free(&m);
    /* Of a former incarnation nothing is known here. A report to a former head has waited for a
     * lifeline; the heir refuses it. */
    if (lies || who.epoch.inc != c->head.inc || f.dst_ctr != (uint32_t)c->head.ctr)
        return;
    if (who.vpid == from) { /* it knows */
        life_of(c, from, who.epoch)->reported = true;
        return;
    }
    x = link_of(c, from, who.vpid, who.epoch);
    if (x->report >= f.seq)
        return; /* sent again */
    x->report = f.seq;
    life_of(c, who.vpid, who.epoch)->reported = true;
    if (!was_waited_for(c, from, &who) && !is_hung(c, from, &who))
        check_fail(c, "unrelated-loss", "vpid %u gives vpid %u up, %llu ms after its last link",
                   from, who.vpid, (unsigned long long)(sim_now(c->sim) - x->up_ms));
}

/* Those of a former head are dropped, it has taken them with it. */
static void take_told(const struct check *c, struct seen_life *life)
{
    size_t kept = 0;

    for (size_t i = 0; i < life->nwaiting; i++) {
        const struct seen_report *r = &life->waiting[i];

        if (r->head_ctr != (uint32_t)c->head.ctr)
            continue;
        if (r->seq > core_inspect_taken(sim_core(c->sim, 0), life->id.vpid, r->traffic))
            life->waiting[kept++] = *r;
        else if (r->version > life->told)
            life->told = r->version;
    }
    life->nwaiting = kept;
}

void check_told(struct check *c, const struct frame *f, struct cur *body)
{
    struct seen_life *life = life_of(c, f->src, f->src_epoch);
    struct msg m;

    if (msg_decode(body, f->type, &m, NULL) < 0)
        return;
    take_told(c, life);
    life->waiting = xrealloc(life->waiting, (life->nwaiting + 1) * sizeof(*life->waiting));
    life->waiting[life->nwaiting++] =
        (struct seen_report){f->dst_ctr, f->traffic, f->seq, m.report.version};
    msg_free(&m);
}

void check_removed(struct check *c, uint64_t version)
{
    c->removals = xrealloc(c->removals, (c->nremovals + 1) * sizeof(*c->removals));
    c->removals[c->nremovals++] = (struct seen_removal){version, sim_now(c->sim)};
}

/* The report of a removal that this epoch has seen begin has not come in time. */
static bool is_silent(const struct check *c, const struct seen_life *life)
{
    const struct api_faults f = sim_faults(c->sim);

    for (size_t i = 0; i < c->nremovals; i++) {
        const struct seen_removal *r = &c->removals[i];

        if (r->ms >= life->since_ms && r->version > life->told &&
            r->ms + api_faults_lost_ms(&f) <= sim_now(c->sim))
            return true;
    }
    return false;
}

/* More waits for it than the limit of a stream, which a schedule may draw small. */
static bool is_behind(const char *cause)
{
    return cause && strstr(cause, " bytes wait for vpid ");
}

void check_loss(struct check *c, uint32_t vpid, uint64_t ctr, const char *cause)
{
    struct msg_target t = {vpid, {c->head.inc, ctr}};
    const struct core *x = sim_core(c->sim, vpid);
    struct seen_life *life = life_of(c, vpid, t.epoch);

    life->lost = true;
    take_told(c, life);
    if (!x || !epoch_eq(core_inspect_epoch(x), t.epoch) || life->reported ||
        was_waited_for(c, 0, &t) || is_hung(c, 0, &t) || is_silent(c, life) || is_behind(cause))
        return;
    check_fail(c, "unrelated-loss", "vpid %u runs, nobody has reported it, and it is declared lost",
               vpid);
}

static bool seen_so(const struct check *c, uint32_t vpid, const struct member *m, bool live)
{
    const struct seen_member *s = &c->member[vpid];

    return s->ctr == m->ctr && s->state == m->state && s->live == live;
}

/* After an event at the head: which daemons are there, and which were asked to leave. */
void check_lives(struct check *c, const struct members *m)
{
    for (uint32_t v = 1; v < m->n; v++) {
        const struct member *x = members_get(m, v);

        if (!x || epoch_none(members_epoch(m, x)) || seen_so(c, v, x, members_live(m, v)))
            continue;
        c->member[v] = (struct seen_member){x->ctr, x->state, members_live(m, v)};
        if (members_live(m, v))
            life_of(c, v, members_epoch(m, x))->wired = true;
        if (x->state == MEMBER_PARKED || (x->state == MEMBER_LEAVING && !members_live(m, v)))
            life_of(c, v, members_epoch(m, x))->left = true;
    }
}

/* A former head that runs on gives epochs too. It is not checked, so the tables of its members show
 * them. */
void check_epochs(struct check *c, const struct members *m)
{
    const struct member *head = members_get(m, VPID_HEAD);

    if (!head || (sim_head(c->sim) && epoch_eq(members_epoch(m, head), c->head)))
        return;
    for (uint32_t v = 1; v < m->n; v++) {
        if (members_live(m, v))
            (void)life_of(c, v, members_epoch(m, members_get(m, v)));
    }
}

/* It has run without a link to its lifeline for as long as it waits for a head. */
static bool was_alone(const struct check *c, uint32_t vpid)
{
    return c->nodes[vpid].linked_ran_ms + sim_faults(c->sim).head_absence_ms <=
           sim_ran_ms(c->sim, vpid);
}

/* An heir takes links over from before it knew who was removed. So the end of the DVM may come over
 * such a link before the daemon has asked why it is in no table; its shrink has failed then. */
static bool has_heard_the_end(const struct check *c, uint32_t vpid)
{
    const struct core *head = sim_head(c->sim);

    return head && core_inherited(head) && c->nodes[vpid].settled_state == CORE_ENDING;
}

/* It has processed broadcasts that the head does not know, or older records lack its epoch. So it
 * is no member of this DVM: it joins anew (docs/head.md), and is refused while its shrink runs. */
static bool is_astray(const struct check *c, const struct core *now)
{
    const char *why = core_state_text(now);

    return c->older && (strstr(why, "does not know what this daemon has seen") ||
                        strstr(why, "this epoch of the vpid has ended"));
}

/* Somebody with the certificate of a member has called as this vpid since then, and was admitted.
 */
static bool is_replaced(const struct check *c, uint32_t vpid, struct epoch before)
{
    const struct core *head = sim_head(c->sim);
    const struct members *m = head ? core_inspect_members(head) : NULL;
    const struct member *x = m ? members_get(m, vpid) : NULL;

    return x && members_epoch(m, x).ctr > before.ctr;
}

/* It does not know the heir that has removed it. The former head, which runs beside that heir, has
 * declared it lost. */
static bool is_lost_to_former(const struct check *c, uint32_t vpid, const struct core *now)
{
    return c->two_heads && c->nodes[vpid].head.ctr < c->head.ctr &&
           strstr(core_state_text(now), "declared lost by the head");
}

/* A daemon that a shrink removed learns of it, however late, and parks. It does not call again
 * while that head runs, unless it could not reach anybody for the absence of the head. (A daemon
 * that had only called, and whose grow failed, may miss the message and call again.) */
void check_left(struct check *c, uint32_t vpid, struct epoch before, const struct core *now)
{
    const struct seen_life *life;

    if (epoch_none(before) || !epoch_none(core_inspect_epoch(now)) || before.inc != c->head.inc)
        return;
    life = life_of(c, vpid, before);
    if (life->left && life->wired && !life->lost && core_state(now) == CORE_JOINING &&
        !sim_exited(c->sim, vpid) && !was_alone(c, vpid) && !has_heard_the_end(c, vpid) &&
        !is_astray(c, now) && !is_replaced(c, vpid, before) && !is_lost_to_former(c, vpid, now))
        check_fail(c, "left-parks", "vpid %u has left in this epoch and joins anew: %s", vpid,
                   core_state_text(now));
}

/* Of a recoverable job: "4 of 4 ranks failed or were lost". The first failure decides its code. */
static bool has_lost_all(const char *text)
{
    char *end;
    unsigned long nlost = strtoul(text, &end, 10);

    return nlost && strncmp(end, " of ", 4) == 0 && strtoul(end + 4, NULL, 10) == nlost;
}

/* Of one rank, or of several: "was lost with its daemon (vpid 3)". */
static const char *find_lost_with(const char *text)
{
    const char *its = strstr(text, "was lost with its daemon (vpid ");
    const char *their = strstr(text, "were lost with their daemon (vpid ");

    return its && (!their || its < their) ? its : their;
}

struct link_look {
    const struct link_key *of;
    bool up;
};

static void look_at_link(void *arg, uint32_t vpid, struct epoch e)
{
    struct link_look *l = arg;

    l->up |= vpid == l->of->vpid && epoch_eq(e, l->of->epoch);
}

/* It was up after the last input, and may have broken in this one. */
static bool is_still_up(const struct check *c, const struct seen_link *x)
{
    const struct core *core = sim_core(c->sim, x->id.at);
    struct link_look l = {.of = &x->id, .up = !core};

    if (core)
        core_inspect_links(core, look_at_link, &l);
    return l.up;
}

bool check_was_cut(const struct check *c, const struct msg_target *id, uint64_t since_ms,
                   uint64_t member_ms)
{
    const struct seen_link *x, *tmp;
    uint64_t until_ms;

    HASH_ITER(hh, c->links, x, tmp)
    {
        if (!x->seen || x->id.vpid != id->vpid || !epoch_eq(x->id.epoch, id->epoch))
            continue;
        until_ms =
            x->up_ms + sim_faults(c->sim).silence_ms + (x->id.at != VPID_HEAD ? member_ms : 0);
        if (x->up ? !is_still_up(c, x) : until_ms >= since_ms)
            return true;
    }
    return false;
}

bool check_was_lost(const struct check *c, const struct msg_target *id)
{
    const struct seen_life *life, *tmp;

    HASH_ITER(hh, c->lives, life, tmp)
    {
        if (life->id.vpid == id->vpid && epoch_eq(life->id.epoch, id->epoch))
            return life->lost;
    }
    return false;
}

/* Its submitter's daemon was removed; that one may not have learned of it while it was cut off. */
static bool ends_with_its_daemon(const char *text)
{
    return strcmp(text, "left the DVM") == 0 ||
           strcmp(text, "ordered to leave, and the head is lost") == 0 ||
           strcmp(text, "the head has been out of reach for too long") == 0;
}

bool check_is_unsure(const struct check *c, const struct sim_job *j)
{
    for (size_t i = 0; i < c->unsure_jobs; i++) {
        if (sim_job(c->sim, i) == j)
            return true;
    }
    return false;
}

/* An heir's records lack the job, or what its submitter's daemon had processed. Or that one has
 * followed a former head beside the heir. */
static bool is_unknown_to_heir(const struct check *c, const struct sim_job *j)
{
    bool unknown = strstr(j->text, "does not know the job") ||
                   strstr(j->text, "does not know what this daemon has seen");

    return (unknown && check_is_unsure(c, j)) || (c->two_heads && ends_with_its_daemon(j->text));
}

/* No head has seen that its submitter's daemon left: that one had SIGTERM while there was none. */
static bool left_without_head(const struct check *c, const struct sim_job *j)
{
    const struct core *x = sim_core(c->sim, j->home);

    return strcmp(j->text, "ordered to leave, and the head is lost") == 0 &&
           (!x || !epoch_eq(core_inspect_epoch(x), j->home_epoch));
}

/* It waited, and its prun may submit it elsewhere. */
static bool was_given_back(const char *text)
{
    static const char how[] = "not launched: the daemon of its prun ";

    return strncmp(text, how, strlen(how)) == 0;
}

void check_given_back(struct check *c, uint32_t vpid, const char *nspace)
{
    for (size_t i = 0; !c->older && i < sim_njobs(c->sim); i++) {
        const struct sim_job *j = sim_job(c->sim, i);

        if (j->done && strcmp(j->nspace, nspace) == 0 && was_given_back(j->text))
            check_fail(c, "runs-once", "job %s was given back, and vpid %u launches it", nspace,
                       vpid);
    }
}

bool check_excused(struct check *c, const struct sim_job *j, bool fails_at_start)
{
    const char *where = strstr(j->text, "(vpid ");
    const char *lost = find_lost_with(j->text);
    const struct seen_life *life, *tmp;
    const struct seen_life *home = life_of(c, j->home, j->home_epoch);
    uint32_t vpid;

    if (lost && (j->exit_code == EXIT_CODE_LOST || fails_at_start || has_lost_all(j->text)))
        where = strstr(lost, "(vpid ");
    else if (j->exit_code != EXIT_CODE_LOST)
        return false;
    if (was_given_back(j->text) || is_unknown_to_heir(c, j) || left_without_head(c, j))
        return true;
    if (home->lost || (home->left && ends_with_its_daemon(j->text)))
        return true;
    if (!where)
        return false;
    vpid = (uint32_t)strtoul(where + strlen("(vpid "), NULL, 10);
    HASH_ITER(hh, c->lives, life, tmp)
    {
        if (life->id.vpid == vpid && life->lost)
            return true;
    }
    return false;
}

void check_loss_forget(struct check *c)
{
    struct seen_life *life, *ltmp;
    struct seen_link *x, *tmp;

    free(c->removals);

    HASH_ITER(hh, c->lives, life, ltmp)
    {
        HASH_DEL(c->lives, life);
        free(life->waiting);
        free(life);
    }
    HASH_ITER(hh, c->links, x, tmp)
    {
        HASH_DEL(c->links, x);
        free(x);
    }
}
