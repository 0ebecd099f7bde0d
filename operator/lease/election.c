/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules by which candidates share a Lease; the same as those of client-go, so that other
 * clients read it in the usual way.
 *
 * Input: the Lease as read, accepted writes, a monotonic time. Output: the next step, and the
 * object to write.
 *
 * Always true: a candidate takes a Lease of another holder only after it has seen no change of its
 * spec for the duration written in it. The holder's own deadline is shorter and is counted from an
 * earlier time, so it has ended before.
 *
 * Failures: a Lease without a holder or without a duration counts as free or as lasting for our own
 * duration. */
#include "operator/lease/election.h"

#include "base/buf/buf.h"
#include "operator/model/timestamp.h"

#include <string.h>

void election_clear(struct election *e)
{
    json_decref(e->lease);
    e->lease = NULL;
    e->seen_ms = e->held_until_ms = 0;
}

static const json_t *spec_of(const json_t *lease)
{
    return json_object_get(lease, "spec");
}

const char *election_holder(const struct election *e)
{
    const char *s = json_string_value(json_object_get(spec_of(e->lease), "holderIdentity"));

    return s ? s : "";
}

static void keep_lease(struct election *e, const json_t *lease)
{
    json_t *copy = lease ? json_deep_copy(lease) : NULL;

    json_decref(e->lease);
    e->lease = copy;
}

void election_saw(struct election *e, const json_t *lease, uint64_t now_ms)
{
    bool same = e->lease && lease && json_equal(spec_of(e->lease), spec_of(lease));

    if (!same)
        e->seen_ms = now_ms;
    keep_lease(e, lease);
    if (strcmp(election_holder(e), e->identity) != 0)
        e->held_until_ms = 0;
}

void election_wrote(struct election *e, const json_t *lease, uint64_t sent_ms)
{
    keep_lease(e, lease);
    e->seen_ms = sent_ms;
    e->held_until_ms = strcmp(election_holder(e), e->identity) == 0 ? sent_ms + e->deadline_ms : 0;
}

bool election_holds(const struct election *e, uint64_t now_ms)
{
    return now_ms < e->held_until_ms;
}

static uint64_t lease_duration_ms(const struct election *e)
{
    json_int_t s = json_integer_value(json_object_get(spec_of(e->lease), "leaseDurationSeconds"));

    return (uint64_t)(s > 0 ? s : e->duration_s) * 1000;
}

enum election_step election_next(const struct election *e, uint64_t now_ms)
{
    const char *holder = election_holder(e);

    if (!e->lease)
        return ELECTION_CREATE;
    if (election_holds(e, now_ms))
        return ELECTION_RENEW;
    if (!*holder || strcmp(holder, e->identity) == 0)
        return ELECTION_TAKE;
    return now_ms >= e->seen_ms + lease_duration_ms(e) ? ELECTION_TAKE : ELECTION_WAIT;
}

/* metav1.MicroTime has exactly six digits after the point. */
static json_t *micro_time(int64_t wall_ms)
{
    FREE_AUTO char *ms = timestamp_ms(wall_ms);
    FREE_AUTO char *text = xasprintf("%.*s000Z", (int)strlen(ms) - 1, ms);

    return json_string(text);
}

/* A copy of the Lease that was seen, with its version and all that others have written in it. */
static json_t *lease_copy(const struct election *e)
{
    json_t *o = e->lease ? json_deep_copy(e->lease) : json_object();

    if (!json_is_object(json_object_get(o, "spec")))
        json_object_set_new(o, "spec", json_object());
    return o;
}

json_t *election_claim(const struct election *e, const char *name, int64_t wall_ms)
{
    bool ours = strcmp(election_holder(e), e->identity) == 0;
    json_t *o = lease_copy(e), *spec = json_object_get(o, "spec");
    json_int_t transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));

    if (!e->lease) {
        json_object_set_new(o, "apiVersion", json_string("coordination.k8s.io/v1"));
        json_object_set_new(o, "kind", json_string("Lease"));
        json_object_set_new(o, "metadata", json_pack("{s:s}", "name", name));
    }
    if (!ours) {
        json_object_set_new(spec, "acquireTime", micro_time(wall_ms));
        json_object_set_new(spec, "leaseTransitions", json_integer(transitions + !!e->lease));
    }
    json_object_set_new(spec, "holderIdentity", json_string(e->identity));
    json_object_set_new(spec, "leaseDurationSeconds", json_integer(e->duration_s));
    json_object_set_new(spec, "renewTime", micro_time(wall_ms));
    return o;
}

json_t *election_release(const struct election *e, int64_t wall_ms)
{
    json_t *o = lease_copy(e), *spec = json_object_get(o, "spec");

    json_object_set_new(spec, "holderIdentity", json_string(""));
    json_object_set_new(spec, "leaseDurationSeconds", json_integer(1));
    json_object_set_new(spec, "renewTime", micro_time(wall_ms));
    return o;
}
