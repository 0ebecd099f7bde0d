/* SPDX-License-Identifier: BSD-3-Clause */
/* The five Secrets of a cluster: the authority, and one certificate for each role.
 *
 * Input: the Secrets in the cluster's namespace. Output: Secrets that were missing, and the
 * operator's own certificate.
 *
 * The steps: read the Secrets one after the other; then create the missing ones in the order of the
 * enum, the authority first.
 *
 * Invariants: an existing Secret is never changed; a Secret that the cluster does not control is
 * not used; a certificate is issued only by the authority that the others trust.
 *
 * Failures: a refused read or write ends the job with a reason for the condition Progressing. If
 * the operator's own Secret is readable the job still delivers it. If another writer was faster
 * (409) all Secrets are read again. If the authority is lost and a certificate is missing, the user
 * has to delete the Secrets. */
#include "operator/reconcile/credentials.h"

#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/tls/tls.h"
#include "operator/objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CA = CREDENTIALS_CA, OPERATOR = CREDENTIALS_OPERATOR, NSECRETS = CREDENTIALS_SECRETS };
static const char *const SUFFIX[NSECRETS] = {"ca", TLS_ROLE_HEAD, TLS_ROLE_MEMBER,
                                             TLS_ROLE_OPERATOR, TLS_ROLE_USER};

