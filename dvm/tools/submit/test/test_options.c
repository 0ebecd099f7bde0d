/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of prun's command line: refused ones first, then accepted ones. */
#include "dvm/tools/submit/options.h"

#include "dvm/host/jobspec/environ.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *env_here[] = {"PATH=/bin",
                           "HOME=/root",
                           "SHLVL=3",
                           "PMIX_RANK=0",
                           "PMIX_MCA_x=1",
                           "OMPI_COMM_WORLD_RANK=1",
                           "OMPI_MCA_btl=self",
                           "HOSTNAME=here",
                           "PWD=/here",
                           "_=/usr/bin/prun",
                           "DVM_SESSION_DIR=/run/dvm",
                           "HOMELESS=1",
                           NULL};

/* Splits at spaces; the words live as long as the test program. */
static int parse(const char *line, struct submit_opts *out, struct err *err)
{
    static char text[65536];
    static char *argv[20000];
    int argc = 0;
    char *rest = text;
    char *word;

    snprintf(text, sizeof(text), "prun %s", line);
    while ((word = strsep(&rest, " "))) {
        if (*word)
            argv[argc++] = word;
    }
    argv[argc] = NULL;
    return submit_parse(argc, argv, env_here, "/here", out, err);
}

static void assert_refused(const char *line, const char *why)
{
    struct submit_opts o;
    struct err err = {0};

    if (parse(line, &o, &err) == 0)
        fail_msg("'%s' was taken", line);
    if (!strstr(err.msg, why))
        fail_msg("'%s': '%s' does not say '%s'", line, err.msg, why);
}

static struct submit_opts parsed(const char *line)
{
    struct submit_opts o;
    struct err err = {0};

    if (parse(line, &o, &err) < 0)
        fail_msg("'%s': %s", line, err.msg);
    return o;
}

static const char *env_of(const struct job_app *a, const char *name)
{
    size_t len = strlen(name);

    for (char **e = a->env; *e; e++) {
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    }
    return NULL;
}

static void a_missing_program_is_refused(void **state)
{
    assert_refused("", "no program to run");
    assert_refused("-n 2", "no program to run");
    assert_refused("a :", "no program beside ':'");
    assert_refused(": a", "no program beside ':'");
    assert_refused("-n 1 a : -n 1 : -n 1 b", "no program beside ':'");
}

static void unknown_options_are_refused_by_name(void **state)
{
    assert_refused("--frobnicate a", "unknown or ambiguous option --frobnicate");
    assert_refused("-Y a", "unknown option -Y");
    assert_refused("-vq a", "unknown option -q");
    assert_refused("--verbose -qv a", "unknown option -q");
}

static void options_without_their_value_are_refused(void **state)
{
    assert_refused("-n", "option -n needs a value");
    assert_refused("-np", "option --np needs a value");
    assert_refused("--timeout", "option --timeout needs a value");
    assert_refused("--no-wait=1 a", "takes no value");
}

static void bad_counts_are_refused(void **state)
{
    assert_refused("-n 0 a", "-n: 0 is not within");
    assert_refused("-n 2x a", "not a whole number");
    assert_refused("-n -2 a", "-2 is not within 1..");
    assert_refused("-n 1048577 a", "not within");
    assert_refused("-N 0 a", "-N: 0 is not within");
    assert_refused("-n 1000000 a : -n 1000000 b", "2000000 ranks");
}

static void options_given_twice_are_refused(void **state)
{
    assert_refused("-n 2 -np 3 a", "-n is given twice");
    assert_refused("--timeout 1 --timeout 2 a", "--timeout is given twice");
    assert_refused("--wdir /a --wdir /b a", "--wdir is given twice");
    assert_refused("--host 1 --host 2 a", "--host is given twice");
    assert_refused("--stdin 1 --stdin 2 a", "--stdin is given twice");
    assert_refused("--map-by slot --map-by node a", "--map-by is given twice");
    assert_refused("--dvm /a --dvm /b a", "--dvm is given twice");
}

static void contradictory_mappings_are_refused(void **state)
{
    assert_refused("-N 2 --map-by slot a", "contradict");
    assert_refused("--map-by node -N 2 a", "contradict");
}

static void unknown_mappings_are_refused_with_the_known_ones(void **state)
{
    assert_refused("--map-by board a",
                   "not one of slot, node, package, numa, core, hwthread, ppr:N:");
    assert_refused("--map-by ppr:2:board a", "'board' is not one of node");
    assert_refused("--map-by= a", "'' is not one of slot");
    assert_refused("--map-by ppr:0:node a", "no number within");
    assert_refused("--map-by ppr::node a", "no number within");
    assert_refused("--rank-by core a", "not one of slot, node, fill, span");
    assert_refused("--bind-to board a", "not one of none, hwthread, core, numa, package");
    assert_refused("--bind-to core:overload-allowed a", "no qualifiers; with --oversubscribe");
    assert_refused("--display map,pstat a", "'pstat' is neither map nor bind");
}

