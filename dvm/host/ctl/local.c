/* SPDX-License-Identifier: BSD-3-Clause */
/* The same calls over a daemon's local socket; methods and paths are matched here. */
#include "base/buf/buf.h"
#include "dvm/host/ctl/ctl_private.h"

#include <stdlib.h>
#include <string.h>

/* A parsed path; the strings belong to the owner. */
struct local_path {
    char *text; /* path and query, split */
    char *query;
    char *id;
};

/* True if the path matches the pattern; "{id}" stands for one non-empty segment. */
static bool matches_pattern(const char *pattern, const char *path, char **id)
{
    const char *brace = strchr(pattern, '{');
    size_t before = brace ? (size_t)(brace - pattern) : strlen(pattern);
    size_t len;

    if (!brace)
        return strcmp(pattern, path) == 0;
    if (strncmp(pattern, path, before) != 0)
        return false;
    len = strcspn(path + before, "/");
    if (!len || strcmp(path + before + len, strchr(brace, '}') + 1) != 0)
        return false;
    free(*id);
    *id = xasprintf("%.*s", (int)len, path + before);
    return true;
}

static const struct ctl_verb *find_verb(const char *method, struct local_path *p, bool *path_known)
{
    *path_known = false;
    for (size_t i = 0; i < ctl_nverbs; i++) {
        if (!matches_pattern(ctl_verbs[i].pattern, p->text, &p->id))
            continue;
        *path_known = true;
        if (strcmp(ctl_verbs[i].method, method) == 0)
            return &ctl_verbs[i];
    }
    return NULL;
}

/* Ids and numbers need no escapes, so nothing is decoded. */
static void set_query(struct ctl_request *rq, char *query)
{
    char *word;

    while ((word = strsep(&query, "&"))) {
        if (strncmp(word, "from=", 5) == 0)
            rq->from = word + 5;
        else if (strncmp(word, "incarnation=", 12) == 0)
            rq->incarnation = word + 12;
    }
}

bool ctl_is_everywhere(const char *method, const char *path)
{
    for (size_t i = 0; i < ctl_nverbs; i++) {
        if (ctl_verbs[i].everywhere && strcmp(ctl_verbs[i].method, method) == 0 &&
            strcmp(ctl_verbs[i].pattern, path) == 0)
            return true;
    }
    return false;
}

static void call_verb(struct ctl *ctl, const struct ctl_verb *verb, struct ctl_request *rq,
                      const char *body, struct ctl_reply *rp)
{
    json_error_t je;

    rq->body = verb->body || *body ? json_loads(body, JSON_REJECT_DUPLICATES, &je) : json_object();
    if (json_is_object(rq->body))
        ctl_call(ctl, verb, rq, rp);
    else
        ctl_refuse(rp, 400, API_REASON_BAD_REQUEST, "%s",
                   rq->body ? "the body is no JSON object" : je.text);
    json_decref(rq->body);
}

static void call_path(struct ctl *ctl, enum api_role role, const char *method, struct local_path *p,
                      const char *body, struct ctl_reply *rp)
{
    struct ctl_request rq = {.role = role};
    bool path_known;
    const struct ctl_verb *verb = find_verb(method, p, &path_known);

    if (!verb && path_known) {
        ctl_refuse(rp, 405, API_REASON_METHOD_NOT_ALLOWED, "%s is not allowed on %s", method,
                   p->text);
        return;
    }
    if (!verb) {
        ctl_refuse(rp, 404, API_REASON_NOT_FOUND, "no such path: %s", p->text);
        return;
    }
    rq.id = p->id;
    set_query(&rq, p->query);
    call_verb(ctl, verb, &rq, body, rp);
}

void ctl_local_call(struct ctl *ctl, uint64_t conn, const char *method, const char *path,
                    const char *body, const struct ctl_local *answer)
{
    struct local_path p = {.text = xstrdup(path)};
    struct ctl_reply rp = {0};
    FREE_AUTO char *text = NULL;

    p.query = strchr(p.text, '?');
    if (p.query)
        *p.query++ = '\0';
    call_path(ctl, answer->role, method, &p, body, &rp);
    if (rp.stream && !answer->line) {
        rp.stream = false;
        ctl_refuse(&rp, 503, API_REASON_NOT_HEAD, "events are followed at the head itself");
    }
    text = rp.body ? json_dumps(rp.body, JSON_COMPACT) : xstrdup("{}");
    json_decref(rp.body);
    if (rp.input && ctl->keep)
        ctl->keep(ctl->drain_arg);
    if (!rp.input || !ctl_answer_local(ctl, conn, answer, rp.status, text))
        answer->reply(conn, rp.status, text, answer->arg);
    if (rp.stream)
        ctl_stream_local(ctl, conn, answer, rp.stream_from);
    free(p.text);
    free(p.id);
    if (rp.input)
        ctl->drain(ctl->drain_arg);
}
