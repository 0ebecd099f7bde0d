/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's metrics in Prometheus' text format; docs/control-api.md lists them.
 *
 * In: the core's counters and state, at the head also its view of the DVM, and /proc/self. Out: the
 * text of one answer to /metrics, on the heap.
 *
 * Every daemon gives its own state, tree and links, and the figures of its process. Members,
 * campaigns, size, fence and events are given by the head alone. A value of /proc that cannot be
 * read is 0. */
#include "base/heap/heap.h"
#include "base/log/log.h"
#include "dvm/host/ctl/ctl_private.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void head_of(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_metric(FILE *f, const char *name, const char *type, const char *help, uint64_t v)
{
    head_of(f, name, type, help);
    fprintf(f, "%s %" PRIu64 "\n", name, v);
}

static void put_states(FILE *f, const struct ctl *ctl)
{
    static const char *const names[] = {"joining", "wired", "leaving", "parked", "ending"};

    head_of(f, "dvm_daemon_state", "gauge", "1 for the state that this daemon is in.");
    for (int i = CORE_JOINING; i <= CORE_ENDING; i++)
        fprintf(f, "dvm_daemon_state{state=\"%s\"} %d\n", names[i],
                core_state(ctl->core) == (enum core_state)i);
}

static void put_links(FILE *f, const struct core_stats *s)
{
    head_of(f, "dvm_links", "gauge", "Links to other daemons, by state.");
    fprintf(f, "dvm_links{state=\"up\"} %" PRIu64 "\n", s->links - s->links_out);
    fprintf(f, "dvm_links{state=\"mapped-out\"} %" PRIu64 "\n", s->links_out);
    put_metric(f, "dvm_links_lost_total", "counter", "Links that broke or fell silent.",
               s->links_lost);
    put_metric(f, "dvm_links_mapped_out_total", "counter", "Times that a link was mapped out.",
               s->links_mapped_out);
    put_metric(f, "dvm_links_taken_back_total", "counter",
               "Times that a link that was mapped out, or replaces a lost one, has proved itself.",
               s->links_taken_back);
    put_metric(f, "dvm_frames_again_total", "counter",
               "Frames sent again to a neighbour after the failure of a link.", s->frames_again);
}

/* A series for each neighbour, pair of addresses and state that has links. */
static void put_paths(FILE *f, const struct core *core)
{
    struct api_links l = core_links(core);

    head_of(f, "dvm_link_paths", "gauge",
            "Links to neighbours in the tree, by the addresses of their ends and their state.");
    for (size_t i = 0; i < l.npeers; i++) {
        const struct api_link_peer *p = &l.peers[i];

        for (size_t n = 0; n < p->npaths; n++) {
            const struct api_link_path *x = &p->paths[n];

            fprintf(f,
                    "dvm_link_paths{vpid=\"%u\",own=\"%s\",other=\"%s\",state=\"up\"} %u\n"
                    "dvm_link_paths{vpid=\"%u\",own=\"%s\",other=\"%s\",state=\"mapped-out\"} %u\n",
                    p->vpid, x->own, x->other, x->up, p->vpid, x->own, x->other, x->mapped_out);
        }
    }
    api_links_free(&l);
}

static void put_handshakes(FILE *f, const struct net *net)
{
    struct net_handshakes h = net ? net_handshakes(net) : (struct net_handshakes){0};

    head_of(f, "dvm_tls_handshakes_total", "counter",
            "Handshakes at the join port and with other daemons, by kind.");
    fprintf(f, "dvm_tls_handshakes_total{kind=\"full\"} %" PRIu64 "\n", h.full);
    fprintf(f, "dvm_tls_handshakes_total{kind=\"resumed\"} %" PRIu64 "\n", h.resumed);
}

static void put_stats(FILE *f, const struct core_stats *s)
{
    put_metric(f, "dvm_tree_repairs_total", "counter", "Repair passes of the tree.", s->repairs);
    put_metric(f, "dvm_broadcasts_total", "counter", "Broadcasts processed.", s->xcasts);
    put_metric(f, "dvm_stale_frames_total", "counter",
               "Frames refused: of an earlier epoch, malformed or forged.", s->stale_frames);
    put_metric(f, "dvm_forged_frames_total", "counter",
               "Frames refused: their sender may not send them.", s->forged_frames);
    put_metric(f, "dvm_routed_frames_total", "counter",
               "Frames of messages received, its own and those passed on.", s->routed_frames);
    put_metric(f, "dvm_circled_frames_total", "counter",
               "Frames that were not passed on after too many hops.", s->circled_frames);
    put_links(f, s);
    put_metric(f, "dvm_jobs_started_total", "counter", "Jobs started.", s->jobs_started);
    put_metric(f, "dvm_jobs_ended_total", "counter", "Jobs ended.", s->jobs_ended);
    head_of(f, "dvm_jobs_held_total", "counter", "Times that a resize held a job, by boundary.");
    fprintf(f, "dvm_jobs_held_total{boundary=\"map\"} %" PRIu64 "\n", s->held_map);
    fprintf(f, "dvm_jobs_held_total{boundary=\"launch\"} %" PRIu64 "\n", s->held_launch);
    put_metric(f, "dvm_jobs_remapped_total", "counter", "Jobs mapped again after a resize.",
               s->remapped);
    put_metric(f, "dvm_daemons_live", "gauge", "Daemons in the tree, as this one knows.", s->live);
    put_metric(f, "dvm_membership_version", "gauge", "Number of the last membership broadcast.",
               s->version);
}

