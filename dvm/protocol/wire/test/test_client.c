/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the local clients' codec: bad input first, then round trips. */
#include "dvm/protocol/wire/client.h"

#include "dvm/protocol/wire/test/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUF_MAX (1u << 20)

static const struct client_msg *samples;
static size_t nsamples;

static struct buf encoded(const struct client_msg *m)
{
    struct buf b;

    buf_init(&b, BUF_MAX);
    client_msg_encode(&b, m);
    assert_false(b.failed);
    return b;
}

static void assert_bytes_refused(const void *data, size_t len, const char *why)
{
    struct client_msg m;
    struct err err = {0};

    assert_int_equal(client_msg_decode(data, len, &m, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
    assert_int_equal(m.type, 0);
    assert_null(m.submit.spec.apps);
}

static void assert_refused(const struct client_msg *m, const char *why)
{
    BUF_AUTO struct buf b = encoded(m);

    assert_bytes_refused(b.data, b.len, why);
}

static void every_truncation_of_every_type_is_refused(void **state)
{
    for (size_t i = 0; i < nsamples; i++) {
        BUF_AUTO struct buf b = encoded(&samples[i]);

        for (size_t len = 0; len < b.len; len++) {
            uint8_t *exact = xmalloc(len + 1); /* so that ASan sees a read past the end */

            memcpy(exact, b.data, len);
            assert_bytes_refused(exact, len, "client message");
            free(exact);
        }
    }
}

static void a_byte_too_many_is_refused_in_every_type(void **state)
{
    for (size_t i = 0; i < nsamples; i++) {
        BUF_AUTO struct buf b = encoded(&samples[i]);

        buf_put_u8(&b, 0);
        assert_bytes_refused(b.data, b.len, "too long");
    }
}

static void unknown_types_are_refused(void **state)
{
    for (int type = 0; type < 256; type++) {
        uint8_t bytes[2] = {CLIENT_VERSION, (uint8_t)type};
        bool known = false;

        for (size_t i = 0; i < nsamples; i++)
            known = known || (int)samples[i].type == type;
        if (!known)
            assert_bytes_refused(bytes, sizeof(bytes), "unknown message type");
    }
}

static void another_version_is_refused_and_both_versions_named(void **state)
{
    static const uint8_t bytes[] = {CLIENT_VERSION + 1, CLIENT_STDIN, 0, 0, 0, 0};

    assert_bytes_refused(bytes, sizeof(bytes), "version 3 of the local protocol");
    assert_bytes_refused(bytes, sizeof(bytes), "speaks 2");
}

static void more_data_than_the_limit_is_refused_by_both_sides(void **state)
{
    static uint8_t zeros[CLIENT_DATA_MAX + 1];
    struct client_msg m = {.type = CLIENT_STDIN, .input = {zeros, sizeof(zeros)}};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, BUF_MAX);
    client_msg_encode(&b, &m);
    assert_true(b.failed);
    buf_reset(&b);
    buf_put_u8(&b, CLIENT_VERSION);
    buf_put_u8(&b, CLIENT_STDIN);
    buf_put_bytes(&b, zeros, sizeof(zeros));
    assert_bytes_refused(b.data, b.len, "over a limit");
}

static void data_of_exactly_the_limit_is_accepted(void **state)
{
    static uint8_t zeros[CLIENT_DATA_MAX];
    struct client_msg m = {.type = CLIENT_OUTPUT,
                           .output = {.stream = 1, .data = zeros, .len = sizeof(zeros)}};
    BUF_AUTO struct buf b = encoded(&m);
    struct client_msg back;

    assert_int_equal(client_msg_decode(b.data, b.len, &back, NULL), 0);
    assert_int_equal(back.output.len, CLIENT_DATA_MAX);
    client_msg_free(&back);
}

static void texts_over_their_limits_are_refused(void **state)
{
    static char text[CLIENT_TEXT_MAX + 2];
    struct client_msg long_ones[] = {
        {.type = CLIENT_DONE, .done = {0, text}},
        {.type = CLIENT_ERROR, .error = {0, text}},
        {.type = CLIENT_ACCEPTED, .accepted = {text}},
        {.type = CLIENT_STATE, .state = {JOB_RUNNING, text}},
        {.type = CLIENT_CALL, .call = {"GET", text, ""}},
        {.type = CLIENT_CALL, .call = {text, "/", ""}},
    };

    memset(text, 'x', sizeof(text) - 1);
    for (size_t i = 0; i < sizeof(long_ones) / sizeof(long_ones[0]); i++)
        assert_refused(&long_ones[i], "over a limit");
}

static void a_signal_that_does_not_exist_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_SIGNAL, .signal = {0}}, "signal 0");
    assert_refused(&(struct client_msg){.type = CLIENT_SIGNAL, .signal = {65}}, "signal 65");
}

