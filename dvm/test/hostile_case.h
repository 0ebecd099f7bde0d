/* SPDX-License-Identifier: BSD-3-Clause */
/* The direct cases of hostile_probe.c: values that a random seed hardly ever draws. A value is
 * written field by field, as libpmix 4 packs it. It comes as the attribute of an event, and as a
 * committed value that is then read back: the server copies, stores, compares and packs it. */
#ifndef DVM_TEST_HOSTILE_CASE_H
#define DVM_TEST_HOSTILE_CASE_H

#include "dvm/test/hostile.h"

#include <stdint.h>
#include <stdlib.h>

#define CASE_KEY "hostile"
#define CASE_BYTES (1u << 22)
#define HUGE_COUNT ((size_t)1 << 60)

struct bytes {
    char data[CASE_BYTES];
    size_t used;
};

static void add_bytes(struct bytes *to, const void *data, size_t len)
{
    if (to->used + len > sizeof(to->data))
        abort();
    memcpy(to->data + to->used, data, len);
    to->used += len;
}

/* One element as PMIx_Data_pack() writes it, with the number of elements before it or without. */
static void add_packed(struct bytes *to, const void *what, pmix_data_type_t type, bool counted)
{
    pmix_data_buffer_t packed;

    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    if (PMIx_Data_pack(NULL, &packed, (void *)what, 1, type) != PMIX_SUCCESS)
        abort();
    add_bytes(to, packed.base_ptr + !counted, packed.bytes_used - !counted);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
}

static void add_type(struct bytes *to, pmix_data_type_t type)
{
    add_packed(to, &type, PMIX_UINT16, false);
}

static void add_count(struct bytes *to, size_t n)
{
    add_packed(to, &n, PMIX_SIZE, false);
}

static void add_string(struct bytes *to, const char *text)
{
    add_packed(to, &text, PMIX_STRING, false);
}

static void add_array(struct bytes *to, pmix_data_type_t type, size_t n)
{
    add_type(to, PMIX_DATA_ARRAY);
    add_type(to, type);
    add_count(to, n);
}

static void add_info(struct bytes *to, const char *key, uint32_t flags, uint32_t n)
{
    add_string(to, key);
    add_packed(to, &flags, PMIX_UINT32, false);
    add_type(to, PMIX_UINT32);
    add_packed(to, &n, PMIX_UINT32, false);
}

/* --- the values: each its type and what is behind it */

static void add_pointers(struct bytes *to)
{
    char there[64] = {0};

    add_array(to, PMIX_POINTER, sizeof(there));
    add_bytes(to, there, 1);
}

static void add_pointer(struct bytes *to)
{
    add_type(to, PMIX_POINTER);
    add_bytes(to, "", 1);
}

static void add_coordinates(struct bytes *to)
{
    add_type(to, PMIX_COORD);
    add_bytes(to, "\1", 1);
    add_count(to, HUGE_COUNT + 1);
    add_packed(to, &(uint32_t){7}, PMIX_UINT32, false);
}

static void add_geometry(struct bytes *to)
{
    add_type(to, PMIX_GEOMETRY);
    add_count(to, 1);
    add_string(to, "uuid");
    add_string(to, "name");
    add_count(to, HUGE_COUNT + 1);
    add_bytes(to, "\1", 1);
    add_count(to, 0);
}

static void add_endpoint(struct bytes *to)
{
    add_type(to, PMIX_ENDPOINT);
    add_string(to, "uuid");
    add_string(to, "name");
    add_count(to, HUGE_COUNT + 4);
    add_bytes(to, "abcd", 4);
}

static void add_buffer(struct bytes *to)
{
    add_type(to, PMIX_DATA_BUFFER);
    add_count(to, HUGE_COUNT + 4);
    add_bytes(to, "abcd", 4);
}

static void add_small_buffer(struct bytes *to)
{
    add_type(to, PMIX_DATA_BUFFER);
    add_count(to, 4);
    add_bytes(to, "abcd", 4);
}

static void add_attribute(struct bytes *to)
{
    add_type(to, PMIX_REGATTR);
    add_string(to, "name");
    add_string(to, "string");
    add_type(to, PMIX_STRING);
    add_packed(to, &(int32_t){INT32_MAX}, PMIX_INT32, false);
    add_string(to, "x");
}

static void add_disk(struct bytes *to)
{
    add_string(to, "disk");
    for (uint64_t i = 0; i < 11; i++)
        add_packed(to, &i, PMIX_UINT64, false);
}

static void add_node(struct bytes *to, size_t disks)
{
    struct timeval now = {0};
    float part = 0.5f;

    add_type(to, PMIX_NODE_STATS);
    add_string(to, "node");
    for (unsigned i = 0; i < 11; i++)
        add_packed(to, &part, PMIX_FLOAT, false);
    add_packed(to, &now, PMIX_TIMEVAL, false);
    add_count(to, disks);
    add_disk(to);
    add_count(to, 0);
}

