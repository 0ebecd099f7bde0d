/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out one action of a plan: requests to the head, Secrets, the removal of pods. Another
 * file (apply.c) applies objects.
 *
 * In: an action of plan_make(). Out: one request; its answer, kept in the entry of the cluster for
 * the next plan (`answer`, `size_refused`, credentials).
 *
 * Each action ends by one run->on_action_done(), at once or when the answer has arrived. Actions of
 * a plan run one after the other. An action may be repeated at any time: campaigns and sizes have
 * numbers, and a pod is deleted by its uid.
 *
 * Flags for the pass: `again` (the answer is new knowledge: plan at once), `failed` (try again with
 * back-off). A campaign that the head refuses (4xx) is no failure: the next plan draws its
 * conclusion. An answer that does not arrive, or 503, is one.
 *
 * This file decides nothing and writes no status: observe.c reads, the plan decides, reconcile.c
 * writes. */
#include "operator/reconcile/reconcile_private.h"

#include "base/backoff/backoff.h"
#include "base/buf/buf.h"
#include "base/log/log.h"

#include <stdio.h>
#include <string.h>

static struct dvm_client *head_client(struct run *run)
{
    return run->e->head ? headlink_client(run->e->head) : NULL;
}

static void give_up(struct run *run, const char *what, const char *why)
{
    reconcile_warn(run->e, what, "failed: %s", why);
    run->failed = true;
    run->on_action_done(run);
}

static enum api_reason reason_in_answer(const json_t *body)
{
    const char *s = json_string_value(json_object_get(json_object_get(body, "error"), "reason"));

    return s ? api_reason_of(s) : API_REASON_NONE;
}

/* Keeps the head's answer to the recorded campaign, from which the next plan concludes. */
static void keep_answer(struct run *run, int status, const json_t *body, const struct err *err)
{
    struct plan_answer *a = &run->e->answer;

    snprintf(a->id, sizeof(a->id), "%s", run->action->id);
    a->reason = reason_in_answer(body);
    snprintf(a->message, sizeof(a->message), "%s", status >= 200 && status < 300 ? "" : err->msg);
    a->status = status;
    a->at_ms = (int64_t)loop_wall_ms();
}

static void on_campaign(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;
    struct err why = {0};

    run->again = true;
    keep_answer(run, status, body, err);
    if (status == 200 || status == 202) {
        log_info("campaign put cluster=%s campaign=%s status=%d", run->e->key, run->action->id,
                 status);
        if (run->e->head && headlink_note_campaign(run->e->head, body, &why))
            reconcile_warn(run->e, "campaign answer", "malformed: %s", why.msg);
    } else {
        reconcile_warn(run->e, "campaign not accepted", "campaign=%s status=%d: %s",
                       run->action->id, status, err->msg);
        run->failed = status < 400 || status == 503;
        if (run->e->head)
            headlink_reread(run->e->head);
    }
    run->on_action_done(run);
}

static void put_campaign(struct run *run)
{
    struct err err = {0};
    struct api_campaign_request body;

    cluster_campaign_request(&run->plan->record.campaign, &body);
    int rc = head_client(run) ? dvm_client_put_campaign(head_client(run), run->action->id, &body,
                                                        on_campaign, run, &err)
                              : err_set(&err, "there is no connection to the head");
    api_campaign_request_free(&body);
    if (rc)
        give_up(run, "putting the campaign", err.msg);
}

static void on_cancelled(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;
    struct err why = {0};

    log_info("campaign cancel cluster=%s campaign=%s status=%d", run->e->key, run->action->id,
             status);
    if (!run->e->head) {
        run->failed = true;
    } else if (status == 200) {
        run->again = true;
        run->failed = headlink_note_campaign(run->e->head, body, &why) != 0;
    } else { /* too late, or unknown to the head: its view shows the state */
        run->failed = status != 409;
        headlink_reread(run->e->head);
    }
    run->on_action_done(run);
}

static void on_size(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;
    struct err why = {0};
    struct api_size now = {0};

    run->again = true;
    if (status != 200 || !run->e->head) {
        reconcile_warn(run->e, "size not accepted", "status=%d: %s", status, err->msg);
        run->failed = true;
        if (status == 409)
            run->e->size_refused = run->plan->record.size_sequence;
        if (run->e->head)
            headlink_reread(run->e->head);
    } else if (headlink_note_size(run->e->head, body, &now, &why)) {
        reconcile_warn(run->e, "size answer", "malformed: %s", why.msg);
        run->failed = true;
    } else {
        log_info("size put cluster=%s members=%u sequence=%llu", run->e->key, now.members,
                 (unsigned long long)now.sequence);
        run->failed = now.members != run->plan->record.size_members;
        if (run->failed) /* a campaign has changed the size since: only a higher sequence can change
                            it again */
            run->e->size_refused = run->plan->record.size_sequence;
    }
    run->on_action_done(run);
}

