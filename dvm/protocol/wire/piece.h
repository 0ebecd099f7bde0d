/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a job on their way from their source to the disks of its daemons: a stream of pieces,
 * the same on each part of the way. */
#ifndef DVM_WIRE_PIECE_H
#define DVM_WIRE_PIECE_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIECE_DATA_MAX (128u << 10)
#define PIECE_SUM_BYTES 32   /* SHA-256 */
#define PIECE_MODE_MAX 0777u /* neither setuid, setgid nor sticky */
#define PIECE_OVERHEAD 64    /* bytes of a piece beside its data, at most */
#define PIECE_MAX (PIECE_DATA_MAX + PIECE_OVERHEAD)

/* Of each file, in the order of the job's list: one FILE, any number of DATA, one END. */
enum piece_kind { PIECE_FILE = 1, PIECE_DATA, PIECE_END };

struct piece {
    enum piece_kind kind;
    uint32_t file;       /* index in struct job_spec's list */
    uint32_t mode;       /* FILE: permission bits */
    uint64_t size;       /* END: bytes of the file */
    const uint8_t *data; /* DATA: bytes; END: the checksum. Borrowed, also after decoding */
    size_t len;
};

void piece_encode(struct buf *b, const struct piece *p);
/* -1 and a reason if it is malformed; `out` is untouched then. */
int piece_decode(const void *data, size_t len, struct piece *out, struct err *err)
    __attribute__((warn_unused_result));

/* Position in a stream of pieces; zeroed at its begin. */
struct piece_order {
    uint32_t file; /* the file under way, or the next one */
    bool open;
    uint64_t bytes; /* its bytes so far */
};
/* -1 and a reason, and no change, if the piece cannot follow in a job with this number of files. */
int piece_follow(struct piece_order *o, uint32_t nfiles, const struct piece *p, struct err *err)
    __attribute__((warn_unused_result));
static inline bool piece_all(const struct piece_order *o, uint32_t nfiles)
{
    return o->file == nfiles;
}

#endif
