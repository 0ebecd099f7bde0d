/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of application messages between daemons: output, input, questions, answers, events.
 * There are a daemon that asks and a head that is asked. */
#include "dvm/host/test/alone.h"
#include "dvm/protocol/wire/test/reached.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 64
#define MEMBERS 4

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Open questions that answers can refer to; their numbers are 1 to 4. */
static void ask(struct alone *a)
{
    struct pmix_srv_proc procs[] = {{"7.8", PMIX_SRV_RANK_ALL}, {"7.9", 0}};

    modex_data(a->modex, 1, 'l', "x", 1);
    queries_ask(a->queries, 2, "7.8");
    collectives_join(a->collectives, 3, 'c', procs, 2, "x", 1, 0);
}

/* Each message: kind, sender, 16 bits of length, content. The first byte chooses the daemon. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cur c = cur_of(data, size);
    struct alone a;
    unsigned asked;

    alone_open(&a, cur_u8(&c) % 2 ? SCENE_MEMBER_PARENT : SCENE_HEAD_MEMBER);
    ask(&a);
    asked = a.answered.n;
    for (int i = 0; i < MESSAGES_MAX && cur_left(&c) > 4; i++) {
        uint32_t kind = cur_u8(&c);
        uint32_t from = cur_u8(&c) % (MEMBERS + 1);
        size_t len = cur_u16(&c);
        uint8_t *exact;

        len = len < cur_left(&c) ? len : cur_left(&c);
        exact = xmalloc(len + 1); /* so that ASan sees a read past the end */
        memcpy(exact, cur_raw(&c, len), len);
        reached(kind);
        alone_hear(&a, from, kind, exact, len);
        free(exact);
    }
    if (a.answered.n - asked > 3) /* a request has got two answers */
        abort();
    alone_close(&a);
    return 0;
}

static const char *name(unsigned type)
{
    static const char *const names[] = {
        [IOF_OUTPUT] = "OUTPUT",
        [IOF_PAUSE] = "PAUSE",
        [IOF_STDIN] = "STDIN",
        [IOF_STDIN_TAKEN] = "STDIN_TAKEN",
        [IOF_NOTE] = "NOTE",
        [IOF_COPY_START] = "COPY_START",
        [IOF_COPY_STARTED] = "COPY_STARTED",
        [IOF_COPY] = "COPY",
        [IOF_COPY_PAUSE] = "COPY_PAUSE",
        [IOF_COPY_STOP] = "COPY_STOP",
        [IOF_COPY_END] = "COPY_END",
        [APP_MODEX_ASK] = "MODEX_ASK",
        [APP_DATA_ASK] = "DATA_ASK",
        [APP_ANSWER] = "ANSWER",
        [APP_NOTIFY] = "NOTIFY",
        [APP_QUERY_ASK] = "QUERY_ASK",
        [APP_SIGNAL_ASK] = "SIGNAL_ASK",
        [APP_JOB_ASK] = "JOB_ASK",
        [APP_CALL] = "CALL",
        [APP_REPLY] = "REPLY",
        [APP_NOTIFY_ALL] = "NOTIFY_ALL",
        [APP_TOOL_HERE] = "TOOL_HERE",
    };

    return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "?";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(256, name);
    return 0;
}
