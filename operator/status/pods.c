/* SPDX-License-Identifier: BSD-3-Clause */
/* Pods that do not start or are not created, explained in the words of the scheduler, the kubelet
 * and the API server.
 *
 * In: the pods as observed. Out: a verdict with a reason and the words.
 *
 * Invariant: the words of an image that cannot be pulled change only if more than digits differ,
 * because the kubelet's text names ports and times of the attempt. */
#include "base/buf/buf.h"
#include "operator/status/status_private.h"

#include <ctype.h>
#include <string.h>

static bool one_of(const char *word, const char *const *list)
{
    for (; word && *list; list++) {
        if (strcmp(word, *list) == 0)
            return true;
    }
    return false;
}

bool status_is_pull_failure(const char *waiting)
{
    static const char *const image[] = {"ErrImagePull",
                                        "ImagePullBackOff",
                                        "InvalidImageName",
                                        "ErrImageNeverPull",
                                        "ImageInspectError",
                                        "RegistryUnavailable",
                                        NULL};

    return one_of(waiting, image);
}

const char *status_pull_words(const char *message)
{
    static const char backoff[] = "Back-off pulling image";
    const char *inner;

    if (strncmp(message, backoff, sizeof(backoff) - 1) != 0)
        return message;
    inner = strstr(message, "\": ");
    if (!inner)
        return "";
    inner += 3;
    return strncmp(inner, "ErrImagePull: ", 14) == 0 ? inner + 14 : inner;
}

bool status_same_but_digits(const char *a, const char *b)
{
    for (;;) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

static char *pull_text(const struct plan_pod *pod)
{
    bool words = pod->message && *pod->message;

    return xasprintf("Pod %s: the image \"%s\" cannot be pulled%s%s. Correct spec.image, or make "
                     "the image available; the kubelet tries again.",
                     pod->name, pod->image ? pod->image : "?", words ? ": " : "",
                     words ? pod->message : "");
}

static char *crash_text(const struct plan_pod *pod)
{
    if (!pod->ended)
        return xasprintf(
            "Pod %s: the daemon ends repeatedly; kubectl logs %s --previous shows the reason.",
            pod->name, pod->name);
    return xasprintf("Pod %s: the daemon ends repeatedly, last with %s (exit code %lld); kubectl "
                     "logs %s --previous shows the reason.",
                     pod->name, pod->ended, (long long)pod->ended_code, pod->name);
}

static bool pod_stuck(const struct plan_pod *pod, struct verdict *v)
{
    static const char *const config[] = {"CreateContainerConfigError", "CreateContainerError",
                                         "RunContainerError", NULL};

    if (pod->unschedulable && !pod->node)
        *v = status_verdict(STATUS_FALSE, REASON_UNSCHEDULABLE,
                            xasprintf("Pod %s: no node takes it: %s", pod->name,
                                      *pod->unschedulable ? pod->unschedulable : "no message"));
    else if (status_is_pull_failure(pod->waiting))
        *v = status_verdict(STATUS_FALSE, REASON_IMAGE_PULL_FAILED, pull_text(pod));
    else if (one_of(pod->waiting, config))
        *v = status_verdict(STATUS_FALSE, REASON_POD_CANNOT_START,
                            xasprintf("Pod %s: %s (%s).", pod->name,
                                      pod->message ? pod->message : "no message", pod->waiting));
    else if (pod->waiting && strcmp(pod->waiting, "CrashLoopBackOff") == 0)
        *v = status_verdict(STATUS_FALSE, REASON_DAEMON_CRASHES, crash_text(pod));
    else
        return false;
    return true;
}

/* A pod that a StatefulSet does not control has the name of one that it needs. */
static bool pod_in_the_way(const struct facts *f, enum cluster_child set, struct verdict *v)
{
    const char *pod = f->in->child[set].pod_in_the_way;

    if (!pod)
        return false;
    *v = status_verdict(
        STATUS_FALSE, REASON_NOT_OWNED,
        xasprintf("Pod %s exists and StatefulSet %s%s does not control it, so the StatefulSet "
                  "cannot create its own. The operator does not touch that pod: delete it, or "
                  "rename one of the two.",
                  pod, f->in->cluster->name, set == CLUSTER_HEAD_SET ? "-head" : ""));
    return true;
}

/* The API server takes no further pod of a StatefulSet that needs one. */
static bool creation_refused(const struct facts *f, enum cluster_child set, struct verdict *v)
{
    const char *words = f->in->child[set].refusal;

    if (!words)
        return false;
    *v = status_verdict(STATUS_FALSE, REASON_FAILED_CREATE,
                        xasprintf("StatefulSet %s%s: the API server takes no further pod: %s",
                                  f->in->cluster->name, set == CLUSTER_HEAD_SET ? "-head" : "",
                                  words));
    return true;
}

static bool creation_blocked(const struct facts *f, enum cluster_child set, struct verdict *v)
{
    return pod_in_the_way(f, set, v) || creation_refused(f, set, v);
}

bool status_pod_stuck(const struct facts *f, bool head_only, struct verdict *v)
{
    for (size_t i = 0; i < f->in->npods; i++) {
        const struct plan_pod *pod = &f->in->pods[i];

        if ((!head_only || pod->vpid == 0) && !pod->deleting && pod_stuck(pod, v))
            return true;
    }
    return creation_blocked(f, CLUSTER_HEAD_SET, v) ||
           (!head_only && creation_blocked(f, CLUSTER_MEMBER_SET, v));
}

uint32_t status_updated_pods(const struct facts *f)
{
    uint32_t n = 0;

    for (size_t i = 0; i < f->in->npods; i++) {
        const struct plan_pod *pod = &f->in->pods[i];

        n += pod->vpid && !pod->outdated && !pod->deleting;
    }
    return n;
}

char *status_outdated_text(const struct facts *f)
{
    BUF_AUTO struct buf b;
    size_t n = 0;

    buf_init(&b, 4096);
    for (size_t i = 0; i < f->in->npods; i++) {
        const struct plan_pod *pod = &f->in->pods[i];

        if (!pod->outdated || pod->deleting || n++ >= STATUS_PODS_NAMED)
            continue;
        if (n > 1)
            buf_put_raw(&b, ", ", 2);
        buf_put_raw(&b, pod->name, strlen(pod->name));
    }
    buf_put_u8(&b, 0);
    if (n <= STATUS_PODS_NAMED)
        return n ? xstrdup((const char *)b.data) : NULL;
    return xasprintf("%s and %zu more", (const char *)b.data, n - STATUS_PODS_NAMED);
}
