/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML: refused input with its position, then values that are read; files; lookups. */
#include "base/conf/conf.h"

#include "base/buf/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_refused_len(const char *text, size_t len, const char *why)
{
    struct err err = {0};
    json_t *j = conf_parse_yaml(text, len, "f.yaml", &err);

    if (j)
        fail_msg("was not refused: %s", text);
    if (strncmp(err.msg, why, strlen(why)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", err.msg, why);
}

static void assert_refused(const char *text, const char *why)
{
    assert_refused_len(text, strlen(text), why);
}

/* The document as compact JSON with sorted keys. */
static void assert_reads(const char *text, const char *json)
{
    struct err err = {0};
    json_t *j = conf_parse_yaml(text, strlen(text), "f.yaml", &err);
    FREE_AUTO char *out = NULL;

    if (!j)
        fail_msg("%s", err.msg);
    out = json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    json_decref(j);
    assert_string_equal(out, json);
}

static void a_duplicate_key_is_refused(void **state)
{
    assert_refused("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key \"a\" is there twice");
}

static void a_duplicate_key_in_a_nested_map_is_refused(void **state)
{
    assert_refused("x: {a: 1, a: 2}\n", "f.yaml:1:11: the key \"a\" is there twice");
}

static void an_anchor_is_refused(void **state)
{
    assert_refused("a: &x 1\n", "f.yaml:1:4: anchors are not supported");
    assert_refused("a: &x [1]\n", "f.yaml:1:4: anchors are not supported");
    assert_refused("a: &x {b: 1}\n", "f.yaml:1:4: anchors are not supported");
    assert_refused("&x a: 1\n", "f.yaml:1:1: anchors are not supported");
}

static void an_alias_is_refused(void **state)
{
    assert_refused("a: *x\n", "f.yaml:1:4: aliases are not supported");
}

static void a_tag_is_refused(void **state)
{
    assert_refused("a: !!int 1\n", "f.yaml:1:4: tags other than !!str are not supported");
    assert_refused("a: !mine [1]\n", "f.yaml:1:4: tags other than !!str are not supported");
    assert_refused("a: !!map {b: 1}\n", "f.yaml:1:4: tags other than !!str are not supported");
}

static void bad_indentation_is_refused_with_its_place(void **state)
{
    assert_refused("a:\n  b: 1\n c: 2\n", "f.yaml:3:2: ");
}

static void a_tab_as_indentation_is_refused(void **state)
{
    assert_refused("a:\n\tb: 1\n", "f.yaml:2:1: ");
}

static void an_open_bracket_is_refused(void **state)
{
    assert_refused("a: [1, 2\n", "f.yaml:2:1: ");
}

static void a_second_document_is_refused(void **state)
{
    assert_refused("a: 1\n---\nb: 2\n", "f.yaml:2:1: more than one document");
}

static void a_key_that_is_no_scalar_is_refused(void **state)
{
    assert_refused("? [a]\n: 1\n", "f.yaml:1:3: a key must be a scalar");
    assert_refused("? *x\n: 1\n", "f.yaml:1:3: a key must be a scalar");
}

static void nesting_over_64_is_refused(void **state)
{
    char text[66];

    memset(text, '[', 65);
    text[65] = '\0';
    assert_refused(text, "f.yaml:1:65: nested too deeply");
}

static void nesting_of_64_is_read(void **state)
{
    char text[129] = {0};

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_reads(text, text);
}

static void an_integer_over_64_bits_is_refused(void **state)
{
    assert_refused("a: 9223372036854775808\n",
                   "f.yaml:1:4: the integer 9223372036854775808 does not fit 64 bits");
    assert_refused("a: 0xffffffffffffffff\n", "f.yaml:1:4: the integer ");
}

static void a_number_without_a_value_is_refused(void **state)
{
    assert_refused("a: .inf\n", "f.yaml:1:4: the number .inf has no finite value");
    assert_refused("a: -.INF\n", "f.yaml:1:4: the number ");
    assert_refused("a: .NaN\n", "f.yaml:1:4: the number ");
    assert_refused("a: 1e999\n", "f.yaml:1:4: the number 1e999 is out of range");
}

static void a_nul_is_refused(void **state)
{
    assert_refused("a: \"x\\0y\"\n", "f.yaml:1:4: a NUL character is not supported");
    assert_refused("\"x\\0y\": 1\n", "f.yaml:1:1: a NUL character is not supported");
    assert_refused_len("a: x\0y\n", 7, "f.yaml: byte ");
}

static void bytes_that_are_no_utf8_are_refused(void **state)
{
    assert_refused("a: \xff\xfe\n", "f.yaml: byte 3: ");
}

static void more_than_the_bound_is_refused(void **state)
{
    FREE_AUTO char *text = xcalloc(1, CONF_MAX_BYTES + 1);

    memset(text, '#', CONF_MAX_BYTES + 1);
    assert_refused_len(text, CONF_MAX_BYTES + 1, "f.yaml: more than 4194304 bytes");
}

static void an_empty_text_is_null(void **state)
{
    assert_reads("", "null");
    assert_reads("# all of it commented out\n", "null");
    assert_reads("---\n", "null");
}

static void plain_scalars_follow_the_core_schema(void **state)
{
    assert_reads("[null, Null, NULL, ~, ]", "[null,null,null,null]");
    assert_reads("[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]");
    assert_reads("[0, -1, +2, 007, 0o17, 0xFf]", "[0,-1,2,7,15,255]");
    assert_reads("[1.5, -.5, 1., 1e3, 1.25E-2]", "[1.5,-0.5,1.0,1000.0,0.012500000000000001]");
}

static void text_that_resembles_a_number_or_boolean_is_a_string(void **state)
{
    assert_reads("[yes, no, on, off, nULL, tRUE]",
                 "[\"yes\",\"no\",\"on\",\"off\",\"nULL\",\"tRUE\"]");
    assert_reads("[1.2.3, 0x, 0xg, 0o8, -, +, ., e3, 1e, -0x1, 1_000, 12:30]",
                 "[\"1.2.3\",\"0x\",\"0xg\",\"0o8\",\"-\",\"+\",\".\",\"e3\",\"1e\",\"-0x1\","
                 "\"1_000\",\"12:30\"]");
}

static void quoted_and_tagged_scalars_are_strings(void **state)
{
    assert_reads("['1', \"true\", !!str 5, '']", "[\"1\",\"true\",\"5\",\"\"]");
    assert_reads("|\n  12\n", "\"12\\n\"");
}

static void keys_are_strings_as_written(void **state)
{
    assert_reads("1: a\ntrue: b\n\"q\": c\n", "{\"1\":\"a\",\"q\":\"c\",\"true\":\"b\"}");
}

static void maps_and_lists_nest(void **state)
{
    assert_reads("clusters:\n- name: k\n  cluster:\n    server: https://x\nempty: {}\nlist: []\n",
                 "{\"clusters\":[{\"cluster\":{\"server\":\"https://x\"},\"name\":\"k\"}],"
                 "\"empty\":{},\"list\":[]}");
}

static void json_is_yaml(void **state)
{
    assert_reads("{\"a\": [1, \"x\", null, {\"b\": 1.5}]}", "{\"a\":[1,\"x\",null,{\"b\":1.5}]}");
}

static void a_missing_file_is_named(void **state)
{
    struct err err = {0};

    assert_null(conf_load_yaml("/nowhere/x.yaml", &err));
    assert_string_equal(err.msg, "opening /nowhere/x.yaml: No such file or directory");
    assert_int_equal(err.code, ENOENT);
}

static void a_directory_is_refused(void **state)
{
    struct err err = {0};

    assert_null(conf_read_file("/", 100, NULL, &err));
    assert_int_equal(err.code, EISDIR);
}

static void a_device_is_refused(void **state)
{
    struct err err = {0};

    assert_null(conf_read_file("/dev/zero", 100, NULL, &err));
    assert_string_equal(err.msg, "reading /dev/zero: not a regular file");
}

struct file {
    char dir[32];
    char *path;
};

static int setup_file(void **state)
{
    struct file *f = xcalloc(1, sizeof(*f));

    snprintf(f->dir, sizeof(f->dir), "/tmp/conf-XXXXXX");
    if (!mkdtemp(f->dir))
        return -1;
    f->path = xasprintf("%s/f", f->dir);
    *state = f;
    return 0;
}

static int teardown_file(void **state)
{
    struct file *f = *state;

    unlink(f->path);
    rmdir(f->dir);
    free(f->path);
    free(f);
    return 0;
}

static void fill(const struct file *f, const void *p, size_t len)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, len), len);
    close(fd);
}

