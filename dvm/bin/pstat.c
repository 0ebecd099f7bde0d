/* SPDX-License-Identifier: BSD-3-Clause */
/* pstat: shows members, tree, jobs and campaigns of a DVM, its events as they happen, and the links
 * of one daemon.
 *
 * In: the answer to GET /v1/dvm or GET /v1/links, or the event stream of a daemon. Out: tables,
 * lines or JSON on standard output. With --json the view and the events are not decoded, so unknown
 * fields stay.
 *
 * Failures: the exit code is 1 if the DVM does not answer, and 2 if the command line is wrong.
 * --watch-events flushes each line, since programs read it. It ends with 0 when the daemon closes
 * the stream, and does not connect again. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "base/text/printable.h"
#include "dvm/tools/cli/call.h"
#include "dvm/tools/cli/show.h"
#include "dvm/tools/cli/usage.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: pstat [--json] [members|tree|jobs|campaigns|links]\n"
    "  or:  pstat --watch-events [--json]\n"
    "\n"
    "Shows a DVM: a summary, its members, jobs and campaigns, or only one of them.\n"
    "\n"
    "  members        the daemons: state, host, slots, place in the tree\n"
    "  tree           how the daemons are connected\n"
    "  jobs           running, held and queued jobs with the reason, and the last 64 that ended\n"
    "  campaigns      changes of size: phase, time taken, jobs that they wait for\n"
    "  links          the connections of the daemon that answers, to its parent and children\n"
    "\n"
    "      --json            JSON as of the control API (docs/control-api.md), whole or that part\n"
    "      --watch-events    print events from now on, one a line, until "
    "interrupted\n" CLI_WHERE_HELP "  -h, --help            this text\n"
    "      --version         the version\n"
    "\n"
    "Exit code: 0, 1 if the DVM does not answer, 2 if the command line is wrong.\n";

enum { OPT_JSON = 256, OPT_WATCH, OPT_DVM, OPT_TLS_DIR, OPT_HELP, OPT_VERSION };

static const struct option longs[] = {
    {"json", no_argument, NULL, OPT_JSON},
    {"watch-events", no_argument, NULL, OPT_WATCH},
    {"dvm", required_argument, NULL, OPT_DVM},
    {"tls-dir", required_argument, NULL, OPT_TLS_DIR},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

struct part {
    const char *name;
    const char *key; /* in the JSON view; NULL: the links, which are no part of it */
    void (*show)(const struct api_dvm *d, FILE *out);
};

static const struct part parts[] = {
    {"members", "members", show_members},
    {"tree", "members", show_tree},
    {"jobs", "jobs", show_jobs},
    {"campaigns", "campaigns", show_campaigns},
    {"links", NULL, NULL},
};

struct args {
    const char *dvm, *tls_dir;
    const struct part *part; /* NULL: everything */
    bool json, watch, help, version;
};

static int set_part(struct args *a, const char *name, struct err *err)
{
    if (a->part)
        return err_set(err, "'%s' after '%s': one at a time", name, a->part->name);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(parts[i].name, name) == 0)
            a->part = &parts[i];
    }
    return a->part ? 0
                   : err_set(err, "'%s' is not one of members, tree, jobs, campaigns, links", name);
}

static int parse_args(int argc, char **argv, struct args *a, struct err *err)
{
    int opt;

    opterr = 0;
    while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (opt == '?' || opt == ':')
            return cli_option_error(opt, argv, err);
        if (opt == OPT_DVM)
            a->dvm = optarg;
        if (opt == OPT_TLS_DIR)
            a->tls_dir = optarg;
        a->json = a->json || opt == OPT_JSON;
        a->watch = a->watch || opt == OPT_WATCH;
        a->help = a->help || opt == OPT_HELP || opt == 'h';
        a->version = a->version || opt == OPT_VERSION;
    }
    for (; optind < argc; optind++) {
        if (set_part(a, argv[optind], err) < 0)
            return -1;
    }
    if (a->watch && a->part)
        return err_set(err, "--watch-events and '%s' contradict each other", a->part->name);
    return 0;
}

/* Each line is flushed at once, since programs read it. */
static int print_line(const struct args *a, const char *line, struct err *err)
{
    json_t *o = a->json ? NULL : json_loads(line, 0, NULL);
    struct api_event e;

    if (a->json) {
        printable_json(line, stdout);
        putchar('\n');
    } else if (api_event_decode(o, &e, err) < 0) {
        return -1;
    } else {
        show_event(&e, stdout);
        api_event_free(&e);
    }
    json_decref(o);
    return fflush(stdout) == 0 ? 0 : err_set(err, "standard output cannot be written");
}

static int watch_dvm(struct cli_conn *c, const struct args *a, struct err *err)
{
    char *line;
    int got;

    if (cli_events_begin(c, err) < 0)
        return -1;
    while ((got = cli_events_line(c, -1, &line, err)) > 0) {
        int rc = print_line(a, line, err);

        free(line);
        if (rc < 0)
            return -1;
    }
    return got;
}

static bool wants_links(const struct args *a)
{
    return a->part && !a->part->key;
}

static int print_json(struct cli_conn *c, const struct args *a, struct err *err)
{
    const char *path = wants_links(a) ? "/v1/links" : "/v1/dvm";
    json_t *view = cli_call(c, "GET", path, NULL, NULL, err);
    FREE_AUTO char *text = NULL;
    json_t *shown = view;

    if (!view)
        return -1;
    if (a->part && a->part->key)
        shown = json_pack("{s:O}", a->part->key, json_object_get(view, a->part->key));
    text = json_dumps(shown, JSON_INDENT(2));
    printable_json(text, stdout);
    putchar('\n');
    if (shown != view)
        json_decref(shown);
    json_decref(view);
    return 0;
}

static int print_links(struct cli_conn *c, struct err *err)
{
    struct api_links l;

    if (cli_call_links(c, &l, err) < 0)
        return -1;
    show_links(&l, stdout);
    api_links_free(&l);
    return 0;
}

static int print_text(struct cli_conn *c, const struct args *a, struct err *err)
{
    struct api_dvm d;

    if (wants_links(a))
        return print_links(c, err);
    if (cli_call_dvm(c, &d, err) < 0)
        return -1;
    if (a->part) {
        a->part->show(&d, stdout);
    } else {
        show_summary(&d, stdout);
        putchar('\n');
        show_members(&d, stdout);
        putchar('\n');
        show_jobs(&d, stdout);
        putchar('\n');
        show_campaigns(&d, stdout);
    }
    api_dvm_free(&d);
    return 0;
}

static int run_command(const struct args *a, struct cli_where *where, struct err *err)
{
    struct cli_conn *c = cli_connect(where, err);
    int rc;

    if (!c)
        return -1;
    if (a->watch)
        rc = watch_dvm(c, a, err);
    else
        rc = a->json ? print_json(c, a, err) : print_text(c, a, err);
    cli_conn_free(c);
    return rc;
}

int main(int argc, char **argv)
{
    CLI_WHERE_AUTO struct cli_where where = {0};
    struct args a = {0};
    struct err err = {0};

    heap_guard_json();
    cli_open_std();
    if (parse_args(argc, argv, &a, &err) < 0 || cli_find(a.dvm, a.tls_dir, &where, &err) < 0)
        return cli_usage("pstat", "%s", err.msg);
    if (a.help)
        fputs(help, stdout);
    else if (a.version)
        puts("pstat " DVM_VERSION);
    else if (run_command(&a, &where, &err) < 0)
        return cli_fail("pstat", EXIT_FAILURE, &err);
    return fflush(stdout) == 0 ? 0 : EXIT_FAILURE;
}
