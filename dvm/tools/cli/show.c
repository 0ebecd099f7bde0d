/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's view as tables; an event as a line. The tree is in show_tree.c.
 *
 * In: decoded structures of api/dvm.h, api/links.h and api/event.h. Out: text for people, which may
 * change: programs read JSON. In tables an absent text or an empty list is "-". A job in state
 * VM_READY with a reason is shown as QUEUED. Times of events are in the local time zone. */
#include "dvm/tools/cli/show.h"

#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/cli/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *show_vpids(const uint32_t *v, size_t n)
{
    char *text = NULL;
    size_t len;
    FILE *f = n ? heap_stream_open(&text, &len) : NULL;

    if (!f)
        return xstrdup("-");
    for (size_t i = 0; i < n; i++) {
        size_t last = i;

        while (last + 1 < n && v[last + 1] == v[last] + 1)
            last++;
        fprintf(f, i ? ",%u" : "%u", v[i]);
        if (last > i)
            fprintf(f, "-%u", v[last]);
        i = last;
    }
    heap_stream_close(f);
    return text;
}

char *show_job_refs(const struct api_job_ref *refs, size_t n)
{
    char *text = NULL;
    size_t len;
    FILE *f = n ? heap_stream_open(&text, &len) : NULL;

    if (!f)
        return xstrdup("");
    for (size_t i = 0; i < n; i++) {
        FREE_AUTO char *ranks = show_vpids(refs[i].ranks, refs[i].nranks);
        FREE_AUTO char *job = cli_text(refs[i].job);

        fprintf(f, "%sjob %s ranks %s", i ? ", " : "", job, ranks);
    }
    heap_stream_close(f);
    return text;
}

void show_summary(const struct api_dvm *d, FILE *out)
{
    FREE_AUTO char *cluster = cli_text(d->cluster);
    FREE_AUTO char *incarnation = cli_text(d->incarnation);
    uint32_t wired = 0, slots = 0, used = 0;

    for (size_t i = 0; i < d->nmembers; i++) {
        const struct api_dvm_member *m = &d->members[i];

        if (m->state != MEMBER_WIRED)
            continue;
        wired += m->vpid > 0;
        slots += m->slots;
        used += m->slots_used;
    }
    fprintf(out,
            "DVM %s: %u of %u members wired, %u of %u slots in use, version %" PRIu64
            ", incarnation %s\n",
            cluster, wired, d->size_members, used, slots, d->version, incarnation);
    if (!d->fence_total)
        return;
    fprintf(out, "Launch fence up:");
    for (size_t i = 0; i < d->nholds; i++) {
        FREE_AUTO char *name = cli_text(d->holds[i].name);

        fprintf(out, "%s %s (%u)", i ? "," : "", name, d->holds[i].count);
    }
    fputc('\n', out);
}

void show_members(const struct api_dvm *d, FILE *out)
{
    static const char *const heads[] = {">VPID",   ">EPOCH",   "STATE", "HOST",
                                        "ADDRESS", ">SLOTS",   ">USED", ">PARENT",
                                        ">DEPTH",  ">REPAIRS", NULL};
    struct table *t = table_create(heads);

    for (size_t i = 0; i < d->nmembers; i++) {
        const struct api_dvm_member *m = &d->members[i];

        table_cell(t, "%u", m->vpid);
        table_cell(t, "%" PRIu64, m->epoch);
        table_cell(t, "%s", member_state_word(m->state));
        table_cell(t, "%s", m->host[0] ? m->host : "-");
        table_cell(t, "%s", m->address[0] ? m->address : "-");
        table_cell(t, "%u", m->slots);
        table_cell(t, "%u", m->slots_used);
        if (m->parent < 0)
            table_cell(t, "-");
        else
            table_cell(t, "%" PRId64, m->parent);
        table_cell(t, "%u", m->depth);
        table_cell(t, "%" PRIu64, m->repairs);
    }
    table_print(t, out);
    table_destroy(t);
}

/* A job that stays before the map waits for slots; the name of that state does not say so. */
static const char *state_shown(const struct api_dvm_job *j)
{
    return j->state == JOB_VM_READY && j->reason[0] ? "QUEUED" : job_state_word(j->state);
}

static void reason_cell(struct table *t, const struct api_dvm_job *j)
{
    const char *both = j->reason[0] && j->waits_for[0] ? "; " : "";

    if (j->reason[0] || j->waits_for[0])
        table_cell(t, "%s%s%s", j->reason, both, j->waits_for);
    else
        table_cell(t, "-");
}

void show_jobs(const struct api_dvm *d, FILE *out)
{
    static const char *const heads[] = {"JOB", "STATE", ">RANKS", "VPIDS", ">EXIT", "REASON", NULL};
    struct table *t = table_create(heads);

    for (size_t i = 0; i < d->njobs; i++) {
        const struct api_dvm_job *j = &d->jobs[i];
        FREE_AUTO char *vpids = show_vpids(j->vpids, j->nvpids);

        table_cell(t, "%s", j->id);
        table_cell(t, "%s", state_shown(j));
        table_cell(t, j->ranks ? "%u" : "-", j->ranks);
        table_cell(t, "%s", vpids);
        table_cell(t, job_state_over(j->state) ? "%d" : "-", j->exit_code);
        reason_cell(t, j);
    }
    table_print(t, out);
    table_destroy(t);
}

/* From acceptance to the end; "-" while it runs. */
static void took_cell(struct table *t, const struct api_campaign *c)
{
    if (c->complete_ms && c->accepted_ms)
        table_cell(t, "%" PRId64 " ms", c->complete_ms - c->accepted_ms);
    else
        table_cell(t, "-");
}

