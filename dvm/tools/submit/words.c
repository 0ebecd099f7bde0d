/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of mpirun, mpiexec and srun: those that we accept as well, and for the others the option
 * to use.
 *
 * In: one word of the command line and the table of our options. Out: the word that replaces it, no
 * replacement, or an error that names the option to use.
 *
 * Order: our own options come first, then `same`, then `missing`. A value after '=' is kept. A word
 * without a match is left to the parser, which reports unknown options. The values of options are
 * not translated. */
#include "dvm/tools/submit/words.h"

#include "base/buf/buf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A name without dashes stands for itself with one dash and with two. */
static const struct same {
    const char *theirs, *ours;
} same[] = {
    {"--n", "--np"},
    {"ntasks", "--np"},
    {"ppn", "--npernode"},
    {"perhost", "--npernode"},
    {"ntasks-per-node", "--npernode"},
    {"pernode", "--npernode=1"},
    {"wd", "--wdir"},
    {"chdir", "--wdir"},
    {"-D", "--wdir"},
    {"hosts", "--host"},
    {"nodelist", "--host"},
    {"-w", "--host"},
    {"bynode", "--map-by=node"},
    {"byslot", "--map-by=slot"},
    {"overcommit", "--oversubscribe"},
    {"-O", "--oversubscribe"},
    {"display-map", "--display=map"},
    {"report-bindings", "--display=bind"},
    {"label", "--tag-output"},
    {"-l", "--tag-output"},
    {"enable-recovery", "--recoverable"},
    {"-V", "--version"},
    {"-q", "--quiet"},
    {"bind-to-core", "--bind-to=core"},
    {"bind-to-socket", "--bind-to=package"},
    {"bind-to-none", "--bind-to=none"},
    {"nolocal", "--map-by=:nolocal"},
    {"immediate", "--no-wait"},
    {"-I", "--no-wait"},
    {"-rr", "--map-by=node"},
    {"prepend-rank", "--tag-output"},
    {"print-rank-map", "--display=map"},
    {"show-progress", "--verbose"},
};

