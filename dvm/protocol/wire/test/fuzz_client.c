/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the messages between local clients and their daemon: accepted input is encoded to
 * the same bytes. */
#include "dvm/protocol/wire/client.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b = {0};
    struct client_msg m;
    struct err err = {0};

    if (client_msg_decode(data, size, &m, &err) < 0) {
        if (!*err.msg || m.type || m.call.method || m.call.path || m.submit.spec.apps)
            abort();
        return 0;
    }
    reached(m.type);
    buf_init(&b, 2 * CLIENT_BODY_MAX);
    client_msg_encode(&b, &m);
    client_msg_free(&m);
    if (b.failed || b.len != size || memcmp(b.data, data, size) != 0)
        abort();
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(256, client_msg_name);
    return 0;
}
