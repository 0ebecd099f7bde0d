/* SPDX-License-Identifier: BSD-3-Clause */
/* The five Secrets of a cluster: the authority, and one certificate for each role.
 *
 * Input: the Secrets in the cluster's namespace. Output: Secrets that were missing, certificates
 * that were due, a changed authority, and the operator's own certificate.
 *
 * The steps: read the Secrets one after the other; then do what authority_next() says, one write
 * after the other, until nothing is to be done now. For a new cluster only the authority is read: a
 * Secret that exists refuses its creation (409), and is read then. After a restart of the operator
 * its own Secret is enough (enum credentials_scope).
 *
 * Invariants: each write names the uid and the version that were read; a Secret that the cluster
 * does not control is not used.
 *
 * Failures: a refused read or creation ends the job with a reason for the condition Progressing. If
 * the operator's own Secret is readable the job still delivers it. If another writer was faster
 * (409) that Secret is read again. A request that fails is repeated by the next job, which goes on
 * from there. A Secret that cannot be read is left alone, and reported with
 * CERTIFICATE_NOT_RENEWED. A change that fails leaves the Secret as it is, and delivers the
 * operator's own with CERTIFICATE_NOT_RENEWED; the next job reads all Secrets again. */
#include "operator/reconcile/credentials.h"

#include "api/role.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/loop/loop.h"
#include "operator/model/timestamp.h"
#include "operator/objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CA = CREDENTIALS_CA, OPERATOR = CREDENTIALS_OPERATOR, NSECRETS = CREDENTIALS_SECRETS };

/* Annotations of the authority's Secret (authority.h). */
#define REVISION CLUSTER_GROUP "/authority-revision"
#define TRUSTED CLUSTER_GROUP "/trusted-since"
#define ISSUED CLUSTER_GROUP "/issued-since"

static const enum api_role ROLE[NSECRETS] = {API_ROLE_CA, API_ROLE_HEAD, API_ROLE_MEMBER,
                                             API_ROLE_OPERATOR, API_ROLE_USER};

struct credentials_job {
    struct kube *kube;
    const struct cluster *c;
    credentials_fn *on_done;
    void *arg;
    unsigned long request;
    struct credentials_progress **kept;
    struct credentials_progress *p; /* *kept */
    bool own_only;                  /* only the operator's own Secret is looked at */
    struct authority_next next;     /* the step that is being done */
    struct tls_ca *made;            /* the authority whose Secret is being created */
    struct credentials known;       /* what the last job has delivered, without the texts */
};

struct credentials_progress {
    int at;                  /* index of the Secret that is being read or created */
    bool making;             /* all have been read */
    json_t *found[NSECRETS]; /* NULL: absent */
    struct tls_ca *ca;       /* the one that issues; NULL: not opened */
};

void credentials_clear(struct credentials *c)
{
    free_ptr(&c->ca_pem);
    free_ptr(&c->cert_pem);
    free_ptr(&c->key_pem);
}

void credentials_progress_destroy(struct credentials_progress *p)
{
    if (!p)
        return;
    for (int i = 0; i < NSECRETS; i++)
        json_decref(p->found[i]);
    tls_ca_destroy(p->ca);
    free(p);
}

static void free_job(struct credentials_job *j)
{
    tls_ca_destroy(j->made);
    free(j->next.bundle);
    free(j);
}

void credentials_cancel(struct credentials_job *j)
{
    if (!j)
        return;
    kube_cancel(j->kube, j->request);
    free_job(j);
}

/* A failed request leaves the progress; anything else is looked at from the beginning next time. */
static void finish_job(struct credentials_job *j, const struct credentials *creds,
                       const struct status_trouble *trouble)
{
    if (!trouble || !reason_is(trouble->reason, REASON_PASSING)) {
        credentials_progress_destroy(j->p);
        *j->kept = NULL;
    } else if (j->own_only) {
        j->p->at = CA; /* the next job begins anew */
    }
    j->on_done(creds, trouble, j->arg);
    free_job(j);
}

char *credentials_text(const json_t *secret, const char *key)
{
    const json_t *v = json_object_get(json_object_get(secret, "data"), key);
    struct err err = {0};

    return json_string_length(v) ? kube_base64_decode(json_string_value(v), &err) : NULL;
}