/* The requester: a process of an application or a tool; "-": the control API, for example the
 * operator. */
static void asker_cell(struct table *t, const struct api_requester *r)
{
    if (r->job)
        table_cell(t, "job %s rank %u", r->job, r->rank);
    else
        table_cell(t, "-");
}

void show_campaigns(const struct api_dvm *d, FILE *out)
{
    static const char *const heads[] = {"CAMPAIGN",  ">SEQ",     "KIND",     "PHASE",
                                        ">TOOK",     "TARGETS",  "DEPARTED", "WAITING FOR",
                                        "HAS ENDED", "ASKED BY", NULL};
    struct table *t = table_create(heads);

    for (size_t i = 0; i < d->ncampaigns; i++) {
        const struct api_campaign *c = &d->campaigns[i];
        FREE_AUTO char *targets = show_vpids(c->targets, c->ntargets);
        /* A member that joined by a grow may have left since, by another campaign. */
        bool came = c->kind == API_KIND_GROW && c->phase == API_PHASE_COMPLETE;
        FREE_AUTO char *departed = show_vpids(c->departed, came ? 0 : c->ndeparted);
        FREE_AUTO char *waiting = show_job_refs(c->waiting, c->nwaiting);
        FREE_AUTO char *ended = show_job_refs(c->ended, c->nended);

        table_cell(t, "%s", c->id);
        table_cell(t, "%" PRIu64, c->sequence);
        table_cell(t, "%s", c->kind == API_KIND_GROW ? "grow" : "shrink");
        table_cell(t, "%s", api_phase_name(c->phase));
        took_cell(t, c);
        table_cell(t, "%s", targets);
        table_cell(t, "%s", departed);
        table_cell(t, "%s", waiting[0] ? waiting : "-");
        table_cell(t, "%s", ended[0] ? ended : "-");
        asker_cell(t, &c->requester);
    }
    table_print(t, out);
    table_destroy(t);
}

/* "10.1.0.2-10.1.0.1 x2, 10.2.0.2-10.2.0.1 (out)" */
static char *show_paths(const struct api_link_peer *p)
{
    char *text = NULL;
    size_t len;
    FILE *f = heap_stream_open(&text, &len);

    for (size_t i = 0; i < p->npaths; i++) {
        const struct api_link_path *x = &p->paths[i];
        uint32_t n = x->up + x->mapped_out;

        fprintf(f, "%s%s-%s", i ? ", " : "", x->own, x->other);
        if (n > 1)
            fprintf(f, " x%u", n);
        if (x->mapped_out && x->mapped_out < n)
            fprintf(f, " (%u out)", x->mapped_out);
        else if (x->mapped_out)
            fprintf(f, " (out)");
    }
    if (p->npaths == 0)
        fputc('-', f);
    heap_stream_close(f);
    return text;
}

void show_links(const struct api_links *l, FILE *out)
{
    static const char *const heads[] = {">VPID",       "ROLE",    ">UP",   ">MAPPED OUT",
                                        ">ROUND TRIP", ">QUEUED", ">LOST", ">SENT AGAIN",
                                        "ADDRESSES",   NULL};
    struct table *t = table_create(heads);

    for (size_t i = 0; i < l->npeers; i++) {
        const struct api_link_peer *p = &l->peers[i];
        FREE_AUTO char *paths = show_paths(p);

        table_cell(t, "%u", p->vpid);
        table_cell(t, "%s", api_link_role_word(p->role));
        table_cell(t, "%u", p->up);
        table_cell(t, "%u", p->mapped_out);
        if (p->round_trip_ms < 0)
            table_cell(t, "-");
        else
            table_cell(t, "%" PRId64 " ms", p->round_trip_ms);
        table_cell(t, "%" PRIu64, p->queued_bytes);
        table_cell(t, "%" PRIu64, p->lost);
        table_cell(t, "%" PRIu64, p->sent_again);
        table_cell(t, "%s", paths);
    }
    table_print(t, out);
    table_destroy(t);
}

static void show_time(int64_t ms, FILE *out)
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    char text[32];

    localtime_r(&s, &tm);
    strftime(text, sizeof(text), "%H:%M:%S", &tm);
    fprintf(out, "%s.%03d", text, (int)(ms % 1000));
}

static void show_event_campaign(const struct api_campaign *c, FILE *out)
{
    FREE_AUTO char *id = cli_text(c->id);
    FREE_AUTO char *cause = cli_text(c->cause ? c->cause : "");
    FREE_AUTO char *targets = show_vpids(c->targets, c->ntargets);
    FREE_AUTO char *waiting = show_job_refs(c->waiting, c->nwaiting);
    FREE_AUTO char *ended = show_job_refs(c->ended, c->nended);

    fprintf(out, "  %s, vpids %s, %s", id, targets, api_phase_name(c->phase));
    if (cause[0])
        fprintf(out, ": %s", cause);
    if (waiting[0])
        fprintf(out, ", waits for %s", waiting);
    if (ended[0])
        fprintf(out, ", has ended %s", ended);
}

void show_event(const struct api_event *e, FILE *out)
{
    show_time(e->time_ms, out);
    fprintf(out, "  %4" PRIu64 "  %s", e->number, api_event_type_name(e->type));
    if (e->type <= API_EVENT_DAEMON_DEPARTED)
        fprintf(out, "  vpid %u, epoch %" PRIu64, e->vpid, e->epoch);
    if (e->has_campaign)
        show_event_campaign(&e->campaign, out);
    fputc('\n', out);
}