static void a_fifo_is_refused_without_waiting(void **state)
{
    struct file *f = *state;
    struct err err = {0};

    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_null(conf_read_file(f->path, 100, NULL, &err));
    assert_int_equal(err.code, EINVAL);
}

static void a_file_over_the_bound_is_refused(void **state)
{
    struct file *f = *state;
    struct err err = {0};

    fill(f, "12345", 5);
    assert_null(conf_read_file(f->path, 4, NULL, &err));
    assert_int_equal(err.code, EFBIG);
}

static void a_file_of_exactly_the_bound_is_read(void **state)
{
    struct file *f = *state;
    FREE_AUTO char *text = NULL;
    size_t len = 0;

    fill(f, "12345", 5);
    text = conf_read_file(f->path, 5, &len, NULL);
    assert_string_equal(text, "12345");
    assert_int_equal(len, 5);
}

static void a_big_file_is_read_whole(void **state)
{
    struct file *f = *state;
    FREE_AUTO char *big = xcalloc(1, 300000);
    FREE_AUTO char *text = NULL;
    size_t len = 0;

    memset(big, 'x', 300000);
    fill(f, big, 300000);
    text = conf_read_file(f->path, 1u << 20, &len, NULL);
    assert_int_equal(len, 300000);
    assert_memory_equal(text, big, len);
}

