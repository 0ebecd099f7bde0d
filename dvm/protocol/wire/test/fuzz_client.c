/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of what local clients and their daemon say: what is accepted is encoded to the same
 * bytes. */
#include "dvm/protocol/wire/test/reached.h"
#include "dvm/protocol/wire/test/samples.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf b BUF_AUTO = {0};
    struct client_msg m;
    struct err err = {0};

    if (client_msg_decode(data, size, &m, &err) < 0) {
        if (!*err.msg || m.type || m.a || m.b || m.c || m.spec.apps)
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

static const char *name(unsigned type)
{
    static const char *const names[] = {[CLIENT_SUBMIT] = "SUBMIT",
                                        [CLIENT_STDIN] = "STDIN",
                                        [CLIENT_SIGNAL] = "SIGNAL",
                                        [CLIENT_CALL] = "CALL",
                                        [CLIENT_ATTACH] = "ATTACH",
                                        [CLIENT_ACCEPTED] = "ACCEPTED",
                                        [CLIENT_STATE] = "STATE",
                                        [CLIENT_OUTPUT] = "OUTPUT",
                                        [CLIENT_DONE] = "DONE",
                                        [CLIENT_ERROR] = "ERROR",
                                        [CLIENT_REPLY] = "REPLY",
                                        [CLIENT_LINE] = "LINE",
                                        [CLIENT_STDIN_PAUSE] = "PAUSE",
                                        [CLIENT_NOTE] = "NOTE",
                                        [CLIENT_MAP] = "MAP",
                                        [CLIENT_OPEN] = "OPEN",
                                        [CLIENT_ACK] = "ACK",
                                        [CLIENT_BYE] = "BYE",
                                        [CLIENT_OPENED] = "OPENED",
                                        [CLIENT_REACHED] = "REACHED",
                                        [CLIENT_UNREACHED] = "UNREACHED",
                                        [CLIENT_FILES] = "FILES",
                                        [CLIENT_FILES_ROOM] = "ROOM"};
    size_t n;
    const struct client_msg *list = sample_clients(&n);

    for (size_t i = 0; i < n; i++) {
        if (list[i].type == type)
            return type < sizeof names / sizeof *names && names[type] ? names[type] : "unnamed";
    }
    return "?";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(256, name);
    return 0;
}
