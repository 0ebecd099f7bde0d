/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers between this daemon and its neighbours, over its links.
 *
 * In: routed frames that go to a neighbour; messages of transfers; links that have come or gone.
 * Out: frames on links; routed frames that have come as transfers (hops_next()).
 *
 * A frame of at most HOP_DIRECT_BYTES is sent as it is. A longer one is a transfer: it goes in
 * fragments, of which only HOP_FRAGS_MAX wait on a link, so small messages pass it. Frames of
 * the class launch are read by the receiver (GET), all others are sent.
 *
 * The other daemon answers each frame of a transfer with TAKEN, which counts the frames of this
 * link. So a frame is complete when the other daemon has processed it; when its link breaks before,
 * it has met an error.
 *
 * What always holds: the transfers with a daemon last as long as its epoch, whatever happens to its
 * links. They end before that when it is no neighbour any more and has no link.
 *
 * When it fails: a transfer that ends early leaves its message to the end-to-end acknowledgement:
 * its source sends it again. */
#include "dvm/protocol/rml/hop.h"

#include "base/log/log.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct posted { /* a frame on a link, until TAKEN counts it */
    uint64_t id;
    bool frag;
    struct posted *next, *prev;
};

struct way { /* a link that has carried transfers */
    uint64_t conn;
    struct hop *hop;
    struct posted *posted;
    size_t nfrags;        /* of them */
    uint64_t sent, taken; /* frames of transfers in each direction */
    uint64_t counted;     /* of those that were sent, by TAKEN */
    struct way *next, *prev;
};

struct hop { /* all transfers with one daemon */
    struct hops *hops;
    uint32_t vpid;
    struct epoch epoch;
    struct transfer_end *end;
    bool below;     /* it has called us: it is no way to the head */
    size_t waiting; /* bytes of frames whose transfers have not ended */
    struct hop *next, *prev;
};

struct whole { /* a frame that is going out, coming in, or has come */
    struct hops *hops;
    struct hop *to; /* NULL: it comes in */
    struct transfer_match match;
    struct buf bytes;
    struct whole *next, *prev;
};

struct hops {
    struct out *out;
    struct members *members;
    struct neighbours *neighbours;
    struct hop_limits limits;
    struct epoch epoch;
    struct hop *list;
    struct way *ways;
    struct whole *come; /* in the order of their ends */
    uint64_t last_end;
    uint64_t ndropped; /* neighbours_dropped() at the last check */
};

struct hops *hops_create(struct out *out, struct members *members, struct neighbours *neighbours)
{
    struct hops *h = xcalloc(1, sizeof(*h));

    h->out = out;
    h->members = members;
    h->neighbours = neighbours;
    hops_set_limits(h, &(struct hop_limits){0});
    return h;
}

void hops_set_limits(struct hops *h, const struct hop_limits *limits)
{
    h->limits = *limits;
    if (limits->direct_bytes == 0)
        h->limits.direct_bytes = HOP_DIRECT_BYTES;
    if (limits->waiting_bytes == 0)
        h->limits.waiting_bytes = PEER_BACKLOG_MAX;
}

void hops_set_epoch(struct hops *h, struct epoch epoch)
{
    h->epoch = epoch;
}

/* --- whole frames */

static struct whole *new_whole(struct hops *h, const struct transfer_match *match)
{
    struct whole *w = xcalloc(1, sizeof(*w));

    w->hops = h;
    w->match = *match;
    buf_init(&w->bytes, HOP_FRAME_BYTES);
    return w;
}

static void free_whole(struct whole *w)
{
    buf_free(&w->bytes);
    free(w);
}

static const uint8_t *read_whole(void *arg, uint64_t offset, size_t len)
{
    const struct whole *w = arg;

    return w->bytes.data + offset;
}

static void end_source(void *arg, bool arrived)
{
    struct whole *w = arg;

    w->to->waiting -= w->bytes.len;
    free_whole(w);
}

static void write_whole(void *arg, uint64_t offset, const uint8_t *data, size_t len)
{
    struct whole *w = arg;

    memcpy(w->bytes.data + offset, data, len);
}