static const struct missing {
    const char *theirs, *advice;
} missing[] = {
    {"hostfile", "a DVM has a fixed set of daemons; --host LIST chooses some of them"},
    {"machinefile", "a DVM has a fixed set of daemons; --host LIST chooses some of them"},
    {"-f", "a DVM has a fixed set of daemons; --host LIST chooses some of them"},
    {"nodes", "--host LIST or --map-by node choose where ranks run"},
    {"rankfile", "--map-by, --rank-by and --bind-to choose where ranks run"},
    {"rf", "--map-by, --rank-by and --bind-to choose where ranks run"},
    {"npersocket", "--map-by ppr:N:package puts N ranks on each package"},
    {"cpu-list", "--map-by, --rank-by and --bind-to choose where ranks run"},
    {"cpu-set", "--map-by, --rank-by and --bind-to choose where ranks run"},
    {"cpu-bind", "--bind-to does that"},
    {"distribution", "--map-by and --rank-by do that"},
    {"-m", "--map-by and --rank-by do that"},
    {"cpus-per-proc", "--map-by slot:pe=N gives each rank N cores"},
    {"cpus-per-rank", "--map-by slot:pe=N gives each rank N cores"},
    {"cpus-per-task", "--map-by slot:pe=N gives each rank N cores"},
    {"-c", "--map-by slot:pe=N gives each rank N cores"},
    {"use-hwthread-cpus", "slots are hardware threads already (docs/prun/mapping.md, Slots)"},
    {"nooversubscribe", "this is the default; --oversubscribe changes it"},
    {"no-oversubscribe", "this is the default; --oversubscribe changes it"},
    {"kill-on-bad-exit", "this is the default; --recoverable changes it"},
    {"-K", "this is the default; --recoverable changes it"},
    {"export", "the environment is passed on; -x VAR[=VALUE] adds to it"},
    {"genv", "-x VAR=VALUE sets a variable"},
    {"env", "-x VAR=VALUE sets a variable"},
    {"prtemca", "the daemons have no such parameters"},
    {"gmca", "--mca NAME VALUE sets one for the ranks"},
    {"input", "--stdin RANK|all|none names the ranks that read standard input"},
    {"-i", "--stdin RANK|all|none names the ranks that read standard input"},
    {"output-filename", "--output dir=PATH writes the output into files"},
    {"-o", "--output dir=PATH writes the output into files"},
    {"error", "--output dir=PATH writes the output into files"},
    {"time", "--timeout S takes seconds"},
    {"-t", "--timeout S takes seconds"},
    {"display-allocation", "'pstat' shows the daemons and their slots"},
    {"prefix", "ranks run what their daemon's image has; -x PATH=... and --wdir set where to look"},
    {"path", "ranks run what their daemon's image has; -x PATH=... sets where to look"},
    {"tune", "--mca NAME VALUE or -x VAR=VALUE sets each parameter"},
    {"am", "--mca NAME VALUE or -x VAR=VALUE sets each parameter"},
    {"app", "write the programs here, with ' : ' between them"},
    {"configfile", "write the programs here, with ' : ' between them"},
    {"multi-prog", "write the programs here, with ' : ' between them"},
    {"xterm", "ranks have no terminals; --output dir=PATH keeps their output apart"},
    {"pty", "ranks have no terminals; --stdin RANK|all|none names those that read input"},
    {"tv", "--stop-on-exec, --stop-in-init and --stop-in-app stop ranks for a debugger"},
    {"debug", "--stop-on-exec, --stop-in-init and --stop-in-app stop ranks for a debugger"},
    {"report-pid", "'pstat' shows the jobs"},
    {"report-uri", "--dvm DIR|SOCKET|HOST[:PORT] names the DVM"},
    {"launcher", "the daemons of the DVM start the ranks"},
    {"bootstrap", "the daemons of the DVM start the ranks"},
    {"genvall", "the environment is passed on; -x VAR[=VALUE] adds to it"},
    {"envall", "the environment is passed on; -x VAR[=VALUE] adds to it"},
    {"genvlist", "the environment is passed on; -x VAR[=VALUE] adds to it"},
    {"mem", "the limits of the daemons' pods hold for ranks"},
    {"mem-per-cpu", "the limits of the daemons' pods hold for ranks"},
    {"gpus", "the limits of the daemons' pods hold for ranks"},
    {"gres", "the limits of the daemons' pods hold for ranks"},
    {"partition", "a DVM is one set of daemons; --dvm names it"},
    {"-p", "a DVM is one set of daemons; --dvm names it"},
    {"account", "a DVM is one set of daemons; --dvm names it"},
    {"-A", "a DVM is one set of daemons; --dvm names it"},
    {"job-name", "the DVM names its jobs; 'prun -v' prints the name"},
    {"-J", "the DVM names its jobs; 'prun -v' prints the name"},
    {"max-restarts", "no rank is started again; --recoverable lets the others go on"},
    {"continuous", "no rank is started again; --recoverable lets the others go on"},
    {"dvm-uri", "--dvm DIR|SOCKET|HOST[:PORT] names the DVM"},
};

/* Length of the name without dashes and value; 0: not an option that can be looked up. */
static size_t name_len(const char *word, size_t *dashes)
{
    *dashes = strspn(word, "-");
    return *dashes == 1 || *dashes == 2 ? strcspn(word + *dashes, "=") : 0;
}

static bool is_word(const char *word, const char *known)
{
    size_t dashes;
    size_t len = name_len(word, &dashes);

    if (known[0] == '-')
        return strcspn(word, "=") == strlen(known) && strncmp(word, known, strlen(known)) == 0;
    return len == strlen(known) && strncmp(word + dashes, known, len) == 0;
}

int submit_word(const char *word, const struct option *ours, char **instead, struct err *err)
{
    size_t dashes;
    size_t len = name_len(word, &dashes);

    *instead = NULL;
    if (!len)
        return 0;
    for (; ours->name; ours++) {
        if (!is_word(word, ours->name))
            continue;
        *instead = dashes == 1 ? xasprintf("-%s", word) : NULL;
        return 0;
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (!is_word(word, same[i].theirs))
            continue;
        *instead = xasprintf("%s%s", same[i].ours, word + dashes + len);
        return 0;
    }
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
        if (is_word(word, missing[i].theirs))
            return err_set(err, "there is no option %.*s: %s", (int)(dashes + len), word,
                           missing[i].advice);
    }
    return 0;
}
