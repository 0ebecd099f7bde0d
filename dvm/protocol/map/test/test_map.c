/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapper, as tables: a request, the nodes, and the resulting place of each rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/map/map.h"

#include <stdio.h>
#include <string.h>

#define RANKS_MAX 64

/* Nodes are vpids 1, 2, 3 (and 4 without a slot); a digit per rank names its node. */
struct row {
    const char *what;
    enum job_map_by by;
    uint32_t ppr;
    uint32_t flags;
    uint32_t np[2]; /* of one or two applications */
    size_t napps;
    uint32_t hosts[2];
    size_t nhosts;
    uint32_t slots[4], used[4];
    enum map_result result;
    const char *nodes; /* "1122": the vpids by rank */
    const char *apps;  /* "0011" */
    const char *why;
};

static const struct row rows[] = {
    {"never: more ranks than all slots",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {7},
     1,
     {0},
     0,
     {2, 2, 2},
     {0},
     MAP_NEVER,
     "",
     "",
     "7 ranks need a slot each, 6 of 6 slots are free"},
    {"not now: more than the free ones",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {5},
     1,
     {0},
     0,
     {2, 2, 2},
     {1, 1, 0},
     MAP_NO_SLOTS,
     "",
     "",
     "4 of 6 slots are free"},
    {"never: a host without slots",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {1},
     1,
     {4},
     1,
     {2, 2, 2, 0},
     {0},
     MAP_NEVER,
     "",
     "",
     "no daemon that --host names"},
    {"never: no such host",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {1},
     1,
     {9},
     1,
     {2, 2, 2},
     {0},
     MAP_NEVER,
     "",
     "",
     "no daemon that --host names"},
    {"never, with every free slot asked for and none there",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {0},
     1,
     {0},
     0,
     {0},
     {0},
     MAP_NEVER,
     "",
     "",
     "no slot is free"},
    {"not now, with every free slot asked for and none free",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {0},
     1,
     {0},
     0,
     {2, 2},
     {2, 2},
     MAP_NO_SLOTS,
     "",
     "",
     "no slot is free"},
    {"never: ppr has room for so many on each",
     JOB_MAP_BY_PPR,
     1,
     0,
     {4},
     1,
     {0},
     0,
     {2, 2, 2},
     {0},
     MAP_NEVER,
     "",
     "",
     "4 ranks"},
    {"not now: ppr on a node that is in use",
     JOB_MAP_BY_PPR,
     2,
     0,
     {6},
     1,
     {0},
     0,
     {2, 2, 2},
     {0, 1, 0},
     MAP_NO_SLOTS,
     "",
     "",
     "ppr:2:node puts 2 ranks on node, which has slots for 1"},
    {"oversubscribed on nodes without slots",
     JOB_MAP_BY_SLOT,
     0,
     JOB_OVERSUBSCRIBE,
     {1},
     1,
     {4},
     1,
     {1, 1, 1, 0},
     {0},
     MAP_NEVER,
     "",
     "",
     "no daemon that --host names"},
    {"more in use than there are slots",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {2},
     1,
     {0},
     0,
     {1, 1, 1},
     {3, 0, 1},
     MAP_NO_SLOTS,
     "",
     "",
     "1 of 3"},

    {"by slot: fills each node in order",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {5},
     1,
     {0},
     0,
     {2, 2, 2},
     {0},
     MAP_OK,
     "11223",
     "00000",
     ""},
    {"by slot: around those in use",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {3},
     1,
     {0},
     0,
     {2, 2, 2},
     {1, 2, 0},
     MAP_OK,
     "133",
     "000",
     ""},
    {"by node: one each in turn",
     JOB_MAP_BY_NODE,
     0,
     0,
     {5},
     1,
     {0},
     0,
     {2, 2, 2},
     {0},
     MAP_OK,
     "12312",
     "00000",
     ""},
    {"by node: a full one is passed by",
     JOB_MAP_BY_NODE,
     0,
     0,
     {5},
     1,
     {0},
     0,
     {1, 3, 2},
     {0},
     MAP_OK,
     "12323",
     "00000",
     ""},
    {"ppr: so many on each",
     JOB_MAP_BY_PPR,
     2,
     0,
     {0},
     1,
     {0},
     0,
     {3, 2, 4},
     {0},
     MAP_OK,
     "112233",
     "000000",
     ""},
    {"ppr with a number: the rest stays empty",
     JOB_MAP_BY_PPR,
     2,
     0,
     {3},
     1,
     {0},
     0,
     {3, 2, 4},
     {0},
     MAP_OK,
     "112",
     "000",
     ""},
    {"every free slot",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {0},
     1,
     {0},
     0,
     {2, 2, 2},
     {1, 0, 2},
     MAP_OK,
     "122",
     "000",
     ""},
    {"hosts named, in the order of the vpids",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {3},
     1,
     {3, 1},
     2,
     {2, 2, 2},
     {0},
     MAP_OK,
     "113",
     "000",
     ""},
    {"every free slot of the hosts named",
     JOB_MAP_BY_NODE,
     0,
     0,
     {0},
     1,
     {2},
     1,
     {2, 2, 2},
     {0, 1, 0},
     MAP_OK,
     "2",
     "0",
     ""},
    {"two applications, one after the other",
     JOB_MAP_BY_SLOT,
     0,
     0,
     {1, 3},
     2,
     {0},
     0,
     {2, 2, 2},
     {0},
     MAP_OK,
     "1122",
     "0111",
     ""},
    {"a tool counts no slots",
     JOB_MAP_BY_SLOT,
     0,
     JOB_TOOL,
     {2},
     1,
     {0},
     0,
     {1, 1, 1},
     {1, 1, 1},
     MAP_OK,
     "12",
     "00",
     ""},
    {"oversubscribed: fills the slots, then goes round",
     JOB_MAP_BY_SLOT,
     0,
     JOB_OVERSUBSCRIBE,
     {7},
     1,
     {0},
     0,
     {2, 2, 0},
     {0},
     MAP_OK,
     "1122112",
     "0000000",
     ""},
    {"oversubscribed by node",
     JOB_MAP_BY_NODE,
     0,
     JOB_OVERSUBSCRIBE,
     {4},
     1,
     {0},
     0,
     {1, 1, 1},
     {1, 1, 1},
     MAP_OK,
     "1231",
     "0000",
     ""},
    {"oversubscribed without a number: as many as there are slots",
     JOB_MAP_BY_SLOT,
     0,
     JOB_OVERSUBSCRIBE,
     {0},
     1,
     {0},
     0,
     {2, 1},
     {2, 1},
     MAP_OK,
     "112",
     "000",
     ""},
};

