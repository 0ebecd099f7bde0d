/* SPDX-License-Identifier: BSD-3-Clause */
/* Host names to addresses.
 *
 * In: a host name and a port. Out: the addresses in the resolver's order, or the reason why there
 * are none.
 *
 * The C library's resolver blocks, so each name has a thread, which posts the result to the loop. A
 * numeric address needs no thread. libevent's own resolver would not block either, but it ignores
 * nsswitch.conf, and it reads /etc/hosts and resolv.conf once. Nothing is cached: the address of a
 * head changes.
 *
 * Invariants: all but the call of getaddrinfo() runs on the loop's thread. A thread posts only
 * while the loop exists: `loop` is NULL after lookups_destroy(). Each lookup frees itself after its
 * thread, also when it was cancelled.
 *
 * Failures: a name without an address is a result; only a thread that cannot be started is an
 * error of the call. */
#include "operator/http/lookup.h"

#include "base/buf/buf.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lookups {
    pthread_mutex_t lock; /* guards the other fields */
    struct loop *loop;
    size_t users; /* lookups, and one until lookups_destroy() */
};

struct lookup {
    struct lookups *all;
    char *host;
    char service[8];
    struct addrinfo *list;
    int gai_error;
    lookup_fn *on_done; /* NULL: cancelled */
    void *arg;
};

static void add_user(struct lookups *all)
{
    pthread_mutex_lock(&all->lock);
    all->users++;
    pthread_mutex_unlock(&all->lock);
}

static void remove_user(struct lookups *all)
{
    pthread_mutex_lock(&all->lock);
    bool last = --all->users == 0;
    pthread_mutex_unlock(&all->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static void free_lookup(struct lookup *l)
{
    if (l->list)
        freeaddrinfo(l->list);
    free(l->host);
    remove_user(l->all);
    free(l);
}

/* Posted. */
static void on_result(void *arg)
{
    struct lookup *l = arg;
    struct addrinfo *list = l->list;

    if (l->on_done && l->all->loop) {
        l->list = NULL;
        l->on_done(list, list ? "" : gai_strerror(l->gai_error), l->arg);
    }
    free_lookup(l);
}

static void post_result(struct lookup *l)
{
    pthread_mutex_lock(&l->all->lock);
    bool posted = l->all->loop != NULL;
    if (posted)
        loop_post(l->all->loop, on_result, l);
    pthread_mutex_unlock(&l->all->lock);
    if (!posted)
        free_lookup(l);
}

static void resolve_name(struct lookup *l, int flags)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};

    l->gai_error = getaddrinfo(l->host, l->service, &hints, &l->list);
    if (l->gai_error)
        l->list = NULL;
}

static void *resolve_in_thread(void *arg)
{
    resolve_name(arg, 0);
    post_result(arg);
    return NULL;
}

static int start_thread(struct lookup *l, struct err *err)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, resolve_in_thread, l);

    if (error)
        return err_sys(err, error, "cannot start a thread to look up %s", l->host);
    pthread_detach(thread);
    return 0;
}

struct lookup *lookup_start(struct lookups *all, const char *host, uint16_t port,
                            lookup_fn *on_done, void *arg, struct err *err)
{
    struct lookup *l = xcalloc(1, sizeof(*l));

    l->all = all;
    l->host = xstrdup(host);
    snprintf(l->service, sizeof(l->service), "%u", (unsigned)port);
    l->on_done = on_done;
    l->arg = arg;
    add_user(all);
    resolve_name(l, AI_NUMERICHOST);
    if (l->list) {
        post_result(l);
    } else if (start_thread(l, err) < 0) {
        free_lookup(l);
        return NULL;
    }
    return l;
}

void lookup_cancel(struct lookup *l)
{
    if (l)
        l->on_done = NULL;
}

struct lookups *lookups_create(struct loop *loop)
{
    struct lookups *all = xcalloc(1, sizeof(*all));

    pthread_mutex_init(&all->lock, NULL);
    all->loop = loop;
    all->users = 1;
    return all;
}

void lookups_destroy(struct lookups *all)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->loop = NULL;
    pthread_mutex_unlock(&all->lock);
    remove_user(all);
}
