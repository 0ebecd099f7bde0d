/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the state machines as graphs, for Graphviz and for Markdown, and the table of losses;
 * usage: graphs DIR */
#include "dvm/protocol/core/core.h"
#include "dvm/protocol/link_loss/link_loss.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/peer/peer.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/transfer/transfer_fsm.h"

#include <stdio.h>
#include <stdlib.h>

/* Mermaid's stateDiagram, which GitHub and GitLab draw. */
static void dump_mermaid(const struct fsm *m, FILE *out)
{
    fprintf(out,
            "<!-- Generated from its table by make docs-graphs. -->\n\n"
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

/* What dvm/protocol/link_loss decides, as a table. */
static void dump_losses(const struct fsm *m, FILE *out)
{
    static const char *const who[] = {[LOSS_OF_MEMBER] = "a member",
                                      [LOSS_OF_JOINER] = "a daemon that is not wired yet",
                                      [LOSS_OF_LEAVER] = "one that reports its removal",
                                      [LOSS_OF_TARGET] =
                                          "one that was removed and did not report it",
                                      [LOSS_OF_STRANGER] = "of no known epoch, or removed"};
    static const char *const what[] = {[LOSS_IGNORE] = "ignore",
                                       [LOSS_WAIT] = "wait",
                                       [LOSS_DECLARE] = "tell the head: lost",
                                       [LOSS_ROLL_BACK] = "forget its admission",
                                       [LOSS_DEPARTED] = "tell the head: departed"};

    fputs("<!-- Generated from dvm/protocol/link_loss/link_loss.c by make docs-graphs. -->\n\n"
          "# What the loss of a neighbour means\n\n"
          "| whose link | broke | did not return | said BYE |\n| --- | --- | --- | --- |\n",
          out);
    for (int i = LOSS_OF_MEMBER; i <= LOSS_OF_STRANGER; i++) {
        fprintf(out, "| %s |", who[i]);
        for (int j = LOSS_BY_BREAK; j <= LOSS_AFTER_BYE; j++)
            fprintf(out, " %s |",
                    what[link_loss_decide((enum link_loss_whose)i, (enum link_loss_how)j)]);
        fputc('\n', out);
    }
}

int main(int argc, char **argv)
{
    const struct fsm *const machines[] = {&job_fsm,       &ranks_fsm,   &proc_fsm,
                                          &campaign_fsm,  &member_fsm,  &core_fsm,
                                          &peer_link_fsm, &sending_fsm, &taking_fsm};
    const struct fsm losses = {.name = "losses"};
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
    return write_file(argv[1], &losses, "md", dump_losses) < 0 ? EXIT_FAILURE : 0;
}
