/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches paths against patterns, segment by segment. */
#include "base/httpd/httpd_private.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>

struct route {
    char *method;
    char *pattern;
    httpd_fn *fn;
    void *arg;
};

struct httpd_routes {
    size_t n;
    struct route *at;
};

struct httpd_routes *httpd_routes_create(void)
{
    return xcalloc(1, sizeof(struct httpd_routes));
}

void httpd_routes_destroy(struct httpd_routes *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++) {
        free(r->at[i].method);
        free(r->at[i].pattern);
    }
    free(r->at);
    free(r);
}

void httpd_routes_add(struct httpd_routes *r, const char *method, const char *pattern, httpd_fn *fn,
                      void *arg)
{
    r->at = xrealloc(r->at, (r->n + 1) * sizeof(*r->at));
    r->at[r->n++] = (struct route){
        .method = xstrdup(method), .pattern = xstrdup(pattern), .fn = fn, .arg = arg};
}

void httpd_params_clear(struct httpd_params *params)
{
    for (size_t i = 0; i < params->n; i++) {
        free(params->at[i].name);
        free(params->at[i].value);
    }
    params->n = 0;
}

/* Decodes the %xx of a segment; NULL: the result is empty or holds a NUL. */
static char *decode_segment(const char *segment, size_t len)
{
    FREE_AUTO char *raw = xasprintf("%.*s", (int)len, segment);
    size_t size = 0;
    char *text = evhttp_uridecode(raw, 0, &size);

    if (text && (size == 0 || strlen(text) != size)) {
        free(text);
        return NULL;
    }
    return text;
}

/* Matches one segment of a pattern, "{name}" or a literal text, against one of a path. */
static bool match_segment(const char *pattern, size_t pattern_len, const char *path,
                          size_t path_len, struct httpd_params *params)
{
    bool is_param = pattern_len > 2 && pattern[0] == '{' && pattern[pattern_len - 1] == '}';
    char *value;

    if (!is_param && path_len == 0)
        return pattern_len == 0;
    value = decode_segment(path, path_len);
    if (!value)
        return false;
    if (!is_param || params->n == HTTPD_PARAMS_MAX) {
        bool same =
            !is_param && strlen(value) == pattern_len && memcmp(value, pattern, pattern_len) == 0;

        free(value);
        return same;
    }
    params->at[params->n].name = xasprintf("%.*s", (int)(pattern_len - 2), pattern + 1);
    params->at[params->n].value = value;
    params->n++;
    return true;
}

/* `params` may be filled even when the path does not match. */
static bool match_pattern(const char *pattern, const char *path, struct httpd_params *params)
{
    for (;;) {
        size_t pattern_len = strcspn(pattern, "/");
        size_t path_len = strcspn(path, "/");

        if (!match_segment(pattern, pattern_len, path, path_len, params))
            return false;
        pattern += pattern_len;
        path += path_len;
        if (!*pattern || !*path)
            return !*pattern && !*path;
        pattern++;
        path++;
    }
}

static void add_method(char **list, const char *method)
{
    char *longer = *list ? xasprintf("%s, %s", *list, method) : xstrdup(method);

    free(*list);
    *list = longer;
}

int httpd_routes_find(const struct httpd_routes *r, const char *method, const char *path,
                      struct httpd_params *params, httpd_fn **fn, void **arg, char **allow)
{
    *allow = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const struct route *route = &r->at[i];

        httpd_params_clear(params);
        if (!match_pattern(route->pattern, path, params))
            continue;
        if (strcmp(route->method, method) == 0) {
            *fn = route->fn;
            *arg = route->arg;
            free(*allow);
            *allow = NULL;
            return HTTP_OK;
        }
        add_method(allow, route->method);
    }
    httpd_params_clear(params);
    return *allow ? HTTP_BADMETHOD : HTTP_NOTFOUND;
}
