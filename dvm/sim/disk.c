/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's records, and the processes of the head: one that ends between two actions, and a
 * former one that runs on beside its heir.
 *
 * In: OUT_RECORDS of the head; the schedule's orders. Out: the bytes with which the next process of
 * the head begins (struct sim, disk); the end of a process.
 *
 * The disk belongs to the last process that was started. A former process runs on as SIM_FORMER,
 * with its connections. It ends at the first record that it cannot write, before the effects of
 * that record, as a daemon does that has lost its disk. One that runs when it is replaced goes on
 * without its disk. From time to time a snapshot replaces what is on the disk.
 *
 * A head with keepers has its disk as a volume, which may be lost, damaged, or not written for some
 * time. Its records are then older than those of the head until a snapshot replaces them: when the
 * volume is written again, or by the first group of the next head.
 *
 * Invariants: a process ends after an action, and all its records are on the disk then. An end
 * before the records would be the same as one before the input. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/sim_private.h"

#include <stdlib.h>

#define SNAPSHOT_ABOVE (256u << 10) /* bytes on the disk */

static void write_snapshot(struct sim *s)
{
    struct buf *disk = &s->disk;

    buf_reset(disk);
    core_snapshot(s->nodes[VPID_HEAD].core, disk);
    s->disk_snapshot = disk->len;
    s->disk_lacks = false;
}

static void put_group(struct sim *s, const struct out_records *group)
{
    s->disk_lacks = s->disk_stalled || (s->disk_lacks && !group->anew);
    if (s->disk_lacks)
        return;
    if (group->anew) {
        buf_reset(&s->disk);
        s->disk_snapshot = group->data.len;
    }
    buf_put_raw(&s->disk, group->data.data, group->data.len);
    if (s->disk.len > s->disk_snapshot + SNAPSHOT_ABOVE)
        write_snapshot(s);
}

bool sim_disk_put(struct sim *s, uint32_t vpid, const struct out_records *group)
{
    if (vpid == SIM_FORMER)
        return s->former_goes_on;
    if (s->opts.disk)
        put_group(s, group);
    return true;
}

void sim_lose_disk(struct sim *s)
{
    buf_reset(&s->disk);
    s->disk_snapshot = 0;
    s->disk_lacks = s->opts.keepers;
}

/* --- the disk of a head with keepers: its volume */

bool sim_has_volume(const struct sim *s)
{
    return s->opts.disk && s->opts.keepers;
}

void sim_damage_disk(struct sim *s)
{
    s->disk.len -= s->disk.len > 0; /* the last record is cut */
    s->disk_lacks = true;
}

void sim_stall_disk(struct sim *s, bool stalled)
{
    s->disk_stalled = stalled;
    if (!stalled && s->disk_lacks && sim_head(s))
        write_snapshot(s);
}

bool sim_disk_stalled(const struct sim *s)
{
    return s->disk_stalled;
}

uint64_t sim_heirs(const struct sim *s)
{
    return s->heirs;
}

/* --- the end of the head's process between two actions */

void sim_end_midway(struct sim *s, uint64_t groups, uint64_t actions)
{
    s->midway = (struct midway){true, groups, actions};
}

static void flush_records(struct sim *s)
{
    struct out_act a;

    while (core_next_records(s->nodes[VPID_HEAD].core, &a)) {
        if (s->hooks.action)
            s->hooks.action(s->hooks.arg, VPID_HEAD, &a);
        (void)sim_disk_put(s, VPID_HEAD, &a.records);
        out_act_free(&a);
    }
}

bool sim_ends_now(struct sim *s, uint32_t vpid, const struct out_act *act)
{
    struct midway *m = &s->midway;

    if (!m->due || vpid != VPID_HEAD)
        return false;
    if (m->groups) {
        m->groups -= act->kind == OUT_RECORDS;
        if (m->groups || m->actions)
            return false;
    } else if (--m->actions) {
        return false;
    }
    m->due = false;
    flush_records(s);
    return true;
}

bool sim_midway_due(const struct sim *s)
{
    return s->midway.due;
}

void sim_midway_not(struct sim *s)
{
    s->midway.due = false;
}

/* --- a former head beside its heir */

static void move_wires(struct sim *s)
{
    struct wire *w;

    DL_FOREACH(s->wires, w)
    {
        if (w->a != VPID_HEAD && w->b != VPID_HEAD)
            continue;
        HASH_DELETE(hh_a, s->by_a, w);
        HASH_DELETE(hh_b, s->by_b, w);
        *(w->a == VPID_HEAD ? &w->a : &w->b) = SIM_FORMER;
        *(w->a == SIM_FORMER ? &w->key_a.vpid : &w->key_b.vpid) = SIM_FORMER;
        HASH_ADD(hh_a, s->by_a, key_a, sizeof(w->key_a), w);
        HASH_ADD(hh_b, s->by_b, key_b, sizeof(w->key_b), w);
    }
}

static void move_event(struct ev *e)
{
    e->vpid = e->vpid == VPID_HEAD ? SIM_FORMER : e->vpid;
    e->from = e->from == VPID_HEAD ? SIM_FORMER : e->from;
}

static void move_events(struct sim *s)
{
    struct node *n = &s->nodes[SIM_FORMER];
    struct ev *e;

    for (size_t i = 0; i < s->nheap; i++)
        move_event(s->heap[i]);
    DL_FOREACH(s->blocked, e)
    {
        move_event(e);
    }
    DL_FOREACH(n->held, e)
    {
        move_event(e);
    }
}

bool sim_set_aside(struct sim *s)
{
    struct node *head = &s->nodes[VPID_HEAD];

    if (!head->core || (!head->stopped && !sim_head(s)))
        return false;
    sim_end_former(s);
    s->former_goes_on = !head->stopped;
    sim_kept_end(s, VPID_HEAD);
    s->nodes[SIM_FORMER] = *head;
    *head = (struct node){.life = head->life + 1, .wall_ms = head->wall_ms, .sim = s};
    core_inspect_watch(s->nodes[SIM_FORMER].core, NULL, NULL);
    if (s->hooks.aside)
        s->hooks.aside(s->hooks.arg, s->nodes[SIM_FORMER].core);
    move_wires(s);
    move_events(s);
    return true;
}

void sim_end_former(struct sim *s)
{
    sim_crash(s, SIM_FORMER);
}

bool sim_from_former(struct sim *s, uint32_t vpid, uint64_t conn)
{
    struct wire *w = sim_wire_of(s, vpid, conn);

    return w && (w->a == SIM_FORMER || w->b == SIM_FORMER);
}