/* -1: the Secret is absent, or its certificate cannot be read. */
static int secret_life(const json_t *secret, struct tls_life *out)
{
    FREE_AUTO char *cert = credentials_text(secret, "tls.crt");
    struct err err = {0};

    return cert ? tls_cert_life(cert, out, &err) : -1;
}

/* The texts of the Secrets, decoded for one decision. */
struct texts {
    char *ca[NSECRETS];
    char *cert[NSECRETS];
};

static void texts_free(struct texts *t)
{
    for (int i = 0; i < NSECRETS; i++) {
        free(t->ca[i]);
        free(t->cert[i]);
    }
}
#define TEXTS_AUTO __attribute__((cleanup(texts_free)))

static const char *note_of(const json_t *secret, const char *key)
{
    const json_t *meta = json_object_get(secret, "metadata");

    return json_string_value(json_object_get(json_object_get(meta, "annotations"), key));
}

static int64_t mark_of(const json_t *secret, const char *key)
{
    const char *text = note_of(secret, key);
    int64_t ms = 0;

    return text && !timestamp_parse(text, &ms) ? ms : 0;
}

/* A Secret without a key is of no use, so its certificate does not count. */
static void read_secret(const struct credentials_job *j, int i, struct texts *t,
                        struct authority_secret *out)
{
    const json_t *secret = j->p->found[i];
    FREE_AUTO char *key = credentials_text(secret, "tls.key");
    struct tls_life life;

    t->ca[i] = credentials_text(secret, "ca.crt");
    if (key && secret_life(secret, &life) == 0)
        t->cert[i] = credentials_text(secret, "tls.crt");
    *out = (struct authority_secret){.exists = secret != NULL, .ca = t->ca[i], .cert = t->cert[i]};
}

static int64_t revision_of(const json_t *secret)
{
    const char *text = note_of(secret, REVISION);

    return text ? strtoll(text, NULL, 10) : 0;
}

static void decide_next(const struct credentials_job *j, struct authority_next *out)
{
    TEXTS_AUTO struct texts t = {0};
    const json_t *ca = j->p->found[CA];
    struct authority_view v = {.revision = revision_of(ca),
                               .trusted_ms = mark_of(ca, TRUSTED),
                               .issued_ms = mark_of(ca, ISSUED),
                               .wanted_revision = j->c->security.authority_revision,
                               .overlap_ms = j->c->security.overlap_s * 1000,
                               .now_ms = (int64_t)loop_wall_ms()};

    for (int i = 0; i < NSECRETS; i++)
        read_secret(j, i, &t, &v.secret[i]);
    authority_next(&v, out);
}

static void note_lives(const struct credentials_job *j, struct credentials *out)
{
    struct tls_life life;

    out->end_ms = INT64_MAX;
    for (int i = CA + 1; i < NSECRETS; i++) {
        if (secret_life(j->p->found[i], &life) == 0 && life.end_ms < out->end_ms)
            out->end_ms = life.end_ms;
    }
    out->renewal_ms = j->next.until_ms;
    out->settled = j->next.settled;
    out->revision = revision_of(j->p->found[CA]);
}

static void read_own(const struct credentials_job *j, struct credentials *out)
{
    const json_t *s = j->p->found[OPERATOR];

    out->ca_pem = credentials_text(s, "ca.crt");
    out->cert_pem = credentials_text(s, "tls.crt");
    out->key_pem = credentials_text(s, "tls.key");
}

static int own_credentials(const struct credentials_job *j, struct credentials *out)
{
    *out = (struct credentials){0};
    read_own(j, out);
    note_lives(j, out);
    return out->ca_pem && out->cert_pem && out->key_pem ? 0 : -1;
}

/* The versions of the Secrets, and what else the decision depends on beside the time; "": one is
 * absent. */
static void note_versions(const struct credentials_job *j, char out[CREDENTIALS_SEEN_MAX])
{
    const struct cluster_security *s = &j->c->security;
    size_t used = (size_t)snprintf(out, CREDENTIALS_SEEN_MAX, "%lld,%lld",
                                   (long long)s->authority_revision, (long long)s->overlap_s);

    for (int i = 0; i < NSECRETS && used < CREDENTIALS_SEEN_MAX; i++) {
        const json_t *meta = json_object_get(j->p->found[i], "metadata");
        const char *version = json_string_value(json_object_get(meta, "resourceVersion"));

        used = version ? used + (size_t)snprintf(out + used, CREDENTIALS_SEEN_MAX - used, ",%s",
                                                 version)
                       : CREDENTIALS_SEEN_MAX;
    }
    if (used >= CREDENTIALS_SEEN_MAX)
        out[0] = '\0';
}