static void policies_that_contradict_each_other_are_refused(void **state)
{
    assert_refused("-N 2 --map-by ppr:2:numa a", "contradict");
    assert_refused("--map-by numa:pe=2 --bind-to hwthread a", "less than the cores that pe=2");
    assert_refused("--bind-to hwthread --map-by slot:pe=2 a", "less than the cores that pe=2");
    assert_refused("--map-by core:pe=2 a", "one core holds no more than one CPU");
    assert_refused("--rank-by fill a", "needs --map-by");
    assert_refused("--rank-by slot --rank-by node a", "--rank-by is given twice");
    assert_refused("--bind-to core --bind-to core a", "--bind-to is given twice");
}

static void bad_hosts_are_refused(void **state)
{
    assert_refused("--host x a", "neither a vpid nor a name");
    assert_refused("--host x3 a", "neither a vpid nor a name");
    assert_refused("--host 1,,2 a", "empty name");
    assert_refused("--host 4-1 a", "counts down");
    assert_refused("--host 1:4 a", "slots cannot be given here");
    assert_refused("--host 0-1000000 a", "--host: 1000000 is not within 0..65535");
    assert_refused("--host 65536 a", "--host: 65536 is not within 0..65535");
    assert_refused("--host node65536 a", "--host: 65536 is not within 0..65535");
    assert_refused("--host 0-65535,0-1 a", "more than 65536 daemons");
    assert_refused("-n 1 a : -n 1 --host 2 b", "before the first program");
}

static void a_reader_of_stdin_that_the_job_does_not_have_is_refused(void **state)
{
    assert_refused("-n 2 --stdin 2 a", "the job has ranks 0..1");
    assert_refused("--stdin some a", "neither a rank nor all nor none");
}

static void several_programs_need_a_count_each(void **state)
{
    assert_refused("-n 2 a : b", "needs its own -n");
    assert_refused("a : -n 2 b", "needs its own -n");
}

static void exporting_an_unset_variable_is_refused(void **state)
{
    assert_refused("-x NOPE a", "NOPE: not set in the environment");
    assert_refused("-x HOM a", "HOM: not set in the environment");
    assert_refused("-x =1 a", "no name of a variable");
    assert_refused("-x HOME,PATH a", "one variable for each -x");
}

static void options_of_other_launchers_without_an_equal_are_refused_with_ours(void **state)
{
    assert_refused("--hostfile f a",
                   "there is no option --hostfile: prun reads no file with hosts; --host LIST");
    assert_refused("-hostfile f a", "there is no option -hostfile: prun reads no file");
    assert_refused("--prefix /opt a", "there is no option --prefix: ranks run what their");
    assert_refused("--npersocket 2 a", "--map-by ppr:N:package puts N ranks on each package");
    assert_refused("--xterm 0 a", "ranks have no terminals");
    assert_refused("--mpi=pmi2 a", "--mpi: 'pmi2' is not pmix");
    assert_refused("--do-not-launch --detach a", "contradict each other");
    assert_refused("-machinefile=f a", "there is no option -machinefile: prun reads no file");
    assert_refused("--rankfile f a", "--map-by, --rank-by and --bind-to");
    assert_refused("-c 2 a", "there is no option -c: --map-by slot:pe=N");
    assert_refused("--time 5 a", "there is no option --time: --timeout S takes seconds");
    assert_refused("--export=ALL a", "there is no option --export: the environment is passed on");
    assert_refused("-n 2 -x HOME --output-filename o a", "--output dir=PATH");
    assert_refused("-n 1 a : -n 1 --prtemca a b c", "the daemons have no such parameters");
    assert_refused("-c4 a", "there is no option -c: --map-by slot:pe=N");
    assert_refused("-W5 a", "there is no option -W: a job ends with its last rank; --timeout S");
    assert_refused("-k a", "--recoverable lets the others go on when a daemon is lost");
    assert_refused("--overlap a", "--oversubscribe allows more ranks than slots");
    assert_refused("--display-topo a", "--display bind shows the CPUs");
    assert_refused("--add-host h a", "prun adds no daemons; 'prte resize N'");
    assert_refused("--propagate a", "ranks have the limits of their daemon");
    assert_refused("-soft 1:3 a", "-n N is the exact number of ranks");
}

