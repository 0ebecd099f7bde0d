/* SPDX-License-Identifier: BSD-3-Clause */
/* The step that the Secrets of a cluster need next.
 *
 * In: what the five Secrets contain, and the time. Out: one step. It is carried out by one write
 * with the version that was read, and the next step is decided from the result. So a program that
 * ends between two writes, or two programs, do no harm.
 *
 * A change of the authority has these steps: a new authority issues and the bundle has both; each
 * Secret gets the bundle; that is marked; the overlap passes, in which all daemons read the bundle;
 * each Secret gets a certificate of the new authority; that is marked; the overlap passes again;
 * the bundle has the new authority alone; each Secret gets it. It begins when a user asks for it,
 * when a third of the authority's life is left, or when the Secret of the authority is lost.
 *
 * Invariants: a certificate of a new authority replaces another one only when all Secrets have had
 * the bundle for the overlap; an authority leaves the bundle only when no Secret has had a
 * certificate of it for the overlap. A missing Secret is created at once: without it no pod starts,
 * and running daemons keep the files that they have.
 *
 * Limits: the bundle has at most BUNDLE_MAX authorities: the one that issues, those of the four
 * certificates, and others while there is room. A mark in the future (the wall clock was set back)
 * is made anew. */
#include "operator/reconcile/authority.h"

#include "base/buf/buf.h"
#include "base/span/span.h"

#include <stdlib.h>

enum { CA = CREDENTIALS_CA, NSECRETS = CREDENTIALS_SECRETS, BUNDLE_MAX = 8 };

int64_t authority_renewal_ms(const struct tls_life *life)
{
    return life->end_ms - span_ms(life->begin_ms, life->end_ms) / 3;
}

/* INT64_MAX: the certificate cannot be read, so that it is never due. */
static int64_t renewal_of(const char *cert)
{
    struct tls_life life;
    struct err err = {0};

    return cert && !tls_cert_life(cert, &life, &err) ? authority_renewal_ms(&life) : INT64_MAX;
}

static void append_cert(char **bundle, const char *cert)
{
    char *joined;

    if (!cert || tls_bundle_has(*bundle, cert))
        return;
    joined = xasprintf("%s%s", *bundle ? *bundle : "", cert);
    free(*bundle);
    *bundle = joined;
}

/* The authority that issues, and those of all certificates in use. */
static char *needed_bundle(const struct authority_view *v)
{
    char *bundle = NULL;

    append_cert(&bundle, v->secret[CA].cert);
    for (int i = CA + 1; i < NSECRETS; i++) {
        FREE_AUTO char *issuer = tls_bundle_issuer(v->secret[i].ca, v->secret[i].cert);

        append_cert(&bundle, issuer);
    }
    return bundle;
}

/* The bundle for a new authority after the loss of the Secret of the former one: daemons may still
 * use certificates of all that the other Secrets trust. */
static char *rescued_bundle(const struct authority_view *v, char *needed)
{
    for (int i = CA + 1; i < NSECRETS; i++) {
        size_t n = tls_bundle_count(v->secret[i].ca);

        for (size_t k = 0; k < n && tls_bundle_count(needed) < BUNDLE_MAX - 1; k++) {
            FREE_AUTO char *cert = tls_bundle_nth(v->secret[i].ca, k);

            append_cert(&needed, cert);
        }
    }
    return needed;
}

/* All that the bundle has, and all that is needed. */
static char *widened_bundle(const struct authority_view *v, const char *needed)
{
    const char *has = v->secret[CA].ca;
    char *bundle = has && tls_bundle_count(has) <= BUNDLE_MAX ? xstrdup(has) : NULL;

    append_cert(&bundle, v->secret[CA].cert);
    for (int i = CA + 1; i < NSECRETS; i++) {
        FREE_AUTO char *issuer = tls_bundle_issuer(needed, v->secret[i].cert);

        append_cert(&bundle, issuer);
    }
    return bundle;
}

static bool is_readable(const struct authority_secret *s)
{
    return s->exists && s->ca && s->cert;
}

static bool issued_by(const struct authority_secret *s, const char *authority)
{
    FREE_AUTO char *issuer = tls_bundle_issuer(authority, s->cert);

    return issuer != NULL;
}

static int find_missing(const struct authority_view *v)
{
    for (int i = CA; i < NSECRETS; i++) {
        if (!v->secret[i].exists)
            return i;
    }
    return NSECRETS;
}