/* True if the last job came to rest with these Secrets, and nothing is due since. */
static bool is_unchanged(const struct credentials_job *j)
{
    char seen[CREDENTIALS_SEEN_MAX];

    note_versions(j, seen);
    return seen[0] && strcmp(seen, j->known.seen) == 0 &&
           (int64_t)loop_wall_ms() < j->known.renewal_ms;
}

/* Ends the job with an error. The operator's own Secret is delivered if it is readable. */
static void fail_job(struct credentials_job *j, enum reason reason, const char *message)
{
    struct status_trouble t = {.reason = reason};
    struct credentials own = {0};
    bool usable = own_credentials(j, &own) == 0;

    snprintf(t.message, sizeof(t.message), "Secret %s-%s: %s", j->c->name,
             api_role_word(ROLE[j->p->at < NSECRETS ? j->p->at : 0]), message);
    finish_job(j, usable ? &own : NULL, &t);
    credentials_clear(&own);
}

static void step_job(struct credentials_job *j);
static void make_next(struct credentials_job *j);
static void read_again(struct credentials_job *j);

/* The first Secret that no daemon or program can use; NSECRETS: none. */
static int find_unreadable(const struct credentials_job *j)
{
    for (int i = CA; i < NSECRETS; i++) {
        FREE_AUTO char *ca = credentials_text(j->p->found[i], "ca.crt");
        FREE_AUTO char *key = credentials_text(j->p->found[i], "tls.key");
        struct tls_life life;

        if (j->p->found[i] && (!ca || !key || secret_life(j->p->found[i], &life)))
            return i;
    }
    return NSECRETS;
}

static void hand_over(struct credentials_job *j)
{
    struct credentials own = {0};
    int unreadable = find_unreadable(j);
    bool usable = own_credentials(j, &own) == 0;

    if (usable && unreadable == NSECRETS) {
        note_versions(j, own.seen);
        finish_job(j, &own, NULL);
    } else {
        j->p->at = usable ? unreadable : OPERATOR;
        fail_job(j, usable ? REASON_CERTIFICATE_NOT_RENEWED : REASON_CERTIFICATE_INVALID,
                 "ca.crt, tls.crt or tls.key is missing or unreadable. Delete the Secret, and the "
                 "operator creates it again.");
    }
    credentials_clear(&own);
}

static void hand_over_unchanged(struct credentials_job *j)
{
    struct credentials own = j->known;

    log_debug("secrets are unchanged cluster=%s/%s", j->c->ns, j->c->name);
    read_own(j, &own);
    finish_job(j, &own, NULL);
    credentials_clear(&own);
}

/* The authority whose Secret was created issues from now on. */
static void take_made(struct credentials_job *j)
{
    tls_ca_destroy(j->p->ca);
    j->p->ca = j->made;
    j->made = NULL;
}

static void on_made(int status, const json_t *body, const struct err *err, void *arg)
{
    struct credentials_job *j = arg;

    if (status == 201) {
        log_info("secret created cluster=%s/%s secret=%s-%s", j->c->ns, j->c->name, j->c->name,
                 api_role_word(ROLE[j->p->at]));
        j->p->found[j->p->at] = json_incref((json_t *)body);
        if (j->p->at == CA)
            take_made(j);
        make_next(j);
    } else if (status == 409) { /* another writer was faster, or the answer was lost */
        read_again(j);
    } else {
        fail_job(j, REASON_SECRET_NOT_MADE, err->msg);
    }
}

static json_t *revision_text(const struct credentials_job *j)
{
    FREE_AUTO char *text = xasprintf("%lld", (long long)j->c->security.authority_revision);

    return json_string(text);
}

static int send_secret(struct credentials_job *j, const char *bundle, const char *cert,
                       const char *key, struct err *err)
{
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/secrets?fieldManager=" CLUSTER_MANAGER, j->c->ns);
    json_t *body = objects_secret(j->c, ROLE[j->p->at], bundle, cert, key);
    struct kube_verb v = {.method = "POST", .path = path, .body = body, .repeatable = true};

    if (j->p->at == CA)
        json_object_set_new(json_object_get(body, "metadata"), "annotations",
                            json_pack("{s:o}", REVISION, revision_text(j)));
    j->request = kube_request(j->kube, &v, on_made, j, err);
    json_decref(body);
    return j->request ? 0 : -1;
}