static void add_node_of_one_disk(struct bytes *to)
{
    add_node(to, 1);
}

static void add_node_of_many_disks(struct bytes *to)
{
    add_node(to, HUGE_COUNT + 1);
}

static void add_expression(struct bytes *to)
{
    add_type(to, PMIX_REGEX);
    add_bytes(to, "pmix", 4);
}

static void add_whole_expression(struct bytes *to)
{
    add_type(to, PMIX_REGEX);
    add_bytes(to, "pmix[x]", sizeof("pmix[x]"));
}

static void add_cpuset(struct bytes *to)
{
    add_type(to, PMIX_PROC_CPUSET);
    add_string(to, "4000000000");
}

static void add_cpusets(struct bytes *to)
{
    add_array(to, PMIX_PROC_CPUSET, 2);
    add_string(to, NULL);
    add_string(to, NULL);
}

static void add_no_topology(struct bytes *to)
{
    add_type(to, PMIX_TOPO);
    add_string(to, NULL);
}

static void add_deep_topology(struct bytes *to)
{
    static const char head[] = "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n";
    static const char object[] = "<object type=\"Misc\">";
    const size_t levels = 100000;
    char *xml = calloc(1, sizeof(head) + levels * sizeof(object));
    size_t used = sizeof(head) - 1;

    if (!xml)
        abort();
    memcpy(xml, head, used);
    for (size_t i = 0; i < levels; i++, used += sizeof(object) - 1)
        memcpy(xml + used, object, sizeof(object) - 1);
    add_type(to, PMIX_TOPO);
    add_string(to, xml);
    free(xml);
}

static void add_no_strings(struct bytes *to)
{
    add_array(to, PMIX_STRING, 16);
    for (unsigned i = 0; i < 16; i++)
        add_string(to, NULL);
}

static void add_strings(struct bytes *to)
{
    add_array(to, PMIX_STRING, 1);
    add_string(to, "x");
}

static void add_points(struct bytes *to)
{
    add_array(to, PMIX_COORD, 16);
    for (unsigned i = 0; i < 16; i++) {
        add_bytes(to, "\1", 1);
        add_count(to, 0);
    }
}

static void add_command(struct bytes *to)
{
    add_type(to, PMIX_COMMAND);
    add_bytes(to, "\7", 1);
}

static void add_unqualified(struct bytes *to)
{
    add_array(to, PMIX_INFO, 40);
    for (uint32_t i = 0; i < 40; i++)
        add_info(to, CASE_KEY, i == 39 ? PMIX_INFO_QUALIFIER : 0, i);
}

static void add_no_array(struct bytes *to)
{
    add_type(to, PMIX_UINT64);
    add_packed(to, &(uint64_t){0x4141414141414141u}, PMIX_UINT64, false);
}

static void add_empty_array(struct bytes *to)
{
    add_array(to, PMIX_INFO, 0);
}

/* --- whole messages */

static void begin_case(struct bytes *to, int cmd)
{
    uint8_t byte = (uint8_t)cmd;

    to->used = 0;
    add_packed(to, &byte, PMIX_COMMAND, true);
}

/* A string of the message itself: its number is before it. */
static void put_string(struct bytes *to, const char *text)
{
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, text);
}

static void put_question(struct bytes *to, const char *nspace, pmix_rank_t rank, const char *key)
{
    begin_case(to, CMD_GET);
    put_string(to, nspace);
    add_packed(to, &rank, PMIX_PROC_RANK, true);
    add_packed(to, &(size_t){0}, PMIX_SIZE, true);
    put_string(to, key);
}

static void ask_without_key(struct bytes *to)
{
    put_question(to, me.nspace, me.rank, NULL);
}

static void ask_without_nspace(struct bytes *to)
{
    put_question(to, NULL, me.rank, CASE_KEY);
}

static void ask_no_rank(struct bytes *to)
{
    put_question(to, me.nspace, INT32_MAX, CASE_KEY);
}

static void spawn_nothing(struct bytes *to)
{
    begin_case(to, CMD_SPAWN);
    add_packed(to, &(size_t){0}, PMIX_SIZE, true);
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    put_string(to, NULL);                             /* the program */
    add_packed(to, &(int){0}, PMIX_INT, false);       /* arguments */
    add_packed(to, &(int32_t){0}, PMIX_INT32, false); /* environment */
    add_string(to, NULL);                             /* the directory */
    add_packed(to, &(int){INT32_MAX}, PMIX_INT, false);
    add_count(to, 0);
}

