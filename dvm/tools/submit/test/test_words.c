/* SPDX-License-Identifier: BSD-3-Clause */
/* The well-known options of mpirun, mpiexec and srun: each is taken, or refused with the option to
 * use. Each advice holds in every spelling, and names only options that exist. */
#include "dvm/tools/submit/options.h"

#include "base/buf/buf.h"
#include "dvm/tools/submit/words.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As users type them, with a value where they have one. */
static const char *const mpirun[] = {
    "-n 1",
    "-np 1",
    "--np 1",
    "-c 1",
    "-N 1",
    "-npernode 1",
    "--npernode 1",
    "-pernode",
    "--npersocket 1",
    "-npersocket 1",
    "--map-by core",
    "--rank-by slot",
    "--bind-to none",
    "--bind-to-core",
    "-bind-to-core",
    "--bind-to-socket",
    "--bind-to-none",
    "--bycore",
    "--byslot",
    "--bynode",
    "--bysocket",
    "--cpus-per-proc 1",
    "--cpus-per-rank 1",
    "--cpu-list 0",
    "--cpu-set 0",
    "--report-bindings",
    "--display-map",
    "--display-devel-map",
    "--display-topo",
    "--display-allocation",
    "--display-devel-allocation",
    "--display map",
    "-H 0",
    "--host 0",
    "-host 0",
    "--hostfile f",
    "-hostfile f",
    "--machinefile f",
    "--default-hostfile f",
    "--add-host h",
    "--add-hostfile f",
    "--rankfile f",
    "-rf f",
    "--oversubscribe",
    "-oversubscribe",
    "--nooversubscribe",
    "--no-oversubscribe",
    "--nolocal",
    "-nolocal",
    "--use-hwthread-cpus",
    "--use-regexp",
    "--mca a b",
    "-mca a b",
    "-num-procs 1",
    "--num-procs 1",
    "--slot-list 0",
    "--pset p",
    "--server-wait-time 5",
    "--xml-file f",
    "--app-prefix /opt",
    "--no-app-prefix",
    "--display-diffable-map",
    "--gmca a b",
    "-gmca a b",
    "--pmixmca a b",
    "--gpmixmca a b",
    "--prtemca a b",
    "--omca a b",
    "--am f",
    "-am f",
    "--tune f",
    "-tune f",
    "-x A=1",
    "--wdir /tmp",
    "-wdir /tmp",
    "-wd /tmp",
    "--wd /tmp",
    "--path /bin",
    "-path /bin",
    "--prefix /opt",
    "--noprefix",
    "--no-prefix",
    "--app f",
    "-app f",
    "--preload-binary",
    "-s",
    "--preload-files /etc/hosts",
    "--set-cwd-to-session-dir",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "-V",
    "--version",
    "-h",
    "--help",
    "--tag-output",
    "--timestamp-output",
    "-timestamp-output",
    "--merge-stderr-to-stdout",
    "--xterm 0",
    "-xterm 0",
    "--output-filename f",
    "-output-filename f",
    "--output-proctable",
    "--output-directory d",
    "--output tag",
    "--stream-buffering 0",
    "--stdin 0",
    "--timeout 9",
    "--report-state-on-timeout",
    "--get-stack-traces",
    "--allow-run-as-root",
    "--debug",
    "-debug",
    "--debugger gdb",
    "-tv",
    "--tv",
    "--debug-daemons",
    "--debug-devel",
    "--debug-daemons-file",
    "--leave-session-attached",
    "--enable-recovery",
    "--max-restarts 1",
    "--continuous",
    "--disable-recovery",
    "--report-child-jobs-separately",
    "--forward-signals all",
    "--fwd-mpirun-port",
    "--launch-agent a",
    "--ompi-server u",
    "--report-events u",
    "--report-pid -",
    "--report-uri -",
    "--tmpdir d",
    "--terminate",
    "--do-not-launch",
    "--do-not-resolve",
    "--novm",
    "--no-ready-msg",
    "--dvm /d",
    "--dvm-uri u",
    "--index-argv-by-rank",
    "--personality ompi",
    "--mpi=pmix",
    "--rtos recoverable",
    "--with-ft ulfm",
    "--singleton s",
    "--max-vm-size 3",
    "--ppr 1:node",
    "--parseable",
    "--xml",
    "-xml",
    "--show-progress",
    "--hetero",
    "--hnp u",
    "--pty",
};

