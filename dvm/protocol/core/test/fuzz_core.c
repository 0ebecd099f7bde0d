/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of a whole daemon: no input of its neighbours breaks its invariants. A malformed
 * frame changes nothing, and is refused with a reason in its turn. */
#include "dvm/protocol/core/test/scene.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 64
#define DIGEST_MAX (16u << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_message(const uint8_t *data, size_t len, struct frame *f)
{
    struct cur c = cur_of(data, len);
    struct msg m;

    if (frame_decode(&c, f, NULL) < 0 || msg_decode(&c, f->type, &m, NULL) < 0)
        return false;
    reached(f->type);
    msg_free(&m);
    return true;
}

/* The head is always a member, and the table agrees with the tree, after any input. */
static void must_be_sane(const struct scene *s)
{
    const struct members *t = core_inspect_members(s->core);

    if (epoch_none(core_inspect_epoch(s->core)))
        return; /* not admitted, or its epoch has ended */
    if (t->version && !members_live(t, VPID_HEAD))
        abort();
    if (members_live(t, s->self) != (s->self == VPID_HEAD || members_parent(t) != TREE_NONE))
        abort();
}

/* The end of its link ends what the link has brought: the admission of a daemon that is not wired
 * yet. */
static bool admission_ends(const struct scene *s)
{
    return (s->kind == SCENE_JOINER || s->kind == SCENE_HEAD_STRANGER) &&
           core_inspect_up(s->core, s->conn);
}

static void one(struct scene *s, const uint8_t *data, size_t len)
{
    BUF_AUTO struct buf before = {0};
    BUF_AUTO struct buf after = {0};
    struct frame f = {0};
    struct scene_answer a;
    bool good = is_message(data, len, &f);
    bool joining = admission_ends(s);

    buf_init(&before, DIGEST_MAX);
    buf_init(&after, DIGEST_MAX);
    if (!good)
        scene_digest(s, &before);
    scene_input(s, data, len, &a);
    must_be_sane(s);
    if (!good) {
        scene_digest(s, &after);
        if (!joining &&
            (before.len != after.len || memcmp(before.data, after.data, after.len) != 0))
            abort();
        /* One with a number may be kept for its turn, or be dropped as a repeated one. */
        if (!msg_is_routed(f.type) && !f.hop_seq && !a.held && !(a.closed && *a.why))
            abort();
    }
    if (a.closed)
        scene_again(s);
}

/* The first byte chooses the scene; frames follow, each after 16 bits of its length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cur c = cur_of(data, size);
    struct scene s;

    scene_open(&s, cur_u8(&c) % SCENES);
    for (int i = 0; i < FRAMES_MAX && cur_left(&c) > 2; i++) {
        size_t len = cur_u16(&c);
        uint8_t *exact;

        len = len < cur_left(&c) ? len : cur_left(&c);
        exact = xmalloc(len + 1); /* so that ASan sees a read past the end */
        memcpy(exact, cur_raw(&c, len), len);
        one(&s, exact, len);
        free(exact);
    }
    scene_close(&s);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(MSG_TYPES, msg_name);
    return 0;
}
