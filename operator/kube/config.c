/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to the API server: from a kubeconfig, or from the service account of the pod.
 *
 * In: the file and the name of a context, or the service account's directory. Out: the server's
 * URL, the authority, and a token or a client certificate, for http.c.
 *
 * Certificates, keys and tokens may be in files, which Kubernetes replaces: kube_config_refresh()
 * looks at them every LOOK_EVERY_MS, and kube_config_distrust() makes it look at once after the
 * server has refused a token.
 *
 * Invariants: inline data takes precedence over a file, as in kubectl; relative paths begin at the
 * kubeconfig's directory; a text that cannot be read again stays in force.
 *
 * Failures: a missing context, cluster or user, an address that is no http or https URL, and
 * material above MATERIAL_MAX are refused with the name of the key or file. */
#include "base/buf/buf.h"
#include "base/conf/conf.h"
#include "operator/kube/kube_private.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define MATERIAL_MAX (1u << 20)
#define LOOK_EVERY_MS 10000

/* --- texts that may be in files */

static void trim_end(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        text[--n] = '\0';
}

/* 1: read; 0: unchanged or inline; -1: unreadable, and the old text stays in force. */
static int material_refresh(struct kube_material *m, struct err *err)
{
    struct stat st;

    if (!m->path)
        return 0;
    if (stat(m->path, &st) < 0)
        return err_sys(err, errno, "%s", m->path);
    if (m->text && st.st_ino == m->inode && st.st_size == m->size &&
        st.st_mtim.tv_sec == m->changed.tv_sec && st.st_mtim.tv_nsec == m->changed.tv_nsec)
        return 0;
    char *text = conf_read_file(m->path, MATERIAL_MAX, NULL, err);
    if (!text)
        return -1;
    trim_end(text);
    if (!*text) {
        free(text);
        return err_set(err, "%s is empty", m->path);
    }
    free(m->text);
    m->text = text;
    m->inode = st.st_ino;
    m->size = st.st_size;
    m->changed = st.st_mtim;
    return 1;
}

static void material_free(struct kube_material *m)
{
    free(m->path);
    free(m->text);
}

int kube_config_refresh(struct kube_config *c, uint64_t now_ms, struct err *err)
{
    struct kube_material *all[] = {&c->ca, &c->cert, &c->key, &c->token};
    bool was_unreadable = c->unreadable;

    if (c->checked_ms && now_ms < c->checked_ms + LOOK_EVERY_MS)
        return 0;
    c->checked_ms = now_ms ? now_ms : 1;
    c->unreadable = false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (material_refresh(all[i], err) < 0)
            c->unreadable = true;
    }
    return c->unreadable && !was_unreadable ? -1 : 0;
}

void kube_config_distrust(struct kube_config *c)
{
    c->checked_ms = 0;
}

struct http_peer kube_config_peer(const struct kube_config *c)
{
    return (struct http_peer){.ca_pem = c->ca.text,
                              .cert_pem = c->cert.text,
                              .key_pem = c->key.text,
                              .connect = c->connect,
                              .proxy = c->proxy,
                              .insecure = c->insecure};
}

/* --- the server's address */

static bool is_web(const char *scheme)
{
    return scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
}

static void curl_text_free(char **text)
{
    curl_free(*text);
}
#define CURL_TEXT_AUTO __attribute__((cleanup(curl_text_free)))

/* The URL gets the name that the certificate must have; the connection still goes to the server. */
static void rename_server(struct kube_config *c, CURLU *url, const char *tls_name)
{
    CURL_TEXT_AUTO char *host = NULL;
    CURL_TEXT_AUTO char *port = NULL;
    CURL_TEXT_AUTO char *scheme = NULL;
    CURL_TEXT_AUTO char *path = NULL;

    curl_url_get(url, CURLUPART_HOST, &host, 0);
    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
    curl_url_get(url, CURLUPART_PATH, &path, 0);
    size_t len = strlen(path);
    c->connect = xasprintf("%s:%s", host, port);
    c->base = xasprintf("%s://%s:%s%.*s", scheme, tls_name, port,
                        (int)(len && path[len - 1] == '/' ? len - 1 : len), path);
}

/* `tls_name` may be NULL. */
static int set_server(struct kube_config *c, const char *server, const char *tls_name,
                      struct err *err)
{
    CURLU *url = curl_url();
    CURL_TEXT_AUTO char *scheme = NULL;
    CURL_TEXT_AUTO char *query = NULL;
    CURLUcode rc = curl_url_set(url, CURLUPART_URL, server, 0);

