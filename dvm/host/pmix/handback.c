/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers go back on the library's own thread: 4.2 and 5.0 put most of them straight into a peer's
 * queue, which they lock against nobody. */
#include "dvm/host/pmix/pmix_private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <utlist.h>

#include <src/include/pmix_config.h>

#include <src/include/pmix_globals.h>

struct handback {
    void (*run)(void *arg);
    void (*drop)(void *arg);
    void *arg;
    bool watched;
    struct handback *prev, *next;
};

/* What is on its way. The thread ends in the middle of it when the server does. */
static struct handback *under_way;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_thread(evutil_socket_t fd, short events, void *arg)
{
    struct handback *h = arg;

    pthread_mutex_lock(&lock);
    DL_DELETE(under_way, h);
    pthread_mutex_unlock(&lock);
    h->run(h->arg);
    if (h->watched)
        watch_answered();
    free(h);
}

/* False: it has run at once. */
static bool hand(const struct pmix_srv *p, unsigned ms, bool watched, void (*run)(void *arg),
                 void (*drop)(void *arg), void *arg)
{
    const struct timeval when = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    /* Looked up, not linked: a copy of the object in our program would have its size of today. */
    const pmix_globals_t *globals = dlsym(RTLD_DEFAULT, "pmix_globals");
    struct handback *h;

    if (!p->knows_library || !globals || !globals->evbase) {
        run(arg);
        return false;
    }
    h = xmalloc(sizeof(*h));
    *h = (struct handback){.run = run, .drop = drop, .arg = arg, .watched = watched};
    pthread_mutex_lock(&lock);
    DL_APPEND(under_way, h);
    pthread_mutex_unlock(&lock);
    if (event_base_once(globals->evbase, -1, EV_TIMEOUT, on_thread, h, ms ? &when : NULL) < 0)
        abort(); /* out of memory, as everywhere */
    return true;
}

void handback_after(const struct pmix_srv *p, unsigned ms, void (*run)(void *arg),
                    void (*drop)(void *arg), void *arg)
{
    hand(p, ms, false, run, drop, arg);
}

void handback(struct pmix_srv *p, void (*run)(void *arg), void (*drop)(void *arg), void *arg)
{
    if (hand(p, 0, true, run, drop, arg))
        watch_asked(p);
}

void handback_end(void)
{
    struct handback *h, *next;

    DL_FOREACH_SAFE(under_way, h, next)
    {
        h->drop(h->arg);
        free(h);
    }
    under_way = NULL;
}