struct credentials_job {
    struct kube *kube;
    const struct cluster *c;
    credentials_fn *on_done;
    void *arg;
    unsigned long request;
    int at;                  /* index of the Secret that is being read or created */
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

static void job_free(struct credentials_job *j)
{
    for (int i = 0; i < NSECRETS; i++)
        json_decref(j->found[i]);
    tls_ca_destroy(j->ca);
    free(j->ca_pem);
    free(j);
}

void credentials_cancel(struct credentials_job *j)
{
    if (!j)
        return;
    kube_cancel(j->kube, j->request);
    job_free(j);
}

static void finish_job(struct credentials_job *j, const struct credentials *creds,
                       const struct status_trouble *trouble)
{
    j->on_done(creds, trouble, j->arg);
    job_free(j);
}

/* NULL if the key is absent or its value is not base64 text. */
static char *secret_text(const json_t *secret, const char *key)
{
    const json_t *v = json_object_get(json_object_get(secret, "data"), key);
    struct err err = {0};

    return json_string_length(v) ? kube_base64_decode(json_string_value(v), &err) : NULL;
}

static int own_credentials(const struct credentials_job *j, struct credentials *out)
{
    const json_t *s = j->found[OPERATOR];

    *out = (struct credentials){.ca_pem = secret_text(s, "ca.crt"),
                                .cert_pem = secret_text(s, "tls.crt"),
                                .key_pem = secret_text(s, "tls.key")};
    return out->ca_pem && out->cert_pem && out->key_pem ? 0 : -1;
}

/* Ends the job with an error. The operator's own Secret is delivered if it is readable. */
static void fail_job(struct credentials_job *j, const char *reason, const char *message)
{
    struct status_trouble t;
    struct credentials own = {0};
    bool usable = own_credentials(j, &own) == 0;

    snprintf(t.reason, sizeof(t.reason), "%s", reason);
    snprintf(t.message, sizeof(t.message), "Secret %s-%s: %s", j->c->name,
             SUFFIX[j->at < NSECRETS ? j->at : 0], message);
    finish_job(j, usable ? &own : NULL, &t);
    credentials_clear(&own);
}

static void step_job(struct credentials_job *j);
static void make_next(struct credentials_job *j);

static void hand_over(struct credentials_job *j)
{
    struct credentials own = {0};

    if (own_credentials(j, &own) == 0) {
        finish_job(j, &own, NULL);
    } else {
        j->at = OPERATOR;
        fail_job(j, "CertificateInvalid",
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
                 SUFFIX[j->at]);
        j->found[j->at] = json_incref((json_t *)body);
        make_next(j);
    } else if (status == 409) { /* another writer was faster: all are read again */
        for (int i = 0; i < NSECRETS; i++) {
            json_decref(j->found[i]);
            j->found[i] = NULL;
        }
        tls_ca_destroy(j->ca);
        j->ca = NULL;
        j->at = 0;
        step_job(j);
    } else {
        fail_job(j, "SecretNotMade", err->msg);
    }
}

static void post_secret(struct credentials_job *j, const char *cert, const char *key)
{
    struct err err = {0};
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/secrets?fieldManager=" CLUSTER_MANAGER, j->c->ns);
    json_t *body = objects_secret(j->c, SUFFIX[j->at], j->ca_pem, cert, key);
    struct kube_verb v = {.method = "POST", .path = path, .body = body};

    j->request = kube_request(j->kube, &v, on_made, j, &err);
    json_decref(body);
    if (!j->request)
        fail_job(j, "SecretNotMade", err.msg);
}

static int open_ca(struct credentials_job *j, struct err *err)
{
    FREE_AUTO char *id = cluster_identity(j->c);

    if (j->ca)
        return 0;
    if (!j->found[CA]) {
        j->ca = tls_ca_create(id, CREDENTIALS_DAYS, err);
    } else {
        FREE_AUTO char *cert = secret_text(j->found[CA], "tls.crt");
        FREE_AUTO char *key = secret_text(j->found[CA], "tls.key");

        if (!cert || !key)
            return err_set(err, "tls.crt or tls.key of the authority is missing or unreadable");
        j->ca = tls_ca_load(cert, key, err);
    }
    if (!j->ca)
        return -1;
    free_ptr(&j->ca_pem);
    j->ca_pem = tls_ca_cert_pem(j->ca);
    return 0;
}

static void make_secret(struct credentials_job *j)
{
    struct err err = {0};
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;
    FREE_AUTO char *name = xasprintf("%s-%s", j->c->name, SUFFIX[j->at]);

    if (open_ca(j, &err)) {
        fail_job(j, "CertificateInvalid", err.msg);
        return;
    }
    if (j->at == CA) {
        key = tls_ca_key_pem(j->ca);
        post_secret(j, j->ca_pem, key);
        return;
    }
    char **names = objects_cert_names(j->c, SUFFIX[j->at]);
    int rc = tls_ca_issue(j->ca, SUFFIX[j->at], name, (const char *const *)names, CREDENTIALS_DAYS,
                          &cert, &key, &err);
    objects_names_free(names);
    if (rc)
        fail_job(j, "CertificateInvalid", err.msg);
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

static void make_next(struct credentials_job *j)
{
    bool there[NSECRETS];

    for (int i = 0; i < NSECRETS; i++)
        there[i] = j->found[i] != NULL;
    enum credentials_secret next = credentials_next(there);
    j->at = CA;
    if (next == CREDENTIALS_LOST) {
        fail_job(j, "CertificateMissing",
                 "the certificate authority is lost and certificates are missing. Suspend the "
                 "DvmCluster, delete "
                 "its Secrets and resume it: the operator then creates all of them.");
        return;
    }
    if (next == CREDENTIALS_COMPLETE) {
        hand_over(j);
        return;
    }
    j->at = (int)next;
    make_secret(j);
}

static void on_read(int status, const json_t *body, const struct err *err, void *arg)
{
    struct credentials_job *j = arg;

    if (status == 200 && objects_orphaned(body, j->c)) {
        FREE_AUTO char *advice = objects_orphan_advice(j->c);

        fail_job(j, "NotOwned", advice);
        return;
    }
    if (status == 200 && !objects_controlled(body, j->c)) {
        fail_job(
            j, "NotOwned",
            "it exists and this DvmCluster does not control it, so the operator does not use it.");
        return;
    }
    if (status != 200 && status != 404) {
        fail_job(j, "SecretNotRead", err->msg);
        return;
    }
    if (status == 200)
        j->found[j->at] = json_incref((json_t *)body);
    j->at++;
    step_job(j);
}

static int read_one(struct credentials_job *j, struct err *err)
{
    FREE_AUTO char *path =
        xasprintf("/api/v1/namespaces/%s/secrets/%s-%s", j->c->ns, j->c->name, SUFFIX[j->at]);
    struct kube_verb v = {.method = "GET", .path = path};

    j->request = kube_request(j->kube, &v, on_read, j, err);
    return j->request ? 0 : -1;
}

static void step_job(struct credentials_job *j)
{
    struct err err = {0};

    if (j->at == NSECRETS)
        make_next(j);
    else if (read_one(j, &err))
        fail_job(j, "SecretNotRead", err.msg);
}

struct credentials_job *credentials_ensure(struct kube *kube, const struct cluster *c,
                                           credentials_fn *on_done, void *arg, struct err *err)
{
    struct credentials_job *j = xcalloc(1, sizeof(*j));

    j->kube = kube;
    j->c = c;
    j->on_done = on_done;
    j->arg = arg;
    if (!read_one(j, err))
        return j;
    job_free(j);
    return NULL;
}
