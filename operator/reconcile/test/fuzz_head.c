/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the connection to a head: the input is what a head sends, line by line.
 *
 * A line "=…" is the answer to the oldest request, "#410" ends the stream with that status, any
 * other line is one of the event stream. With each view a plan and a status are made. */
#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/loop/test/clock.h"
#include "operator/http/test/fake_http.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>
#include <string.h>

/* The longest pause of the client. */
#define PAUSE_MS 10000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static json_t *object; /* the DvmCluster */

static void on_change(void *arg)
{
}

static void on_warning(const char *what, const char *why, void *arg)
{
    if (!*what)
        abort();
}

static void on_event(const struct api_event *event, void *arg)
{
    if (event->number == 0)
        abort();
}

/* Plan and status must come out of any view. */
static void use_view(struct headlink *link)
{
    struct err err = {0};
    struct cluster c = {0};
    struct view *view;
    struct plan_input in = {.cluster = &c, .credentials = true, .now_ms = 1700000000000};

    headlink_look(link, &in.head, &view);
    if (cluster_decode(object, &c, &err) || cluster_decode_spec(object, &c, &err))
        abort();
    for (size_t i = 0; i < CLUSTER_CHILDREN; i++)
        in.child[i] = (struct plan_child_seen){.exists = true, .replicas = 2, .uid = "u"};
    PLAN_AUTO struct plan *plan = plan_make(&in);
    json_t *status = status_build(&in, plan, NULL);
    json_decref(status);
    cluster_free(&c);
    headlink_view_release(view);
}

static void take_line(const char *line, size_t len)
{
    struct http_call *stream = fake_http_find(true), *call = fake_http_find(false);

    if (len > 1 && line[0] == '#' && stream)
        fake_http_end(stream, (int)(strtoul(line + 1, NULL, 10) % 600), "", 0);
    else if (line[0] == '=' && call)
        fake_http_end(call, 200, line + 1, len - 1);
    else if (stream)
        fake_http_line(stream, line, len);
    if (!fake_http_find(true)) {
        clock_run_for(loop, PAUSE_MS);
        fake_http_open(fake_http_find(true));
        clock_run_for(loop, HEADLINK_VIEW_MS);
    }
    clock_run_for(loop, HEADLINK_GATHER_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FREE_AUTO char *text = xasprintf("%.*s", (int)size, (const char *)data);
    struct err err = {0};
    struct http *http = http_create(loop, &err);
    const struct headlink_opts o = {.host = "x",
                                    .ca_pem = "",
                                    .cert_pem = "",
                                    .key_pem = "",
                                    .http = http,
                                    .on_change = on_change,
                                    .on_event = on_event,
                                    .on_warning = on_warning};
    struct headlink *link = headlink_create(loop, &o, &err);

    clock_turn(loop);
    fake_http_open(fake_http_find(true));
    clock_run_for(loop, HEADLINK_VIEW_MS);
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");

        take_line(at, len);
        use_view(link);
        at += len + (at[len] != '\0');
    }
    headlink_destroy(link);
    http_destroy(http);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct err err = {0};

    loop = loop_create(&err);
    object = json_loads("{\"metadata\": {\"name\": \"x\", \"namespace\": \"ns\", \"uid\": \"u\", "
                        "\"resourceVersion\": \"1\", \"generation\": 1}, "
                        "\"spec\": {\"replicas\": 2, \"applicationLimits\": {\"max\": 8}}}",
                        0, NULL);
    if (!loop || !object)
        abort();
    log_init("fuzz", LOG_LEVEL_ERROR);
    return 0;
}