/* With the options of the MPI standard (4.1, 11.5). */
static const char *const mpiexec[] = {
    "-soft 1:3",
    "-arch x86_64",
    "-file f",
    "-initial-errhandler mpi_errors_return",
    "-memory-alloc-kinds system",
    "-n 1",
    "-np 1",
    "-ppn 1",
    "-perhost 1",
    "-grr 1",
    "-rr",
    "-hosts 0",
    "-hostlist 0",
    "-f f",
    "-machine f",
    "-machinefile f",
    "-hostfile f",
    "-host 0",
    "-genv A 1",
    "-genvlist A",
    "-genvnone",
    "-genvall",
    "-env A 1",
    "-envlist A",
    "-envnone",
    "-envall",
    "-wdir /tmp",
    "-dir /tmp",
    "-path /bin",
    "-configfile f",
    "-prepend-rank",
    "-l",
    "-prepend-pattern p",
    "-outfile-pattern p",
    "-errfile-pattern p",
    "-nameserver n",
    "-disable-auto-cleanup",
    "-disable-hostname-propagation",
    "-order-nodes ASC",
    "-localhost h",
    "-usize 2",
    "-info",
    "-print-all-exitcodes",
    "-iface lo",
    "-rmk pbs",
    "-launcher ssh",
    "-launcher-exec p",
    "-bootstrap ssh",
    "-bootstrap-exec p",
    "-enable-x",
    "-disable-x",
    "-bind-to none",
    "-map-by core",
    "-membind none",
    "-topolib hwloc",
    "-ckpoint-prefix p",
    "-demux poll",
    "-verbose",
    "-v",
    "-profile",
    "-print-rank-map",
    "-s 0",
    "-gdb",
    "-tv",
    "-timeout 3",
    "-skip-launch-node",
    "-gpus-per-proc 1",
    "-gpu-subdevs-per-proc 1",
    "-pmi-port",
};

