/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of other daemons reach the library whole, or as an error: every truncation, and wrong
 * lengths. */
#include "dvm/host/pmix/pmix_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct told {
    unsigned n;
    pmix_status_t status;
    size_t items;
};

static void take_values(pmix_status_t status, pmix_pdata_t data[], size_t n, void *cbdata)
{
    struct told *t = cbdata;

    *t = (struct told){t->n + 1, status, n};
}

static void take_infos(pmix_status_t status, pmix_info_t info[], size_t n, void *cbdata,
                       pmix_release_cbfunc_t release, void *release_arg)
{
    struct told *t = cbdata;

    *t = (struct told){t->n + 1, status, n};
    if (release)
        release(release_arg);
}

typedef void answer_fn(const struct answer *a, int status, const void *data, size_t len);

static struct told told_of(answer_fn *fn, struct answer *a, const void *data, size_t len)
{
    struct told t = {0};
    uint8_t *exact = memcpy(xmalloc(len + 1), data, len); /* ASan sees a read past the end */

    a->cbdata = &t;
    fn(a, PMIX_SUCCESS, exact, len);
    free(exact);
    assert_int_equal(t.n, 1);
    return t;
}

/* No truncation of a valid answer is valid. Exception: a list of contributions without its last
 * ones is a list too. */
static void refuse_truncations(answer_fn *fn, struct answer *a, const struct buf *b)
{
    for (size_t len = 1; len < b->len; len++) {
        struct told t = told_of(fn, a, b->data, len);

        assert_int_equal(t.status, PMIX_ERR_UNPACK_FAILURE);
        assert_int_equal(t.items, 0);
    }
}

static void a_group_accepts_whole_contributions_only(void **state)
{
    struct pmix_srv_proc member = {"7.1", 0};
    struct answer a = {.cb.info = take_infos, .members = &member, .nmembers = 1};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_u8(&b, 1);
    buf_put_u64(&b, 5);
    buf_put_bytes(&b, "endpoint", 8);
    refuse_truncations(group_answer, &a, &b);
    assert_int_equal(told_of(group_answer, &a, b.data, b.len).status, PMIX_SUCCESS);
    assert_int_equal(told_of(group_answer, &a, b.data, b.len).items, 3);
    buf_patch_u32(&b, 9, 0xffffffff); /* bytes that the message does not have */
    assert_int_equal(told_of(group_answer, &a, b.data, b.len).status, PMIX_ERR_UNPACK_FAILURE);
}

static void a_resize_request_with_its_name_and_phase_only(void **state)
{
    struct answer a = {.cb.info = take_infos, .req_id = (char *)"mine"};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_str(&b, "alloc-1");
    buf_put_str(&b, "Gathering");
    refuse_truncations(resize_answer, &a, &b);
    assert_int_equal(told_of(resize_answer, &a, b.data, b.len).status, PMIX_SUCCESS);
    assert_int_equal(told_of(resize_answer, &a, b.data, b.len).items, 3);
    buf_put_u8(&b, 0);
    assert_int_equal(told_of(resize_answer, &a, b.data, b.len).status, PMIX_ERR_UNPACK_FAILURE);
}

static void a_cut_or_incomplete_lookup_answer_is_refused(void **state)
{
    struct answer a = {.cb.lookup = take_values};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 1024);
    buf_put_u32(&b, 0);
    assert_int_equal(told_of(data_answer_lookup, &a, b.data, b.len).status, PMIX_SUCCESS);
    b.len = 0;
    buf_put_u32(&b, 1);
    buf_put_str(&b, "7.1");
    buf_put_u32(&b, 0);
    buf_put_str(&b, "key");
    buf_put_bytes(&b, "no value", 8);
    refuse_truncations(data_answer_lookup, &a, &b);
    assert_int_equal(told_of(data_answer_lookup, &a, b.data, b.len).status,
                     PMIX_ERR_UNPACK_FAILURE);
    b.len = 0;
    buf_put_u32(&b, 1); /* more than the message has */
    assert_int_equal(told_of(data_answer_lookup, &a, b.data, b.len).status,
                     PMIX_ERR_UNPACK_FAILURE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_accepts_whole_contributions_only),
        cmocka_unit_test(a_resize_request_with_its_name_and_phase_only),
        cmocka_unit_test(a_cut_or_incomplete_lookup_answer_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