/* The header of a frame says the same as the match data of its transfer. */
static bool is_sound(const struct whole *w)
{
    struct cur c = cur_of(w->bytes.data, w->bytes.len);
    struct frame f;

    return frame_decode(&c, &f, NULL) == 0 && msg_is_routed(f.type) && f.src == w->match.src &&
           f.dst == w->match.dst && f.traffic == w->match.traffic && f.seq == w->match.seq &&
           epoch_eq(f.src_epoch, w->match.src_epoch);
}

static void end_sink(void *arg, bool complete)
{
    struct whole *w = arg;

    if (complete && is_sound(w)) {
        DL_APPEND(w->hops->come, w);
        return;
    }
    if (complete)
        out_log(w->hops->out, LOG_LEVEL_WARN, "a frame from vpid %u is not what its transfer named",
                w->match.src);
    free_whole(w);
}

bool hops_next(struct hops *h, struct buf *frame)
{
    struct whole *w = h->come;

    if (!w)
        return false;
    DL_DELETE(h->come, w);
    *frame = w->bytes;
    free(w);
    return true;
}

/* --- the layer below the transfers */

static struct neighbour *find_up(const struct hop *hop)
{
    struct neighbour *k;

    DL_FOREACH(neighbours_first(hop->hops->neighbours), k)
    {
        if (k->vpid == hop->vpid && k->state == NEIGHBOUR_UP && epoch_eq(k->epoch, hop->epoch))
            return k;
    }
    return NULL;
}

static struct way *find_way(const struct hops *h, uint64_t conn)
{
    struct way *w;

    DL_FOREACH(h->ways, w)
    {
        if (w->conn == conn)
            return w;
    }
    return NULL;
}

static struct way *get_way(struct hop *hop, uint64_t conn)
{
    struct way *w = find_way(hop->hops, conn);

    if (w)
        return w;
    w = xcalloc(1, sizeof(*w));
    w->conn = conn;
    w->hop = hop;
    DL_APPEND(hop->hops->ways, w);
    return w;
}

static uint32_t count_links(void *arg)
{
    return 1;
}

static bool has_room(void *arg, uint32_t link)
{
    const struct hop *hop = arg;
    const struct neighbour *k = find_up(hop);
    const struct way *w = k ? find_way(hop->hops, k->id) : NULL;

    return k && (!w || w->nfrags < HOP_FRAGS_MAX);
}

static bool is_content(const struct msg *m)
{
    return m->type == MSG_MATCH || m->type == MSG_FRAG;
}

static void say_on_link(struct hops *h, struct neighbour *k, const struct msg *m)
{
    struct frame from = {.src = h->members->self,
                         .dst = VPID_NONE,
                         .traffic = is_content(m) ? CLASS_BULK : CLASS_CONTROL,
                         .src_epoch = h->epoch,
                         .version = h->members->version};

    neighbours_send(h->neighbours, k, &from, m);
}

static bool send_frame(void *arg, uint32_t link, uint64_t frame, const struct msg *m)
{
    struct hop *hop = arg;
    struct neighbour *k = find_up(hop);
    struct posted *p;
    struct way *w;

    if (!k)
        return false;
    w = get_way(hop, k->id);
    p = xcalloc(1, sizeof(*p));
    p->id = frame;
    p->frag = m->type == MSG_FRAG;
    DL_APPEND(w->posted, p);
    w->nfrags += p->frag;
    w->sent++;
    say_on_link(hop->hops, k, m);
    return true;
}

static bool accept_whole(void *arg, const struct transfer_match *match, uint64_t size,
                         struct transfer_sink *sink)
{
    struct hop *hop = arg;
    struct whole *w;

    if (size > HOP_FRAME_BYTES || (match->src == VPID_HEAD && hop->below)) {
        out_log(hop->hops->out, LOG_LEVEL_WARN, "vpid %u offers %llu bytes of vpid %u: refused",
                hop->vpid, (unsigned long long)size, match->src);
        return false;
    }
    w = new_whole(hop->hops, match);
    w->bytes.data = xmalloc((size_t)size);
    w->bytes.len = w->bytes.cap = (size_t)size;
    *sink = (struct transfer_sink){w, size > HOP_REGIONS_BYTES, write_whole, end_sink};
    return true;
}

