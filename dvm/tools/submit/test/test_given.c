/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the places of prun's options: before which program, and in DVM_PRUN_OPTIONS; and of the
 * variables that prun does not read. */
#include "dvm/tools/submit/given.h"

#include "base/buf/buf.h"
#include "dvm/tools/submit/unread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `defaults`: the value of DVM_PRUN_OPTIONS, NULL: not set. The words live as long as the program.
 */
static int parse(const char *defaults, const char *line, struct submit_opts *out, struct err *err)
{
    static char text[4096], variable[4096];
    static char *argv[256];
    char *env[] = {"PATH=/bin", "A=1", defaults ? variable : NULL, NULL};
    char *rest = text;
    int argc = 0;

    snprintf(variable, sizeof(variable), SUBMIT_DEFAULTS "=%s", defaults ? defaults : "");
    snprintf(text, sizeof(text), "prun %s", line);
    while ((argv[argc] = strsep(&rest, " ")))
        argc++;
    return submit_parse(argc, argv, env, "/here", out, err);
}

static void assert_refused(const char *defaults, const char *line, const char *why)
{
    struct submit_opts o;
    struct err err = {0};

    if (parse(defaults, line, &o, &err) == 0)
        fail_msg("'%s' + '%s' was taken", defaults ? defaults : "", line);
    if (!strstr(err.msg, why))
        fail_msg("'%s' + '%s': '%s' does not say '%s'", defaults ? defaults : "", line, err.msg,
                 why);
}

static struct submit_opts parsed(const char *defaults, const char *line)
{
    struct submit_opts o;
    struct err err = {0};

    if (parse(defaults, line, &o, &err) < 0)
        fail_msg("'%s' + '%s': %s", defaults ? defaults : "", line, err.msg);
    return o;
}

static const char *env_of(const struct submit_opts *o, size_t app, const char *name)
{
    size_t len = strlen(name);

    for (char **e = o->spec.apps[app].env; *e; e++) {
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    }
    return "";
}

/* --- the place of an option */

/* A value that each option takes, if it takes one. */
static const char *value_for(enum option_id opt)
{
    switch (opt) {
    case OPT_MAP_BY:
    case OPT_RANK_BY:
        return "node";
    case OPT_BIND_TO:
        return "core";
    case OPT_DISPLAY:
        return "map";
    case OPT_OUTPUT:
        return "tag";
    case OPT_MPI:
        return "pmix";
    case OPT_STDIN:
        return "none";
    case OPT_RTOS:
        return "abort";
    case OPT_MCA:
    case OPT_PMIXMCA:
        return "x y";
    case OPT_CLEANUP_FILE:
    case OPT_CLEANUP_DIR:
    case OPT_WDIR:
    case OPT_DVM:
    case OPT_TLS_DIR:
        return "/x";
    case OPT_PRELOAD_FILES:
        return "/etc/passwd";
    default:
        return "1";
    }
}

static const struct {
    const char *name;
    int argument;
    enum option_id opt;
    enum option_holds holds;
    enum option_times times;
} all[] = {
#define ROW(id, name, argument, holds, times)                                                      \
    {"--" name, argument, OPT_##id, HOLDS_##holds, TIMES_##times},
    SUBMIT_OPTIONS(ROW)};

static bool is_for_a_job(enum option_id opt)
{
    return opt != OPT_ATTACH && opt != OPT_HELP && opt != OPT_VERSION && opt != OPT_STRICT;
}

static void an_option_of_the_whole_job_stands_before_the_first_program(void **state)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        bool of_first =
            (all[i].holds == HOLDS_JOB || all[i].holds == HOLDS_PRUN) && all[i].times == TIMES_ONCE;
        bool counts = all[i].opt == OPT_NP; /* each program has its own number */
        FREE_AUTO char *word = xasprintf("%s%s%s", all[i].name, all[i].argument ? " " : "",
                                         all[i].argument ? value_for(all[i].opt) : "");
        FREE_AUTO char *late = xasprintf("-n 1 ls : %s%s sh", counts ? "" : "-n 1 ", word);
        FREE_AUTO char *both = xasprintf("-n 2 %s ls : -n 2 %s sh", word, word);
        FREE_AUTO char *why = xasprintf("%s holds for the whole job", all[i].name);
        struct submit_opts o;

        if (!is_for_a_job(all[i].opt))
            continue;
        if (of_first) {
            assert_refused(NULL, late, why);
        } else {
            o = parsed(NULL, late);
            submit_opts_free(&o);
        }
        if (counts || all[i].opt == OPT_TLS_DIR) /* it needs a host */
            continue;
        o = parsed(NULL, both);
        submit_opts_free(&o);
    }
}