/* Opens the authority that issues. */
static int open_ca(struct credentials_job *j, struct err *err)
{
    FREE_AUTO char *cert = credentials_text(j->p->found[CA], "tls.crt");
    FREE_AUTO char *key = credentials_text(j->p->found[CA], "tls.key");

    if (j->p->ca)
        return 0;
    if (!cert || !key)
        return err_set(err, "tls.crt or tls.key of the authority is missing or unreadable. Delete "
                            "that Secret, and the operator creates another authority.");
    j->p->ca = tls_ca_load(cert, key, err);
    return j->p->ca ? 0 : -1;
}

/* A new authority that is to issue from now on, and the bundle that has it too. */
struct fresh {
    struct tls_ca *ca;
    char *cert, *key, *bundle;
};

static void fresh_free(struct fresh *f)
{
    tls_ca_destroy(f->ca);
    free(f->cert);
    free(f->key);
    free(f->bundle);
}
#define FRESH_AUTO __attribute__((cleanup(fresh_free)))

static int create_authority(const struct credentials_job *j, struct fresh *out, struct err *err)
{
    FREE_AUTO char *id = cluster_identity(j->c);

    out->ca = tls_ca_create(id, CREDENTIALS_CA_DAYS, err);
    if (!out->ca)
        return -1;
    out->cert = tls_ca_cert_pem(out->ca);
    out->key = tls_ca_key_pem(out->ca);
    if (!out->cert || !out->key)
        return err_set(err, "the new authority cannot be encoded");
    out->bundle = xasprintf("%s%s", out->cert, j->next.bundle ? j->next.bundle : "");
    return 0;
}

/* A new certificate and key for the role at `at`. */
static int issue_cert(const struct credentials_job *j, char **cert, char **key, struct err *err)
{
    const char *role = api_role_word(ROLE[j->p->at]);
    FREE_AUTO char *name = xasprintf("%s-%s", j->c->name, role);
    char **names = objects_cert_names(j->c, ROLE[j->p->at]);
    int rc = tls_ca_issue(j->p->ca, role, name, (const char *const *)names, CREDENTIALS_LEAF_DAYS,
                          cert, key, err);

    objects_names_free(names);
    return rc;
}

/* Takes the authority of `f`. */
static int send_authority(struct credentials_job *j, struct fresh *f, struct err *err)
{
    tls_ca_destroy(j->made);
    j->made = f->ca;
    f->ca = NULL;
    return send_secret(j, f->bundle, f->cert, f->key, err);
}

static void make_authority(struct credentials_job *j)
{
    FRESH_AUTO struct fresh f = {0};
    struct err err = {0};

    if (create_authority(j, &f, &err))
        fail_job(j, REASON_CERTIFICATE_INVALID, err.msg);
    else if (send_authority(j, &f, &err))
        fail_job(j, REASON_SECRET_NOT_MADE, err.msg);
}

static void make_secret(struct credentials_job *j)
{
    FREE_AUTO char *bundle = credentials_text(j->p->found[CA], "ca.crt");
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;
    struct err err = {0};

    if (open_ca(j, &err) || issue_cert(j, &cert, &key, &err))
        fail_job(j, REASON_CERTIFICATE_INVALID, err.msg);
    else if (send_secret(j, bundle ? bundle : "", cert, key, &err))
        fail_job(j, REASON_SECRET_NOT_MADE, err.msg);
}

/* --- changes of a Secret that exists */

static void fail_change(struct credentials_job *j, const char *why)
{
    struct tls_life life = {0};
    int rc = secret_life(j->p->found[j->p->at], &life);
    FREE_AUTO char *end = timestamp_s(life.end_ms);
    FREE_AUTO char *text = xasprintf("the certificate ends at %s and cannot be renewed: %s",
                                     rc ? "an unknown time" : end, why);

    fail_job(j, REASON_CERTIFICATE_NOT_RENEWED, text);
}

static const char *step_text(enum authority_step step)
{
    switch (step) {
    case AUTHORITY_REPLACE:
        return "a new authority issues from now on";
    case AUTHORITY_TRUST:
        return "trusted authorities changed";
    case AUTHORITY_ISSUE:
        return "certificate renewed";
    case AUTHORITY_MARK_TRUSTED:
        return "all Secrets trust the new authority";
    case AUTHORITY_MARK_ISSUED:
        return "all certificates are of the new authority";
    default:
        return "changed";
    }
}

