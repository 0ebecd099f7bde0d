/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificates of a cluster whose spec names an issuer of cert-manager.
 *
 * Input: the Certificates and Secrets in the cluster's namespace. Output: a Certificate for each
 * role, and the operator's own certificate from its Secret.
 *
 * The steps, role by role: read the Certificate; create or correct it; read the Secret that
 * cert-manager has made from it. cert-manager renews the Secrets by itself.
 *
 * Invariants: a Certificate that the cluster does not control is not changed; a Secret counts only
 * if cert-manager has made it for our Certificate.
 *
 * Failures: a cluster without cert-manager, a Certificate that is not ready, and an answer without
 * ca.crt end the job with a reason for the condition Progressing. The next job begins anew. */
#include "operator/reconcile/issuer.h"

#include "api/role.h"
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "operator/objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cert-manager's annotation of a Secret: the Certificate that it is made for. */
#define CERTIFICATE_NAME "cert-manager.io/certificate-name"

static const enum api_role ROLE[] = {API_ROLE_HEAD, API_ROLE_MEMBER, API_ROLE_OPERATOR,
                                     API_ROLE_USER};
enum { NROLES = sizeof(ROLE) / sizeof(*ROLE) };

struct issuer_job {
    struct kube *kube;
    const struct cluster *c;
    credentials_fn *on_done;
    void *arg;
    unsigned long request;
    size_t at;           /* index of the role */
    json_t *certificate; /* of this role, as it was read; NULL: absent */
    struct credentials own;
};

void issuer_cancel(struct issuer_job *j)
{
    if (!j)
        return;
    kube_cancel(j->kube, j->request);
    json_decref(j->certificate);
    credentials_clear(&j->own);
    free(j);
}

static void end_job(struct issuer_job *j, const struct status_trouble *trouble)
{
    credentials_fn *on_done = j->on_done;
    void *arg = j->arg;

    on_done(j->own.cert_pem ? &j->own : NULL, trouble, arg);
    j->request = 0;
    issuer_cancel(j);
}

static void fail_job(struct issuer_job *j, enum reason reason, const char *kind,
                     const char *message)
{
    struct status_trouble t = {.reason = reason};

    snprintf(t.message, sizeof(t.message), "%s %s-%s: %s", kind, j->c->name,
             api_role_word(ROLE[j->at]), message);
    end_job(j, &t);
}

static void send_request(struct issuer_job *j, const struct kube_verb *v, kube_done_fn *on_answer)
{
    struct err err = {0};

    j->request = kube_request(j->kube, v, on_answer, j, &err);
    if (!j->request)
        fail_job(j, REASON_SECRET_NOT_READ, "Secret", err.msg);
}

static char *certificate_path(const struct issuer_job *j)
{
    return xasprintf("/apis/cert-manager.io/v1/namespaces/%s/certificates/%s-%s", j->c->ns,
                     j->c->name, api_role_word(ROLE[j->at]));
}

/* The words of the Certificate's condition Ready; NULL: none. Borrowed. */
static const char *ready_words(const json_t *certificate)
{
    const json_t *list = json_object_get(json_object_get(certificate, "status"), "conditions");
    const json_t *condition;
    size_t i;

    json_array_foreach((json_t *)list, i, condition)
    {
        const char *type = json_string_value(json_object_get(condition, "type"));

        if (type && strcmp(type, "Ready") == 0)
            return json_string_value(json_object_get(condition, "message"));
    }
    return NULL;
}

static bool is_of_certificate(const struct issuer_job *j, const json_t *secret)
{
    const json_t *meta = json_object_get(secret, "metadata");
    const char *of =
        json_string_value(json_object_get(json_object_get(meta, "annotations"), CERTIFICATE_NAME));
    FREE_AUTO char *name = xasprintf("%s-%s", j->c->name, api_role_word(ROLE[j->at]));

    return of && strcmp(of, name) == 0;
}

static void read_certificate(struct issuer_job *j);

static void keep_own(struct issuer_job *j, char **ca, char **cert, char **key)
{
    struct credentials *own = &j->own;

    credentials_clear(own);
    own->ca_pem = *ca;
    own->cert_pem = *cert;
    own->key_pem = *key;
    *ca = *cert = *key = NULL;
}