static void check_row(const struct row *r)
{
    struct job_app apps[2] = {{.nprocs = r->np[0]}, {.nprocs = r->np[1]}};
    struct job_spec spec = {.flags = r->flags,
                            .map_by = r->by,
                            .ppr = r->ppr,
                            .nhosts = r->nhosts,
                            .hosts = (uint32_t *)r->hosts,
                            .napps = r->napps,
                            .apps = apps};
    struct map_node nodes[4];
    char got_nodes[RANKS_MAX + 1] = "", got_apps[RANKS_MAX + 1] = "";
    struct err err = {0};
    struct map m;

    for (uint32_t i = 0; i < 4; i++)
        nodes[i] = (struct map_node){
            .vpid = i + 1, .slots = r->slots[i], .used = r->used[i], .host = "node"};
    if (map_job(&spec, nodes, 4, &m, &err) != r->result)
        fail_msg("%s: another result: %s", r->what, err.msg);
    assert_true(m.nranks <= RANKS_MAX);
    if (!strstr(err.msg, r->why))
        fail_msg("%s: '%s' does not say '%s'", r->what, err.msg, r->why);
    for (uint32_t i = 0; i < m.nranks; i++) {
        got_nodes[i] = (char)('0' + nodes[m.rank_node[i]].vpid);
        got_apps[i] = (char)('0' + m.rank_app[i]);
    }
    map_free(&m);
    if (strcmp(got_nodes, r->nodes) != 0 || strcmp(got_apps, r->apps) != 0)
        fail_msg("%s: %s of %s, not %s of %s", r->what, got_nodes, got_apps, r->nodes, r->apps);
}

static void every_row_of_the_table_gives_its_map(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_row(&rows[i]);
}

static void a_job_is_never_larger_than_the_limit_of_ranks(void **state)
{
    struct job_app apps[2] = {{.nprocs = JOB_RANKS_MAX}, {.nprocs = JOB_RANKS_MAX}};
    struct job_spec spec = {.napps = 2, .apps = apps};
    struct map_node nodes[2] = {{.vpid = 1, .slots = UINT32_MAX, .host = "a"},
                                {.vpid = 2, .slots = UINT32_MAX, .host = "b"}};
    struct map m;

    assert_int_equal(map_job(&spec, nodes, 2, &m, NULL), MAP_OK);
    assert_int_equal(m.nranks, JOB_RANKS_MAX);
    map_free(&m);
    apps[0].nprocs = 0;
    spec.napps = 1;
    assert_int_equal(map_job(&spec, nodes, 2, &m, NULL), MAP_OK);
    assert_int_equal(m.nranks, JOB_RANKS_MAX);
    map_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_gives_its_map),
        cmocka_unit_test(a_job_is_never_larger_than_the_limit_of_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