static void output_of_another_stream_than_1_or_2_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_OUTPUT, .output = {.stream = 0}},
                   "stream 0");
    assert_refused(&(struct client_msg){.type = CLIENT_OUTPUT, .output = {.stream = 3}},
                   "stream 3");
}

static void an_exit_code_over_255_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_DONE, .done = {256, ""}}, "exit code 256");
    assert_refused(&(struct client_msg){.type = CLIENT_ERROR, .error = {256, ""}}, "exit code 256");
}

static void a_status_that_is_not_an_http_status_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_REPLY, .reply = {99, ""}}, "no HTTP status");
    assert_refused(&(struct client_msg){.type = CLIENT_REPLY, .reply = {600, ""}},
                   "no HTTP status");
}

static void a_call_without_method_or_absolute_path_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_CALL, .call = {"", "/v1", ""}}, "method");
    assert_refused(&(struct client_msg){.type = CLIENT_CALL, .call = {"GET", "v1", ""}}, "begins");
    assert_refused(&(struct client_msg){.type = CLIENT_CALL, .call = {"GET", "", ""}}, "begins");
}

static void a_pause_other_than_0_or_1_is_refused(void **state)
{
    static const uint8_t bytes[] = {CLIENT_VERSION, CLIENT_STDIN_PAUSE, 2};

    assert_bytes_refused(bytes, sizeof(bytes), "neither 0 nor 1");
}

static void a_session_without_sense_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_OPEN, .open = {.attempt = 0}}, "attempt 0");
    assert_refused(
        &(struct client_msg){.type = CLIENT_OPEN, .open = {.attempt = 1, .window_ms = 600001}},
        "the limit is 600000");
    assert_refused(&(struct client_msg){.type = CLIENT_OPENED, .opened = {.next = 0}}, "from 1 on");
}

static void a_referral_to_no_address_or_no_port_is_refused(void **state)
{
    struct client_msg m = {.type = CLIENT_REFERRAL, .referral = {1, {{"", 7400}}}};

    assert_refused(&m, "without an address or a port");
    m.referral.places[0] = (struct client_place){"10.0.0.7", 0};
    assert_refused(&m, "without an address or a port");
}

static void a_referral_with_too_much_in_it_is_refused(void **state)
{
    static const uint8_t many[] = {CLIENT_VERSION, CLIENT_REFERRAL, CLIENT_PLACES_MAX + 1};
    struct client_msg m = {.type = CLIENT_REFERRAL, .referral = {.n = CLIENT_PLACES_MAX + 1}};
    BUF_AUTO struct buf b = {0}, too_many = {0};

    assert_bytes_refused(many, sizeof(many), "at most 3");
    buf_init(&too_many, BUF_MAX);
    client_msg_encode(&too_many, &m);
    assert_true(too_many.failed);
    buf_init(&b, BUF_MAX);
    buf_put_u8(&b, CLIENT_VERSION);
    buf_put_u8(&b, CLIENT_REFERRAL);
    buf_put_u8(&b, 1);
    buf_put_str(&b, "a name that is longer than any numeric address.");
    buf_put_u16(&b, 7400);
    assert_bytes_refused(b.data, b.len, "over a limit");
}

/* The message would match any client whose job has no name yet. */
static void a_job_without_a_name_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_ATTACH, .attach = {""}}, "without a name");
    assert_refused(&(struct client_msg){.type = CLIENT_ACCEPTED, .accepted = {""}},
                   "without a name");
}

static void a_text_with_a_nul_inside_is_refused(void **state)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, BUF_MAX);
    buf_put_u8(&b, CLIENT_VERSION);
    buf_put_u8(&b, CLIENT_ACCEPTED);
    buf_put_bytes(&b, "5.\0", 3);
    assert_bytes_refused(b.data, b.len, "over a limit");
}

static void an_unknown_type_cannot_be_encoded(void **state)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, BUF_MAX);
    client_msg_encode(&b, &(struct client_msg){.type = 99});
    assert_true(b.failed);
}

static void every_type_is_decoded_as_it_was_encoded(void **state)
{
    for (size_t i = 0; i < nsamples; i++) {
        BUF_AUTO struct buf b = encoded(&samples[i]);
        BUF_AUTO struct buf again = {0};
        struct client_msg m;
        struct err err = {0};

        if (client_msg_decode(b.data, b.len, &m, &err) < 0)
            fail_msg("%s: %s", client_msg_name(samples[i].type), err.msg);
        again = encoded(&m);
        assert_int_equal(again.len, b.len);
        assert_memory_equal(again.data, b.data, b.len);
        client_msg_free(&m);
    }
}