static void an_option_of_the_whole_job_may_be_repeated_with_its_value_only(void **state)
{
    struct submit_opts o = parsed(NULL, "-n 1 --map-by node a : -n 1 --bynode b");

    assert_int_equal(o.spec.map_by, JOB_MAP_BY_NODE);
    submit_opts_free(&o);
    assert_refused(NULL, "-n 1 --map-by node a : -n 1 --map-by slot b", "--map-by holds");
    assert_refused(NULL, "-n 1 --map-by node a : -n 1 -N 2 b", "--npernode holds");
    assert_refused(NULL, "-n 1 a : -n 1 -H 2 b", "--host holds");
    o = parsed(NULL, "-n 1 -H 2 a : -n 1 --host 2 b");
    assert_int_equal(o.spec.nhosts, 1);
    submit_opts_free(&o);
}

/* --- DVM_PRUN_OPTIONS */

static void options_of_the_variable_come_before_those_of_the_command_line(void **state)
{
    struct submit_opts o = parsed("--map-by node:oversubscribe --timeout 5 -x A=v -x B=v",
                                  "-n 1 --timeout 7 -x A=c a : -n 2 b");

    assert_int_equal(o.spec.map_by, JOB_MAP_BY_NODE);
    assert_true(o.spec.flags & JOB_OVERSUBSCRIBE);
    assert_int_equal(o.spec.timeout_ms, 7000);
    assert_string_equal(env_of(&o, 0, "A"), "c");
    assert_string_equal(env_of(&o, 0, "B"), "v");
    assert_string_equal(env_of(&o, 1, "A"), "v");
    submit_opts_free(&o);
    o = parsed("-N 2 --stop-in-init --recoverable --detach -n 3",
               "--map-by slot --stop-on-exec --rtos abort --survive a : -n 1 b");
    assert_int_equal(o.spec.map_by, JOB_MAP_BY_SLOT);
    assert_int_equal(o.spec.stop, JOB_STOP_EXEC);
    assert_int_equal(o.spec.flags & JOB_RECOVERABLE, 0);
    assert_true(o.survive);
    assert_int_equal(o.spec.apps[0].nprocs, 3);
    assert_int_equal(o.spec.apps[1].nprocs, 1);
    submit_opts_free(&o);
}

static void words_of_the_variable_are_split_at_blanks_and_quotes_keep_these(void **state)
{
    struct submit_opts o =
        parsed(" -x  A='b c' \t--output \"dir=/x y\" -x \"B=it's\" -x C='' ", "a");

    assert_string_equal(env_of(&o, 0, "A"), "b c");
    assert_string_equal(env_of(&o, 0, "B"), "it's");
    assert_string_equal(o.output.dir, "/x y");
    submit_opts_free(&o);
    o = parsed("-x A=$(reboot)\\ -x B=`x`*", "a"); /* nothing else has a meaning */
    assert_string_equal(env_of(&o, 0, "A"), "$(reboot)\\");
    assert_string_equal(env_of(&o, 0, "B"), "`x`*");
    submit_opts_free(&o);
    o = parsed("", "a");
    submit_opts_free(&o);
}