static void forget_secret(struct credentials_job *j)
{
    json_decref(j->p->found[j->p->at]);
    j->p->found[j->p->at] = NULL;
    if (j->p->at != CA)
        return;
    tls_ca_destroy(j->p->ca);
    j->p->ca = NULL;
}

static void on_changed(int status, const json_t *body, const struct err *err, void *arg)
{
    struct credentials_job *j = arg;

    if (status == 200) {
        log_info("%s cluster=%s/%s secret=%s-%s", step_text(j->next.step), j->c->ns, j->c->name,
                 j->c->name, api_role_word(ROLE[j->p->at]));
        forget_secret(j);
        j->p->found[j->p->at] = json_incref((json_t *)body);
        make_next(j);
    } else if (status == 409 || status == 404) { /* changed or deleted meanwhile, or done before */
        forget_secret(j);
        read_again(j);
    } else {
        fail_change(j, err->msg);
    }
}

/* `data` may be NULL, as may `notes`, the annotations; a JSON null removes one. Takes both. */
static void patch_secret(struct credentials_job *j, json_t *data, json_t *notes)
{
    const json_t *meta = json_object_get(j->p->found[j->p->at], "metadata");
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/secrets/%s-%s?fieldManager=" CLUSTER_MANAGER, j->c->ns,
                  j->c->name, api_role_word(ROLE[j->p->at]));
    json_t *body =
        json_pack("{s:{s:O, s:O, s:o*}, s:o*}", "metadata", "uid", json_object_get(meta, "uid"),
                  "resourceVersion", json_object_get(meta, "resourceVersion"), "annotations", notes,
                  "stringData", data);
    struct kube_verb v = {.method = "PATCH",
                          .path = path,
                          .content_type = "application/merge-patch+json",
                          .body = body};
    struct err err = {0};

    j->request = kube_request(j->kube, &v, on_changed, j, &err);
    json_decref(body);
    if (!j->request)
        fail_change(j, err.msg);
}

static json_t *no_marks(void)
{
    return json_pack("{s:n, s:n}", TRUSTED, ISSUED);
}

static void replace_authority(struct credentials_job *j)
{
    FRESH_AUTO struct fresh f = {0};
    struct err err = {0};
    json_t *notes = no_marks();

    if (create_authority(j, &f, &err)) {
        json_decref(notes);
        fail_change(j, err.msg);
        return;
    }
    json_object_set_new(notes, REVISION, revision_text(j));
    patch_secret(
        j, json_pack("{s:s, s:s, s:s}", "tls.crt", f.cert, "tls.key", f.key, "ca.crt", f.bundle),
        notes);
}

static void issue_again(struct credentials_job *j)
{
    struct err err = {0};
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    if (open_ca(j, &err) || issue_cert(j, &cert, &key, &err))
        fail_change(j, err.msg);
    else
        patch_secret(j, json_pack("{s:s, s:s}", "tls.crt", cert, "tls.key", key), NULL);
}

static void mark_authority(struct credentials_job *j, const char *mark)
{
    FREE_AUTO char *now = timestamp_s((int64_t)loop_wall_ms());

    patch_secret(j, NULL, json_pack("{s:s}", mark, now));
}

static void make_next(struct credentials_job *j)
{
    if (is_unchanged(j)) {
        hand_over_unchanged(j);
        return;
    }
    free_ptr(&j->next.bundle);
    decide_next(j, &j->next);
    j->p->at = j->next.at;
    switch (j->next.step) {
    case AUTHORITY_REST:
        hand_over(j);
        return;
    case AUTHORITY_CREATE:
        make_authority(j);
        return;
    case AUTHORITY_MAKE:
        make_secret(j);
        return;
    case AUTHORITY_REPLACE:
        replace_authority(j);
        return;
    case AUTHORITY_TRUST:
        patch_secret(j, json_pack("{s:s}", "ca.crt", j->next.bundle),
                     j->p->at == CA ? no_marks() : NULL);
        return;
    case AUTHORITY_ISSUE:
        issue_again(j);
        return;
    case AUTHORITY_MARK_TRUSTED:
        mark_authority(j, TRUSTED);
        return;
    case AUTHORITY_MARK_ISSUED:
        mark_authority(j, ISSUED);
        return;
    }
}