static void fields_come_back_under_their_names(void **state)
{
    struct client_msg open = {
        .type = CLIENT_OPEN,
        .open = {.attempt = 2, .have = 1ull << 40, .window_ms = 30000, .token = "sixteen secrets"}};
    BUF_AUTO struct buf b = encoded(&open);
    struct client_msg m;

    assert_int_equal(client_msg_decode(b.data, b.len, &m, NULL), 0);
    assert_int_equal(m.open.attempt, 2);
    assert_int_equal(m.open.have, 1ull << 40);
    assert_int_equal(m.open.window_ms, 30000);
    assert_string_equal((const char *)m.open.token, "sixteen secrets");
    client_msg_free(&m);
}

static void a_state_that_no_job_has_is_refused(void **state)
{
    assert_refused(&(struct client_msg){.type = CLIENT_STATE, .state = {JOB_UNTERMINATED, ""}},
                   "30 is no state of a job");
    assert_refused(&(struct client_msg){.type = CLIENT_STATE, .state = {0, ""}}, "0 is no state");
}

static void every_state_of_a_job_is_accepted(void **state)
{
    unsigned n = 0;

    for (unsigned s = 0; s < 256; s++) {
        struct client_msg m = {.type = CLIENT_STATE, .state = {(enum job_state)s, "why"}};
        struct client_msg back;

        if (!job_state_word(s))
            continue;
        BUF_AUTO struct buf b = encoded(&m);

        assert_int_equal(client_msg_decode(b.data, b.len, &back, NULL), 0);
        assert_int_equal(back.state.state, s);
        assert_string_equal(back.state.reason, "why");
        client_msg_free(&back);
        n++;
    }
    assert_int_equal(n, 24);
}

static void a_submitted_job_is_decoded_as_it_was_encoded(void **state)
{
    BUF_AUTO struct buf b = encoded(&samples[0]);
    struct client_msg m;

    assert_int_equal(client_msg_decode(b.data, b.len, &m, NULL), 0);
    assert_int_equal(m.submit.spec.timeout_ms, 1500);
    assert_int_equal(m.submit.spec.hosts[1], 3);
    assert_string_equal(m.submit.spec.apps[0].argv[1], "-v");
    assert_string_equal(m.submit.spec.apps[0].env[0], "PATH=/bin");
    client_msg_free(&m);
}

static void end_of_input_is_stdin_without_bytes(void **state)
{
    BUF_AUTO struct buf b = encoded(&(struct client_msg){.type = CLIENT_STDIN});
    struct client_msg m;

    assert_int_equal(client_msg_decode(b.data, b.len, &m, NULL), 0);
    assert_int_equal(m.input.len, 0);
    client_msg_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_of_every_type_is_refused),
        cmocka_unit_test(a_byte_too_many_is_refused_in_every_type),
        cmocka_unit_test(unknown_types_are_refused),
        cmocka_unit_test(another_version_is_refused_and_both_versions_named),
        cmocka_unit_test(more_data_than_the_limit_is_refused_by_both_sides),
        cmocka_unit_test(data_of_exactly_the_limit_is_accepted),
        cmocka_unit_test(texts_over_their_limits_are_refused),
        cmocka_unit_test(a_signal_that_does_not_exist_is_refused),
        cmocka_unit_test(output_of_another_stream_than_1_or_2_is_refused),
        cmocka_unit_test(an_exit_code_over_255_is_refused),
        cmocka_unit_test(a_status_that_is_not_an_http_status_is_refused),
        cmocka_unit_test(a_call_without_method_or_absolute_path_is_refused),
        cmocka_unit_test(a_pause_other_than_0_or_1_is_refused),
        cmocka_unit_test(a_session_without_sense_is_refused),
        cmocka_unit_test(a_job_without_a_name_is_refused),
        cmocka_unit_test(a_referral_to_no_address_or_no_port_is_refused),
        cmocka_unit_test(a_referral_with_too_much_in_it_is_refused),
        cmocka_unit_test(a_text_with_a_nul_inside_is_refused),
        cmocka_unit_test(an_unknown_type_cannot_be_encoded),
        cmocka_unit_test(a_state_that_no_job_has_is_refused),
        cmocka_unit_test(every_type_is_decoded_as_it_was_encoded),
        cmocka_unit_test(fields_come_back_under_their_names),
        cmocka_unit_test(every_state_of_a_job_is_accepted),
        cmocka_unit_test(a_submitted_job_is_decoded_as_it_was_encoded),
        cmocka_unit_test(end_of_input_is_stdin_without_bytes),
    };

    samples = sample_clients(&nsamples);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