    if (!rc)
        rc = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
    if (rc || !is_web(scheme) || !curl_url_get(url, CURLUPART_QUERY, &query, 0)) {
        curl_url_cleanup(url);
        return err_set(err, "server \"%s\" is not an address like https://host:port", server);
    }
    c->server = xstrdup(server);
    size_t len = strlen(c->server);
    if (c->server[len - 1] == '/')
        c->server[len - 1] = '\0';
    if (tls_name)
        rename_server(c, url, tls_name);
    else
        c->base = xstrdup(c->server);
    curl_url_cleanup(url);
    return 0;
}

/* --- kubeconfig */

/* 0 and *out NULL: the key is absent. */
static int text_of(const json_t *o, const char *key, const char **out, struct err *err)
{
    const json_t *v = json_object_get(o, key);

    *out = NULL;
    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return err_set(err, "%s is not a string (put it in quotes)", key);
    if (json_string_length(v) > 0)
        *out = json_string_value(v);
    return 0;
}

/* Fills m from the file `key` or from the base64 text `key`-data, which takes precedence. `dir` is
 * the directory of the kubeconfig, "" or with a slash at its end; relative paths begin there. */
static int material_of(const json_t *o, const char *key, const char *dir, struct kube_material *m,
                       struct err *err)
{
    FREE_AUTO char *data_key = xasprintf("%s-data", key);
    const char *path, *data;

    if (text_of(o, key, &path, err) < 0 || text_of(o, data_key, &data, err) < 0)
        return -1;
    if (data) {
        m->text = kube_base64_decode(data, err);
        return m->text ? 0 : err_wrap(err, "%s", data_key);
    }
    if (!path)
        return 0;
    m->path = xasprintf("%s%s", path[0] == '/' ? "" : dir, path);
    return material_refresh(m, err) < 0 ? err_wrap(err, "%s", key) : 0;
}

/* Finds `inner` in the element called `name` of the list `list`. */
static const json_t *find_named(const json_t *root, const char *list, const char *name,
                                const char *inner, struct err *err)
{
    const json_t *elements = json_object_get(root, list);

    for (size_t i = 0; i < json_array_size(elements); i++) {
        const json_t *e = json_array_get(elements, i);
        const char *n = conf_str(e, "name");

        if (!n || strcmp(n, name) != 0)
            continue;
        const json_t *o = json_object_get(e, inner);
        if (json_is_object(o))
            return o;
        err_set(err, "\"%s\" in %s has no %s", name, list, inner);
        return NULL;
    }
    err_set(err, "no \"%s\" in %s", name, list);
    return NULL;
}

static int cluster_of(struct kube_config *c, const json_t *o, const char *dir, struct err *err)
{
    const char *server, *tls_name, *proxy;
    const json_t *insecure = json_object_get(o, "insecure-skip-tls-verify");

    if (text_of(o, "server", &server, err) < 0 ||
        text_of(o, "tls-server-name", &tls_name, err) < 0 ||
        text_of(o, "proxy-url", &proxy, err) < 0 ||
        material_of(o, "certificate-authority", dir, &c->ca, err) < 0)
        return -1;
    if (!server)
        return err_set(err, "server is missing");
    if (insecure && !json_is_boolean(insecure) && !json_is_null(insecure))
        return err_set(err, "insecure-skip-tls-verify must be true or false");
    c->insecure = json_is_true(insecure);
    if (c->insecure && c->ca.text)
        return err_set(
            err, "insecure-skip-tls-verify and certificate-authority cannot be given together");
    c->proxy = proxy ? xstrdup(proxy) : NULL;
    return set_server(c, server, tls_name, err);
}

static int user_of(struct kube_config *c, const json_t *o, const char *dir, struct err *err)
{
    /* Each of these would change the identity, or runs a program. To ignore one would use the wrong
     * identity. */
    static const char *const refused[] = {"exec", "auth-provider", "username",  "password",
                                          "as",   "as-uid",        "as-groups", "as-user-extra"};
    const char *token, *token_file;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const json_t *v = json_object_get(o, refused[i]);

        if (v && !json_is_null(v))
            return err_set(err,
                           "%s is not supported: use a token, a token file or a client certificate",
                           refused[i]);
    }
    if (material_of(o, "client-certificate", dir, &c->cert, err) < 0 ||
        material_of(o, "client-key", dir, &c->key, err) < 0 ||
        text_of(o, "token", &token, err) < 0 || text_of(o, "tokenFile", &token_file, err) < 0)
        return -1;
    if (!c->cert.text != !c->key.text)
        return err_set(err, "client-certificate and client-key must be given together");
    c->token.text = token ? xstrdup(token) : NULL;
    if (!token_file)
        return 0;
    c->token.path = xasprintf("%s%s", token_file[0] == '/' ? "" : dir, token_file);
    /* While the token's file does not exist, the inline token is used. */
    return material_refresh(&c->token, err) < 0 && !token ? err_wrap(err, "tokenFile") : 0;
}

