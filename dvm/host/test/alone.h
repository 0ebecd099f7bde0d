/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: the services of a daemon that receive other daemons' application messages, joined to a
 * core and to stand-ins for sockets, ranks, clients and the PMIx library. */
#ifndef DVM_TEST_ALONE_H
#define DVM_TEST_ALONE_H

#include "dvm/host/clients/calls.h"
#include "dvm/host/services/collectives.h"
#include "dvm/host/services/control.h"
#include "dvm/host/services/events.h"
#include "dvm/host/services/foreign_jobs.h"
#include "dvm/host/services/modex.h"
#include "dvm/host/services/pulled_output.h"
#include "dvm/host/services/queries.h"
#include "dvm/host/services/questions.h"
#include "dvm/protocol/core/test/scene.h"

struct alone_sent { /* the last application message to another daemon */
    unsigned n;     /* number of these messages */
    uint32_t vpid, kind;
    struct buf data;
};

struct alone_answered { /* the library's last request that has got its answer */
    unsigned n;
    pmix_req req;
    int status;
    size_t len;
};

struct alone {
    struct scene scene; /* whose core it has */
    struct host_env env;
    struct iof *iof;
    struct app_table app_messages;
    struct calls *calls;
    struct questions *questions;
    struct foreign_jobs *foreign_jobs;
    struct collectives *collectives;
    struct modex *modex;
    struct events *events;
    struct queries *queries;
    struct control *control;
    struct pulled_output *pulled_output;
    struct alone_sent sent;
    struct alone_answered answered;
    unsigned said; /* messages to clients */
    size_t output; /* bytes of jobs' output to tools */
    void *data;    /* NULL, or the modex data of the next rank */
    size_t len;
};

void alone_open(struct alone *a, enum scene_kind kind);
void alone_close(struct alone *a);
/* An application message has arrived. */
void alone_hear(struct alone *a, uint32_t from, uint32_t kind, const void *data, size_t len);

#endif
