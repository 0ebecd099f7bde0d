/* SPDX-License-Identifier: BSD-3-Clause */
/* The five Secrets of a cluster: the authority, and one certificate for each role.
 *
 * Input: the Secrets in the cluster's namespace. Output: Secrets that were missing, certificates
 * that were due, and the operator's own certificate.
 *
 * The steps: read the Secrets one after the other; then create the missing ones in the order of the
 * enum, the authority first; then renew the certificates of which less than a third of the life is
 * left.
 *
 * Invariants: a renewal replaces certificate and key of the version that was read, and never the
 * trust bundle; a Secret that the cluster does not control is not used; a certificate is issued
 * only by the authority that the others trust.
 *
 * Failures: a refused read or write ends the job with a reason for the condition Progressing. If
 * the operator's own Secret is readable the job still delivers it. If another writer was faster
 * (409) that Secret is read again. A request that fails is repeated by the next job, which goes on
 * from there. If the authority is lost and a certificate is missing, the user
 * has to delete the Secrets. A Secret that cannot be read is not renewed, and reported with
 * CERTIFICATE_NOT_RENEWED. A renewal that fails leaves the certificate as it is, and delivers the
 * operator's own with CERTIFICATE_NOT_RENEWED; the next job reads all Secrets again. */
#include "operator/reconcile/credentials.h"

#include "api/role.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/loop/loop.h"
#include "base/tls/tls.h"
#include "operator/model/timestamp.h"
#include "operator/objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CA = CREDENTIALS_CA, OPERATOR = CREDENTIALS_OPERATOR, NSECRETS = CREDENTIALS_SECRETS };
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
    int renew_from;                 /* the Secrets before this index have been renewed */
};

struct credentials_progress {
    int at;                  /* index of the Secret that is being read or created */
    bool making;             /* all have been read */
    json_t *found[NSECRETS]; /* NULL: absent */
    struct tls_ca *ca;
    char *ca_pem;
};

void credentials_clear(struct credentials *c)
{
    free_ptr(&c->ca_pem);
    free_ptr(&c->cert_pem);
    free_ptr(&c->key_pem);
}

int64_t credentials_renewal_ms(const struct tls_life *life)
{
    return life->end_ms - (life->end_ms - life->begin_ms) / 3;
}

void credentials_progress_destroy(struct credentials_progress *p)
{
    if (!p)
        return;
    for (int i = 0; i < NSECRETS; i++)
        json_decref(p->found[i]);
    tls_ca_destroy(p->ca);
    free(p->ca_pem);
    free(p);
}

void credentials_cancel(struct credentials_job *j)
{
    if (!j)
        return;
    kube_cancel(j->kube, j->request);
    free(j);
}

/* A failed request leaves the progress; anything else is looked at from the beginning next time. */
static void finish_job(struct credentials_job *j, const struct credentials *creds,
                       const struct status_trouble *trouble)
{
    if (!trouble || !reason_is(trouble->reason, REASON_PASSING)) {
        credentials_progress_destroy(j->p);
        *j->kept = NULL;
    }
    j->on_done(creds, trouble, j->arg);
    free(j);
}

/* NULL if the key is absent or its value is not base64 text. */
static char *secret_text(const json_t *secret, const char *key)
{
    const json_t *v = json_object_get(json_object_get(secret, "data"), key);
    struct err err = {0};

    return json_string_length(v) ? kube_base64_decode(json_string_value(v), &err) : NULL;
}

/* -1: the Secret is absent, or its certificate cannot be read. */
static int secret_life(const json_t *secret, struct tls_life *out)
{
    FREE_AUTO char *cert = secret_text(secret, "tls.crt");
    struct err err = {0};

    return cert ? tls_cert_life(cert, out, &err) : -1;
}

static void note_lives(const struct credentials_job *j, struct credentials *out)
{
    struct tls_life life;

    out->end_ms = out->renewal_ms = INT64_MAX;
    for (int i = CA + 1; i < NSECRETS; i++) {
        if (secret_life(j->p->found[i], &life))
            continue;
        if (life.end_ms < out->end_ms)
            out->end_ms = life.end_ms;
        if (credentials_renewal_ms(&life) < out->renewal_ms)
            out->renewal_ms = credentials_renewal_ms(&life);
    }
}

