/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the control API over HTTPS with real certificates, and of the plain port. */
#include "dvm/host/ctl/ctl.h"

#include "base/buf/buf.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    struct loop *loop;
    struct core *core;
    struct tls_ctx *tls;
    struct ctl *ctl;
    char dir[64];
};

/* One request of a client, made on a thread of its own while the test's thread runs the loop. */
struct ask {
    struct world *w;
    const char *role; /* NULL: the plain port */
    const char *method;
    const char *path;
    const char *body;
    size_t enough; /* lines after which a stream is left; 0: until its end */
    size_t lines;
    bool opened; /* the answer has begun */
    long status;
    char text[65536];
    size_t len;
};

static void on_drain(void *arg)
{
    struct world *w = arg;
    struct out_act act;

    while (core_next(w->core, &act)) {
        if (act.kind == OUT_EVENT)
            ctl_on_event(w->ctl, act.event.number);
        out_act_free(&act);
    }
}

static void write_file(const struct world *w, const char *role, const char *what, const char *text)
{
    FREE_AUTO char *path = xasprintf("%s/%s.%s", w->dir, role, what);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void issue(const struct world *w, struct tls_ca *ca, const char *role)
{
    const char *names[] = {"127.0.0.1", NULL};
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;
    FREE_AUTO char *trust = tls_ca_cert_pem(ca);

    assert_int_equal(tls_ca_issue(ca, role, role, names, 1, &cert, &key, NULL), 0);
    write_file(w, role, "crt", cert);
    write_file(w, role, "key", key);
    write_file(w, role, "ca", trust);
}

/* The head trusts two authorities; an operator of the other cluster has a certificate of its own.
 */
static void issue_all(const struct world *w)
{
    static const char *const roles[] = {"head", "member", "operator", "user"};
    struct tls_ca *ca = tls_ca_create("local/test", 1, NULL);
    struct tls_ca *other = tls_ca_create("local/other", 1, NULL);
    const char *names[] = {NULL};
    FREE_AUTO char *trust = tls_ca_cert_pem(ca);
    FREE_AUTO char *more = tls_ca_cert_pem(other);
    FREE_AUTO char *both = xasprintf("%s%s", trust, more);
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    for (size_t i = 0; i < 4; i++)
        issue(w, ca, roles[i]);
    assert_int_equal(tls_ca_issue(other, "operator", "operator", names, 1, &cert, &key, NULL), 0);
    write_file(w, "foreign", "crt", cert);
    write_file(w, "foreign", "key", key);
    write_file(w, "foreign", "ca", trust);
    write_file(w, "head", "ca", both);
    tls_ca_destroy(ca);
    tls_ca_destroy(other);
}

static struct tls_ctx *head_tls(const struct world *w)
{
    FREE_AUTO char *ca = xasprintf("%s/head.ca", w->dir);
    FREE_AUTO char *cert = xasprintf("%s/head.crt", w->dir);
    FREE_AUTO char *key = xasprintf("%s/head.key", w->dir);
    struct tls_files files = {ca, cert, key};

    return tls_ctx_create(&files, NULL);
}

static int setup_daemon(void **state, uint32_t vpid)
{
    struct world *w = xcalloc(1, sizeof(*w));
    struct core_opts co = {.vpid = vpid,
                           .cluster = "local/test",
                           .host = "here",
                           .address = "",
                           .join_port = 1,
                           .head_host = "127.0.0.1",
                           .head_port = 1,
                           .radix = 2,
                           .incarnation = vpid ? 0 : 0x5f3a};
    struct ctl_opts opts = {
        .control_addr = "127.0.0.1", .plain_addr = "127.0.0.1", .drain = on_drain, .drain_arg = w};

    snprintf(w->dir, sizeof(w->dir), "/tmp/ctl-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    issue_all(w);
    w->loop = loop_create(NULL);
    w->core = core_create(&co, loop_now_ms(w->loop), loop_wall_ms());
    w->tls = opts.tls = head_tls(w);
    w->ctl = ctl_create(w->loop, w->core, &opts, NULL);
    assert_non_null(w->ctl);
    on_drain(w);
    *state = w;
    return 0;
}

static int setup_head(void **state)
{
    return setup_daemon(state, 0);
}

static int setup_member(void **state)
{
    return setup_daemon(state, 2);
}

static int teardown(void **state)
{
    static const char *const files[] = {"head", "member", "operator", "user"};
    static const char *const ends[] = {"ca", "crt", "key"};
    struct world *w = *state;

    ctl_destroy(w->ctl);
    core_destroy(w->core);
    tls_ctx_destroy(w->tls);
    loop_destroy(w->loop);
    for (size_t i = 0; i < 12; i++) {
        FREE_AUTO char *path = xasprintf("%s/%s.%s", w->dir, files[i / 3], ends[i % 3]);

        unlink(path);
    }
    rmdir(w->dir);
    free(w);
    return 0;
}

/* --- the client */

static void put_size_now(void *arg)
{
    struct world *w = arg;
    struct api_size s = {.sequence = 9, .members = 3};
    struct api_size out;
    enum api_reason reason;

    core_time(w->core, loop_now_ms(w->loop), loop_wall_ms());
    assert_int_equal(core_size_put(w->core, &s, &out, &reason, NULL), 0);
    on_drain(w);
}

/* When the answer of a stream has begun, an event for it is made. */
static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct ask *a = arg;

    if (a->enough && !a->opened && n == 2) {
        a->opened = true;
        loop_post(a->w->loop, put_size_now, a->w);
    }
    return size * n;
}

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
    struct ask *a = arg;

    assert_true(a->len + n < sizeof(a->text));
    memcpy(a->text + a->len, data, n);
    a->len += n;
    for (size_t i = 0; i < n; i++)
        a->lines += data[i] == '\n';
    return a->enough && a->lines >= a->enough ? 0 : size * n;
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

static void set_tls(CURL *curl, const struct ask *a, char *const path[3])
{
    curl_easy_setopt(curl, CURLOPT_CAINFO, path[0]);
    curl_easy_setopt(curl, CURLOPT_SSLCERT, path[1]);
    curl_easy_setopt(curl, CURLOPT_SSLKEY, path[2]);
}

static void *ask_main(void *arg)
{
    struct ask *a = arg;
    const char *role = a->role ? a->role : "user";
    FREE_AUTO char *url =
        xasprintf("%s://127.0.0.1:%u%s", a->role ? "https" : "http",
                  a->role ? ctl_control_port(a->w->ctl) : ctl_plain_port(a->w->ctl), a->path);
    FREE_AUTO char *ca = xasprintf("%s/%s.ca", a->w->dir, role);
    FREE_AUTO char *cert = xasprintf("%s/%s.crt", a->w->dir, role);
    FREE_AUTO char *key = xasprintf("%s/%s.key", a->w->dir, role);
    CURL *curl = curl_easy_init();

    if (a->role)
        set_tls(curl, a, (char *[]){ca, cert, key});
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, a->method);
    if (a->body)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, a->body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, a);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    (void)curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &a->status);
    curl_easy_cleanup(curl);
    loop_post(a->w->loop, stop_loop, a->w->loop);
    return NULL;
}

