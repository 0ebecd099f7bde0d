/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the messages to and from the processes that read and write files. */
#include "dvm/host/stager/stager.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

enum { LIST = STAGER_DONE + 1, PIECE };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b = {0};
    char **paths;
    size_t n;

    if (stager_list_decode(data, size, STAGER_PATH_MAX, &paths, &n) == 0) {
        reached(LIST);
        buf_init(&b, STAGER_FRAME_MAX + 4);
        stager_list_encode(&b, paths, n);
        if (b.failed || b.len != size + 4 || memcmp(b.data + 4, data, size) != 0)
            abort();
    }
    stager_list_free(paths, n);
}

static void check_words(const uint8_t *data, size_t size)
{
    BUF_AUTO struct buf b = {0};
    struct stager_said said;
    struct err err = {0};
    int rc;

    buf_init(&b, size + 1);
    buf_put_raw(&b, data, size);
    while ((rc = stager_next(&b, &said, &err)) > 0) {
        if (said.used > b.len || (said.piece && said.len + 4 != said.used))
            abort();
        reached(said.piece ? PIECE : said.word.kind);
        free(said.word.text);
        buf_consume(&b, said.used);
    }
    if (rc < 0 && !*err.msg)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_list(data, size);
    check_words(data, size);
    return 0;
}

static const char *name(unsigned type)
{
    static const char *const names[] = {[STAGER_TAKEN] = "TAKEN",
                                        [STAGER_FAILED] = "FAILED",
                                        [STAGER_DONE] = "DONE",
                                        [LIST] = "LIST",
                                        [PIECE] = "PIECE"};

    return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "?";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(256, name);
    return 0;
}
