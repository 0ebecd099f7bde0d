/* SPDX-License-Identifier: BSD-3-Clause */
/* Daemons of the former release: their recorded frames are read, ours are those that they read, and
 * a daemon that is too old or too new is told so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/scene.h"
#include "dvm/protocol/wire/msg/test/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMER "dvm/protocol/wire/msg/test/frames-0.1.0.txt"
#define HEX_MAX 65536
#define SPEAKS_AT 57 /* in the header */

static size_t read_hex(const char *hex, uint8_t *to)
{
    size_t n = 0;

    for (; hex[2 * n] && hex[2 * n + 1]; n++) {
        char pair[3] = {hex[2 * n], hex[2 * n + 1], '\0'};
        char *end;

        to[n] = (uint8_t)strtoul(pair, &end, 16);
        if (end != pair + 2)
            break;
    }
    return n;
}

static void assert_is_recorded(unsigned type, const char *name, const uint8_t *data, size_t len)
{
    BUF_AUTO struct buf ours = {0};
    struct cur c = cur_of(data, len);
    struct frame f;
    struct err err;
    struct msg m;

    assert_string_equal(msg_name(type), name);
    if (frame_decode(&c, &f, &err) < 0 || msg_decode(&c, f.type, &m, &err) < 0)
        fail_msg("%s of the former release: %s", name, err.msg);
    assert_int_equal(f.type, type);
    assert_int_equal(f.speaks, 0);
    msg_free(&m);
    buf_init(&ours, HEX_MAX);
    sample_frame(&ours, type);
    if (ours.len != len || memcmp(ours.data, data, len) != 0)
        fail_msg("the former release cannot read this daemon's %s", name);
}

static void frames_of_the_former_release_are_read_and_ours_are_the_same(void **state)
{
    FILE *file = fopen(FORMER, "r");
    char *line = xmalloc(HEX_MAX);
    uint8_t *data = xmalloc(HEX_MAX);
    unsigned n = 0;

    assert_non_null(file);
    while (fgets(line, HEX_MAX, file)) {
        char *name, *hex;
        unsigned long type;

        if (line[0] == '#')
            continue;
        type = strtoul(line, &name, 10);
        name += strspn(name, " ");
        hex = strchr(name, ' ');
        assert_non_null(hex);
        *hex++ = '\0';
        assert_is_recorded((unsigned)type, name, data, read_hex(hex, data));
        n++;
    }
    assert_true(n >= 60);
    fclose(file);
    free(line);
    free(data);
}

/* The message of this type among the frames that the daemon sends now. */
static bool take_sent(struct scene *s, unsigned type, struct frame *f, struct msg *m)
{
    struct out_act act;
    bool found = false;

    while (core_next(s->core, &act)) {
        struct cur c = cur_of(act.send.frame.data, act.kind == OUT_SEND ? act.send.frame.len : 0);

        if (act.kind == OUT_SEND && !found && frame_decode(&c, f, NULL) == 0 && f->type == type)
            found = msg_decode(&c, type, m, NULL) == 0;
        out_act_free(&act);
    }
    return found;
}

/* There is room for one more member. */
static void make_room(struct scene *s)
{
    struct api_size more = {.sequence = 9, .members = s->peer}, now;
    enum api_reason reason;

    assert_int_equal(core_size_put(s->core, &more, &now, &reason, NULL), 0);
}

/* A caller's greeting, as a daemon of that edition sends it. */
static void greet(struct scene *s, uint8_t speaks)
{
    struct frame f = {.type = MSG_HELLO, .src = s->peer, .dst = VPID_NONE, .speaks = speaks};
    struct msg m = {.type = MSG_HELLO,
                    .hello = {.why = HELLO_JOIN,
                              .cluster = (char *)"sim",
                              .self = {.vpid = s->peer,
                                       .host = (char *)"n",
                                       .address = (char *)"a",
                                       .port = 1,
                                       .slots = 1}}};
    BUF_AUTO struct buf b;

    buf_init(&b, HEX_MAX);
    frame_encode(&b, &f);
    msg_encode(&b, &m);
    make_room(s);
    core_conn_frame(s->core, s->conn, b.data, b.len);
}

static void the_former_edition_and_the_next_one_are_greeted(void **state)
{
    static const uint8_t editions[] = {WIRE_EDITION - 1, WIRE_EDITION, WIRE_EDITION + 1};

    for (size_t i = 0; i < sizeof(editions); i++) {
        struct scene s;
        struct frame f;
        struct msg m;

        scene_open(&s, SCENE_HEAD_STRANGER);
        greet(&s, editions[i]);
        assert_true(take_sent(&s, MSG_WELCOME, &f, &m));
        assert_int_equal(f.speaks, WIRE_EDITION);
        msg_free(&m);
        scene_close(&s);
    }
}