static void look_up_nothing(struct bytes *to)
{
    uint32_t uid = (uint32_t)getuid();

    begin_case(to, CMD_LOOKUP);
    add_packed(to, &uid, PMIX_UINT32, true);
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    put_string(to, NULL);
    add_packed(to, &(size_t){0}, PMIX_SIZE, true);
}

static void fence_with_no_rank(struct bytes *to)
{
    pmix_proc_t proc = me;

    proc.rank = INT32_MAX;
    begin_case(to, CMD_FENCE);
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    add_packed(to, &proc, PMIX_PROC, true);
    add_packed(to, &(size_t){0}, PMIX_SIZE, true);
}

static void commit_without_end(struct bytes *to)
{
    uint8_t scope = PMIX_GLOBAL;

    begin_case(to, CMD_COMMIT);
    add_packed(to, &scope, PMIX_SCOPE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_bytes(to, "\1", 1);
    add_count(to, HUGE_COUNT);
}

static void register_for_nobody(struct bytes *to)
{
    uint32_t flags = 0;

    begin_case(to, CMD_REGEVENTS);
    add_packed(to, &(size_t){0}, PMIX_SIZE, true); /* codes */
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, PMIX_EVENT_AFFECTED_PROCS);
    add_packed(to, &flags, PMIX_UINT32, false);
    add_array(to, PMIX_PROC, 0);
}

#define MANY_KEYS 100000u

static void commit_many_keys(struct bytes *to)
{
    static struct bytes values;
    uint8_t scope = PMIX_GLOBAL;
    char key[32];

    values.used = 0;
    for (uint32_t i = 0; i < MANY_KEYS; i++) {
        snprintf(key, sizeof(key), "key.%u", i);
        add_packed(&values, &(int32_t){1}, PMIX_INT32, false);
        add_string(&values, key);
        add_type(&values, PMIX_UINT32);
        add_packed(&values, &i, PMIX_UINT32, false);
    }
    begin_case(to, CMD_COMMIT);
    add_packed(to, &scope, PMIX_SCOPE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_bytes(to, "\1", 1);
    add_count(to, values.used);
    add_bytes(to, values.data, values.used);
}

static const struct {
    const char *name, *key;      /* key: of the committed value */
    void (*add)(struct bytes *); /* the value, or without a key the whole message */
} cases[] = {{"pointers", CASE_KEY, add_pointers},
             {"pointer", CASE_KEY, add_pointer},
             {"coordinates", CASE_KEY, add_coordinates},
             {"geometry", CASE_KEY, add_geometry},
             {"endpoint", CASE_KEY, add_endpoint},
             {"buffer", CASE_KEY, add_buffer},
             {"small-buffer", CASE_KEY, add_small_buffer},
             {"attribute", CASE_KEY, add_attribute},
             {"node-of-one-disk", CASE_KEY, add_node_of_one_disk},
             {"node-of-many-disks", CASE_KEY, add_node_of_many_disks},
             {"expression", CASE_KEY, add_expression},
             {"whole-expression", CASE_KEY, add_whole_expression},
             {"cpuset", CASE_KEY, add_cpuset},
             {"cpusets", CASE_KEY, add_cpusets},
             {"no-topology", CASE_KEY, add_no_topology},
             {"command", CASE_KEY, add_command},
             {"qualifiers", PMIX_QUALIFIED_VALUE, add_unqualified},
             {"qualified-number", PMIX_QUALIFIED_VALUE, add_no_array},
             {"qualified-nothing", PMIX_QUALIFIED_VALUE, add_empty_array},
             {"deep-topology", CASE_KEY, add_deep_topology},
             {"no-strings", CASE_KEY, add_no_strings},
             {"strings", CASE_KEY, add_strings},
             {"points", CASE_KEY, add_points},
             {"no-key", "", add_no_array},
             {"ask-without-key", NULL, ask_without_key},
             {"ask-without-namespace", NULL, ask_without_nspace},
             {"ask-no-rank", NULL, ask_no_rank},
             {"spawn-nothing", NULL, spawn_nothing},
             {"look-up-nothing", NULL, look_up_nothing},
             {"fence-with-no-rank", NULL, fence_with_no_rank},
             {"register-for-nobody", NULL, register_for_nobody},
             {"commit-without-end", NULL, commit_without_end},
             {"many-keys", NULL, commit_many_keys},
             {"cpuset-number", PMIX_CPUSET, add_no_array},
             {"node-array", PMIX_NODE_INFO_ARRAY, add_no_array},
             {"app-array", PMIX_APP_INFO_ARRAY, add_empty_array}};

/* --- the messages that carry a value */

static void make_publication(struct bytes *to, unsigned which)
{
    uint32_t uid = (uint32_t)getuid(), flags = 0;

    begin_case(to, CMD_PUBLISH);
    add_packed(to, &uid, PMIX_UINT32, true);
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, cases[which].key);
    add_packed(to, &flags, PMIX_UINT32, false);
    cases[which].add(to);
}

