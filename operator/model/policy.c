/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a pod template against tables of rules, field by field.
 *
 * Input: spec.template as the user wrote it, before it is merged into the operator's own pod. So a
 * null is judged by what it removes there. Output: the first field that is refused, by its path.
 *
 * Always true: a volume, a source or a reference of a kind that is not listed is refused, so a kind
 * that a later Kubernetes adds is refused too. A container of the user's own has to restrict
 * itself; the daemon's container is restricted by the operator and may only not loosen it. */
#include "operator/model/policy.h"

#include "base/buf/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DAEMON "prted"

enum allowed {
    NOTHING,       /* the field must be absent or null */
    NO_FALSE,      /* true, or absent, or null */
    ONLY_TRUE,     /* true, or absent */
    NO_TRUE,       /* false, or absent, or null */
    ONLY_FALSE,    /* false, or absent */
    MUST_BE_FALSE, /* false, and not absent */
    NOT_ROOT,      /* a number other than 0, or absent, or null */
    CONFINED,      /* an object whose type is not Unconfined, or absent */
    AN_OBJECT,     /* not null */
};

static const char *const WORDS[] = {
    [NOTHING] = "it must be absent",
    [NO_FALSE] = "it must be true",
    [ONLY_TRUE] = "it must be true",
    [NO_TRUE] = "it must be false",
    [ONLY_FALSE] = "it must be false",
    [MUST_BE_FALSE] = "it must be false",
    [NOT_ROOT] = "it must not be 0",
    [CONFINED] = "its type must be RuntimeDefault or Localhost",
    [AN_OBJECT] = "it must not be null",
};

struct rule {
    const char *key;
    enum allowed allowed;
};

static const struct rule POD[] = {
    {"hostNetwork", NO_TRUE},
    {"hostPID", NO_TRUE},
    {"hostIPC", NO_TRUE},
    {"serviceAccountName", NOTHING},
    {"serviceAccount", NOTHING},
    {"automountServiceAccountToken", ONLY_FALSE},
    {"ephemeralContainers", NOTHING},
    {"securityContext", AN_OBJECT},
    {NULL, NOTHING},
};

static const struct rule POD_SECURITY[] = {
    {"runAsNonRoot", ONLY_TRUE},  {"runAsUser", NOT_ROOT},
    {"seccompProfile", CONFINED}, {"appArmorProfile", CONFINED},
    {"seLinuxOptions", NOTHING},  {"windowsOptions", NOTHING},
    {"sysctls", NOTHING},         {NULL, NOTHING},
};

static const struct rule SECURITY[] = {
    {"privileged", NO_TRUE},
    {"allowPrivilegeEscalation", ONLY_FALSE},
    {"capabilities", AN_OBJECT},
    {"runAsNonRoot", NO_FALSE},
    {"runAsUser", NOT_ROOT},
    {"seccompProfile", CONFINED},
    {"appArmorProfile", CONFINED},
    {"seLinuxOptions", NOTHING},
    {"windowsOptions", NOTHING},
    {"procMount", NOTHING},
    {NULL, NOTHING},
};

static const char *const VOLUMES[] = {"name",        "configMap", "emptyDir",
                                      "downwardAPI", "ephemeral", "persistentVolumeClaim",
                                      "projected",   NULL};
static const char *const SOURCES[] = {"configMap", "downwardAPI", NULL};
static const char *const REFERENCES[] = {"configMapKeyRef", "fieldRef", "resourceFieldRef", NULL};
static const char *const ENV_FROM[] = {"configMapRef", "prefix", NULL};

static int refuse_field(const char *path, const char *key, const char *why, struct err *err)
{
    return err_set(err, "%s.%s is refused by the template policy \"restricted\": %s", path, key,
                   why);
}

static bool is_allowed(const json_t *v, enum allowed allowed)
{
    const char *type = json_string_value(json_object_get(v, "type"));

    if (!v)
        return allowed != MUST_BE_FALSE;
    switch (allowed) {
    case NOTHING:
        return json_is_null(v);
    case NO_FALSE:
        return json_is_true(v) || json_is_null(v);
    case ONLY_TRUE:
        return json_is_true(v);
    case NO_TRUE:
        return json_is_false(v) || json_is_null(v);
    case ONLY_FALSE:
    case MUST_BE_FALSE:
        return json_is_false(v);
    case NOT_ROOT:
        return json_is_null(v) || (json_is_integer(v) && json_integer_value(v) != 0);
    case CONFINED:
        return type && (strcmp(type, "RuntimeDefault") == 0 || strcmp(type, "Localhost") == 0);
    case AN_OBJECT:
        return json_is_object(v);
    }
    return false;
}

static int check_rules(const json_t *o, const char *path, const struct rule *rules, struct err *err)
{
    for (; rules->key; rules++) {
        if (!is_allowed(json_object_get(o, rules->key), rules->allowed))
            return refuse_field(path, rules->key, WORDS[rules->allowed], err);
    }
    return 0;
}

static bool is_listed(const char *key, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(key, *list) == 0)
            return true;
    }
    return false;
}

