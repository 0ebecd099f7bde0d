/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that read a job's files at their source and write them on its daemons: the
 * program dvm-stage. A slow disk delays only them. */
#ifndef DVM_STAGER_STAGER_H
#define DVM_STAGER_STAGER_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/protocol/wire/piece.h"

#define STAGER_PROGRAM "dvm-stage" /* installed beside the other programs */
#define STAGER_TEXT_MAX 8192
#define STAGER_PATH_MAX 4095
/* A frame is a 32-bit length and that many bytes: a list of paths, a piece
 * (dvm/protocol/wire/piece.h) or a word. */
#define STAGER_FRAME_MAX (2u << 20)

enum stager_word_kind {
    STAGER_TAKEN = 16, /* bytes of pieces that are written, in all */
    STAGER_FAILED,     /* errno and the failed action; nothing follows */
    STAGER_DONE        /* all files are written or read; nothing follows */
};

struct stager_word {
    enum stager_word_kind kind;
    uint64_t taken;
    int32_t errnum;
    char *text; /* of FAILED; freed by the caller that has decoded it */
};

/* Each puts a whole frame. */
void stager_list_encode(struct buf *b, char *const *paths, size_t n);
void stager_piece_encode(struct buf *b, const void *piece, size_t len);
void stager_word_encode(struct buf *b, const struct stager_word *w);

/* Decodes a message of a process. 1: a word, or a piece (`word` kind 0; still encoded, borrowed
 * until the buffer changes). The caller then takes out->used bytes from the buffer. 0: more bytes
 * are needed. -1: malformed. */
struct stager_said {
    struct stager_word word;
    const uint8_t *piece;
    size_t len;
    size_t used;
};
int stager_next(const struct buf *in, struct stager_said *out, struct err *err)
    __attribute__((warn_unused_result));

/* Bytes of data in a piece if so much room for pieces is given at first: half of it, so that one
 * fits whenever half the room is free again. */
size_t stager_piece_data(uint64_t room);

/* The program's path; NULL and a reason. */
char *stager_path(struct err *err);

/* The main functions of the processes; each returns an exit code, 0 on success. The writer's
 * input is the list of destinations, then pieces, until its end; its output are words. It writes
 * below DIR/files, where DIR is a directory of this user. It follows no link and replaces no
 * file. */
int stager_write(const char *dir, int in, int out);
/* The reader: input is the list of sources; output are pieces with no more data than `data_max`,
 * then DONE, or FAILED. */
int stager_read(size_t data_max, int in, int out);

/* Inside these processes. */
int stager_read_all(int fd, void *data, size_t len); /* 1, 0: end of input, -1: errno */
int stager_write_all(int fd, const void *data, size_t len);
int stager_read_frame(int fd, uint8_t *frame, size_t *len); /* STAGER_FRAME_MAX bytes; as above */
int stager_list_decode(const uint8_t *data, size_t len, size_t path_max, char ***paths, size_t *n);
void stager_list_free(char **paths, size_t n);

#endif