static void ask(struct ask *a)
{
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, ask_main, a), 0);
    assert_int_equal(loop_run(a->w->loop, NULL), 0);
    pthread_join(t, NULL);
}

static void assert_asked(struct ask *a, long status, const char *text)
{
    ask(a);
    if (a->status != status || !strstr(a->text, text))
        fail_msg("%s %s: %ld %s, not %ld with '%s'", a->method, a->path, a->status, a->text, status,
                 text);
}

/* --- HTTPS */

/* The certificate does not change the size; the operator's does. */
static void assert_role_refused(struct world *w, const char *role, const char *text)
{
    struct ask a = {.w = w,
                    .role = role,
                    .method = "PUT",
                    .path = "/v1/size",
                    .body = "{\"sequence\":1,\"members\":2}"};
    struct ask b = a;

    assert_asked(&a, 403, text);
    b.role = "operator";
    assert_asked(&b, 200, "\"members\":2");
}

static void a_certificate_s_role_decides(void **state)
{
    assert_role_refused(*state, "member", "RoleNotAllowed");
}

static void a_certificate_of_another_cluster_is_refused(void **state)
{
    assert_role_refused(*state, "foreign", "the certificate is one of local/other");
}

static void a_request_without_a_certificate_is_not_answered(void **state)
{
    struct ask a = {.w = *state, .role = "nobody", .method = "GET", .path = "/v1/dvm"};

    ask(&a);
    assert_int_equal(a.status, 0);
}

static void a_bad_id_or_body_is_refused_and_the_id_of_the_path_is_used(void **state)
{
    struct ask a = {.w = *state,
                    .role = "operator",
                    .method = "PUT",
                    .path = "/v1/campaigns/some%20id",
                    .body = "{"};
    struct ask b = {.w = *state,
                    .role = "operator",
                    .method = "PUT",
                    .path = "/v1/campaigns/some-id",
                    .body = "{\"sequence\":1,\"kind\":\"shrink\",\"targets\":[1]}"};

    assert_asked(&a, 400, "BadRequest");
    assert_asked(&b, 200, "\"id\":\"some-id\"");
}