static const char *const srun[] = {
    "-n 1",
    "--ntasks 1",
    "--ntasks=1",
    "-N 1",
    "--nodes 1",
    "--nodes=1",
    "--ntasks-per-node 1",
    "--ntasks-per-socket 1",
    "--ntasks-per-core 1",
    "-c 1",
    "--cpus-per-task 1",
    "--cpus-per-task=1",
    "-w 0",
    "--nodelist 0",
    "--nodelist=0",
    "-x 0",
    "--exclude 0",
    "--exclude=0",
    "-F f",
    "--nodefile f",
    "-r 1",
    "--relative 1",
    "-p debug",
    "--partition debug",
    "--partition=debug",
    "-A me",
    "--account me",
    "--account=me",
    "-q normal",
    "--qos normal",
    "-J name",
    "--job-name name",
    "--job-name=name",
    "--jobid 5",
    "-t 5",
    "--time 5",
    "--time=5",
    "--time-min 5",
    "-T 5",
    "--threads 5",
    "-i f",
    "--input f",
    "--input=none",
    "-o f",
    "--output tag",
    "-e f",
    "--error f",
    "--error=f",
    "-l",
    "--label",
    "-u",
    "--unbuffered",
    "-D /tmp",
    "--chdir /tmp",
    "--chdir=/tmp",
    "--export ALL",
    "--export=ALL",
    "--export-file f",
    "--mpi pmix",
    "--mpi=pmix",
    "--mpi=pmix_v4",
    "--mpi=pmi2",
    "--mpi=none",
    "-m block",
    "--distribution block",
    "--distribution=cyclic",
    "--cpu-bind none",
    "--cpu-bind=cores",
    "--cpu_bind=cores",
    "--mem-bind local",
    "--mem-bind=local",
    "--mem_bind=local",
    "--hint x",
    "--hint=nomultithread",
    "-B 1",
    "--extra-node-info 1",
    "--sockets-per-node 1",
    "--cores-per-socket 1",
    "--threads-per-core 1",
    "--mincpus 1",
    "-O",
    "--overcommit",
    "-s",
    "--oversubscribe",
    "--overlap",
    "--exclusive",
    "--exact",
    "--whole",
    "-I",
    "--immediate",
    "--immediate=5",
    "-K",
    "--kill-on-bad-exit",
    "--kill-on-bad-exit=1",
    "-k",
    "--no-kill",
    "-W 5",
    "--wait 5",
    "--wait=5",
    "-X",
    "--disable-status",
    "-Q",
    "--quiet",
    "-v",
    "--verbose",
    "-V",
    "--version",
    "-H",
    "--hold",
    "-Z",
    "--no-allocate",
    "--pty",
    "--multi-prog",
    "--preserve-env",
    "--propagate",
    "--propagate=ALL",
    "--mem 1G",
    "--mem=1G",
    "--mem-per-cpu 1",
    "--mem-per-gpu 1",
    "-G 1",
    "--gpus 1",
    "--gpus=1",
    "--gpus-per-node 1",
    "--gpus-per-task 1",
    "--gpus-per-socket 1",
    "--gpu-bind x",
    "--gpu-freq x",
    "--cpu-freq x",
    "--gres gpu:1",
    "--gres=gpu:1",
    "--gres-flags x",
    "-L x",
    "--licenses x",
    "-C x",
    "--constraint x",
    "--constraint=x",
    "--prolog p",
    "--epilog p",
    "--task-prolog p",
    "--task-epilog p",
    "--slurmd-debug 1",
    "--signal 9",
    "--signal=9",
    "-d x",
    "--dependency x",
    "--nice",
    "--priority 1",
    "--reservation r",
    "--reboot",
    "--begin now",
    "--deadline x",
    "--comment c",
    "--mail-type x",
    "--mail-user x",
    "--network x",
    "--open-mode a",
    "--bcast",
    "--bcast=/tmp/x",
    "--compress",
    "--profile x",
    "--accel-bind x",
    "-E",
    "--preserve-slurm-env",
    "--het-group 0",
    "--tres-per-task x",
    "--uid 0",
    "--gid 0",
    "-S 1",
    "--core-spec 1",
    "--thread-spec 1",
    "--use-min-nodes",
    "--spread-job",
    "--switches 1",
    "--tmp 1",
    "--contiguous",
    "--cluster x",
    "-M x",
    "--clusters x",
    "--power x",
    "--container c",
    "--x11",
};

static char *environment[] = {"PATH=/bin", NULL};

/* Splits at spaces. True: taken. */
static bool is_taken(const char *line, struct err *err)
{
    char text[256];
    char *argv[16], *rest = text;
    struct submit_opts o;
    int argc = 0;

    *err = (struct err){0};
    snprintf(text, sizeof(text), "prun %s", line);
    while ((argv[argc] = strsep(&rest, " ")))
        argc++;
    if (submit_parse(argc, argv, environment, "/", &o, err) < 0)
        return false;
    submit_opts_free(&o);
    return true;
}

/* Options of ours that mean something else elsewhere, or take other values: our own error. */
static const struct {
    const char *line, *text;
} own_errors[] = {
    {"-s 0", "--preload-binary: program '0' is in no directory of PATH"},
    {"-x 0", "-x 0: not set in the environment"},
    {"-H", "neither a vpid nor a name"},
    {"--mpi=pmi2", "'pmi2' is not pmix"},
    {"--mpi=none", "'none' is not pmix"},
    {"--immediate=5", "--no-wait=5: takes no value"},
};