static void a_file_whose_size_is_unknown_is_read(void **state)
{
    FREE_AUTO char *text = conf_read_file("/proc/self/status", 1u << 20, NULL, NULL);

    assert_non_null(strstr(text, "Pid:"));
}

static void a_file_is_read_as_yaml(void **state)
{
    struct file *f = *state;
    json_t *j;

    fill(f, "a: {b: x}\n", 10);
    j = conf_load_yaml(f->path, NULL);
    assert_string_equal(conf_str(j, "a.b"), "x");
    json_decref(j);
}

static void lookups_of_absent_values_give_null(void **state)
{
    json_t *j = json_pack("{s:{s:{s:s,s:i}}}", "a", "b", "c", "x", "n", 5);

    assert_null(conf_str(j, ""));
    assert_null(conf_str(j, "x"));
    assert_null(conf_str(j, "a.x.c"));
    assert_null(conf_str(j, "a.b.c.d"));
    assert_null(conf_str(j, "a."));
    assert_null(conf_str(j, "a.b"));
    assert_null(conf_str(j, "a.b.n"));
    assert_null(conf_str(NULL, "a"));
    json_decref(j);
}

static void lookups_follow_the_path(void **state)
{
    json_t *j = json_pack("{s:{s:{s:s,s:i}}}", "a", "b", "c", "x", "n", 5);

    assert_string_equal(conf_str(j, "a.b.c"), "x");
    json_decref(j);
}

#define TEST_FILE(name) cmocka_unit_test_setup_teardown(name, setup_file, teardown_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duplicate_key_is_refused),
        cmocka_unit_test(a_duplicate_key_in_a_nested_map_is_refused),
        cmocka_unit_test(an_anchor_is_refused),
        cmocka_unit_test(an_alias_is_refused),
        cmocka_unit_test(a_tag_is_refused),
        cmocka_unit_test(bad_indentation_is_refused_with_its_place),
        cmocka_unit_test(a_tab_as_indentation_is_refused),
        cmocka_unit_test(an_open_bracket_is_refused),
        cmocka_unit_test(a_second_document_is_refused),
        cmocka_unit_test(a_key_that_is_no_scalar_is_refused),
        cmocka_unit_test(nesting_over_64_is_refused),
        cmocka_unit_test(nesting_of_64_is_read),
        cmocka_unit_test(an_integer_over_64_bits_is_refused),
        cmocka_unit_test(a_number_without_a_value_is_refused),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(bytes_that_are_no_utf8_are_refused),
        cmocka_unit_test(more_than_the_bound_is_refused),
        cmocka_unit_test(an_empty_text_is_null),
        cmocka_unit_test(plain_scalars_follow_the_core_schema),
        cmocka_unit_test(text_that_resembles_a_number_or_boolean_is_a_string),
        cmocka_unit_test(quoted_and_tagged_scalars_are_strings),
        cmocka_unit_test(keys_are_strings_as_written),
        cmocka_unit_test(maps_and_lists_nest),
        cmocka_unit_test(json_is_yaml),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_directory_is_refused),
        cmocka_unit_test(a_device_is_refused),
        TEST_FILE(a_fifo_is_refused_without_waiting),
        TEST_FILE(a_file_over_the_bound_is_refused),
        TEST_FILE(a_file_of_exactly_the_bound_is_read),
        TEST_FILE(a_big_file_is_read_whole),
        cmocka_unit_test(a_file_whose_size_is_unknown_is_read),
        TEST_FILE(a_file_is_read_as_yaml),
        cmocka_unit_test(lookups_of_absent_values_give_null),
        cmocka_unit_test(lookups_follow_the_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
