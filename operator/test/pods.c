/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the pod that a member gets from each template of a list, as a List of Pods of the names
 * c0, c1 and so on; usage: pods FILE NAMESPACE. FILE: an array of objects with a "template". */
#include "base/buf/buf.h"
#include "operator/objects/objects.h"

#include <stdio.h>

static int decode_object(const char *ns, struct cluster *c)
{
    json_t *object = json_pack("{s:{s:s, s:s, s:s, s:s}, s:{}}", "metadata", "name", "x",
                               "namespace", ns, "uid", "u", "resourceVersion", "1", "spec");
    struct err err = {0};
    int rc = cluster_decode(object, c, &err) || cluster_decode_spec(object, c, &err);

    json_decref(object);
    if (rc)
        fprintf(stderr, "pods: %s\n", err.msg);
    return rc;
}

/* The template need not be one that the operator would take. */
static json_t *build_pod(struct cluster *c, const json_t *template, size_t nth)
{
    FREE_AUTO char *name = xasprintf("c%zu", nth);

    json_decref(c->template);
    c->template = json_deep_copy(template);
    json_t *set = objects_build(c, CLUSTER_MEMBER_SET, 1, "example.test/daemon:1");
    json_t *pod = objects_probe_pod(set);
    json_object_set_new(json_object_get(pod, "metadata"), "name", json_string(name));
    json_decref(set);
    return pod;
}

static json_t *build_list(struct cluster *c, const json_t *cases)
{
    json_t *list = json_pack("{s:s, s:s, s:[]}", "apiVersion", "v1", "kind", "List", "items");
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)cases, i, item)
    {
        json_array_append_new(json_object_get(list, "items"),
                              build_pod(c, json_object_get(item, "template"), i));
    }
    return list;
}

int main(int argc, char **argv)
{
    struct cluster c;
    json_error_t e;

    if (argc != 3) {
        fputs("usage: pods FILE NAMESPACE\n", stderr);
        return 2;
    }
    json_t *cases = json_load_file(argv[1], 0, &e);
    if (!cases) {
        fprintf(stderr, "pods: %s: %s in line %d\n", argv[1], e.text, e.line);
        return 1;
    }
    if (decode_object(argv[2], &c)) {
        json_decref(cases);
        return 1;
    }
    json_t *list = build_list(&c, cases);
    int rc = json_dumpf(list, stdout, 0) || fflush(stdout);
    json_decref(list);
    json_decref(cases);
    cluster_free(&c);
    return rc ? 1 : 0;
}