static int own_credentials(const struct credentials_job *j, struct credentials *out)
{
    const json_t *s = j->p->found[OPERATOR];

    *out = (struct credentials){.ca_pem = secret_text(s, "ca.crt"),
                                .cert_pem = secret_text(s, "tls.crt"),
                                .key_pem = secret_text(s, "tls.key")};
    note_lives(j, out);
    return out->ca_pem && out->cert_pem && out->key_pem ? 0 : -1;
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
static void renew_next(struct credentials_job *j);

/* The first Secret that no daemon or program can use; NSECRETS: none. */
static int find_unreadable(const struct credentials_job *j)
{
    for (int i = CA + 1; i < NSECRETS; i++) {
        FREE_AUTO char *ca = secret_text(j->p->found[i], "ca.crt");
        FREE_AUTO char *key = secret_text(j->p->found[i], "tls.key");
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
        finish_job(j, &own, NULL);
    } else {
        j->p->at = usable ? unreadable : OPERATOR;
        fail_job(j, usable ? REASON_CERTIFICATE_NOT_RENEWED : REASON_CERTIFICATE_INVALID,
                 "ca.crt, tls.crt or tls.key is missing or unreadable. Delete the Secret, and the "
                 "operator creates it again.");
    }
    credentials_clear(&own);
}

static void on_made(int status, const json_t *body, const struct err *err, void *arg)
{
    struct credentials_job *j = arg;

    if (status == 201) {
        log_info("secret created cluster=%s/%s secret=%s-%s", j->c->ns, j->c->name, j->c->name,
                 api_role_word(ROLE[j->p->at]));
        j->p->found[j->p->at] = json_incref((json_t *)body);
        make_next(j);
    } else if (status == 409) { /* another writer was faster, or the answer was lost */
        read_again(j);
    } else {
        fail_job(j, REASON_SECRET_NOT_MADE, err->msg);
    }
}

static void post_secret(struct credentials_job *j, const char *cert, const char *key)
{
    struct err err = {0};
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/secrets?fieldManager=" CLUSTER_MANAGER, j->c->ns);
    json_t *body = objects_secret(j->c, ROLE[j->p->at], j->p->ca_pem, cert, key);
    struct kube_verb v = {.method = "POST", .path = path, .body = body, .repeatable = true};

    j->request = kube_request(j->kube, &v, on_made, j, &err);
    json_decref(body);
    if (!j->request)
        fail_job(j, REASON_SECRET_NOT_MADE, err.msg);
}

static int open_ca(struct credentials_job *j, struct err *err)
{
    FREE_AUTO char *id = cluster_identity(j->c);

    if (j->p->ca)
        return 0;
    if (!j->p->found[CA]) {
        j->p->ca = tls_ca_create(id, CREDENTIALS_CA_DAYS, err);
    } else {
        FREE_AUTO char *cert = secret_text(j->p->found[CA], "tls.crt");
        FREE_AUTO char *key = secret_text(j->p->found[CA], "tls.key");

        if (!cert || !key)
            return err_set(err, "tls.crt or tls.key of the authority is missing or unreadable");
        j->p->ca = tls_ca_load(cert, key, err);
    }
    if (!j->p->ca)
        return -1;
    free_ptr(&j->p->ca_pem);
    j->p->ca_pem = tls_ca_cert_pem(j->p->ca);
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

static void make_secret(struct credentials_job *j)
{
    struct err err = {0};
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    if (open_ca(j, &err)) {
        fail_job(j, REASON_CERTIFICATE_INVALID, err.msg);
        return;
    }
    if (j->p->at == CA) {
        key = tls_ca_key_pem(j->p->ca);
        post_secret(j, j->p->ca_pem, key);
        return;
    }
    if (issue_cert(j, &cert, &key, &err))
        fail_job(j, REASON_CERTIFICATE_INVALID, err.msg);
    else
        post_secret(j, cert, key);
}

enum credentials_secret credentials_next(const bool there[CREDENTIALS_SECRETS])
{
    bool working =
        there[CREDENTIALS_HEAD] && there[CREDENTIALS_MEMBER] && there[CREDENTIALS_OPERATOR];
    bool any_leaf = there[CREDENTIALS_HEAD] || there[CREDENTIALS_MEMBER] ||
                    there[CREDENTIALS_OPERATOR] || there[CREDENTIALS_USER];

    if (!there[CREDENTIALS_CA] && working)
        return CREDENTIALS_COMPLETE;
    if (!there[CREDENTIALS_CA] && any_leaf)
        return CREDENTIALS_LOST;
    for (int i = 0; i < NSECRETS; i++) {
        if (!there[i])
            return (enum credentials_secret)i;
    }
    return CREDENTIALS_COMPLETE;
}

/* --- renewal */

static void fail_renewal(struct credentials_job *j, const char *why)
{
    struct tls_life life = {0};
    int rc = secret_life(j->p->found[j->p->at], &life);
    FREE_AUTO char *end = timestamp_s(life.end_ms);
    FREE_AUTO char *text = xasprintf("the certificate ends at %s and cannot be renewed: %s",
                                     rc ? "an unknown time" : end, why);

    fail_job(j, REASON_CERTIFICATE_NOT_RENEWED, text);
}

static void on_renewed(int status, const json_t *body, const struct err *err, void *arg)
{
    struct credentials_job *j = arg;
    json_t **found = &j->p->found[j->p->at];

    if (status == 200) {
        log_info("certificate renewed cluster=%s/%s secret=%s-%s", j->c->ns, j->c->name, j->c->name,
                 api_role_word(ROLE[j->p->at]));
        json_decref(*found);
        *found = json_incref((json_t *)body);
        j->renew_from = j->p->at + 1;
        make_next(j);
    } else if (status == 409 || status == 404) { /* changed or deleted meanwhile, or done before */
        json_decref(*found);
        *found = NULL;
        read_again(j);
    } else {
        fail_renewal(j, err->msg);
    }
}

static void patch_secret(struct credentials_job *j, const char *cert, const char *key)
{
    const json_t *meta = json_object_get(j->p->found[j->p->at], "metadata");
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/secrets/%s-%s?fieldManager=" CLUSTER_MANAGER, j->c->ns,
                  j->c->name, api_role_word(ROLE[j->p->at]));
    json_t *body =
        json_pack("{s:{s:O, s:O}, s:{s:s, s:s}}", "metadata", "uid", json_object_get(meta, "uid"),
                  "resourceVersion", json_object_get(meta, "resourceVersion"), "stringData",
                  "tls.crt", cert, "tls.key", key);
    struct kube_verb v = {.method = "PATCH",
                          .path = path,
                          .content_type = "application/merge-patch+json",
                          .body = body};
    struct err err = {0};

    j->request = kube_request(j->kube, &v, on_renewed, j, &err);
    json_decref(body);
    if (!j->request)
        fail_renewal(j, err.msg);
}

static void renew_secret(struct credentials_job *j)
{
    struct err err = {0};
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    if (!j->p->found[CA])
        fail_renewal(j, "the certificate authority is lost. Suspend the DvmCluster, delete its "
                        "Secrets and resume it: the operator then creates all of them.");
    else if (open_ca(j, &err) || issue_cert(j, &cert, &key, &err))
        fail_renewal(j, err.msg);
    else
        patch_secret(j, cert, key);
}

/* All Secrets exist: the first certificate that is due is renewed, or the job ends. */
static void renew_next(struct credentials_job *j)
{
    int64_t now_ms = (int64_t)loop_wall_ms();
    struct tls_life life;

    for (int i = j->renew_from; i < NSECRETS; i++) {
        if (secret_life(j->p->found[i], &life) || now_ms < credentials_renewal_ms(&life))
            continue;
        j->p->at = i;
        renew_secret(j);
        return;
    }
    hand_over(j);
}

static void make_next(struct credentials_job *j)
{
    bool there[NSECRETS];

    for (int i = 0; i < NSECRETS; i++)
        there[i] = j->p->found[i] != NULL;
    enum credentials_secret next = credentials_next(there);
    j->p->at = CA;
    if (next == CREDENTIALS_LOST) {
        fail_job(j, REASON_CERTIFICATE_MISSING,
                 "the certificate authority is lost and certificates are missing. Suspend the "
                 "DvmCluster, delete "
                 "its Secrets and resume it: the operator then creates all of them.");
        return;
    }
    if (next == CREDENTIALS_COMPLETE) {
        renew_next(j);
        return;
    }
    j->p->at = (int)next;
    make_secret(j);
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
    if (!j->p->making)
        j->p->at++;
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

/* The Secret that could not be created exists. If it is the authority, it replaces ours. */
static void read_again(struct credentials_job *j)
{
    struct err err = {0};

    if (j->p->at == CA) {
        tls_ca_destroy(j->p->ca);
        j->p->ca = NULL;
    }
    if (read_one(j, &err))
        fail_job(j, REASON_SECRET_NOT_READ, err.msg);
}

struct credentials_job *credentials_ensure(struct kube *kube, const struct cluster *c,
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
    j->renew_from = CA + 1;
    j->arg = arg;
    /* The Secret at which the last job has failed is read (again), whether it was to be created. */
    if (j->p->at < NSECRETS && j->p->found[j->p->at] == NULL && !read_one(j, err))
        return j;
    free(j);
    return NULL;
}
