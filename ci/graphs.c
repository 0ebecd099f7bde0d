/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the state machines of dvm/state as graphs, for Graphviz and for Markdown; usage: graphs
 * DIR */
#include "dvm/state/state.h"

#include <stdio.h>
#include <stdlib.h>

/* Mermaid's stateDiagram, which GitHub and GitLab draw. */
static void dump_mermaid(const struct fsm *m, FILE *out)
{
    fprintf(out,
            "<!-- Generated from dvm/state/state.c by make docs-graphs. -->\n\n"
            "# State machine: %s\n\n```mermaid\nstateDiagram-v2\n",
            m->name);
    for (size_t i = 0; i < m->nrows; i++) {
        const struct fsm_row *row = &m->rows[i];

        fprintf(out, "    %s --> %s: %s\n",
                row->state == FSM_ANY ? m->any_below ? "any_that_runs" : "any_other"
                                      : fsm_state_name(m, row->state),
                fsm_state_name(m, row->next), fsm_event_name(m, row->event));
    }
    fputs("```\n", out);
}

static int write_file(const char *dir, const struct fsm *m, const char *ending,
                      void (*dump)(const struct fsm *m, FILE *out))
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s.%s", dir, m->name, ending);
    f = fopen(path, "w");
    if (!f) {
        perror(path);
        return -1;
    }
    dump(m, f);
    if (fclose(f) == 0)
        return 0;
    perror(path);
    return -1;
}

int main(int argc, char **argv)
{
    const struct fsm *const machines[] = {&job_fsm, &proc_fsm};
    struct err err = {0};

    if (argc != 2) {
        fputs("usage: graphs DIR\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (fsm_check(machines[i], &err) < 0) {
            fprintf(stderr, "graphs: %s\n", err.msg);
            return EXIT_FAILURE;
        }
        if (write_file(argv[1], machines[i], "dot", fsm_dump_dot) < 0 ||
            write_file(argv[1], machines[i], "md", dump_mermaid) < 0)
            return EXIT_FAILURE;
    }
    return 0;
}