static void a_field_that_no_verb_reads_is_refused_by_its_name(void **state)
{
    static const struct {
        const char *path, *body;
    } puts[] = {
        {"/v1/campaigns/a", "{\"sequence\":1,\"kind\":\"shrink\",\"targets\":[1],\"wrong\":1}"},
        {"/v1/campaigns/a/cancel", "{\"wrong\":1}"},
        {"/v1/jobs/7.1/continue", "{\"wrong\":1}"},
        {"/v1/jobs/7.1/signal", "{\"signal\":15,\"wrong\":1}"},
        {"/v1/size", "{\"sequence\":1,\"members\":1,\"wrong\":1}"},
        {"/v1/shutdown", "{\"deadlineSeconds\":1,\"wrong\":1}"},
    };

    for (size_t i = 0; i < sizeof(puts) / sizeof(*puts); i++) {
        struct ask a = {.w = *state,
                        .role = "operator",
                        .method = "PUT",
                        .path = puts[i].path,
                        .body = puts[i].body};

        assert_asked(&a, 400, "wrong: there is no such field");
    }
}

static void a_verb_without_a_body_takes_none_or_an_empty_object(void **state)
{
    static const char *const bodies[] = {"", "{}"};
    struct ask bad = {.w = *state,
                      .role = "operator",
                      .method = "PUT",
                      .path = "/v1/campaigns/a/cancel",
                      .body = "[]"};

    for (size_t i = 0; i < 2; i++) {
        struct ask a = {.w = *state,
                        .role = "operator",
                        .method = "PUT",
                        .path = "/v1/campaigns/a/cancel",
                        .body = bodies[i]};

        assert_asked(&a, 404, "NotFound");
    }
    assert_asked(&bad, 400, "not an object");
}

static void unknown_paths_and_methods_are_refused(void **state)
{
    struct ask a = {.w = *state, .role = "user", .method = "GET", .path = "/v1/nope"};
    struct ask b = {.w = *state, .role = "user", .method = "DELETE", .path = "/v1/dvm"};

    assert_asked(&a, 404, "NotFound");
    assert_asked(&b, 405, "MethodNotAllowed");
}

static void a_stream_over_https_carries_an_event_as_a_line(void **state)
{
    struct ask a = {
        .w = *state, .role = "user", .method = "GET", .path = "/v1/events", .enough = 1};

    assert_asked(&a, 200, "\"type\":\"Size\"");
    assert_int_equal(a.text[a.len - 1], '\n');
}

static void the_view_stands_between_the_kept_events_and_the_new_ones(void **state)
{
    struct world *w = *state;
    struct ask a = {
        .w = w, .role = "operator", .method = "GET", .path = "/v1/events?view=1", .enough = 2};
    FREE_AUTO char *path = xasprintf("/v1/events?incarnation=%s&from=%" PRIu64 "&view=1",
                                     core_incarnation(w->core), core_event_next(w->core));
    struct ask b = {.w = w, .role = "operator", .method = "GET", .path = path, .enough = 2};

    assert_asked(&a, 200, "\"type\":\"Size\"");
    assert_ptr_equal(strstr(a.text, "{\"type\":\"View\",\"dvm\":{"), a.text);
    assert_asked(&b, 200, "\n{\"type\":\"View\",\"dvm\":{");
    assert_non_null(strstr(b.text, "\"size\":{\"sequence\":9,\"members\":3"));
    const char *size = strstr(b.text, "\"type\":\"Size\"");
    assert_true(size && size < strchr(b.text, '\n'));
}

/* Of no daemon: it is complete at once. Its record has some 350 KB. */
static void put_large_shrink(struct world *w, const char *id, uint64_t sequence)
{
    enum { TARGETS = 60000 };
    struct api_campaign_request r = {.sequence = sequence,
                                     .kind = API_KIND_SHRINK,
                                     .deadline_s = -1,
                                     .ntargets = TARGETS,
                                     .targets = xcalloc(TARGETS, sizeof(*r.targets))};
    struct api_campaign out = {0};
    enum api_reason reason;

    for (uint32_t i = 0; i < TARGETS; i++)
        r.targets[i] = i + 5;
    core_time(w->core, loop_now_ms(w->loop), loop_wall_ms());
    assert_int_equal(core_campaign_put(w->core, id, &r, &out, &reason, NULL), 0);
    assert_int_equal(out.phase, API_PHASE_COMPLETE);
    api_campaign_free(&out);
    free(r.targets);
    on_drain(w);
}

static void a_view_that_is_too_large_for_a_stream_is_left_out(void **state)
{
    struct ask a = {
        .w = *state, .role = "operator", .method = "GET", .path = "/v1/events?view=1", .enough = 1};

    put_large_shrink(a.w, "a", 1);
    put_large_shrink(a.w, "b", 2);
    assert_asked(&a, 200, "\"type\":\"Size\"");
    assert_null(strstr(a.text, "View"));
}