/* Refuses keys that are not in the list. */
static int check_keys(const json_t *o, const char *path, const char *const *list, struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        if (!is_listed(key, list))
            return refuse_field(path, key, "only other kinds are allowed", err);
    }
    return 0;
}

typedef int item_fn(const json_t *item, const char *path, struct err *err);

static int check_items(const json_t *parent, const char *path, const char *key, item_fn *check,
                       struct err *err)
{
    const json_t *list = json_object_get(parent, key), *item;
    size_t i;

    if (list && !json_is_array(list) && !json_is_null(list))
        return refuse_field(path, key, "it must be a list", err);
    json_array_foreach((json_t *)list, i, item)
    {
        FREE_AUTO char *at = xasprintf("%s.%s[%zu]", path, key, i);

        if (check(item, at, err))
            return -1;
    }
    return 0;
}

static int check_source(const json_t *source, const char *path, struct err *err)
{
    return check_keys(source, path, SOURCES, err);
}

static int check_volume(const json_t *volume, const char *path, struct err *err)
{
    FREE_AUTO char *projected = xasprintf("%s.projected", path);

    if (check_keys(volume, path, VOLUMES, err))
        return -1;
    return check_items(json_object_get(volume, "projected"), projected, "sources", check_source,
                       err);
}

static int check_variable(const json_t *variable, const char *path, struct err *err)
{
    FREE_AUTO char *from = xasprintf("%s.valueFrom", path);

    return check_keys(json_object_get(variable, "valueFrom"), from, REFERENCES, err);
}

static int check_variables(const json_t *from, const char *path, struct err *err)
{
    return check_keys(from, path, ENV_FROM, err);
}

static int check_port(const json_t *port, const char *path, struct err *err)
{
    const json_t *v = json_object_get(port, "hostPort");

    if (v && !(json_is_integer(v) && json_integer_value(v) == 0))
        return refuse_field(path, "hostPort", WORDS[NOTHING], err);
    return 0;
}

static bool list_has(const json_t *list, const char *word)
{
    const json_t *v;
    size_t i;

    json_array_foreach((json_t *)list, i, v)
    {
        if (json_is_string(v) && strcmp(json_string_value(v), word) == 0)
            return true;
    }
    return false;
}

static int check_capabilities(const json_t *o, const char *path, bool own, struct err *err)
{
    const json_t *drop = json_object_get(o, "drop"), *add = json_object_get(o, "add"), *v;
    size_t i;

    if ((own || drop) && !list_has(drop, "ALL"))
        return refuse_field(path, "drop", "it must contain ALL", err);
    if (add && !json_is_array(add))
        return refuse_field(path, "add", "it must be a list", err);
    json_array_foreach((json_t *)add, i, v)
    {
        if (!json_is_string(v) || strcmp(json_string_value(v), "NET_BIND_SERVICE") != 0)
            return refuse_field(path, "add", "only NET_BIND_SERVICE is allowed", err);
    }
    return 0;
}

/* `own`: a container of the user's, which has nothing from the operator. */
static int check_security(const json_t *container, const char *path, bool own, struct err *err)
{
    static const struct rule escalation[] = {{"allowPrivilegeEscalation", MUST_BE_FALSE},
                                             {NULL, NOTHING}};
    static const struct rule present[] = {{"securityContext", AN_OBJECT}, {NULL, NOTHING}};
    const json_t *security = json_object_get(container, "securityContext");
    FREE_AUTO char *at = xasprintf("%s.securityContext", path);
    FREE_AUTO char *capabilities = xasprintf("%s.capabilities", at);

    if (check_rules(container, path, present, err) || check_rules(security, at, SECURITY, err))
        return -1;
    if (own && check_rules(security, at, escalation, err))
        return -1;
    return check_capabilities(json_object_get(security, "capabilities"), capabilities, own, err);
}

static int check_container(const json_t *container, const char *path, struct err *err)
{
    const char *name = json_string_value(json_object_get(container, "name"));
    bool own = !name || strcmp(name, DAEMON) != 0;

    if (check_items(container, path, "env", check_variable, err) ||
        check_items(container, path, "envFrom", check_variables, err) ||
        check_items(container, path, "ports", check_port, err))
        return -1;
    return check_security(container, path, own, err);
}

/* The operator's pod has no init container, so each of them is the user's own. */
static int check_init_container(const json_t *container, const char *path, struct err *err)
{
    if (check_container(container, path, err))
        return -1;
    return check_security(container, path, true, err);
}

int policy_check(const json_t *template, struct err *err)
{
    static const char path[] = "spec.template.spec";
    const json_t *spec = json_object_get(template, "spec");

    if (check_rules(spec, path, POD, err) ||
        check_rules(json_object_get(spec, "securityContext"), "spec.template.spec.securityContext",
                    POD_SECURITY, err) ||
        check_items(spec, path, "volumes", check_volume, err) ||
        check_items(spec, path, "containers", check_container, err))
        return -1;
    return check_items(spec, path, "initContainers", check_init_container, err);
}