static int find_other_bundle(const struct authority_view *v)
{
    for (int i = CA + 1; i < NSECRETS; i++) {
        if (is_readable(&v->secret[i]) && !tls_bundle_same(v->secret[i].ca, v->secret[CA].ca))
            return i;
    }
    return NSECRETS;
}

static int find_other_issuer(const struct authority_view *v)
{
    for (int i = CA + 1; i < NSECRETS; i++) {
        if (is_readable(&v->secret[i]) && !issued_by(&v->secret[i], v->secret[CA].cert))
            return i;
    }
    return NSECRETS;
}

static int find_due(const struct authority_view *v)
{
    for (int i = CA + 1; i < NSECRETS; i++) {
        if (v->now_ms >= renewal_of(v->secret[i].cert))
            return i;
    }
    return NSECRETS;
}

static int64_t earliest_renewal(const struct authority_view *v)
{
    int64_t at_ms = INT64_MAX;

    for (int i = CA; i < NSECRETS; i++) {
        int64_t one_ms = renewal_of(v->secret[i].cert);

        at_ms = one_ms < at_ms ? one_ms : at_ms;
    }
    return at_ms;
}

static void set_step(struct authority_next *out, enum authority_step step, int at)
{
    out->step = step;
    out->at = (enum credentials_secret)at;
}

/* The steps of a change of the authority, which the bundle of two shows. */
static void move_on(const struct authority_view *v, struct authority_next *out)
{
    int other = find_other_issuer(v);
    int64_t since_ms = other < NSECRETS ? v->trusted_ms : v->issued_ms;

    if (!v->trusted_ms || v->trusted_ms > v->now_ms) {
        set_step(out, AUTHORITY_MARK_TRUSTED, CA);
    } else if (other == NSECRETS && (!v->issued_ms || v->issued_ms > v->now_ms)) {
        set_step(out, AUTHORITY_MARK_ISSUED, CA);
    } else if (v->now_ms < since_ms + v->overlap_ms) {
        out->until_ms = since_ms + v->overlap_ms;
    } else if (other < NSECRETS) {
        set_step(out, AUTHORITY_ISSUE, other);
    } else {
        set_step(out, AUTHORITY_TRUST, CA);
        out->bundle = xstrdup(v->secret[CA].cert);
    }
}

/* Certificates and the authority while there is one authority only. */
static void renew_one(const struct authority_view *v, struct authority_next *out)
{
    int at = find_other_issuer(v);

    if (at == NSECRETS)
        at = find_due(v);
    out->settled = at == NSECRETS;
    if (at < NSECRETS) { /* of an authority that nobody trusts any more, or due */
        set_step(out, AUTHORITY_ISSUE, at);
    } else if (v->wanted_revision > v->revision || v->now_ms >= renewal_of(v->secret[CA].cert)) {
        set_step(out, AUTHORITY_REPLACE, CA);
        out->bundle = xstrdup(v->secret[CA].ca);
        out->settled = false;
    }
}

void authority_next(const struct authority_view *v, struct authority_next *out)
{
    FREE_AUTO char *needed = needed_bundle(v);
    int missing = find_missing(v), other;

    *out = (struct authority_next){.step = AUTHORITY_REST, .until_ms = earliest_renewal(v)};
    if (missing == CA) {
        set_step(out, AUTHORITY_CREATE, CA);
        out->bundle = rescued_bundle(v, needed);
        needed = NULL;
        return;
    }
    if (!v->secret[CA].cert) { /* cannot issue; the caller reports it */
        if (missing < NSECRETS)
            set_step(out, AUTHORITY_MAKE, missing);
        else if (find_due(v) < NSECRETS)
            set_step(out, AUTHORITY_ISSUE, find_due(v));
        return;
    }
    FREE_AUTO char *wide = widened_bundle(v, needed);
    if (!tls_bundle_same(wide, v->secret[CA].ca)) {
        set_step(out, AUTHORITY_TRUST, CA);
        out->bundle = wide;
        wide = NULL;
        return;
    }
    other = find_other_bundle(v);
    if (missing < NSECRETS) {
        set_step(out, AUTHORITY_MAKE, missing);
    } else if (other < NSECRETS) {
        set_step(out, AUTHORITY_TRUST, other);
        out->bundle = xstrdup(v->secret[CA].ca);
    } else if (tls_bundle_count(v->secret[CA].ca) > 1) {
        move_on(v, out);
    } else {
        renew_one(v, out);
    }
}
