/* SPDX-License-Identifier: BSD-3-Clause */
/* Golden maps: every policy over hwloc's synthetic topologies, as in maps.txt beside this file.
 * GOLDEN_WRITE=FILE writes the present results. */
#include "dvm/protocol/map/map.h"
#include "dvm/protocol/map/policy.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KINDS_MAX 16
#define NODES_MAX 8

struct kind {
    char name[32];
    uint32_t slots;
    struct topo *topo;
};

struct book {
    struct kind kinds[KINDS_MAX];
    size_t nkinds;
    struct map_node nodes[NODES_MAX];
    char names[NODES_MAX][8];
    uint16_t *loads[NODES_MAX];
    size_t nnodes;
    unsigned line, cases;
    FILE *write;
};

static char *next_word(char **rest)
{
    char *word;

    while ((word = strsep(rest, " ")) && !*word)
        ;
    return word;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

/* kind NAME own|shared|quota SLOTS all|ALLOWED SYNTHETIC... */
static void add_kind(struct book *b, char *rest)
{
    struct kind *k = &b->kinds[b->nkinds++];
    const char *use;
    const char *allowed;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct err err = {0};
    hwloc_topology_t t;

    assert_true(b->nkinds <= KINDS_MAX);
    snprintf(k->name, sizeof(k->name), "%s", next_word(&rest));
    use = next_word(&rest);
    k->slots = number(next_word(&rest));
    allowed = next_word(&rest);
    hwloc_bitmap_list_sscanf(set, allowed);
    assert_int_equal(hwloc_topology_init(&t), 0);
    assert_int_equal(hwloc_topology_set_synthetic(t, rest), 0);
    assert_int_equal(hwloc_topology_load(t), 0);
    k->topo = topo_from_hwloc(t, strcmp(allowed, "all") != 0 ? set : NULL,
                              *use == 'o'   ? TOPO_OWN
                              : *use == 's' ? TOPO_SHARED
                                            : TOPO_QUOTA,
                              &err);
    assert_non_null(k->topo);
    hwloc_topology_destroy(t);
    hwloc_bitmap_free(set);
}

static void drop_nodes(struct book *b)
{
    for (size_t i = 0; i < b->nnodes; i++)
        free(b->loads[i]);
    b->nnodes = 0;
}

/* nodes KIND...: n1, n2, …; the kind "unknown" has reported no CPUs. */
static void set_nodes(struct book *b, char *rest)
{
    const char *word;

    drop_nodes(b);
    while ((word = next_word(&rest))) {
        size_t i = b->nnodes++;
        const struct kind *k = b->kinds;

        while (k < b->kinds + b->nkinds && strcmp(k->name, word) != 0)
            k++;
        assert_true(i < NODES_MAX && (k < b->kinds + b->nkinds || strcmp(word, "unknown") == 0));
        snprintf(b->names[i], sizeof(b->names[i]), "n%zu", i + 1);
        b->nodes[i] = (struct map_node){.vpid = (uint32_t)i + 1, .slots = 2, .host = b->names[i]};
        b->loads[i] = NULL;
        if (k == b->kinds + b->nkinds)
            continue;
        b->nodes[i].slots = k->slots;
        b->nodes[i].topo = k->topo;
        b->loads[i] = xcalloc(k->topo->npus, sizeof(uint16_t));
        b->nodes[i].load = b->loads[i];
    }
}

/* busy NODE SLOTS PUS: another job runs there. */
static void set_busy(struct book *b, char *rest)
{
    struct map_node *n = &b->nodes[number(next_word(&rest) + 1) - 1];
    uint16_t *load = b->loads[n - b->nodes];
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    n->used = number(next_word(&rest));
    hwloc_bitmap_list_sscanf(set, next_word(&rest));
    for (uint32_t i = 0; i < n->topo->npus; i++)
        load[i] = hwloc_bitmap_isset(set, n->topo->pus[i].os);
    hwloc_bitmap_free(set);
}

/* The options of a case, which are prun's. */
static int read_case(char *rest, struct job_spec *s, struct job_app *apps, uint32_t *hosts,
                     struct err *err)
{
    const char *word;

    s->apps = apps;
    s->napps = 1;
    while ((word = next_word(&rest))) {
        int rc = 0;

        if (strcmp(word, "-n") == 0) {
            apps[s->napps - 1].nprocs = number(next_word(&rest));
        } else if (strcmp(word, ":") == 0) {
            s->napps++;
        } else if (strcmp(word, "-N") == 0) {
            s->map_by = JOB_MAP_BY_PPR;
            s->ppr = number(next_word(&rest));
        } else if (strcmp(word, "--host") == 0) {
            hosts[s->nhosts++] = number(next_word(&rest));
            s->hosts = hosts;
        } else if (strcmp(word, "--map-by") == 0) {
            rc = policy_map_by(next_word(&rest), s, err);
        } else if (strcmp(word, "--rank-by") == 0) {
            rc = policy_rank_by(next_word(&rest), s, err);
        } else if (strcmp(word, "--bind-to") == 0) {
            rc = policy_bind_to(next_word(&rest), s, err);
        } else if (strcmp(word, "--tool") == 0) {
            s->flags |= JOB_TOOL;
        } else if (strcmp(word, "(none)") == 0) {
            break;
        } else {
            fail_msg("unknown value '%s'", word);
        }
        if (rc < 0)
            return -1;
    }
    return policy_check(s, err);
}

static void add_text(struct buf *b, char *text)
{
    buf_put_raw(b, text, strlen(text));
    free(text);
}

/* A line for each node: its ranks, each with its CPUs. */
static void put_map(struct buf *text, const struct book *b, const struct map *m, bool apps)
{
    for (uint32_t i = 0; i < b->nnodes; i++) {
        bool any = false;

        for (uint32_t r = 0; r < m->nranks; r++) {
            bool bound = m->taken && m->taken[r];
            FREE_AUTO char *cpus = m->rank_node[r] == i && bound
                                       ? topo_cpus(b->nodes[i].topo, m->taken[r], m->bind)
                                       : xstrdup("-");

            if (m->rank_node[r] != i)
                continue;
            add_text(text, any ? xstrdup("") : xasprintf("  n%u ", i + 1));
            add_text(text, apps ? xasprintf(" %u(%u):%s", r, m->rank_app[r], cpus)
                                : xasprintf(" %u:%s", r, cpus));
            any = true;
        }
        add_text(text, xstrdup(any ? "\n" : ""));
    }
    if (m->note)
        add_text(text, xasprintf("  note %s\n", m->note));
}

static char *run_case(const struct book *b, char *options)
{
    static const char *const results[] = {"ok", "wait", "never", "hopeless"};
    struct job_app apps[4] = {0};
    uint32_t hosts[8];
    struct job_spec s = {0};
    struct err err = {0};
    struct map m = {0};
    BUF_AUTO struct buf text = {.max = 1u << 20};

    if (read_case(options, &s, apps, hosts, &err) < 0) {
        add_text(&text, xasprintf("  refused %s\n", err.msg));
    } else {
        enum map_result r = map_job(&s, b->nodes, b->nnodes, &m, &err);

        if (r == MAP_OK)
            put_map(&text, b, &m, s.napps > 1);
        else
            add_text(&text, xasprintf("  %s %s\n", results[r], err.msg));
    }
    map_free(&m);
    buf_put_u8(&text, 0);
    return xstrdup((const char *)text.data);
}

static void check_case(struct book *b, unsigned line, const char *options, const char *expected)
{
    FREE_AUTO char *copy = xstrdup(options);
    FREE_AUTO char *text = run_case(b, copy);

    b->cases++;
    if (b->write)
        fprintf(b->write, "%s", text);
    else if (strcmp(text, expected) != 0)
        fail_msg("maps.txt:%u: %s\nexpected:\n%sfound:\n%s", line, options, expected, text);
}

static void do_line(struct book *b, char *line)
{
    char *rest = line;
    const char *word = next_word(&rest);

    if (!word || *word == '#')
        return;
    if (strcmp(word, "kind") == 0)
        add_kind(b, rest);
    else if (strcmp(word, "nodes") == 0)
        set_nodes(b, rest);
    else if (strcmp(word, "busy") == 0)
        set_busy(b, rest);
    else
        fail_msg("maps.txt:%u: '%s'", b->line, word);
}

static bool read_line(struct book *b, FILE *f, char *line, int size)
{
    b->line++;
    return fgets(line, size, f) != NULL;
}

static FILE *open_beside(const char *name)
{
    FREE_AUTO char *path = xstrdup(__FILE__);

    *strrchr(path, '/') = '\0';
    FREE_AUTO char *file = xasprintf("%s/%s", path, name);
    return fopen(file, "r");
}

static void every_map_equals_its_golden_file(void **state)
{
    struct book b = {.write = getenv("GOLDEN_WRITE") ? fopen(getenv("GOLDEN_WRITE"), "w") : NULL};
    FILE *f = open_beside("maps.txt");
    char line[1024] = "";
    bool more;

    assert_non_null(f);
    more = read_line(&b, f, line, sizeof(line));
    while (more) {
        unsigned at = b.line;
        char expected[8192] = "";
        char options[1024] = "";

        if (b.write)
            fputs(line, b.write);
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "$ ", 2) != 0) {
            do_line(&b, line);
            more = read_line(&b, f, line, sizeof(line));
            continue;
        }
        snprintf(options, sizeof(options), "%s", line + 2);
        while ((more = read_line(&b, f, line, sizeof(line))) && strncmp(line, "  ", 2) == 0)
            strncat(expected, line, sizeof(expected) - strlen(expected) - 1);
        check_case(&b, at, options, expected);
    }
    fclose(f);
    if (b.write)
        fclose(b.write);
    drop_nodes(&b);
    for (size_t i = 0; i < b.nkinds; i++)
        topo_free(b.kinds[i].topo);
    assert_true(b.cases > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_map_equals_its_golden_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