/* True if the operator's own certificate can be used for longer, so that the other Secrets can be
 * looked at later. Otherwise all of them are read. */
static bool own_is_enough(struct credentials_job *j)
{
    struct credentials own = {0};
    struct tls_life life;

    j->own_only = false;
    if (secret_life(j->p->found[OPERATOR], &life) == 0 && own_credentials(j, &own) == 0 &&
        (int64_t)loop_wall_ms() < authority_renewal_ms(&life)) {
        own.partial = true;
        finish_job(j, &own, NULL);
        credentials_clear(&own);
        return true;
    }
    credentials_clear(&own);
    json_decref(j->p->found[OPERATOR]);
    j->p->found[OPERATOR] = NULL;
    j->p->at = CA;
    return false;
}

static void on_read(int status, const json_t *body, const struct err *err, void *arg)
{
    struct credentials_job *j = arg;

    if (status == 200 && objects_orphaned(body, j->c)) {
        FREE_AUTO char *advice = objects_orphan_advice(j->c);

        fail_job(j, REASON_NOT_OWNED, advice);
        return;
    }
    if (status == 200 && !objects_controlled(body, j->c)) {
        fail_job(
            j, REASON_NOT_OWNED,
            "it exists and this DvmCluster does not control it, so the operator does not use it.");
        return;
    }
    if (status != 200 && status != 404) {
        fail_job(j, REASON_SECRET_NOT_READ, err->msg);
        return;
    }
    if (status == 200)
        j->p->found[j->p->at] = json_incref((json_t *)body);
    if (j->own_only) {
        if (own_is_enough(j))
            return;
    } else if (!j->p->making) {
        j->p->at++;
    }
    step_job(j);
}

static int read_one(struct credentials_job *j, struct err *err)
{
    FREE_AUTO char *path = xasprintf("/api/v1/namespaces/%s/secrets/%s-%s", j->c->ns, j->c->name,
                                     api_role_word(ROLE[j->p->at]));
    struct kube_verb v = {.method = "GET", .path = path};

    j->request = kube_request(j->kube, &v, on_read, j, err);
    return j->request ? 0 : -1;
}

static void step_job(struct credentials_job *j)
{
    struct err err = {0};

    j->p->making = j->p->making || j->p->at == NSECRETS;
    if (j->p->making)
        make_next(j);
    else if (read_one(j, &err))
        fail_job(j, REASON_SECRET_NOT_READ, err.msg);
}

/* The Secret that could not be created exists, or another writer has changed it. */
static void read_again(struct credentials_job *j)
{
    struct err err = {0};

    if (read_one(j, &err))
        fail_job(j, REASON_SECRET_NOT_READ, err.msg);
}

/* The authority of a new cluster is created without a look at it: one that exists refuses its
 * creation, and is read then. */
static int begin_new(struct credentials_job *j, struct err *err)
{
    FRESH_AUTO struct fresh f = {0};

    if (create_authority(j, &f, err))
        return -1;
    return send_authority(j, &f, err);
}

struct credentials_job *credentials_ensure(struct kube *kube, const struct cluster *c,
                                           enum credentials_scope scope,
                                           const struct credentials *known,
                                           struct credentials_progress **progress,
                                           credentials_fn *on_done, void *arg, struct err *err)
{
    struct credentials_job *j = xcalloc(1, sizeof(*j));

    if (!*progress)
        *progress = xcalloc(1, sizeof(**progress));
    j->kube = kube;
    j->c = c;
    j->kept = progress;
    j->p = *progress;
    j->on_done = on_done;
    j->next.until_ms = INT64_MAX;
    j->known = *known;
    j->known.ca_pem = j->known.cert_pem = j->known.key_pem = NULL;
    j->arg = arg;
    bool begins = !j->p->making && j->p->at == CA;
    if (begins) {
        j->p->making = scope == CREDENTIALS_OF_NEW;
        j->own_only = scope == CREDENTIALS_OF_KNOWN;
        j->p->at = j->own_only ? OPERATOR : CA;
    }
    /* The Secret at which the last job has failed is read (again), whether it was to be created. */
    if (begins && j->p->making
            ? !begin_new(j, err)
            : j->p->at < NSECRETS && j->p->found[j->p->at] == NULL && !read_one(j, err))
        return j;
    free_job(j);
    return NULL;
}