static int config_fill(struct kube_config *c, const json_t *root, const char *context,
                       const char *dir, struct err *err)
{
    const char *cluster, *user, *ns;

    if (!context)
        context = conf_str(root, "current-context");
    if (!context || !*context)
        return err_set(err, "current-context is not set");
    const json_t *ctx = find_named(root, "contexts", context, "context", err);
    if (!ctx)
        return -1;
    if (text_of(ctx, "cluster", &cluster, err) < 0 || text_of(ctx, "user", &user, err) < 0 ||
        text_of(ctx, "namespace", &ns, err) < 0)
        return err_wrap(err, "context \"%s\"", context);
    if (!cluster)
        return err_set(err, "context \"%s\": cluster is missing", context);
    const json_t *o = find_named(root, "clusters", cluster, "cluster", err);
    if (!o)
        return -1;
    if (cluster_of(c, o, dir, err) < 0)
        return err_wrap(err, "cluster \"%s\"", cluster);
    c->ns = xstrdup(ns ? ns : "default");
    if (!user)
        return 0;
    o = find_named(root, "users", user, "user", err);
    if (!o)
        return -1;
    return user_of(c, o, dir, err) < 0 ? err_wrap(err, "user \"%s\"", user) : 0;
}

/* $KUBECONFIG or ~/.kube/config, on the heap. */
static char *default_path(struct err *err)
{
    const char *path = getenv("KUBECONFIG"), *home = getenv("HOME");

    if (path && strchr(path, ':')) {
        err_set(err, "KUBECONFIG names several files, and only one can be read: \"%s\"", path);
        return NULL;
    }
    if (path && *path)
        return xstrdup(path);
    if (home && *home)
        return xasprintf("%s/.kube/config", home);
    err_set(err, "no kubeconfig: neither KUBECONFIG nor HOME is set");
    return NULL;
}

struct kube_config *kube_config_load(const char *path, const char *context, struct err *err)
{
    FREE_AUTO char *file = path ? xstrdup(path) : default_path(err);
    json_t *root = file ? conf_load_yaml(file, err) : NULL;

    if (!root)
        return NULL;
    struct kube_config *c = xcalloc(1, sizeof(*c));
    const char *slash = strrchr(file, '/');
    FREE_AUTO char *dir = xasprintf("%.*s", slash ? (int)(slash - file) + 1 : 0, file);
    int rc = config_fill(c, root, context, dir, err);
    json_decref(root);
    if (rc == 0)
        return c;
    err_wrap(err, "kubeconfig %s", file);
    kube_config_destroy(c);
    return NULL;
}

/* --- service account */

struct kube_config *kube_config_in_cluster_from(const char *dir, struct err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");

    if (!host || !*host || !port || !*port) {
        err_set(err,
                "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
        return NULL;
    }
    struct kube_config *c = xcalloc(1, sizeof(*c));
    struct kube_material ns = {.path = xasprintf("%s/namespace", dir)};
    bool v6 = strchr(host, ':');
    FREE_AUTO char *server =
        v6 ? xasprintf("https://[%s]:%s", host, port) : xasprintf("https://%s:%s", host, port);
    c->ca.path = xasprintf("%s/ca.crt", dir);
    c->token.path = xasprintf("%s/token", dir);
    int rc = set_server(c, server, NULL, err);
    if (rc == 0 && (material_refresh(&c->ca, err) < 0 || material_refresh(&c->token, err) < 0 ||
                    material_refresh(&ns, err) < 0))
        rc = err_wrap(err, "service account");
    c->ns = ns.text;
    ns.text = NULL;
    material_free(&ns);
    if (rc == 0)
        return c;
    kube_config_destroy(c);
    return NULL;
}

struct kube_config *kube_config_in_cluster(struct err *err)
{
    return kube_config_in_cluster_from(SERVICE_ACCOUNT_DIR, err);
}

void kube_config_destroy(struct kube_config *c)
{
    if (!c)
        return;
    material_free(&c->ca);
    material_free(&c->cert);
    material_free(&c->key);
    material_free(&c->token);
    free(c->server);
    free(c->base);
    free(c->connect);
    free(c->ns);
    free(c->proxy);
    free(c);
}

const char *kube_config_server(const struct kube_config *c)
{
    return c->server;
}

const char *kube_config_namespace(const struct kube_config *c)
{
    return c->ns;
}