/* A long option with one dash is not taken apart into short ones. */
static void unknown_options_with_one_dash_are_refused_as_a_whole(void **state)
{
    assert_refused("-nprocs 2 a",
                   "unknown option -nprocs: -n N and --np N give the number of ranks");
    assert_refused("-nprocs=2 a", "unknown option -nprocs: -n N");
    assert_refused("-np2 a", "unknown option -np2: -n N");
    assert_refused("-vno 2 a", "unknown option -vno: -n N");
    assert_refused("-hosts-group x a", "unknown option -hosts-group"); /* not -h */
    assert_refused("-frobnicate a", "unknown option -frobnicate");
    assert_refused("-stop a", "unknown or ambiguous option --stop");
    assert_refused("-n2x a", "-n: '2x' is not a whole number");
}

static void parameters_need_a_name_and_a_value(void **state)
{
    assert_refused("--mca", "--mca needs a value");
    assert_refused("--mca btl", "--mca needs a name and a value");
    assert_refused("--mca btl=self x a", "'btl=self' is no name of a parameter");
    assert_refused("--mca btl self", "no program to run");
    assert_refused("--attach 5.1 --mca btl self", "--attach can be given with");
}

static void too_many_programs_are_refused(void **state)
{
    char line[1024] = "-n 1 a";

    for (int i = 0; i < JOB_APPS_MAX; i++)
        strncat(line, " : -n 1 a", sizeof(line) - strlen(line) - 1);
    assert_refused(line, "more than 64 programs");
}

static void too_many_arguments_are_refused(void **state)
{
    char *line = xmalloc(2 * JOB_ARGS_MAX + 16);

    memcpy(line, "a", 2);
    for (int i = 0; i < JOB_ARGS_MAX; i++)
        memcpy(line + 1 + 2 * (size_t)i, " b", 3);
    assert_refused(line, "at most 16384 can be passed");
    free(line);
}

static void options_after_the_program_are_its_arguments(void **state)
{
    struct submit_opts o = parsed("-n 3 prog -n 4 --help");

    assert_int_equal(o.spec.apps[0].nprocs, 3);
    assert_string_equal(o.spec.apps[0].argv[1], "-n");
    assert_string_equal(o.spec.apps[0].argv[3], "--help");
    assert_null(o.spec.apps[0].argv[4]);
    submit_opts_free(&o);
}

static void np_has_the_meaning_of_n_in_every_spelling(void **state)
{
    static const char *const spellings[] = {"-n 3 a", "-np 3 a",  "--np 3 a",
                                            "-n3 a",  "--np=3 a", "-v -np 3 a"};

    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        struct submit_opts o = parsed(spellings[i]);

        assert_int_equal(o.spec.apps[0].nprocs, 3);
        submit_opts_free(&o);
    }
}

static void long_options_may_have_one_dash(void **state)
{
    struct submit_opts o = parsed("-wdir /w -map-by node -host=1-2 -tag-output -x A=1 a -host b");

    assert_string_equal(o.spec.apps[0].cwd, "/w");
    assert_int_equal(o.spec.map_by, JOB_MAP_BY_NODE);
    assert_int_equal(o.spec.nhosts, 2);
    assert_true(o.output.tag);
    assert_string_equal(o.spec.apps[0].argv[1], "-host");
    submit_opts_free(&o);
}