static void put_members(FILE *f, const struct api_dvm *d)
{
    uint64_t slots = 0, used = 0;

    head_of(f, "dvm_members", "gauge", "Daemons that the head knows, by state.");
    for (unsigned s = 0; s < MEMBER_STATES; s++) {
        unsigned n = 0;

        for (size_t m = 0; m < d->nmembers; m++)
            n += d->members[m].state == s;
        fprintf(f, "dvm_members{state=\"%s\"} %u\n", member_state_word(s), n);
    }
    for (size_t m = 0; m < d->nmembers; m++) {
        if (d->members[m].state != MEMBER_WIRED)
            continue;
        slots += d->members[m].slots;
        used += d->members[m].slots_used;
    }
    put_metric(f, "dvm_slots", "gauge", "Slots of wired daemons.", slots);
    put_metric(f, "dvm_slots_used", "gauge", "Slots in use on wired daemons.", used);
}

static void put_campaigns(FILE *f, const struct api_dvm *d)
{
    head_of(f, "dvm_campaigns", "gauge", "Campaigns that the head remembers, by phase.");
    for (int p = API_PHASE_DRAINING; p < API_PHASES; p++) {
        unsigned n = 0;

        for (size_t i = 0; i < d->ncampaigns; i++)
            n += (int)d->campaigns[i].phase == p;
        fprintf(f, "dvm_campaigns{phase=\"%s\"} %u\n", api_phase_name((enum api_phase)p), n);
    }
}

static void put_head(FILE *f, const struct ctl *ctl)
{
    struct api_dvm d = {0};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    if (!core_event_next(ctl->core) || core_dvm(ctl->core, &d, &reason, &err) < 0)
        return; /* the others are known to the head only */
    put_members(f, &d);
    put_campaigns(f, &d);
    put_metric(f, "dvm_size_members", "gauge", "Members that may join.", d.size_members);
    put_metric(f, "dvm_fence", "gauge", "Launch fence: 0 lets jobs through.", d.fence_total);
    put_metric(f, "dvm_events_total", "counter", "Events of this incarnation.", d.next_event - 1);
    put_metric(f, "dvm_keepers", "gauge", "Members that keep all records of the head.",
               core_stats(ctl->core).keepers);
    put_metric(f, "dvm_keepers_left_behind_total", "counter",
               "Times that the head has gone on without a keeper.",
               core_stats(ctl->core).left_behind);
    if (ctl->has_file)
        put_metric(f, "dvm_records_file", "gauge",
                   "1: the records of the head are in its file too.",
                   ctl->records && records_there(ctl->records));
    put_metric(f, "dvm_event_streams", "gauge", "Open event streams.", ctl->nstreams);
    api_dvm_free(&d);
}

/* The second number of /proc/self/statm, in pages. */
static uint64_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    char line[128] = "";
    char *end = line;

    if (!f)
        return 0;
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    fclose(f);
    (void)strtoull(line, &end, 10);
    return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static uint64_t open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    uint64_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n > 3 ? n - 3 : 0; /* ".", "..", and this one */
}

char *ctl_metrics_text(const struct ctl *ctl)
{
    struct core_stats stats = core_stats(ctl->core);
    char *text = NULL;
    size_t len = 0;
    FILE *f = heap_stream_open(&text, &len);

    put_states(f, ctl);
    put_stats(f, &stats);
    put_paths(f, ctl->core);
    put_handshakes(f, ctl->net);
    put_head(f, ctl);
    put_metric(f, "dvm_log_records_lost_total", "counter", "Log records that could not be written.",
               log_lost());
    put_metric(f, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
    put_metric(f, "process_heap_bytes", "gauge", "Memory that is allocated.", heap_bytes());
    put_metric(f, "process_open_fds", "gauge", "Open descriptors.", open_fds());
    heap_stream_close(f);
    return text;
}