/* Refused by the name that was typed, or by an error of own_errors. */
static bool is_answered(const char *line, const struct err *err)
{
    FREE_AUTO char *text = xasprintf("there is no option %.*s: ", (int)strcspn(line, " ="), line);

    for (size_t i = 0; i < sizeof(own_errors) / sizeof(*own_errors); i++) {
        if (strcmp(line, own_errors[i].line) == 0)
            return strstr(err->msg, own_errors[i].text);
    }
    return strncmp(err->msg, text, strlen(text)) == 0;
}

static unsigned without_answer(const char *const *words, size_t n)
{
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++) {
        FREE_AUTO char *line = xasprintf("%s sh b", words[i]);
        struct err err;

        if (is_taken(line, &err) || is_answered(words[i], &err))
            continue;
        printf("%s: %s\n", words[i], err.msg);
        bad++;
    }
    return bad;
}

#define ALL_ANSWERED(words)                                                                        \
    assert_int_equal(without_answer((words), sizeof(words) / sizeof(*(words))), 0)

static void each_option_of_mpirun_is_taken_or_answered(void **state)
{
    ALL_ANSWERED(mpirun);
}

static void each_option_of_mpiexec_is_taken_or_answered(void **state)
{
    ALL_ANSWERED(mpiexec);
}

static void each_option_of_srun_is_taken_or_answered(void **state)
{
    ALL_ANSWERED(srun);
}

/* --- the table of refused options */

/* Calls check(name, advice) for each name of each row; adds up what it returns. */
static unsigned each_name(unsigned (*check)(const char *name, const char *advice))
{
    unsigned bad = 0;

    for (const struct words_refused *r = words_refused; r->options; r++) {
        FREE_AUTO char *names = xstrdup(r->options);
        char *rest = names;
        const char *name;

        while ((name = strsep(&rest, " ")))
            bad += check(name, r->advice);
    }
    return bad;
}

static unsigned check_line(const char *option, const char *rest, const char *advice)
{
    FREE_AUTO char *line = xasprintf("%s%s", option, rest);
    FREE_AUTO char *text = xasprintf("there is no option %s: %s", option, advice);
    struct err err;

    if (!is_taken(line, &err) && strcmp(err.msg, text) == 0)
        return 0;
    printf("'%s': '%s' is not '%s'\n", line, err.msg, text);
    return 1;
}

static unsigned check_spellings(const char *name, const char *advice)
{
    static const char *const rests[] = {"", " 5", "=5", " v", "=v", " sh"};
    FREE_AUTO char *one = xasprintf("%s%s", name[0] == '-' ? "" : "-", name);
    FREE_AUTO char *two = xasprintf("%s%s", name[0] == '-' ? "" : "--", name);
    unsigned bad = 0;

    for (size_t i = 0; i < sizeof(rests) / sizeof(*rests); i++)
        bad += check_line(one, rests[i], advice) + check_line(two, rests[i], advice);
    return bad + (name[0] == '-' ? check_line(one, "5", advice) : 0);
}

static void a_refused_option_gets_its_advice_alone_and_with_a_value_in_each_spelling(void **state)
{
    assert_int_equal(each_name(check_spellings), 0);
}

/* `option` has its dashes, and characters that are no part of it behind. */
static bool is_ours(const char *option)
{
    size_t len = strcspn(option, " =,;:)'[");

    if (option[1] != '-')
        return len == 2 && strchr(submit_shorts, option[1]);
    for (const struct option *o = submit_longs; o->name; o++) {
        if (strlen(o->name) + 2 == len && strncmp(o->name, option + 2, len - 2) == 0)
            return true;
    }
    return false;
}