static void log_illegal(void *arg, const char *text)
{
    const struct hop *hop = arg;

    out_log(hop->hops->out, LOG_LEVEL_WARN, "vpid %u: %s", hop->vpid, text);
}

/* --- one neighbour */

static struct hop *find_hop(const struct hops *h, uint32_t vpid, struct epoch epoch)
{
    struct hop *hop;

    DL_FOREACH(h->list, hop)
    {
        if (hop->vpid == vpid && epoch_eq(hop->epoch, epoch))
            return hop;
    }
    return NULL;
}

static struct hop *get_hop(struct hops *h, const struct neighbour *k)
{
    struct hop *hop = find_hop(h, k->vpid, k->epoch);
    struct transfer_io io = {.links = count_links,
                             .room = has_room,
                             .send = send_frame,
                             .accept = accept_whole,
                             .log = log_illegal,
                             .eager_bytes = h->limits.eager_bytes};

    if (!hop) {
        hop = xcalloc(1, sizeof(*hop));
        hop->hops = h;
        hop->vpid = k->vpid;
        hop->epoch = k->epoch;
        io.arg = hop;
        hop->end = transfer_end_create(&io, ++h->last_end);
        DL_APPEND(h->list, hop);
    }
    hop->below = k->incoming;
    return hop;
}

static void free_posted(struct way *w)
{
    struct posted *p = w->posted;

    w->nfrags -= p->frag;
    DL_DELETE(w->posted, p);
    free(p);
}

static void drop_way(struct hops *h, struct way *w)
{
    while (w->posted)
        free_posted(w);
    DL_DELETE(h->ways, w);
    free(w);
}

static void drop_hop(struct hops *h, struct hop *hop)
{
    struct way *w, *tmp;

    DL_FOREACH_SAFE(h->ways, w, tmp)
    {
        if (w->hop == hop)
            drop_way(h, w);
    }
    DL_DELETE(h->list, hop);
    transfer_end_destroy(hop->end);
    free(hop);
}

void hops_destroy(struct hops *h)
{
    struct buf frame;

    if (!h)
        return;
    while (h->list)
        drop_hop(h, h->list);
    while (hops_next(h, &frame))
        buf_free(&frame);
    free(h);
}

/* Its successor may have greeted before this daemon has processed the change. */
static bool is_successor(const struct hops *h, const struct hop *hop)
{
    const struct member *m = members_get(h->members, hop->vpid);
    struct epoch now = m ? members_epoch(h->members, m) : (struct epoch){0, 0};

    return members_live(h->members, hop->vpid) && hop->epoch.inc == now.inc &&
           hop->epoch.ctr >= now.ctr;
}

void hops_forget(struct hops *h, uint32_t vpid)
{
    struct hop *hop, *tmp;

    DL_FOREACH_SAFE(h->list, hop, tmp)
    {
        if (hop->vpid == vpid && !is_successor(h, hop))
            drop_hop(h, hop);
    }
}

/* --- links that have come or gone */

/* Its frames have met an error. */
static void fail_way(struct hops *h, struct way *w)
{
    struct transfer_end *end = w->hop->end;

    DL_DELETE(h->ways, w);
    while (w->posted) {
        uint64_t id = w->posted->id;

        free_posted(w);
        transfer_sent(end, id, false);
    }
    free(w);
}

void hops_new_session(struct hops *h, const struct neighbour *k)
{
    struct way *w = find_way(h, k->id);

    if (w)
        fail_way(h, w);
}

static bool is_neighbour(const struct hops *h, uint32_t vpid)
{
    struct tree t = members_tree(h->members);
    uint32_t self = h->members->self;

    return members_live(h->members, self) && members_live(h->members, vpid) &&
           (tree_parent(&t, self) == vpid || tree_parent(&t, vpid) == self);
}

static bool has_link(const struct hop *hop)
{
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(hop->hops->neighbours), k)
    {
        if (k->vpid == hop->vpid && epoch_eq(k->epoch, hop->epoch))
            return true;
    }
    return false;
}

static struct way *find_lost_way(const struct hops *h)
{
    struct way *w;

    DL_FOREACH(h->ways, w)
    {
        if (!neighbours_by_id(h->neighbours, w->conn))
            return w;
    }
    return NULL;
}

