/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the access to the API server: kubeconfigs, service accounts, files that change. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/buf/buf.h"
#include "operator/kube/kube_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static void write_file(const char *name, const char *text)
{
    FREE_AUTO char *path = path_of(name);
    FREE_AUTO char *tmp = path_of("tmp");
    FILE *f = fopen(tmp, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, path), 0);
}

static int make_dir(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/test-config-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"config", "ca.crt", "token", "namespace", "crt", "key"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        FREE_AUTO char *path = path_of(names[i]);

        unlink(path);
    }
    return rmdir(dir);
}

#define CONTEXTS                                                                                   \
    "current-context: c\n"                                                                         \
    "contexts:\n"                                                                                  \
    "- name: other\n  context: {cluster: k, user: u}\n"                                            \
    "- name: c\n  context: {cluster: k, user: u, namespace: hpc}\n"
#define CLUSTER "clusters:\n- name: k\n  cluster: {server: \"https://10.0.0.1:6443/\"}\n"
#define USER "users:\n- name: u\n  user: {token: secret}\n"

static struct kube_config *load(const char *text, const char *context, struct err *err)
{
    FREE_AUTO char *path = path_of("config");

    write_file("config", text);
    return kube_config_load(path, context, err);
}

struct refusal {
    const char *text;
    const char *message; /* the part after the file's name */
};

