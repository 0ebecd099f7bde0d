/* SPDX-License-Identifier: BSD-3-Clause */
/* How a service asks another daemon and answers its questions. services/questions.h implements
 * it; tests have their own implementation. */
#ifndef DVM_HOST_ASK_H
#define DVM_HOST_ASK_H

#include "base/buf/buf.h"
#include "dvm/host/pmix/pmix_srv.h"

/* A status of the PMIx library; data is borrowed for the call. */
typedef void (*host_answer)(int status, const void *data, size_t len, void *asker);

struct host_ask {
    /* Sends the encoded question `b` (dvm/host/app) to the daemon `vpid` and puts its number
     * in. answered() comes once, maybe within the call: also if the daemon is not there, or is
     * lost. `asker` is on the heap: if this daemon ends first, it is freed and nothing is called.
     */
    void (*ask)(uint32_t vpid, uint32_t kind, struct buf *b, host_answer answered, void *asker,
                void *arg);
    /* The same for a request of the PMIx library, whose answer is that of the other daemon. */
    void (*ask_for)(pmix_req req, uint32_t vpid, uint32_t kind, struct buf *b, void *arg);
    /* A request of the library for published values: the operation and the blob of
     * pmix_srv_upcalls.on_data(). It is repeated to a new head until it has its answer, and is
     * carried out once. */
    void (*ask_data)(pmix_req req, char op, const void *blob, size_t len, void *arg);
    /* Answers question number `question` of the daemon `vpid`. An answer that is too long becomes
     * PMIX_ERR_OUT_OF_RESOURCE. */
    void (*reply)(uint32_t vpid, uint64_t question, int status, const void *data, size_t len,
                  void *arg);
    void *arg;
};

static inline void host_ask(const struct host_ask *a, uint32_t vpid, uint32_t kind, struct buf *b,
                            host_answer answered, void *asker)
{
    a->ask(vpid, kind, b, answered, asker, a->arg);
}

static inline void host_ask_for(const struct host_ask *a, pmix_req req, uint32_t vpid,
                                uint32_t kind, struct buf *b)
{
    a->ask_for(req, vpid, kind, b, a->arg);
}

static inline void host_ask_data(const struct host_ask *a, pmix_req req, char op, const void *blob,
                                 size_t len)
{
    a->ask_data(req, op, blob, len, a->arg);
}

static inline void host_reply(const struct host_ask *a, uint32_t vpid, uint64_t question,
                              int status, const void *data, size_t len)
{
    a->reply(vpid, question, status, data, len, a->arg);
}

#endif
