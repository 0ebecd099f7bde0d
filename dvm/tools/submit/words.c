/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of mpirun, mpiexec and srun: those that we accept as well, and for the others the option
 * to use.
 *
 * In: one word of the command line and the tables of our options. Out: the word that replaces it,
 * no replacement, or an error that names the option to use.
 *
 * Order: our own options come first, then `same`, then words_refused. A short option of these two
 * may have a number behind it ("-c4"). A value after '=' is kept. The values of options are not
 * translated.
 *
 * The rest is left to the parser, which reports unknown options, except words with one dash. The
 * parser would take these as short options with their values: "-nprocs" as "-n procs". Here they
 * are long options that are abbreviated, or unknown as a whole, if they cannot be short ones. */
#include "dvm/tools/submit/words.h"

#include "base/buf/buf.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "ntasks" stands for -ntasks and --ntasks. */
static const struct same {
    const char *theirs, *ours;
} same[] = {
    {"--n", "--np"},
    {"num-procs", "--np"},
    {"ntasks", "--np"},
    {"ppn", "--npernode"},
    {"perhost", "--npernode"},
    {"grr", "--npernode"},
    {"ntasks-per-node", "--npernode"},
    {"pernode", "--npernode=1"},
    {"wd", "--wdir"},
    {"chdir", "--wdir"},
    {"dir", "--wdir"},
    {"-D", "--wdir"},
    {"hosts", "--host"},
    {"hostlist", "--host"},
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
    {"skip-launch-node", "--map-by=:nolocal"},
    {"immediate", "--no-wait"},
    {"-I", "--no-wait"},
    {"-rr", "--map-by=node"},
    {"prepend-rank", "--tag-output"},
    {"print-rank-map", "--display=map"},
    {"show-progress", "--verbose"},
    {"bycore", "--map-by=core"},
    {"bysocket", "--map-by=package"},
    {"-Q", "--quiet"},
    {"omca", "--mca"},
    {"runtime-options", "--rtos"},
};

/* Length of the name without dashes and value; 0: not an option that can be looked up. */
static size_t name_len(const char *word, size_t *dashes)
{
    *dashes = strspn(word, "-");
    return *dashes == 1 || *dashes == 2 ? strcspn(word + *dashes, "=") : 0;
}

/* `known`, of `known_len`, is a name of words_refused[].options. */
static bool is_name(const char *word, const char *known, size_t known_len)
{
    size_t dashes;
    size_t len = name_len(word, &dashes);

    if (known[0] == '-')
        return dashes + len == known_len && strncmp(word, known, known_len) == 0;
    return len == known_len && strncmp(word + dashes, known, len) == 0;
}

static bool is_one_of(const char *word, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, " ");

        if (is_name(word, names, len))
            return true;
        names += len + strspn(names + len, " ");
    }
    return false;
}

/* The option is [word, end), and its value follows: "=4", or "4" in "-c4". -1: refused. */
static int find_theirs(const char *word, const char *end, char **instead, struct err *err)
{
    FREE_AUTO char *option = xasprintf("%.*s", (int)(end - word), word);

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (!is_one_of(option, same[i].theirs))
            continue;
        *instead = xasprintf("%s%s%s", same[i].ours, isdigit((unsigned char)*end) ? "=" : "", end);
        return 0;
    }
    for (const struct words_refused *r = words_refused; r->options; r++) {
        if (is_one_of(option, r->options))
            return err_set(err, "there is no option %s: %s", option, r->advice);
    }
    return 0;
}

/* Behind the options in [at, end) that take no value. */
static const char *skip_flags(const char *at, const char *end, const char *shorts)
{
    while (at < end) {
        const char *known = strchr(shorts, *at);

        if (!known || known[1] == ':')
            break;
        at++;
    }
    return at;
}

/* `len` characters behind the dash are not a known name. */
static int check_single_dash(const char *word, size_t len, const char *shorts,
                             const struct option *ours, char **instead, struct err *err)
{
    const char *end = word + 1 + len;
    const char *at = skip_flags(word + 1, end, shorts);

    for (; len > 2 && ours->name; ours++) {
        if (strncmp(ours->name, word + 1, len) == 0) {
            *instead = xasprintf("-%s", word);
            return 0;
        }
    }
    if (at[0] == 'n' && isalpha((unsigned char)at[1]))
        return err_set(err, "unknown option %.*s: -n N and --np N give the number of ranks",
                       (int)(end - word), word);
    if (len <= 2 || at == end || strchr(shorts, *at))
        return 0;
    return err_set(err, "unknown option %.*s", (int)(end - word), word);
}

int submit_word(const char *word, const char *shorts, const struct option *ours, char **instead,
                struct err *err)
{
    size_t dashes;
    size_t len = name_len(word, &dashes);
    const char *end = word + dashes + len;

    *instead = NULL;
    if (!len)
        return 0;
    for (const struct option *o = ours; o->name; o++) {
        if (!is_name(word, o->name, strlen(o->name)))
            continue;
        *instead = dashes == 1 ? xasprintf("-%s", word) : NULL;
        return 0;
    }
    if (find_theirs(word, end, instead, err) < 0)
        return -1;
    if (*instead || dashes == 2)
        return 0;
    if (isdigit((unsigned char)word[2]) && !strchr(shorts, word[1]))
        return find_theirs(word, word + 2, instead, err);
    return check_single_dash(word, len, shorts, ours, instead, err);
}