static void a_stream_that_its_reader_left_is_forgotten(void **state)
{
    struct ask a = {
        .w = *state, .role = "user", .method = "GET", .path = "/v1/events", .enough = 1};
    struct ask b = {.w = *state, .method = "GET", .path = "/metrics"};

    assert_asked(&a, 200, "Size");
    assert_asked(&b, 200, "dvm_event_streams 0\n");
}

static void a_foreign_incarnation_is_answered_with_gone(void **state)
{
    struct ask a = {.w = *state,
                    .role = "user",
                    .method = "GET",
                    .path = "/v1/events?incarnation=0000000000000001&from=3"};

    assert_asked(&a, 410, "Gone");
}

/* --- the plain port */

static void a_head_is_healthy_and_ready(void **state)
{
    struct ask a = {.w = *state, .method = "GET", .path = "/healthz"};
    struct ask b = {.w = *state, .method = "GET", .path = "/readyz"};

    assert_asked(&a, 200, "ok");
    assert_asked(&b, 200, "");
}

static void a_member_that_has_not_joined_is_healthy_but_not_ready(void **state)
{
    struct ask a = {.w = *state, .method = "GET", .path = "/healthz"};
    struct ask b = {.w = *state, .method = "GET", .path = "/readyz"};

    assert_asked(&a, 200, "ok");
    assert_asked(&b, 503, core_state_text(((struct world *)*state)->core));
}

static void the_plain_port_does_not_tell_the_incarnation(void **state)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/metrics"};
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct ask a = {.w = w, .method = "GET", .path = paths[i]};

        assert_asked(&a, 200, "");
        assert_null(strstr(a.text, core_incarnation(w->core)));
    }
}

static void the_control_api_is_not_on_the_plain_port(void **state)
{
    struct ask a = {.w = *state, .method = "GET", .path = "/v1/dvm"};

    assert_asked(&a, 404, "");
}

static void metrics_of_a_head_count_members_and_campaigns(void **state)
{
    struct ask a = {.w = *state, .method = "GET", .path = "/metrics"};

    assert_asked(&a, 200, "dvm_daemon_state{state=\"wired\"} 1\n");
    assert_non_null(strstr(a.text, "dvm_members{state=\"wired\"} 1\n"));
    assert_non_null(strstr(a.text, "dvm_campaigns{phase=\"Draining\"} 0\n"));
    assert_non_null(strstr(a.text, "# TYPE dvm_tree_repairs_total counter\n"));
}

static void metrics_of_a_member_have_no_values_of_the_head(void **state)
{
    struct ask a = {.w = *state, .method = "GET", .path = "/metrics"};

    assert_asked(&a, 200, "dvm_daemon_state{state=\"joining\"} 1\n");
    assert_null(strstr(a.text, "dvm_members{"));
    assert_non_null(strstr(a.text, "dvm_links{state=\"up\"} 0\n"));
    assert_non_null(strstr(a.text, "# TYPE dvm_links_lost_total counter\n"));
    assert_non_null(strstr(a.text, "dvm_tls_handshakes_total{kind=\"resumed\"} 0\n"));
}

#define HEAD(f) cmocka_unit_test_setup_teardown(f, setup_head, teardown)
#define MEMBER(f) cmocka_unit_test_setup_teardown(f, setup_member, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEAD(a_certificate_s_role_decides),
        HEAD(a_certificate_of_another_cluster_is_refused),
        HEAD(a_request_without_a_certificate_is_not_answered),
        HEAD(a_bad_id_or_body_is_refused_and_the_id_of_the_path_is_used),
        HEAD(a_field_that_no_verb_reads_is_refused_by_its_name),
        HEAD(a_verb_without_a_body_takes_none_or_an_empty_object),
        HEAD(unknown_paths_and_methods_are_refused),
        HEAD(a_stream_over_https_carries_an_event_as_a_line),
        HEAD(the_view_stands_between_the_kept_events_and_the_new_ones),
        HEAD(a_view_that_is_too_large_for_a_stream_is_left_out),
        HEAD(a_stream_that_its_reader_left_is_forgotten),
        HEAD(a_foreign_incarnation_is_answered_with_gone),
        HEAD(a_head_is_healthy_and_ready),
        HEAD(the_plain_port_does_not_tell_the_incarnation),
        MEMBER(a_member_that_has_not_joined_is_healthy_but_not_ready),
        HEAD(the_control_api_is_not_on_the_plain_port),
        HEAD(metrics_of_a_head_count_members_and_campaigns),
        MEMBER(metrics_of_a_member_have_no_values_of_the_head),
    };
    int rc;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return rc;
}