static void a_caller_two_editions_away_is_told_so(void **state)
{
    struct scene s;
    struct frame f;
    struct msg m;

    scene_open(&s, SCENE_HEAD_STRANGER);
    greet(&s, WIRE_EDITION + 2);
    assert_true(take_sent(&s, MSG_REFUSE, &f, &m));
    assert_int_equal(m.refuse.why, REFUSE_NEVER);
    assert_string_equal(m.refuse.text,
                        "the caller speaks wire edition 3, this daemon 0 to 2: update in steps");
    msg_free(&m);
    scene_close(&s);
}

/* The last answer of the daemon on that link, before it closes the link. */
static void assert_told(struct scene *s, const uint8_t *data, size_t len, const char *text)
{
    struct out_act act;
    bool told = false, flushed = false;

    core_conn_frame(s->core, s->conn, data, len);
    while (core_next(s->core, &act)) {
        struct cur c = cur_of(act.send.frame.data, act.kind == OUT_SEND ? act.send.frame.len : 0);
        struct frame f;
        struct msg m;

        if (act.kind == OUT_SEND && act.send.conn == s->conn && frame_decode(&c, &f, NULL) == 0 &&
            f.type == MSG_REFUSE && msg_decode(&c, f.type, &m, NULL) == 0) {
            assert_int_equal(m.refuse.why, REFUSE_NEVER);
            assert_string_equal(m.refuse.text, text);
            told = true;
            msg_free(&m);
        }
        if (act.kind == OUT_CLOSE && act.close.conn == s->conn)
            flushed = told && act.close.flush;
        out_act_free(&act);
    }
    assert_true(flushed);
}

static void the_sender_of_a_frame_with_another_header_is_told_so_on_any_link(void **state)
{
    static const struct {
        uint8_t version;
        size_t len; /* a later header may be shorter, or longer than its message */
        const char *text;
    } rows[] = {
        {WIRE_VERSION + 1, FRAME_HEADER_BYTES, "frame: version 5, this daemon speaks 4"},
        {WIRE_VERSION - 1, FRAME_HEADER_BYTES, "frame: version 3, this daemon speaks 4"},
        {WIRE_VERSION + 1, 1, "frame: version 5, this daemon speaks 4"},
        {0, 20, "frame: version 0, this daemon speaks 4"},
    };

    for (unsigned kind = 0; kind <= SCENE_JOINER; kind++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            uint8_t bytes[FRAME_HEADER_BYTES] = {rows[i].version};
            struct scene s;

            scene_open(&s, kind);
            assert_told(&s, bytes, rows[i].len, rows[i].text);
            scene_close(&s);
        }
    }
}

/* The head's edition comes with its answer to the greeting. */
static void a_field_of_this_edition_is_sent_to_a_head_that_knows_it_only(void **state)
{
    struct resize_request ask = {.kind = RESIZE_EXTEND,
                                 .nspace = "tool",
                                 .req_id = "",
                                 .id = "",
                                 .count = 1,
                                 .deadline_s = -1,
                                 .keep = true};

    for (uint8_t speaks = WIRE_EDITION - 1; speaks <= WIRE_EDITION + 1; speaks++) {
        BUF_AUTO struct buf b;
        struct scene s;
        struct frame f;
        struct msg m;

        scene_open(&s, SCENE_MEMBER_PARENT);
        buf_init(&b, HEX_MAX);
        scene_frame(&s, MSG_RESIZE_ANSWER, &b);
        b.data[SPEAKS_AT] = speaks;
        core_conn_frame(s.core, s.conn, b.data, b.len);
        core_resize(s.core, 1, &ask);
        assert_true(take_sent(&s, MSG_RESIZE_ASK, &f, &m));
        assert_int_equal(m.resize_ask.keep, speaks >= 1);
        msg_free(&m);
        scene_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_the_former_release_are_read_and_ours_are_the_same),
        cmocka_unit_test(the_former_edition_and_the_next_one_are_greeted),
        cmocka_unit_test(a_caller_two_editions_away_is_told_so),
        cmocka_unit_test(the_sender_of_a_frame_with_another_header_is_told_so_on_any_link),
        cmocka_unit_test(a_field_of_this_edition_is_sent_to_a_head_that_knows_it_only),
    };

    return cmocka_run_group_tests_name("editions", tests, NULL, NULL);
}