static void an_error_by_the_variable_names_it(void **state)
{
    assert_refused("--frobnicate", "a", "$DVM_PRUN_OPTIONS: unknown or ambiguous option --frobni");
    assert_refused("-n 0", "a", "$DVM_PRUN_OPTIONS: -n: 0 is not within");
    assert_refused("-n", "a", "$DVM_PRUN_OPTIONS: option -n needs a value");
    assert_refused("-x 'A=1", "a", "$DVM_PRUN_OPTIONS: a quote ' is not closed");
    assert_refused("--no-wait program", "a", "$DVM_PRUN_OPTIONS: 'program' is no option");
    assert_refused("-n 1 :", "a", "$DVM_PRUN_OPTIONS: ':' is no option");
    assert_refused("--attach 1.1", "a", "$DVM_PRUN_OPTIONS: --attach has no place here");
    assert_refused("--help", "a", "$DVM_PRUN_OPTIONS: --help has no place here");
    assert_refused("--survive", "--stdin 0 a",
                   "contradict each other ($DVM_PRUN_OPTIONS is '--surv");
    assert_refused("-n 2 -n 3", "a", "$DVM_PRUN_OPTIONS: option -n is given twice");
}

static void help_and_attach_are_not_hindered_by_the_variable(void **state)
{
    struct submit_opts o = parsed("--frobnicate", "--help");

    assert_int_equal(o.what, SUBMIT_HELP);
    submit_opts_free(&o);
    o = parsed("--oversubscribe -n 4 --output tag", "--attach 5.1");
    assert_string_equal(o.attach, "5.1");
    assert_true(o.output.tag);
    assert_int_equal(o.spec.flags, 0);
    submit_opts_free(&o);
}

/* --- other variables */

static void identity_of_another_launcher_is_not_passed_on_by_x_and_is_named(void **state)
{
    struct submit_opts o =
        parsed(NULL, "-x PMI_RANK=3 -x OMPI_MCA_btl=self --mca ess singleton -x SLURM_PROCID a");

    assert_string_equal(o.left_out, "PMI_RANK, OMPI_MCA_ess, SLURM_PROCID");
    assert_string_equal(env_of(&o, 0, "PMI_RANK"), "");
    assert_string_equal(env_of(&o, 0, "OMPI_MCA_ess"), "");
    assert_string_equal(env_of(&o, 0, "OMPI_MCA_btl"), "self");
    submit_opts_free(&o);
}

static void mapping_variables_of_other_launchers_are_found(void **state)
{
    static char *none[] = {"PATH=/bin",     "OMPI_MCA_btl=self",     "OMPI_MCA_rmap=1",
                           "I_MPI_DEBUG=1", "SLURM_DISTRIBUTIONS=x", NULL};
    static char *some[] = {"OMPI_MCA_rmaps_base_oversubscribe=1",
                           "X=PRTE_MCA_rmaps_x=1",
                           "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
                           "OMPI_MCA_hwloc_base_binding_policy=none",
                           "SLURM_DISTRIBUTION=block",
                           NULL};
    char *names = unread_names(some);

    assert_null(unread_names(none));
    assert_string_equal(names, "OMPI_MCA_rmaps_base_oversubscribe, "
                               "PRTE_MCA_rmaps_default_mapping_policy, "
                               "OMPI_MCA_hwloc_base_binding_policy");
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_of_the_whole_job_stands_before_the_first_program),
        cmocka_unit_test(an_option_of_the_whole_job_may_be_repeated_with_its_value_only),
        cmocka_unit_test(options_of_the_variable_come_before_those_of_the_command_line),
        cmocka_unit_test(words_of_the_variable_are_split_at_blanks_and_quotes_keep_these),
        cmocka_unit_test(an_error_by_the_variable_names_it),
        cmocka_unit_test(help_and_attach_are_not_hindered_by_the_variable),
        cmocka_unit_test(identity_of_another_launcher_is_not_passed_on_by_x_and_is_named),
        cmocka_unit_test(mapping_variables_of_other_launchers_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