void hops_check(struct hops *h)
{
    struct hop *hop, *htmp;
    struct way *w;

    h->ndropped = neighbours_dropped(h->neighbours);
    while ((w = find_lost_way(h)))
        fail_way(h, w);
    DL_FOREACH_SAFE(h->list, hop, htmp)
    {
        if (has_link(hop) ||
            (members_current(h->members, hop->vpid, hop->epoch) && is_neighbour(h, hop->vpid)))
            transfer_push(hop->end);
        else
            drop_hop(h, hop);
    }
}

void hops_tick(struct hops *h)
{
    if (h->ndropped != neighbours_dropped(h->neighbours))
        hops_check(h);
}

/* --- frames */

/* -1: too much waits for the neighbour. One frame may always wait. */
static int send_transfer(struct hops *h, struct neighbour *k, const void *frame, size_t len)
{
    struct hop *hop = get_hop(h, k);
    struct cur c = cur_of(frame, len);
    struct transfer_source source = {.size = len, .read = read_whole, .end = end_source};
    struct whole *w;
    struct frame f;

    if (frame_decode(&c, &f, NULL) < 0)
        return 0;
    if (hop->waiting && hop->waiting + len > h->limits.waiting_bytes)
        return -1;
    source.match = (struct transfer_match){
        .src = f.src, .dst = f.dst, .src_epoch = f.src_epoch, .traffic = f.traffic, .seq = f.seq};
    source.exposed = f.traffic == CLASS_LAUNCH;
    w = new_whole(h, &source.match);
    buf_put_raw(&w->bytes, frame, len);
    source.arg = w;
    if (w->bytes.failed) {
        free_whole(w);
        return 0;
    }
    w->to = hop;
    hop->waiting += len;
    transfer_send(hop->end, &source);
    return 0;
}

int hops_send(struct hops *h, struct neighbour *k, const void *frame, size_t len)
{
    if (len <= h->limits.direct_bytes)
        return neighbours_send_raw(h->neighbours, k, frame, len);
    return send_transfer(h, k, frame, len);
}

int hops_relay(struct hops *h, struct neighbour *k, const struct frame *f, const uint8_t *body,
               size_t len)
{
    BUF_AUTO struct buf b = {0};
    struct frame next = *f;

    if (len + FRAME_HEADER_BYTES <= h->limits.direct_bytes)
        return neighbours_relay(h->neighbours, k, f, body, len);
    next.hops++;
    buf_init(&b, HOP_FRAME_BYTES);
    frame_encode(&b, &next);
    buf_put_raw(&b, body, len);
    return send_transfer(h, k, b.data, b.len);
}

static void take_count(struct hops *h, struct way *w, uint64_t count)
{
    struct hop *hop = w->hop;
    uint64_t conn = w->conn;

    if (count > w->sent) {
        out_log(h->out, LOG_LEVEL_WARN, "vpid %u has taken %llu frames of %llu", hop->vpid,
                (unsigned long long)count, (unsigned long long)w->sent);
        return;
    }
    while ((w = find_way(h, conn)) && w->counted < count) {
        uint64_t id = w->posted->id;

        w->counted++;
        free_posted(w);
        transfer_sent(hop->end, id, true);
    }
    transfer_push(hop->end);
}

void hops_input(struct hops *h, struct neighbour *k, const struct msg *m)
{
    struct hop *hop = get_hop(h, k);
    struct way *w = get_way(hop, k->id);
    struct msg taken = {.type = MSG_TAKEN};

    if (m->type == MSG_TAKEN) {
        take_count(h, w, m->taken.count);
        return;
    }
    transfer_input(hop->end, m);
    taken.taken.count = ++w->taken;
    if (k->state == NEIGHBOUR_UP)
        say_on_link(h, k, &taken);
}

struct transfer_stats hops_stats(const struct hops *h)
{
    struct transfer_stats all = {0};
    const struct hop *hop;

    DL_FOREACH(h->list, hop)
    {
        struct transfer_stats s = transfer_stats(hop->end);

        all.sending += s.sending;
        all.taking += s.taking;
        all.outstanding += s.outstanding;
        all.ended += s.ended;
        all.restarts += s.restarts;
        all.ignored += s.ignored;
        all.illegal += s.illegal;
    }
    return all;
}