static void put_size(struct run *run)
{
    struct err err = {0};
    struct api_size s = {.sequence = run->plan->record.size_sequence,
                         .members = run->plan->record.size_members,
                         .limits = run->plan->record.size_limits};

    if (!head_client(run))
        give_up(run, "putting the size", "there is no connection to the head");
    else if (dvm_client_put_size(head_client(run), &s, on_size, run, &err))
        give_up(run, "putting the size", err.msg);
}

static void on_shutdown(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;

    log_info("shutdown put cluster=%s status=%d", run->e->key, status);
    keep_answer(run, status, body, err);
    run->again = true;
    run->failed = status != 202 && status != 200 && status != 503;
    run->on_action_done(run);
}

static void put_shutdown(struct run *run)
{
    struct err err = {0};
    struct api_shutdown s = {.deadline_s = run->action->deadline_s};

    if (!head_client(run))
        give_up(run, "ending the DVM", "there is no connection to the head");
    else if (dvm_client_put_shutdown(head_client(run), &s, on_shutdown, run, &err))
        give_up(run, "ending the DVM", err.msg);
}

static void cancel_campaign(struct run *run)
{
    struct err err = {0};

    if (!head_client(run))
        give_up(run, "cancelling the campaign", "there is no connection to the head");
    else if (dvm_client_cancel_campaign(head_client(run), run->action->id, on_cancelled, run, &err))
        give_up(run, "cancelling the campaign", err.msg);
}

/* Several pods of one pass count once. */
static void prolong_pause(struct pause *p, uint64_t now_ms)
{
    if (p->until_ms > now_ms)
        return;
    if (p->length_ms && now_ms < p->until_ms + RECONCILE_STARVED_MAX_MS)
        p->length_ms *= 2;
    else
        p->length_ms = RECONCILE_STARVED_MIN_MS;
    if (p->length_ms > RECONCILE_STARVED_MAX_MS)
        p->length_ms = RECONCILE_STARVED_MAX_MS;
    p->until_ms = now_ms + p->length_ms;
}

static void announce_starved(struct run *run)
{
    FREE_AUTO char *note =
        xasprintf("Pod %s: the daemon ends repeatedly for want of memory. A new pod takes its "
                  "place, since files in memory (/dev/shm) outlive a container.",
                  run->action->pod);

    prolong_pause(&run->e->starved, run->now_ms);
    announce_event(run, true, REASON_POD_REPLACED, note);
}

static void on_deleted(int status, const json_t *body, const struct err *err, void *arg)
{
    struct run *run = arg;

    if (status != 200 && status != 202 && status != 404 && status != 409)
        reconcile_warn(run->e, "pod not deleted", "pod=%s: %s", run->action->pod, err->msg);
    else
        log_info("pod deleted cluster=%s pod=%s", run->e->key, run->action->pod);
    if (run->action->starved && (status == 200 || status == 202))
        announce_starved(run);
    run->failed = run->failed || status == 0 || status >= 500;
    run->on_action_done(run);
}

static void delete_pod(struct run *run)
{
    struct err err = {0};
    FREE_AUTO char *path = xasprintf("/api/v1/namespaces/%s/pods/%s", run->c.ns, run->action->pod);
    json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                             "preconditions", "uid", run->action->uid);
    struct kube_verb v = {.method = "DELETE", .path = path, .body = body};

    if (run->action->force)
        json_object_set_new(body, "gracePeriodSeconds", json_integer(0));
    run->request = kube_request(run->e->r->o.kube, &v, on_deleted, run, &err);
    json_decref(body);
    if (!run->request)
        give_up(run, "deleting a pod", err.msg);
}

static bool are_same(const struct credentials *a, const struct credentials *b)
{
    return strcmp(a->ca_pem, b->ca_pem) == 0 && strcmp(a->cert_pem, b->cert_pem) == 0 &&
           strcmp(a->key_pem, b->key_pem) == 0;
}

/* The connection to the head borrows the certificate. With another one the next pass connects
 * anew. */
static void keep_credentials(struct entry *e, const struct credentials *creds)
{
    if (!e->have_creds || !are_same(&e->creds, creds)) {
        headlink_destroy(e->head);
        e->head = NULL;
        credentials_clear(&e->creds);
        e->creds = (struct credentials){.ca_pem = xstrdup(creds->ca_pem),
                                        .cert_pem = xstrdup(creds->cert_pem),
                                        .key_pem = xstrdup(creds->key_pem)};
    }
    e->creds.end_ms = creds->end_ms;
    e->creds.renewal_ms = creds->renewal_ms;
    e->creds.revision = creds->revision;
    e->creds.settled = creds->settled;
    memcpy(e->creds.seen, creds->seen, sizeof(e->creds.seen));
    e->have_creds = true;
}

/* The time until the Secrets are read again. If only the operator's own was read, the others are
 * read soon, but not those of all clusters at once. */