static void an_unsupported_kubeconfig_is_refused(void **state)
{
    static const struct refusal refusals[] = {
        {"apiVersion: v1\n", "current-context is not set"},
        {"current-context: c\n", "no \"c\" in contexts"},
        {"current-context: c\ncontexts:\n- name: c\n", "\"c\" in contexts has no context"},
        {"current-context: c\ncontexts:\n- name: c\n  context: {user: u}\n",
         "context \"c\": cluster is missing"},
        {"current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, namespace: 12}\n",
         "context \"c\": namespace is not a string (put it in quotes)"},
        {CONTEXTS USER, "no \"k\" in clusters"},
        {CONTEXTS CLUSTER, "no \"u\" in users"},
        {CONTEXTS "clusters:\n- name: k\n  cluster: {}\n", "cluster \"k\": server is missing"},
        {CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"ftp://x\"}\n",
         "cluster \"k\": server \"ftp://x\" is not an address like https://host:port"},
        {CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"10.0.0.1\"}\n",
         "cluster \"k\": server \"10.0.0.1\" is not an address like https://host:port"},
        {CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"https://x\", "
                  "certificate-authority-data: \"!\"}\n",
         "cluster \"k\": certificate-authority-data: this is not base64 text"},
        {CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"https://x\", "
                  "insecure-skip-tls-verify: true, certificate-authority-data: YQ==}\n",
         "cluster \"k\": insecure-skip-tls-verify and certificate-authority cannot be given "
         "together"},
        {CONTEXTS CLUSTER "users:\n- name: u\n  user: {exec: {command: aws}}\n",
         "user \"u\": exec is not supported: use a token, a token file or a client certificate"},
        {CONTEXTS CLUSTER "users:\n- name: u\n  user: {as: root, token: t}\n",
         "user \"u\": as is not supported: use a token, a token file or a client certificate"},
        {CONTEXTS CLUSTER "users:\n- name: u\n  user: {client-certificate-data: YQ==}\n",
         "user \"u\": client-certificate and client-key must be given together"},
        {CONTEXTS CLUSTER "users:\n- name: u\n  user: {token: 12}\n",
         "user \"u\": token is not a string (put it in quotes)"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct err err = {0};
        FREE_AUTO char *message = xasprintf("kubeconfig %s/config: %s", dir, refusals[i].message);

        assert_null(load(refusals[i].text, NULL, &err));
        assert_string_equal(err.msg, message);
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    struct err err = {0};

    assert_null(
        load(CONTEXTS CLUSTER "users:\n- name: u\n  user: {tokenFile: none}\n", NULL, &err));
    assert_non_null(strstr(err.msg, "tokenFile"));
    assert_non_null(strstr(err.msg, "/none: No such file"));
    assert_null(kube_config_load("/nonexistent/config", NULL, &err));
    assert_non_null(strstr(err.msg, "/nonexistent/config"));
}

static void the_current_context_is_used_unless_one_is_named(void **state)
{
    struct err err = {0};
    struct kube_config *c = load(CONTEXTS CLUSTER USER, NULL, &err);

    assert_non_null(c);
    assert_string_equal(kube_config_server(c), "https://10.0.0.1:6443");
    assert_string_equal(kube_config_namespace(c), "hpc");
    assert_string_equal(c->token.text, "secret");
    kube_config_destroy(c);
    c = load(CONTEXTS CLUSTER USER, "other", &err);
    assert_non_null(c);
    assert_string_equal(kube_config_namespace(c), "default");
    kube_config_destroy(c);
}

static void inline_data_takes_precedence_over_files(void **state)
{
    struct err err = {0};
    struct kube_config *c =
        load(CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"https://x:1\", "
                      "certificate-authority: none, certificate-authority-data: Y2E=}\n"
                      "users:\n- name: u\n  user: {client-certificate-data: Y2VydA==, "
                      "client-key-data: a2V5}\n",
             NULL, &err);

    assert_non_null(c);
    struct http_peer p = kube_config_peer(c);
    assert_string_equal(p.ca_pem, "ca");
    assert_string_equal(p.cert_pem, "cert");
    assert_string_equal(p.key_pem, "key");
    assert_false(p.insecure);
    assert_null(p.proxy);
    kube_config_destroy(c);
}

static void relative_files_are_beside_the_kubeconfig(void **state)
{
    struct err err = {0};

    write_file("ca.crt", "ca\n");
    write_file("crt", "cert\n");
    write_file("key", "key\n");
    struct kube_config *c =
        load(CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"https://x:1\", "
                      "certificate-authority: ca.crt}\n"
                      "users:\n- name: u\n  user: {client-certificate: crt, client-key: key}\n",
             NULL, &err);
    assert_non_null(c);
    assert_string_equal(c->ca.text, "ca");
    assert_string_equal(c->cert.text, "cert");
    assert_string_equal(c->key.text, "key");
    kube_config_destroy(c);
}

static void a_tls_server_name_changes_the_url_but_not_the_address(void **state)
{
    struct err err = {0};
    struct kube_config *c =
        load(CONTEXTS "clusters:\n- name: k\n  cluster: {server: \"https://10.0.0.1/p/\", "
                      "tls-server-name: kube.local, proxy-url: \"http://p:1\"}\n" USER,
             NULL, &err);

    assert_non_null(c);
    assert_string_equal(c->base, "https://kube.local:443/p");
    struct http_peer p = kube_config_peer(c);
    assert_string_equal(p.connect, "10.0.0.1:443");
    assert_string_equal(p.proxy, "http://p:1");
    kube_config_destroy(c);
}

static void without_a_path_the_environment_names_the_file(void **state)
{
    struct err err = {0};
    FREE_AUTO char *path = path_of("config");

    write_file("config", CONTEXTS CLUSTER USER);
    setenv("KUBECONFIG", path, 1);
    struct kube_config *c = kube_config_load(NULL, NULL, &err);
    assert_non_null(c);
    kube_config_destroy(c);
    setenv("KUBECONFIG", "/a:/b", 1);
    assert_null(kube_config_load(NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "several files"));
    unsetenv("KUBECONFIG");
}

static void outside_of_a_pod_there_is_no_service_account(void **state)
{
    struct err err = {0};

    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_null(kube_config_in_cluster(&err));
    assert_non_null(strstr(err.msg, "not in a pod"));
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_null(kube_config_in_cluster_from("/nonexistent", &err));
    assert_non_null(strstr(err.msg, "service account: /nonexistent/"));
}

static void a_service_account_is_read_from_its_files(void **state)
{
    struct err err = {0};

    write_file("ca.crt", "ca");
    write_file("token", "one\n");
    write_file("namespace", "hpc\n");
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    struct kube_config *c = kube_config_in_cluster_from(dir, &err);
    assert_non_null(c);
    assert_string_equal(kube_config_server(c), "https://[fd00::1]:443");
    assert_string_equal(kube_config_namespace(c), "hpc");
    assert_string_equal(c->token.text, "one");
    assert_string_equal(c->ca.text, "ca");
    kube_config_destroy(c);
}

static void a_changed_token_file_is_read_again_after_a_pause(void **state)
{
    struct err err = {0};

    write_file("token", "one");
    struct kube_config *c =
        load(CONTEXTS CLUSTER "users:\n- name: u\n  user: {tokenFile: token}\n", NULL, &err);
    assert_non_null(c);
    assert_int_equal(kube_config_refresh(c, 1000, &err), 0);
    write_file("token", "two-two");
    assert_int_equal(kube_config_refresh(c, 2000, &err), 0);
    assert_string_equal(c->token.text, "one");
    assert_int_equal(kube_config_refresh(c, 11000, &err), 0);
    assert_string_equal(c->token.text, "two-two");
    write_file("token", "three");
    kube_config_distrust(c);
    assert_int_equal(kube_config_refresh(c, 11001, &err), 0);
    assert_string_equal(c->token.text, "three");
    kube_config_destroy(c);
}

static void a_removed_token_file_leaves_the_old_token(void **state)
{
    struct err err = {0};
    FREE_AUTO char *path = path_of("token");

    write_file("token", "one");
    struct kube_config *c =
        load(CONTEXTS CLUSTER "users:\n- name: u\n  user: {tokenFile: token}\n", NULL, &err);
    assert_non_null(c);
    unlink(path);
    assert_int_equal(kube_config_refresh(c, 1000, &err), -1);
    assert_string_equal(c->token.text, "one");
    write_file("token", "\n");
    assert_int_equal(kube_config_refresh(c, 20000, &err), 0); /* it is known */
    assert_string_equal(c->token.text, "one");
    kube_config_destroy(c);
}

static void an_unreadable_file_is_reported_once_until_it_is_readable(void **state)
{
    struct err err = {0};
    FREE_AUTO char *path = path_of("token");

    write_file("token", "one");
    struct kube_config *c =
        load(CONTEXTS CLUSTER "users:\n- name: u\n  user: {tokenFile: token}\n", NULL, &err);
    assert_non_null(c);
    unlink(path);
    assert_int_equal(kube_config_refresh(c, 1000, &err), -1);
    for (uint64_t now = 2000; now < 60000; now += 1000)
        assert_int_equal(kube_config_refresh(c, now, &err), 0);
    write_file("token", "two");
    assert_int_equal(kube_config_refresh(c, 80000, &err), 0);
    assert_string_equal(c->token.text, "two");
    unlink(path);
    assert_int_equal(kube_config_refresh(c, 100000, &err), -1);
    kube_config_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unsupported_kubeconfig_is_refused),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(the_current_context_is_used_unless_one_is_named),
        cmocka_unit_test(inline_data_takes_precedence_over_files),
        cmocka_unit_test(relative_files_are_beside_the_kubeconfig),
        cmocka_unit_test(a_tls_server_name_changes_the_url_but_not_the_address),
        cmocka_unit_test(without_a_path_the_environment_names_the_file),
        cmocka_unit_test(outside_of_a_pod_there_is_no_service_account),
        cmocka_unit_test(a_service_account_is_read_from_its_files),
        cmocka_unit_test(a_changed_token_file_is_read_again_after_a_pause),
        cmocka_unit_test(a_removed_token_file_leaves_the_old_token),
        cmocka_unit_test(an_unreadable_file_is_reported_once_until_it_is_readable),
    };

    return cmocka_run_group_tests_name("config", tests, make_dir, remove_dir);
}