static void on_secret(int status, const json_t *body, const struct err *err, void *arg)
{
    struct issuer_job *j = arg;
    const char *words = ready_words(j->certificate);
    FREE_AUTO char *ca = credentials_text(body, "ca.crt");
    FREE_AUTO char *cert = credentials_text(body, "tls.crt");
    FREE_AUTO char *key = credentials_text(body, "tls.key");
    struct tls_life life;

    if (status != 200 && status != 404) {
        fail_job(j, REASON_SECRET_NOT_READ, "Secret", err->msg);
    } else if (status == 200 && !is_of_certificate(j, body)) {
        fail_job(j, REASON_NOT_OWNED, "Secret",
                 "it exists and cert-manager has not made it for this DvmCluster.");
    } else if (!cert || !key || tls_cert_life(cert, &life, &(struct err){0})) {
        fail_job(j, REASON_CERTIFICATE_MISSING, "Certificate",
                 words ? words : "cert-manager has not issued it yet");
    } else if (!tls_bundle_count(ca)) {
        fail_job(j, REASON_CERTIFICATE_INVALID, "Secret",
                 "it has no ca.crt: the issuer names no authority. Take another one, for example "
                 "one of kind CA.");
    } else {
        if (life.end_ms < j->own.end_ms)
            j->own.end_ms = life.end_ms;
        if (ROLE[j->at] == API_ROLE_OPERATOR)
            keep_own(j, &ca, &cert, &key);
        j->at++;
        read_certificate(j);
    }
}

static void read_secret(struct issuer_job *j)
{
    FREE_AUTO char *path = xasprintf("/api/v1/namespaces/%s/secrets/%s-%s", j->c->ns, j->c->name,
                                     api_role_word(ROLE[j->at]));
    struct kube_verb v = {.method = "GET", .path = path};

    send_request(j, &v, on_secret);
}

static void on_applied(int status, const json_t *body, const struct err *err, void *arg)
{
    struct issuer_job *j = arg;

    if (status == 404) {
        fail_job(j, REASON_CERTIFICATE_MISSING, "Certificate",
                 "there is no cert-manager in this cluster (cert-manager.io/v1), and "
                 "spec.security.issuerRef names an issuer of it.");
    } else if (status != 200 && status != 201) {
        fail_job(j, REASON_SECRET_NOT_MADE, "Certificate", err->msg);
    } else {
        log_info("certificate asked for cluster=%s/%s name=%s-%s", j->c->ns, j->c->name, j->c->name,
                 api_role_word(ROLE[j->at]));
        json_decref(j->certificate);
        j->certificate = json_incref((json_t *)body);
        read_secret(j);
    }
}

static void apply_certificate(struct issuer_job *j, json_t *wanted, const json_t *found)
{
    FREE_AUTO char *path = certificate_path(j);
    FREE_AUTO char *url =
        xasprintf("%s?fieldManager=" CLUSTER_MANAGER "&force=%s", path, found ? "true" : "false");
    struct kube_verb v = {.method = "PATCH",
                          .path = url,
                          .body = wanted,
                          .content_type = "application/apply-patch+yaml"};

    if (found)
        json_object_set(json_object_get(wanted, "metadata"), "uid",
                        json_object_get(json_object_get(found, "metadata"), "uid"));
    send_request(j, &v, on_applied);
}

static void on_certificate(int status, const json_t *body, const struct err *err, void *arg)
{
    struct issuer_job *j = arg;
    const json_t *found = status == 200 ? body : NULL;

    if (status != 200 && status != 404) {
        fail_job(j, REASON_SECRET_NOT_READ, "Certificate", err->msg);
        return;
    }
    if (found && !objects_controlled(found, j->c)) {
        fail_job(j, REASON_NOT_OWNED, "Certificate",
                 "it exists and this DvmCluster does not control it, so the operator does not use "
                 "it.");
        return;
    }
    json_t *wanted = objects_certificate(j->c, ROLE[j->at]);
    json_decref(j->certificate);
    j->certificate = found ? json_incref((json_t *)body) : NULL;
    if (found && strcmp(objects_applied(found), objects_applied(wanted)) == 0)
        read_secret(j);
    else
        apply_certificate(j, wanted, found);
    json_decref(wanted);
}

static void read_certificate(struct issuer_job *j)
{
    if (j->at == NROLES) {
        end_job(j, NULL);
        return;
    }
    FREE_AUTO char *path = certificate_path(j);
    struct kube_verb v = {.method = "GET", .path = path};

    send_request(j, &v, on_certificate);
}

struct issuer_job *issuer_ensure(struct kube *kube, const struct cluster *c,
                                 credentials_fn *on_done, void *arg, struct err *err)
{
    struct issuer_job *j = xcalloc(1, sizeof(*j));

    j->kube = kube;
    j->c = c;
    j->on_done = on_done;
    j->arg = arg;
    j->own.end_ms = j->own.renewal_ms = INT64_MAX;
    FREE_AUTO char *path = certificate_path(j);
    struct kube_verb v = {.method = "GET", .path = path};
    j->request = kube_request(j->kube, &v, on_certificate, j, err);
    if (j->request)
        return j;
    free(j);
    return NULL;
}