/* "theirs", "ours": both make the same job. */
static void options_of_other_launchers_have_the_same_meaning(void **state)
{
    static const char *const pairs[][2] = {
        {"--n 3 a", "-n 3 a"},
        {"--ntasks=3 --ntasks-per-node=2 a", "-n 3 -N 2 a"},
        {"-num-procs 3 a", "-n 3 a"},
        {"-vn3 a", "-n 3 a"},
        {"-npernode 2 a", "-N 2 a"},
        {"-grr 2 a", "-N 2 a"},
        {"-ppn 2 a", "-N 2 a"},
        {"--pernode a", "-N 1 a"},
        {"-wd /w a", "--wdir /w a"},
        {"-D /w a", "--wdir /w a"},
        {"-dir /w a", "--wdir /w a"},
        {"-hosts node1,node2 a", "--host 1,2 a"},
        {"-w node1 a", "--host 1 a"},
        {"-w1-2 a", "--host 1,2 a"},
        {"-hostlist node1 a", "--host 1 a"},
        {"--bynode --report-bindings a", "--map-by node --display bind a"},
        {"--map-by socket --bind-to socket a", "--map-by package --bind-to package a"},
        {"--map-by :pe=2:nolocal a", "--map-by slot:pe=2:nolocal a"},
        {"--overcommit --enable-recovery a", "--oversubscribe --recoverable a"},
        {"-mca btl self,tcp --pmixmca b c a", "-x OMPI_MCA_btl=self,tcp -x PMIX_MCA_b=c a"},
        {"--allow-run-as-root -q --quiet --mpi=pmix_v5 a", "a"},
        {"--omca btl self a", "-x OMPI_MCA_btl=self a"},
        {"-oversub -recov a", "--oversubscribe --recoverable a"},
        {"-skip-launch-node a", "--map-by :nolocal a"},
        {"--bind-to-core -nolocal a", "--bind-to core --map-by :nolocal a"},
        {"-I -rr --print-rank-map a", "--no-wait --map-by node --display map a"},
        {"--do-not-launch a", "--do-not-launch --display map a"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct buf b[2] = {0};

        for (int k = 0; k < 2; k++) {
            struct submit_opts o = parsed(pairs[i][k]);

            buf_init(&b[k], 1u << 20);
            job_spec_encode(&b[k], &o.spec);
            submit_opts_free(&o);
        }
        if (b[0].len != b[1].len || memcmp(b[0].data, b[1].data, b[0].len) != 0)
            fail_msg("'%s' is not '%s'", pairs[i][0], pairs[i][1]);
        buf_free(&b[0]);
        buf_free(&b[1]);
    }
}

static void output_styles_can_be_given_by_options_of_their_own(void **state)
{
    struct submit_opts o = parsed("-l --timestamp-output -merge-stderr-to-stdout a");

    assert_true(o.output.tag && o.output.timestamp && o.output.merge);
    submit_opts_free(&o);
}

static void a_count_not_given_is_left_to_the_policy(void **state)
{
    struct submit_opts o = parsed("a");

    assert_int_equal(o.spec.apps[0].nprocs, 0);
    assert_int_equal(o.spec.map_by, JOB_MAP_BY_SLOT);
    assert_int_equal(o.spec.stdin_rank, 0);
    submit_opts_free(&o);
}

static void each_program_has_its_own_count_directory_and_exports(void **state)
{
    struct submit_opts o = parsed("-n 1 --wdir /w -x A=1 a x : -np 2 -x A=2 b");

    assert_int_equal(o.spec.napps, 2);
    assert_string_equal(o.spec.apps[0].cwd, "/w");
    assert_string_equal(env_of(&o.spec.apps[0], "A"), "1");
    assert_int_equal(o.spec.apps[1].nprocs, 2);
    assert_string_equal(o.spec.apps[1].cwd, "/here");
    assert_string_equal(env_of(&o.spec.apps[1], "A"), "2");
    assert_string_equal(o.spec.apps[1].argv[0], "b");
    submit_opts_free(&o);
}

static bool has(const struct job_app *a, const char *entry)
{
    for (size_t i = 0; a->env[i]; i++) {
        if (strcmp(a->env[i], entry) == 0)
            return true;
    }
    return false;
}

static void variables_of_this_host_are_not_sent_to_another(void **state)
{
    static char *env[] = {"PATH=/mine",     "HOME=/me", "LD_PRELOAD=x", "SSH_TTY=y", "COLOUR=blue",
                          "TMPDIR=/my/tmp", NULL};
    static char *daemons[] = {"PATH=/its", "HOME=/its/home",         "TMPDIR=/its/tmp",
                              "SECRET=1",  "XDG_RUNTIME_DIR=/run/1", NULL};
    static char *argv[] = {"prun", "--dvm", "h", "--tls-dir", "/t", "-x", "TMPDIR", "a", NULL};
    struct submit_opts o;
    struct job_app *a;

    assert_int_equal(submit_parse(8, argv, env, "/here", &o, NULL), 0);
    a = &o.spec.apps[0];
    assert_true(has(a, "COLOUR=blue") && has(a, "TMPDIR=/my/tmp"));
    assert_null(a->env[2]);
    assert_string_equal(a->cwd, "");
    assert_int_equal(o.reconnect_ms, 30000);
    environ_complete(a, daemons, true);
    assert_string_equal(a->cwd, ""); /* where its files are */
    environ_complete(a, daemons, false);
    assert_true(has(a, "PATH=/its") && has(a, "HOME=/its/home") && has(a, "PWD=/its/home"));
    assert_true(has(a, "COLOUR=blue") && has(a, "TMPDIR=/my/tmp"));
    assert_null(a->env[5]);
    assert_string_equal(a->cwd, "/its/home");
    submit_opts_free(&o);
}

static void a_directory_of_another_host_is_absolute(void **state)
{
    struct submit_opts o = parsed("--dvm h --tls-dir /t --wdir /there a");

    assert_string_equal(o.spec.apps[0].cwd, "/there");
    submit_opts_free(&o);
    assert_refused("--dvm h --tls-dir /t --wdir there a", "has to begin with '/'");
    assert_refused("a : --dvm h b", "before the first program");
    assert_refused("--dvm h --dvm h a", "given twice");
    assert_refused("--reconnect 601 a", "0..600");
}

static void ranks_per_daemon_can_be_given_in_two_ways(void **state)
{
    struct submit_opts a = parsed("-N 2 a");
    struct submit_opts b = parsed("--map-by ppr:2:node a");

    assert_int_equal(a.spec.map_by, JOB_MAP_BY_PPR);
    assert_int_equal(a.spec.ppr, 2);
    assert_int_equal(b.spec.map_by, JOB_MAP_BY_PPR);
    assert_int_equal(b.spec.ppr, 2);
    submit_opts_free(&a);
    submit_opts_free(&b);
}

static void policies_come_through(void **state)
{
    struct submit_opts o = parsed("--map-by ppr:3:NUMA:pe=2,nolocal --rank-by span "
                                  "--bind-to package --display map,bind a");

    assert_int_equal(o.spec.map_by, JOB_MAP_BY_PPR);
    assert_int_equal(o.spec.level, JOB_LEVEL_NUMA);
    assert_int_equal(o.spec.ppr, 3);
    assert_int_equal(o.spec.pe, 2);
    assert_int_equal(o.spec.rank_by, JOB_RANK_BY_SPAN);
    assert_int_equal(o.spec.bind_to, JOB_BIND_PACKAGE);
    assert_int_equal(o.spec.flags, JOB_NOLOCAL | JOB_DISPLAY_MAP | JOB_DISPLAY_BIND);
    submit_opts_free(&o);
    o = parsed("--map-by hwthread --bind-to none --display bind a");
    assert_int_equal(o.spec.map_by, JOB_MAP_BY_OBJECT);
    assert_int_equal(o.spec.level, JOB_LEVEL_HWTHREAD);
    assert_int_equal(o.spec.bind_to, JOB_BIND_NONE);
    assert_int_equal(o.spec.flags, JOB_DISPLAY_BIND);
    submit_opts_free(&o);
}

static void oversubscribe_can_stand_behind_the_mapping(void **state)
{
    struct submit_opts o = parsed("--map-by node:OVERSUBSCRIBE a");

    assert_int_equal(o.spec.map_by, JOB_MAP_BY_NODE);
    assert_int_equal(o.spec.flags, JOB_OVERSUBSCRIBE);
    submit_opts_free(&o);
}

static void attach_and_detach_take_only_options_of_their_own(void **state)
{
    assert_refused("--attach 5.1 a", "'a' cannot be run with it");
    assert_refused("--attach 5.1 -n 2", "--attach can be given with");
    assert_refused("--attach 5.1 --detach", "--attach can be given with");
    assert_refused("--attach 5.1 --attach 5.2", "given twice");
    assert_refused("--detach --stdin 0 a", "contradict");
    assert_refused("--detach --output tag a", "--detach shows no output");
    assert_refused("--detach --tag-output a", "--detach shows no output");
    assert_refused("--attach 5.1 --survive", "--attach can be given with");
    assert_refused("--detach --survive a", "--detach and --survive contradict");
    assert_refused("--survive --stdin 0 a", "--survive and --stdin contradict");
    assert_refused("--survive --do-not-launch a", "--do-not-launch and --survive contradict");
    assert_refused("--output colour a", "'colour' is not one of");
    assert_refused("--output dir= a", "'dir=' is not one of");
    assert_refused("--output tag --output tag a", "given twice");
}

static void a_contradictory_job_policy_is_refused(void **state)
{
    assert_refused("--rtos recoverable,abort a", "abort and recoverable contradict each other");
    assert_refused("--recoverable --rtos abort a", "abort and recoverable contradict each other");
    assert_refused("--rtos abort --strict a", "abort and strict contradict each other");
    assert_refused("--strict a", "it needs recoverable");
    assert_refused("--rtos strict a", "it needs recoverable");
    assert_refused("--rtos continuous a", "'continuous' is not one of recoverable, abort, strict");
    assert_refused("--rtos recoverable, a", "'' is not one of");
    assert_refused("--rtos abort --runtime-options abort a", "--rtos is given twice");
    assert_refused("--attach 5.1 --rtos abort", "--attach can be given with");
}

static void the_policy_for_a_failed_rank_is_passed_on(void **state)
{
    static const struct {
        const char *line;
        uint32_t flags;
    } rows[] = {{"a", 0},
                {"--rtos abort a", 0},
                {"--recoverable a", JOB_RECOVERABLE},
                {"--rtos Recoverable a", JOB_RECOVERABLE},
                {"--runtime-options strict,recoverable a", JOB_RECOVERABLE | JOB_STRICT},
                {"--rtos recoverable --strict a", JOB_RECOVERABLE | JOB_STRICT},
                {"--strict --recoverable a", JOB_RECOVERABLE | JOB_STRICT}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct submit_opts o = parsed(rows[i].line);

        assert_int_equal(o.spec.flags, rows[i].flags);
        submit_opts_free(&o);
    }
}

static void attach_detach_and_output_come_through(void **state)
{
    struct submit_opts o = parsed("--attach 5.1 --output tag,timestamp,merge,dir=/o");

    assert_string_equal(o.attach, "5.1");
    assert_int_equal(o.spec.napps, 0);
    assert_true(o.output.tag && o.output.timestamp && o.output.merge);
    assert_string_equal(o.output.dir, "/o");
    submit_opts_free(&o);
    o = parsed("--detach a");
    assert_int_equal(o.spec.flags, JOB_DETACH);
    assert_int_equal(o.spec.stdin_rank, JOB_RANK_NONE);
    assert_false(o.survive);
    submit_opts_free(&o);
    o = parsed("--survive --output tag a");
    assert_int_equal(o.spec.flags, JOB_DETACH);
    assert_int_equal(o.spec.stdin_rank, JOB_RANK_NONE);
    assert_true(o.survive && o.output.tag);
    submit_opts_free(&o);
}

static void flags_come_through(void **state)
{
    struct submit_opts o =
        parsed("--no-wait --recoverable --tag-output --oversubscribe --timeout 1.5 --stdin all -v "
               "--dvm /d a");

    assert_int_equal(o.spec.flags, JOB_NO_WAIT | JOB_RECOVERABLE | JOB_OVERSUBSCRIBE);
    assert_true(o.output.tag);
    assert_int_equal(o.spec.timeout_ms, 1500);
    assert_int_equal(o.spec.stdin_rank, JOB_RANK_ALL);
    assert_true(o.verbose);
    assert_string_equal(o.where.dir, "/d");
    submit_opts_free(&o);
}

static void cleanup_paths_are_passed_on(void **state)
{
    struct submit_opts o = parsed("--cleanup-file /tmp/f --cleanup-dir /tmp/d "
                                  "--cleanup-dir /tmp/e,leave-topdir,recursive a");

    assert_int_equal(o.spec.ncleanups, 3);
    assert_string_equal(o.spec.cleanups[0].path, "/tmp/f");
    assert_int_equal(o.spec.cleanups[0].flags, 0);
    assert_int_equal(o.spec.cleanups[1].flags, JOB_CLEAN_DIR);
    assert_string_equal(o.spec.cleanups[2].path, "/tmp/e");
    assert_int_equal(o.spec.cleanups[2].flags,
                     JOB_CLEAN_DIR | JOB_CLEAN_RECURSIVE | JOB_CLEAN_LEAVE_TOPDIR);
    submit_opts_free(&o);
}

static void a_relative_file_of_a_removed_directory_is_refused(void **state)
{
    char *argv[] = {"prun", "--preload-files", "etc/passwd", "--wdir", "/", "prog", NULL};
    char *env[] = {NULL};
    struct submit_opts o;
    struct err err = {0};

    assert_int_equal(submit_parse(6, argv, env, "", &o, &err), -1);
    assert_string_equal(
        err.msg,
        "--preload-files: file 'etc/passwd': the working directory does not exist any more");
}

static void files_that_cannot_have_their_name_there_are_refused(void **state)
{
    char many[JOB_FILES_MAX * 8 + 64] = "--preload-files ";

    assert_refused("--preload-files ../f a", "file '../f' leads up by '..'; by its absolute path");
    assert_refused("--preload-files d/../f a", "'d/../f' leads up by '..'");
    assert_refused("--preload-files f, a", "an empty name");
    assert_refused("--preload-files / a", "file '/' has no name");
    assert_refused("--preload-files . a", "file '.' has no name");
    assert_refused("--preload-files f,/there/f a", "'/here/f' and '/there/f' would both be 'f'");
    assert_refused("--preload-files", "--preload-files");
    assert_refused("-s no-such-program", "--preload-binary: program 'no-such-program' is in no");
    assert_refused("-s ../prog", "--preload-binary: file '../prog' leads up");
    assert_refused("--attach 5.1 --preload-files f", "--attach can be given with");
    assert_refused("--attach 5.1 -s", "--attach can be given with");
    for (int i = 0; i <= JOB_FILES_MAX; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sf%d", i ? "," : "", i);
    snprintf(many + strlen(many), sizeof(many) - strlen(many), " a");
    assert_refused(many, "more than 256 files");
}

static void files_are_named_once_and_keep_their_relative_paths(void **state)
{
    struct submit_opts o =
        parsed("--preload-files ./d//f,/there/x --preload-files d/./f,/here/d/f2,d/f a");

    assert_int_equal(o.spec.nfiles, 3);
    assert_string_equal(o.spec.files[0], "d/f");
    assert_string_equal(o.sources[0], "/here/d/f");
    assert_string_equal(o.spec.files[1], "x");
    assert_string_equal(o.sources[1], "/there/x");
    assert_string_equal(o.spec.files[2], "f2");
    submit_opts_free(&o);
}

static void with_files_programs_start_in_their_directory_unless_wdir_is_given(void **state)
{
    struct submit_opts o = parsed(
        "-n 1 --wdir w ./one : -n 1 --preload-files f ./two : -n 1 three : -n 1 -s bin/four");

    assert_string_equal(o.spec.apps[0].cwd, "/here/w");
    assert_string_equal(o.spec.apps[0].argv[0], "./one");
    assert_string_equal(o.spec.apps[1].cwd, "");
    assert_string_equal(o.spec.apps[1].argv[0], "/here/./two");
    assert_string_equal(o.spec.apps[2].argv[0], "three");
    assert_int_equal(o.spec.apps[2].program, 0);
    assert_int_equal(o.spec.apps[3].program, 2);
    assert_string_equal(o.spec.files[1], "bin/four");
    submit_opts_free(&o);
    o = parsed("--preload-files f,prog ./prog");
    assert_int_equal(o.spec.apps[0].program, 2);
    submit_opts_free(&o);
    o = parsed("-s sh");
    assert_int_equal(o.spec.apps[0].program, 1);
    assert_string_equal(o.spec.files[0], "sh");
    assert_string_equal(o.sources[0], "/bin/sh");
    submit_opts_free(&o);
}

static void a_cleanup_request_with_an_unclear_path_is_refused(void **state)
{
    assert_refused("--cleanup-file f a", "not absolute");
    assert_refused("--cleanup-dir d,recursive a", "not absolute");
    assert_refused("--cleanup-dir / a", "is the root");
    assert_refused("--cleanup-dir /tmp/../etc a", "'..'");
    assert_refused("--cleanup-dir /tmp/d,recursively a", "neither recursive nor leave-topdir");
    assert_refused("--attach 1.1 --cleanup-file /tmp/f", "--attach can be given with");
}

static void a_stop_point_is_passed_on_and_only_one_is_accepted(void **state)
{
    static const struct {
        const char *line;
        enum job_stop stop;
    } good[] = {{"a", JOB_STOP_NONE},
                {"--stop-on-exec a", JOB_STOP_EXEC},
                {"--stop-in-init a", JOB_STOP_INIT},
                {"--stop-in-app --stop-in-app a", JOB_STOP_APP}};

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct submit_opts o = parsed(good[i].line);

        assert_int_equal(o.spec.stop, good[i].stop);
        assert_int_equal(o.spec.stop_rank, good[i].stop ? JOB_RANK_ALL : 0);
        submit_opts_free(&o);
    }
    assert_refused("--stop-on-exec --stop-in-init a", "contradict each other");
    assert_refused("--stop-in-app --stop-on-exec a", "contradict each other");
    assert_refused("--attach 1.1 --stop-in-init", "--attach can be given with");
}

static void hosts_are_vpids_ranges_and_names_sorted_and_once(void **state)
{
    struct submit_opts o = parsed("--host my-dvm-7,2-4,3,node1,x-head-0,x-5.x.ns.svc a");
    static const uint32_t want[] = {0, 1, 2, 3, 4, 5, 7};

    assert_int_equal(o.spec.nhosts, 7);
    assert_memory_equal(o.spec.hosts, want, sizeof(want));
    submit_opts_free(&o);
}

static void a_relative_directory_is_one_below_the_present_one(void **state)
{
    struct submit_opts o = parsed("--wdir sub a");

    assert_string_equal(o.spec.apps[0].cwd, "/here/sub");
    assert_string_equal(env_of(&o.spec.apps[0], "PWD"), "/here/sub");
    submit_opts_free(&o);
}

static void variables_of_this_shell_or_rank_are_not_sent(void **state)
{
    struct submit_opts o = parsed("a");
    const struct job_app *a = &o.spec.apps[0];

    assert_string_equal(env_of(a, "PATH"), "/bin");
    assert_string_equal(env_of(a, "HOME"), "/root");
    assert_string_equal(env_of(a, "HOMELESS"), "1");
    assert_string_equal(env_of(a, "PMIX_MCA_x"), "1");
    assert_string_equal(env_of(a, "OMPI_MCA_btl"), "self");
    assert_null(env_of(a, "SHLVL"));
    assert_null(env_of(a, "PMIX_RANK"));
    assert_null(env_of(a, "OMPI_COMM_WORLD_RANK"));
    assert_null(env_of(a, "HOSTNAME"));
    assert_null(env_of(a, "DVM_SESSION_DIR"));
    assert_null(env_of(a, "_"));
    submit_opts_free(&o);
}

static void exports_pass_on_set_and_replace(void **state)
{
    struct submit_opts o = parsed("-x HOSTNAME -x HOME=/else -x NEW=a=b -x EMPTY= a");
    const struct job_app *a = &o.spec.apps[0];

    assert_string_equal(env_of(a, "HOSTNAME"), "here");
    assert_string_equal(env_of(a, "HOME"), "/else");
    assert_string_equal(env_of(a, "NEW"), "a=b");
    assert_string_equal(env_of(a, "EMPTY"), "");
    submit_opts_free(&o);
}

static void help_and_version_need_no_program(void **state)
{
    struct submit_opts o = parsed("--help");

    assert_int_equal(o.what, SUBMIT_HELP);
    submit_opts_free(&o);
    o = parsed("--version");
    assert_int_equal(o.what, SUBMIT_VERSION);
    submit_opts_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_program_is_refused),
        cmocka_unit_test(unknown_options_are_refused_by_name),
        cmocka_unit_test(options_without_their_value_are_refused),
        cmocka_unit_test(bad_counts_are_refused),
        cmocka_unit_test(options_given_twice_are_refused),
        cmocka_unit_test(contradictory_mappings_are_refused),
        cmocka_unit_test(policies_that_contradict_each_other_are_refused),
        cmocka_unit_test(unknown_mappings_are_refused_with_the_known_ones),
        cmocka_unit_test(bad_hosts_are_refused),
        cmocka_unit_test(a_reader_of_stdin_that_the_job_does_not_have_is_refused),
        cmocka_unit_test(several_programs_need_a_count_each),
        cmocka_unit_test(exporting_an_unset_variable_is_refused),
        cmocka_unit_test(options_of_other_launchers_without_an_equal_are_refused_with_ours),
        cmocka_unit_test(unknown_options_with_one_dash_are_refused_as_a_whole),
        cmocka_unit_test(parameters_need_a_name_and_a_value),
        cmocka_unit_test(too_many_programs_are_refused),
        cmocka_unit_test(too_many_arguments_are_refused),
        cmocka_unit_test(options_after_the_program_are_its_arguments),
        cmocka_unit_test(np_has_the_meaning_of_n_in_every_spelling),
        cmocka_unit_test(long_options_may_have_one_dash),
        cmocka_unit_test(options_of_other_launchers_have_the_same_meaning),
        cmocka_unit_test(output_styles_can_be_given_by_options_of_their_own),
        cmocka_unit_test(a_count_not_given_is_left_to_the_policy),
        cmocka_unit_test(each_program_has_its_own_count_directory_and_exports),
        cmocka_unit_test(variables_of_this_host_are_not_sent_to_another),
        cmocka_unit_test(a_directory_of_another_host_is_absolute),
        cmocka_unit_test(ranks_per_daemon_can_be_given_in_two_ways),
        cmocka_unit_test(policies_come_through),
        cmocka_unit_test(oversubscribe_can_stand_behind_the_mapping),
        cmocka_unit_test(attach_and_detach_take_only_options_of_their_own),
        cmocka_unit_test(a_contradictory_job_policy_is_refused),
        cmocka_unit_test(the_policy_for_a_failed_rank_is_passed_on),
        cmocka_unit_test(attach_detach_and_output_come_through),
        cmocka_unit_test(flags_come_through),
        cmocka_unit_test(a_stop_point_is_passed_on_and_only_one_is_accepted),
        cmocka_unit_test(cleanup_paths_are_passed_on),
        cmocka_unit_test(a_cleanup_request_with_an_unclear_path_is_refused),
        cmocka_unit_test(a_relative_file_of_a_removed_directory_is_refused),
        cmocka_unit_test(files_that_cannot_have_their_name_there_are_refused),
        cmocka_unit_test(files_are_named_once_and_keep_their_relative_paths),
        cmocka_unit_test(with_files_programs_start_in_their_directory_unless_wdir_is_given),
        cmocka_unit_test(hosts_are_vpids_ranges_and_names_sorted_and_once),
        cmocka_unit_test(a_relative_directory_is_one_below_the_present_one),
        cmocka_unit_test(variables_of_this_shell_or_rank_are_not_sent),
        cmocka_unit_test(exports_pass_on_set_and_replace),
        cmocka_unit_test(help_and_version_need_no_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