/* Behind a command in quotes at `at`, of which only those of prun are looked at. */
static const char *skip_command(const char *at)
{
    const char *end = strchr(at + 1, '\'');

    return end && strncmp(at + 1, "prun ", 5) != 0 ? end : at;
}

static unsigned check_advice(const char *name, const char *advice)
{
    unsigned bad = 0;

    for (const char *at = advice; *at; at++) {
        bool begins = at == advice || at[-1] == ' ' || at[-1] == '\'';

        if (*at == '\'' && begins) {
            at = skip_command(at);
        } else if (*at == '-' && begins && !is_ours(at)) {
            printf("%s: its advice names %s\n", name, at);
            bad++;
        }
    }
    return bad;
}

static void each_option_that_an_advice_names_is_one_of_pruns(void **state)
{
    assert_false(is_ours("--frobnicate"));
    assert_false(is_ours("-c N"));
    assert_true(is_ours("--host LIST"));
    assert_int_equal(check_advice("x", "-x A, or --wait"), 1);
    assert_int_equal(check_advice("x", "'pterm --job J' or 'prun --wait'"), 1);
    assert_int_equal(each_name(check_advice), 0);
}

/* Options that ask for what prun does anyway, or by default, and the tests that show it. */
static const struct shown {
    const char *names, *file, *test;
} shown[] = {
    {"unbuffered -u", "dvm/test/run.bats",
     "@test \"output without the end of a line is passed on while the rank goes on\""},
    {"noprefix no-prefix no-app-prefix", "dvm/test/run.bats",
     "@test \"PATH and LD_LIBRARY_PATH of a rank are those of prun, without additions\""},
    {"disable-hostname-propagation", "dvm/tools/submit/test/test_options.c",
     "static void variables_of_this_shell_or_rank_are_not_sent(void **state)"},
    {"use-min-nodes", "dvm/test/local.bats",
     "@test \"ranks run where --host, -N and --map-by place them\""},
    {"nooversubscribe no-oversubscribe", "dvm/test/local.bats",
     "@test \"a job that can never fit fails at once with the numbers\""},
    {"kill-on-bad-exit -K disable-recovery", "dvm/test/run.bats",
     "@test \"the end of a job is reported with rank, node, reason, and core dump\""},
};

static const struct shown *find_shown(const char *names)
{
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
        if (strcmp(shown[i].names, names) == 0)
            return &shown[i];
    }
    return NULL;
}

static bool file_has(const char *path, const char *line)
{
    FILE *f = fopen(path, "r");
    char text[1024];
    bool found = false;

    if (!f)
        fail_msg("%s: the tests run in the root of the tree", path);
    while (!found && fgets(text, sizeof(text), f))
        found = strncmp(text, line, strlen(line)) == 0;
    fclose(f);
    return found;
}

static void each_option_that_prun_follows_anyway_has_a_test_that_shows_it(void **state)
{
    size_t n = 0;

    for (const struct words_refused *r = words_refused; r->options; r++) {
        const struct shown *test = find_shown(r->options);

        if (!strstr(r->advice, "anyway") && !strstr(r->advice, "this is the default"))
            continue;
        if (!test)
            fail_msg("no test shows that '%s' holds for %s", r->advice, r->options);
        else if (!file_has(test->file, test->test))
            fail_msg("%s has no test '%s'", test->file, test->test);
        n++;
    }
    assert_int_equal(n, sizeof(shown) / sizeof(*shown));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_option_of_mpirun_is_taken_or_answered),
        cmocka_unit_test(each_option_of_mpiexec_is_taken_or_answered),
        cmocka_unit_test(each_option_of_srun_is_taken_or_answered),
        cmocka_unit_test(a_refused_option_gets_its_advice_alone_and_with_a_value_in_each_spelling),
        cmocka_unit_test(each_option_that_an_advice_names_is_one_of_pruns),
        cmocka_unit_test(each_option_that_prun_follows_anyway_has_a_test_that_shows_it),
    };

    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