static void make_event(struct bytes *to, unsigned which, uint8_t range)
{
    pmix_status_t code = -1000;
    uint32_t flags = 0;

    begin_case(to, CMD_NOTIFY);
    add_packed(to, &code, PMIX_STATUS, true);
    add_packed(to, &range, PMIX_DATA_RANGE, true);
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, cases[which].key);
    add_packed(to, &flags, PMIX_UINT32, false);
    cases[which].add(to);
}

static void make_commit(struct bytes *to, unsigned which)
{
    static struct bytes values;
    uint8_t scope = PMIX_GLOBAL;

    values.used = 0;
    add_packed(&values, &(int32_t){1}, PMIX_INT32, false);
    add_string(&values, cases[which].key[0] ? cases[which].key : NULL);
    cases[which].add(&values);
    begin_case(to, CMD_COMMIT);
    add_packed(to, &scope, PMIX_SCOPE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_bytes(to, "\1", 1); /* not described */
    add_count(to, values.used);
    add_bytes(to, values.data, values.used);
}

static void make_distances(struct bytes *to)
{
    begin_case(to, CMD_DISTANCES);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, NULL);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, NULL);
    add_packed(to, &(size_t){0}, PMIX_SIZE, true);
}

/* --- random messages of these values */

#define ALL_TYPES 1000000 /* the first seed that sends them */

static bool all_types;

/* Any value: one of the cases, or one that is made of the types that other messages have. */
static void add_any_value(struct bytes *to)
{
    unsigned which = any(sizeof(cases) / sizeof(cases[0]));
    pmix_value_t value;

    if (cases[which].key && cases[which].add != add_deep_topology && one_in(2)) {
        cases[which].add(to);
        return;
    }
    PMIX_VALUE_CONSTRUCT(&value);
    load_value(&value, 0);
    add_packed(to, &value, PMIX_VALUE, false);
    PMIX_VALUE_DESTRUCT(&value);
}

static void add_any_committed(struct bytes *to)
{
    static const char *const stored[] = {CASE_KEY,
                                         PMIX_QUALIFIED_VALUE,
                                         PMIX_NODE_INFO_ARRAY,
                                         PMIX_APP_INFO_ARRAY,
                                         PMIX_SESSION_INFO_ARRAY,
                                         PMIX_PROC_DATA,
                                         PMIX_CPUSET,
                                         PMIX_JOB_SIZE};

    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, one_in(3) ? keys[any(sizeof(keys) / sizeof(keys[0]))]
                             : stored[any(sizeof(stored) / sizeof(stored[0]))]);
    add_any_value(to);
}

static void make_any_commit(struct bytes *to)
{
    static struct bytes values;
    uint8_t scope = (uint8_t)any(6);

    values.used = 0;
    for (uint32_t i = 1 + any(4); i > 0; i--)
        add_any_committed(&values);
    begin_case(to, CMD_COMMIT);
    add_packed(to, &scope, PMIX_SCOPE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_bytes(to, one_in(16) ? "\2" : "\1", 1);
    add_count(to, values.used);
    add_bytes(to, values.data, values.used);
}

static void make_any_event(struct bytes *to)
{
    uint8_t range = (uint8_t)any(9);
    pmix_status_t code = -1000;
    uint32_t flags = any(32);

    begin_case(to, CMD_NOTIFY);
    add_packed(to, &code, PMIX_STATUS, true);
    add_packed(to, &range, PMIX_DATA_RANGE, true);
    add_packed(to, &(size_t){1}, PMIX_SIZE, true);
    add_packed(to, &(int32_t){1}, PMIX_INT32, false);
    add_string(to, one_in(2) ? CASE_KEY : keys[any(sizeof(keys) / sizeof(keys[0]))]);
    add_packed(to, &flags, PMIX_UINT32, false);
    add_any_value(to);
}

/* Into `msg`. False: none was made. */
static bool make_message_of_values(void)
{
    static struct bytes b;
    pmix_byte_object_t bo;

    switch (any(4)) {
    case 0:
    case 1:
        make_any_commit(&b);
        break;
    case 2:
        make_any_event(&b);
        break;
    default:
        put_question(&b, me.nspace, me.rank, one_in(4) ? NULL : CASE_KEY);
    }
    PMIX_DATA_BUFFER_CONSTRUCT(&msg);
    bo = (pmix_byte_object_t){.bytes = malloc(b.used), .size = b.used};
    if (!bo.bytes)
        return false;
    memcpy(bo.bytes, b.data, b.used);
    return PMIx_Data_load(&msg, &bo) == PMIX_SUCCESS;
}

#endif
