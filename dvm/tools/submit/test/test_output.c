/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of prun's buffered output to a pipe that is read slowly. */
#include "dvm/tools/submit/output.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void unread_output_stops_at_the_limit_and_loses_nothing(void **state)
{
    static char data[OUTPUT_FULL];
    static char back[OUTPUT_FULL];
    struct output_style style = {0};
    struct output *o;
    struct pollfd p[2];
    struct err err = {0};
    size_t got = 0;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    o = output_create((int[2]){ends[1], STDERR_FILENO}, &style);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 >> 3);
    output_add(o, 0, 1, data, sizeof(data));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (output_pending(o)) {
        ssize_t n;

        output_want(o, p);
        assert_true(poll(p, 2, 0) >= 0);
        assert_int_equal(output_pump(o, p, &err), 0);
        /* Reads only when the pipe is full. So a write that blocks would hang the test. */
        if (!(p[0].revents & POLLOUT) && (n = read(ends[0], back + got, 5000)) > 0)
            got += (size_t)n;
    }
    for (ssize_t n; got < sizeof(back) && (n = read(ends[0], back + got, 65536)) > 0;)
        got += (size_t)n;
    assert_int_equal(got, sizeof(data));
    assert_memory_equal(back, data, sizeof(data));
    output_destroy(o);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unread_output_stops_at_the_limit_and_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