static uint64_t next_reading_ms(const struct reconciler *r, bool partial)
{
    uint64_t all_ms = cache_count(r->cache[CACHE_CLUSTERS]) * RECONCILE_SECRETS_STEP_MS;

    if (partial)
        return backoff_dice() % (all_ms + 1);
    return all_ms > RECONCILE_SECRETS_MS ? all_ms : RECONCILE_SECRETS_MS;
}

static void on_credentials(const struct credentials *creds, const struct status_trouble *trouble,
                           void *arg)
{
    struct run *run = arg;
    struct entry *e = run->e;

    run->creds = NULL;
    run->issuer = NULL;
    e->creds_checked_ms = loop_now_ms(e->r->o.loop);
    e->creds_pause_ms = next_reading_ms(e->r, creds && creds->partial);
    e->user_looked_ms = e->creds_checked_ms;
    run->again = creds && !e->have_creds;
    if (creds)
        keep_credentials(e, creds);
    e->creds_failures =
        trouble && reason_is(trouble->reason, REASON_PASSING) ? e->creds_failures + 1 : 0;
    if (e->creds_failures > 0 && e->creds_failures < APPLY_REPORTED_AFTER) {
        log_info("secrets cluster=%s: %s", e->key, trouble->message);
        e->creds_complete = false;
        run->failed = true; /* the next pass goes on from there */
        run->on_action_done(run);
        return;
    }
    if (!trouble) {
        e->creds_trouble.reason = REASON_NONE;
        run->overtaken = !e->creds_complete;
        run->again = run->again || run->overtaken;
    } else if (strcmp(trouble->message, e->creds_trouble.message) != 0 ||
               !e->creds_trouble.reason) {
        reconcile_warn(e, "secrets", "error: %s", trouble->message);
        e->creds_trouble = *trouble;
    }
    e->creds_complete = !trouble || reason_is(trouble->reason, REASON_ASIDE);
    run->on_action_done(run);
}

static bool status_says(const struct run *run, const char *type, const char *value)
{
    const json_t *condition;
    size_t i;

    json_array_foreach(run->c.conditions, i, condition)
    {
        const char *t = json_string_value(json_object_get(condition, "type"));
        const char *v = json_string_value(json_object_get(condition, "status"));

        if (t && v && strcmp(t, type) == 0)
            return strcmp(v, value) == 0;
    }
    return false;
}

/* A cluster without a status is new. One that was settled when the operator met it, after its own
 * start, had all Secrets. */
static enum credentials_scope credentials_scope(const struct run *run)
{
    if (run->e->creds_checked_ms || run->pending)
        return CREDENTIALS_OF_ALL;
    if (!json_object_size(run->c.status))
        return CREDENTIALS_OF_NEW;
    return status_says(run, "Ready", "True") && status_says(run, "Degraded", "False")
               ? CREDENTIALS_OF_KNOWN
               : CREDENTIALS_OF_ALL;
}

/* While a Secret has an error every pass asks for this; the Secrets are read every few seconds
 * only. */
static void read_credentials(struct run *run)
{
    struct err err = {0};
    uint64_t next_ms = run->e->creds_checked_ms + RECONCILE_CREDENTIALS_MS;

    queue_add_after(run->e->r->queue, run->e->key, RECONCILE_CREDENTIALS_MS);
    if (run->e->creds_trouble.reason && run->now_ms < next_ms) {
        run->on_action_done(run);
        return;
    }
    if (run->c.security.issuer.name)
        run->issuer = issuer_ensure(run->e->r->o.kube, &run->c, on_credentials, run, &err);
    else
        run->creds =
            credentials_ensure(run->e->r->o.kube, &run->c, credentials_scope(run), &run->e->creds,
                               &run->e->creds_progress, on_credentials, run, &err);
    if (!run->creds && !run->issuer)
        give_up(run, "reading the Secrets", err.msg);
}

static void ensure_credentials(struct run *run)
{
    if (run->user_due)
        usersecret_look(run, read_credentials);
    else
        read_credentials(run);
}

void act_begin(struct run *run)
{
    switch (run->action->verb) {
    case PLAN_ENSURE_CREDENTIALS:
        ensure_credentials(run);
        return;
    case PLAN_APPLY:
        apply_child(run);
        return;
    case PLAN_PUT_CAMPAIGN:
        put_campaign(run);
        return;
    case PLAN_CANCEL_CAMPAIGN:
        cancel_campaign(run);
        return;
    case PLAN_PUT_SIZE:
        put_size(run);
        return;
    case PLAN_PUT_SHUTDOWN:
        put_shutdown(run);
        return;
    case PLAN_DELETE_POD:
        delete_pod(run);
        return;
    case PLAN_TRY_POD:
        shortage_try(run);
        return;
    case PLAN_RECORD: /* is done by the write of the status */
        break;
    }
    run->on_action_done(run);
}
