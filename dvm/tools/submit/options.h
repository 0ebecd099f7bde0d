/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of prun as a job to submit. */
#ifndef DVM_SUBMIT_OPTIONS_H
#define DVM_SUBMIT_OPTIONS_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/tools/cli/find.h"
#include "dvm/tools/submit/output.h"

#include <getopt.h>
#include <stdbool.h>

enum submit_what { SUBMIT_RUN, SUBMIT_HELP, SUBMIT_VERSION };

struct submit_opts {
    enum submit_what what;
    struct job_spec spec; /* owned; without programs if `attach` is given */
    char **sources;       /* owned: local paths of the spec's files */
    const char *attach;   /* --attach: the job to follow, borrowed from argv */
    struct output_style output;
    struct cli_where where; /* the daemon; owned */
    bool survive;           /* --survive: a detached job that prun follows */
    int64_t reconnect_ms;   /* how long a lost connection is retried; 0: never */
    int64_t retry_ms;       /* before the first retry; 0: 20. Not on the command line */
    int64_t end_wait_ms;    /* how long prun waits for the end that it has asked for */
    bool daemon_limits;     /* ranks do not get the limits and the umask of prun */
    bool verbose;
    char *left_out; /* names of -x that no rank gets (outer.h), NULL: none; owned */
    char *unread;   /* unread_names() of the environment; owned */
    size_t nwords;
    char **words; /* arguments created here, which replace the user's in argv */
};

/* The variable with options that come before those of the command line. */
#define SUBMIT_DEFAULTS "DVM_PRUN_OPTIONS"

/* `environ_`: the caller's environment; `cwd`: its working directory, absolute, "" if it has
 * none. argv is not permuted. Words of other launchers are replaced in argv by ours until
 * submit_opts_free(). -1: nothing is left allocated, and err describes the error in one line. */
int submit_parse(int argc, char **argv, char *const *environ_, const char *cwd,
                 struct submit_opts *out, struct err *err) __attribute__((warn_unused_result));
void submit_opts_free(struct submit_opts *o);

extern const char submit_help[]; /* the text of --help */

/* The options, as for getopt_long(3). */
extern const char submit_shorts[];
extern const struct option submit_longs[];

#endif
