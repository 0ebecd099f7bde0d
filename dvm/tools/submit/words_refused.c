/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of mpirun, mpiexec, srun and PRRTE that prun does not have, and what its error says about
 * them: the option or command to use, or the reason why there is none.
 *
 * An advice says "anyway" or "this is the default" only if prun does what the option asks for. For
 * each of these test_words.c names the test that shows it. Text in single quotes is a command; an
 * option outside them is prun's. */
#include "dvm/tools/submit/words.h"

#include <stddef.h>

const struct words_refused words_refused[] = {
    /* The choice of daemons */
    {"hostfile machinefile machine nodefile default-hostfile -f -F",
     "prun reads no file with hosts; --host LIST names daemons"},
    {"nodes", "--host LIST or --map-by node choose where ranks run"},
    {"exclude", "--host LIST names the daemons to use, for example 1-3,5"},
    {"relative -r contiguous", "--host LIST chooses daemons by vpid, for example 2-5"},
    {"add-host add-hostfile", "prun adds no daemons; 'prte resize N' and 'kubectl scale' do"},
    {"max-vm-size", "prun starts no daemons; 'prte resize N' and 'kubectl scale' set their number"},
    {"usize", "the universe size is the number of slots of the DVM"},
    {"localhost", "prun needs no name of its host; --host LIST chooses daemons"},
    {"order-nodes", "--map-by and --rank-by choose the order of ranks on the daemons"},
    {"constraint -C arch switches", "prun knows no features of hosts; --host LIST chooses daemons"},
    {"spread-job", "--map-by node deals the ranks out to all daemons"},
    {"use-min-nodes", "--map-by slot fills one daemon after the other; this is the default"},
    {"exclusive", "each rank has its slots alone; --oversubscribe changes it"},
    {"whole exact", "a job gets one slot for each rank; --map-by slot:pe=N takes N"},
    {"overlap", "--oversubscribe allows more ranks than slots"},
    {"no-kill -k", "--recoverable lets the others go on when a daemon is lost"},
    {"partition -p account -A reservation cluster clusters -M jobid rmk no-allocate -Z hnp",
     "a DVM is one set of daemons; --dvm names it"},
    {"dvm-uri report-uri", "--dvm DIR|SOCKET|HOST[:PORT] names the DVM"},

    /* The places of the ranks */
    {"rankfile rf cpu-list cpu-set slot-list hint extra-node-info -B sockets-per-node "
     "cores-per-socket threads-per-core",
     "--map-by, --rank-by and --bind-to choose where ranks run"},
    {"npersocket ntasks-per-socket", "--map-by ppr:N:package puts N ranks on each package"},
    {"ntasks-per-core", "--map-by ppr:N:core puts N ranks on each core"},
    {"ppr", "--map-by ppr:N:node, or another object, does that"},
    {"cpu-bind cpu_bind", "--bind-to does that"},
    {"mem-bind mem_bind membind", "prun binds no memory; --bind-to numa binds to CPUs of one node"},
    {"distribution -m", "--map-by and --rank-by do that"},
    {"cpus-per-proc cpus-per-rank cpus-per-task -c", "--map-by slot:pe=N gives each rank N cores"},
    {"use-hwthread-cpus", "slots are hardware threads already (docs/prun/mapping.md, Slots)"},
    {"nooversubscribe no-oversubscribe", "this is the default; --oversubscribe changes it"},
    {"hetero topolib", "each daemon finds out its own CPUs; --display bind shows those of ranks"},
    {"display-topo", "--display bind shows the CPUs of the ranks"},
    {"display-devel-map display-diffable-map output-proctable",
     "--display map shows where ranks run"},
    {"display-allocation display-devel-allocation", "'pstat' shows the daemons and their slots"},
    {"mem mem-per-cpu mem-per-gpu gpus gpus-per-node gpus-per-task gpus-per-socket gpus-per-proc "
     "gpu-subdevs-per-proc -G gpu-bind gpu-freq accel-bind cpu-freq gres gres-flags tres-per-task "
     "mincpus core-spec -S thread-spec tmp",
     "the limits of the daemons' pods hold for ranks"},
    {"network iface", "ranks have the networks of their daemon's pod or host"},

    /* Environment, directory and files of the ranks */
    {"export genvall envall preserve-env preserve-slurm-env -E",
     "the environment is passed on; -x VAR[=VALUE] adds to it"},
    {"genv env export-file", "-x VAR=VALUE sets a variable"},
    {"genvlist genvnone envlist envnone",
     "the environment is passed on; 'env -u VAR prun ...' leaves a variable out"},
    {"prtemca", "the daemons have no such parameters"},
    {"gmca gomca", "--mca NAME VALUE sets one for the ranks"},
    {"gpmixmca", "--pmixmca NAME VALUE sets one for the ranks"},
    {"tune am amca", "--mca NAME VALUE or -x VAR=VALUE sets each parameter"},
    {"initial-errhandler", "MPI_Comm_set_errhandler in the program does that"},
    {"memory-alloc-kinds", "a program asks by mpi_memory_alloc_kinds in MPI_Session_init"},
    {"display-comm display-comm-finalize", "prun does not see which transports MPI uses"},
    {"prefix app-prefix pmix-prefix app-pmix-prefix",
     "ranks run what their daemon's image has; -x PATH=... and --wdir set where to look"},
    {"noprefix no-prefix no-app-prefix",
     "prun does so anyway: it adds nothing to PATH and LD_LIBRARY_PATH"},
    {"path container", "ranks run what their daemon's image has; -x PATH=... sets where to look"},
    {"disable-hostname-propagation", "prun does so anyway: HOSTNAME is not passed on"},
    {"enable-x disable-x x11",
     "prun has no tunnel for X11; -x DISPLAY=HOST:N names a display, -x DISPLAY= takes it away"},
    {"propagate",
     "ranks have the limits of their daemon; 'ulimit' in a script around the program lowers them"},
    {"index-argv-by-rank", "argv[0] is the program's name; PMIX_RANK holds the rank"},
    {"personality", "ranks of each MPI library are started by PMIx; --mpi=pmix is accepted"},
    {"pset", "programs of a job get no names; PMIX_APPNUM is the number of a program"},
    {"gid uid", "ranks run as the user of their daemon"},
    {"app configfile file multi-prog het-group",
     "write the programs here, with ' : ' between them"},
    {"soft", "-n N is the exact number of ranks"},
    {"set-cwd-to-session-dir", "--preload-files FILES starts the ranks in a directory of the job"},
    {"bcast compress", "--preload-files FILES and --preload-binary bring files along"},

    /* Input and output */
    {"input -i", "--stdin RANK|all|none names the ranks that read standard input"},
    {"output-filename output-directory outfile-pattern errfile-pattern -o error -e",
     "--output dir=PATH writes the output into files"},
    {"open-mode", "--output dir=PATH writes each job's files into a directory of its own"},
    {"prepend-pattern", "--output tag,timestamp begins each line with rank and time"},
    {"xml xml-file parseable parsable",
     "prun writes no XML; --output tag names the rank of each line, 'pstat --json' the jobs"},
    {"unbuffered -u", "prun does so anyway: output is passed on as it comes"},
    {"stream-buffering", "prun does not set the ranks' buffers; 'stdbuf -oL PROGRAM' does"},
    {"xterm", "ranks have no terminals; --output dir=PATH keeps their output apart"},
    {"pty", "ranks have no terminals; --stdin RANK|all|none names those that read input"},

    /* Waiting, ending and failing */
    {"time -t time-min deadline", "--timeout S takes seconds"},
    {"wait -W", "a job ends with its last rank; --timeout S limits its time"},
    {"spawn-timeout", "--timeout S limits the time of a job and of those that it spawns"},
    {"kill-on-bad-exit -K disable-recovery", "this is the default; --recoverable changes it"},
    {"disable-auto-cleanup",
     "processes of a job that fails are ended; --recoverable lets the others go on"},
    {"max-restarts continuous", "no rank is started again; --recoverable lets the others go on"},
    {"with-ft", "--recoverable lets the others go on when a rank is lost"},
    {"print-all-exitcodes",
     "prun reports the rank that failed first; with --recoverable the first 8 of them"},
    {"report-child-jobs-separately",
     "the code of a spawned job that fails counts; with --recoverable it does not"},
    {"disable-status -X", "the first Ctrl-C ends the job; prun shows no states before"},
    {"forward-signals signal",
     "SIGUSR1 and SIGUSR2 are passed on; 'pterm --job JOB --signal SIGNAL' sends others"},
    {"ckpoint-prefix", "prun makes no checkpoints"},
    {"qos licenses -L dependency -d priority nice begin hold reboot power comment mail-type "
     "mail-user",
     "a DVM is no batch system: jobs wait for slots in the order of their submission"},
    {"job-name -J", "the DVM names its jobs; 'prun -v' prints the name"},
    {"report-pid", "'pstat' shows the jobs"},
    {"report-events", "'pstat --watch-events' shows the events of the DVM"},
    {"terminate", "'prte stop' and 'pterm' end a DVM"},
    {"info", "--version prints the version"},

    /* Debuggers */
    {"tv debug gdb debugger debug-devel",
     "--stop-on-exec, --stop-in-init and --stop-in-app stop ranks for a debugger"},
    {"get-stack-traces", "prun takes no stack traces; --stop-in-init stops ranks for a debugger"},
    {"report-state-on-timeout", "'pstat' shows the states of jobs at any time"},
    {"profile", "prun takes no profiles"},

    /* Daemons, which run before prun starts */
    {"launcher launcher-exec bootstrap bootstrap-exec launch-agent demux pmi-port singleton "
     "fwd-mpirun-port leave-session-attached no-ready-msg novm use-regexp threads -T tmpdir",
     "the daemons run already, and prun starts none; 'prte start' and 'prted' have their own "
     "options"},
    {"debug-daemons debug-daemons-file slurmd-debug",
     "DVM_LOG_LEVEL=debug makes daemons log more, if it is set when they start"},
    {"nameserver ompi-server server-wait-time", "the daemons keep published names themselves"},
    {"do-not-resolve", "--host LIST takes vpids and names that end with them; none is resolved"},
    {"prolog epilog task-prolog task-epilog", "'sh -c' can run commands around the program"},
    {NULL, NULL},
};
