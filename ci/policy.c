/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the template policy "restricted" of operator/model/policy_table.c in two other forms;
 * usage: policy cel|markdown
 *
 * cel: variables and validations of the chart's ValidatingAdmissionPolicy. For each object of the
 * table a variable holds what is refused there: a line for each field, empty if there is none. A
 * validation demands that it is empty, and its message is the first line. CEL has no recursion, so
 * the expressions nest as the objects do. They begin at a hub: a variable that lists all objects of
 * one kind ("o") with their paths ("p"), wherever they stand. An object that has the wrong type
 * makes an expression of the objects below it fail, and is named by its own validation before.
 *
 * markdown: the list of allowed fields for docs/operator. */
#include "base/buf/buf.h"
#include "operator/model/policy_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 110
#define DEPTH_MAX 16
#define REFUSED " is refused by the template policy \"restricted\": "

/* The way from an object of a hub to one below it. */
struct path {
    const struct policy_field *step[DEPTH_MAX];
    size_t n;
    bool plain; /* of the object that the path ends at */
};

enum hub { TEMPLATES, CONTAINERS, OWN, PROBES, HOOKS, NHUBS };

struct writer {
    const struct policy_field *hub[NHUBS];
    char *variables, *validations;
    size_t nvalidations;
};

static const char *const HUB_NAME[NHUBS] = {"templates", "containers", "own", "probes", "hooks"};

/* Appends to the text at `*out`. */
__attribute__((format(printf, 2, 3))) static void add(char **out, const char *fmt, ...)
{
    FREE_AUTO char *more = NULL, *before = *out;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&more, fmt, args) < 0)
        exit(1);
    va_end(args);
    *out = xasprintf("%s%s", before, more);
}

/* --- expressions */

static void add_rule(char **out, const char *v, enum policy_rule rule)
{
    static const char *const cel[POLICY_NRULES] = {
        [POLICY_FIELDS] = "(%s == null || type(%s) == map)",
        [POLICY_PLAIN] = "(%s == null || type(%s) == map)",
        [POLICY_KEPT] = "type(%s) == map",
        [POLICY_ITEMS] = "(%s == null || (type(%s) == list && %s.all(x, type(x) == map)))",
        [POLICY_NO_TRUE] = "(%s == null || %s == false)",
        [POLICY_ONLY_FALSE] = "%s == false",
        [POLICY_NO_FALSE] = "(%s == null || %s == true)",
        [POLICY_ONLY_TRUE] = "%s == true",
        [POLICY_NOT_ROOT] = "(%s == null || (type(%s) == int && %s > 0))",
        [POLICY_NO_PORT] = "(%s == null || %s == 0)",
        [POLICY_CONFINED] = "%s in ['RuntimeDefault', 'Localhost']",
        [POLICY_ALWAYS] = "(%s == null || %s == 'Always')",
        [POLICY_NO_SYSTEM] = "(%s == null || (type(%s) == string && !%s.startsWith('system-')))",
        [POLICY_NOT_TLS] = "(type(%s) == string && %s != 'tls')",
        [POLICY_DROP_ALL] = "(type(%s) == list && 'ALL' in %s)",
        [POLICY_GRACE] = "%s == null",
        [POLICY_FQDN] = "(%s == null || %s == false)",
        [POLICY_NET_BIND] =
            "(%s == null || (type(%s) == list && %s.all(x, x == 'NET_BIND_SERVICE')))",
    };
    const char *s = cel[rule], *hole;

    for (; (hole = strstr(s, "%s")); s = hole + 2)
        add(out, "%.*s%s", (int)(hole - s), s, v);
    add(out, "%s", s);
}

/* The condition for one field of the object `v`. */
static void add_field(char **out, const char *v, const struct policy_field *f)
{
    FREE_AUTO char *value = xasprintf("%s.%s", v, f->key);

    add(out, f->required ? "(has(%s) && " : "(!has(%s) || ", value);
    add_rule(out, value, f->rule);
    add(out, ")");
}

/* Whether the key `k` is listed. */
static void add_listed(char **out, const struct policy_field *fields, bool plain)
{
    add(out, "%sk in [", plain ? "k.matches('^[A-Za-z0-9_-]+$') || " : "");
    for (const struct policy_field *f = fields; f->key; f++)
        add(out, "%s'%s'", f == fields ? "" : ", ", f->key);
    add(out, "]");
}

/* One line for each field of the object `v` that is refused. */
static void add_complaints(char **out, const char *v, const struct policy_field *fields,
                           const struct path *p, bool open)
{
    const char *glue = "";

    if (!open) {
        add(out, "%s.filter(k, !(", v);
        add_listed(out, fields, p->plain);
        add(out, ")).map(k, k + variables.refused + '%s\\n').join('')", POLICY_UNLISTED);
        glue = " + ";
    }
    for (const struct policy_field *f = fields; f->key; f++) {
        if (f->rule == POLICY_ANY)
            continue;
        add(out, "%s(", glue);
        add_field(out, v, f);
        add(out, " ? '' : '%s' + variables.refused + '%s\\n')", f->key, POLICY_WORDS[f->rule]);
        glue = " + ";
    }
}

/* The complaints about the objects at the end of the path, which goes on from `v` with step `at`.
 */
static void add_walk(char **out, const char *v, const struct policy_field *fields,
                     const struct path *p, size_t at, bool open)
{
    if (at == p->n) {
        add_complaints(out, v, fields, p, open);
        return;
    }
    const struct policy_field *f = p->step[at];
    bool list = f->rule == POLICY_ITEMS;
    FREE_AUTO char *value = xasprintf("%s.%s", v, f->key);
    FREE_AUTO char *item = list ? xasprintf("v%zu", at) : xstrdup(value);

    add(out, "(has(%s) && %s != null ? ", value, value);
    if (list)
        add(out, "%s.map(%s, ", value, item);
    add_walk(out, item, fields, p, at + 1, open);
    add(out, list ? ").join('') : '')" : " : '')");
}

/* --- YAML */

/* Appends a folded scalar. It is broken only at single blanks, which folding gives back. */
static void add_folded(char **out, const char *key, const char *text)
{
    size_t column = WIDTH;

    add(out, "%s: >-", key);
    while (*text) {
        size_t len = strcspn(text, " ");

        if (column + 1 + len > WIDTH) {
            add(out, "\n        ");
            column = 8;
        } else {
            add(out, " ");
            column++;
        }
        add(out, "%.*s", (int)len, text);
        column += len;
        text += len;
        if (*text)
            text++;
    }
    add(out, "\n");
}

static void add_variable(struct writer *w, const char *name, const char *expression)
{
    add(&w->variables, "  - name: %s\n", name);
    add_folded(&w->variables, "    expression", expression);
}

static void write_object(struct writer *w, enum hub hub, const struct policy_field *fields,
                         const struct path *p)
{
    FREE_AUTO char *name = xasprintf("refused%zu", w->nvalidations++);
    FREE_AUTO char *text = xasprintf("variables.%s.map(e, [dyn(e.p + '", HUB_NAME[hub]);
    FREE_AUTO char *empty = xasprintf("variables.%s == ''", name);
    FREE_AUTO char *first = xasprintf("variables.%s.split('\\n')[0]", name);

    for (size_t i = 0; i < p->n; i++)
        add(&text, ".%s%s", p->step[i]->key, p->step[i]->rule == POLICY_ITEMS ? "[]" : "");
    add(&text, ".'), dyn(");
    add_walk(&text, "e.o", fields, p, 0, hub == OWN);
    add(&text, ")]).filter(r, r[1] != '').map(r, r[0] + r[1]).join('')");
    add_variable(w, name, text);
    add_folded(&w->validations, "  - expression", empty);
    add_folded(&w->validations, "    messageExpression", first);
}

static bool is_hub(const struct writer *w, const struct policy_field *fields)
{
    for (size_t i = 0; i < NHUBS; i++) {
        if (w->hub[i] == fields)
            return true;
    }
    return false;
}

/* The object at the end of the path, and those below it that no other hub has. */
static void write_objects(struct writer *w, enum hub hub, const struct policy_field *fields,
                          const struct path *p)
{
    if (p->n == DEPTH_MAX)
        abort();
    write_object(w, hub, fields, p);
    for (const struct policy_field *f = fields; f->key; f++) {
        struct path below = *p;

        if (!f->fields || is_hub(w, f->fields))
            continue;
        below.step[below.n++] = f;
        below.plain = f->rule == POLICY_PLAIN;
        write_objects(w, hub, f->fields, &below);
    }
}

/* --- hubs */

static const struct policy_field *field_of(const struct policy_field *fields, const char *key)
{
    for (; fields->key; fields++) {
        if (strcmp(fields->key, key) == 0)
            return fields;
    }
    abort();
}

/* The lists of containers of the template at `path`. */
static void add_containers(char **out, const char *path, const struct policy_field *fields,
                           const struct policy_field *container)
{
    for (const struct policy_field *f = fields; f->key; f++) {
        if (f->fields == container)
            add(out,
                "%s(has(object.%s.spec.%s) && object.%s.spec.%s != null ? "
                "object.%s.spec.%s.map(c, {'p': dyn('%s.spec.%s[]'), 'o': c}) : [])",
                f == fields ? "" : " + ", path, f->key, path, f->key, path, f->key, path, f->key);
    }
}

/* The objects `key` below those of `parent`. */
static void add_below(char **out, const char *parent, const char *key)
{
    add(out,
        "variables.%s.filter(e, has(e.o.%s) && e.o.%s != null).map(e, {'p': dyn(e.p + '.%s'), 'o': "
        "e.o.%s})",
        parent, key, key, key, key);
}

/* All objects of the table `wanted` below those of `parent`. */
static char *all_below(const char *parent, const struct policy_field *fields,
                       const struct policy_field *wanted)
{
    char *text = xstrdup("");

    for (const struct policy_field *f = fields; f->key; f++) {
        if (f->fields == wanted) {
            add(&text, "%s", *text ? " + " : "");
            add_below(&text, parent, f->key);
        }
    }
    return text;
}

static void write_templates(struct writer *w, const struct policy_field *spec)
{
    static const char *const paths[] = {"spec.template", "spec.head.template"};
    static const char *const guards[] = {
        "has(object.spec.template) && object.spec.template != null",
        "has(object.spec.head) && object.spec.head != null && has(object.spec.head.template) && "
        "object.spec.head.template != null"};
    FREE_AUTO char *templates = xstrdup(""), *containers = xstrdup("");

    for (size_t i = 0; i < 2; i++) {
        add(&templates, "%s(%s ? [{'p': dyn('%s'), 'o': dyn(object.%s)}] : [])", i ? " + " : "",
            guards[i], paths[i], paths[i]);
        add(&containers, "%s(%s && has(object.%s.spec) && object.%s.spec != null ? ",
            i ? " + " : "", guards[i], paths[i], paths[i]);
        add_containers(&containers, paths[i], spec, w->hub[CONTAINERS]);
        add(&containers, " : [])");
    }
    add_variable(w, "templates", templates);
    add_variable(w, "containers", containers);
}

static void write_hubs(struct writer *w)
{
    const struct policy_field *spec = field_of(POLICY_TEMPLATE, "spec")->fields;
    const struct policy_field *containers = field_of(spec, "containers");
    const struct policy_field *lifecycle = field_of(containers->fields, "lifecycle");

    w->hub[TEMPLATES] = POLICY_TEMPLATE;
    w->hub[CONTAINERS] = containers->fields;
    w->hub[OWN] = containers->own;
    w->hub[PROBES] = field_of(containers->fields, "livenessProbe")->fields;
    w->hub[HOOKS] = field_of(lifecycle->fields, "preStop")->fields;
    write_templates(w, spec);
    FREE_AUTO char *own =
        xasprintf("variables.containers.filter(e, e.p.endsWith('.initContainers[]') "
                  "|| !has(e.o.name) || e.o.name != '%s')",
                  containers->merged);
    FREE_AUTO char *probes = all_below("containers", containers->fields, w->hub[PROBES]);
    FREE_AUTO char *lifecycles = all_below("containers", containers->fields, lifecycle->fields);
    FREE_AUTO char *hooks = all_below("lifecycles", lifecycle->fields, w->hub[HOOKS]);
    add_variable(w, "own", own);
    add_variable(w, "probes", probes);
    add_variable(w, "lifecycles", lifecycles);
    add_variable(w, "hooks", hooks);
    add_variable(w, "refused", "'" REFUSED "'");
}

static void print_cel(void)
{
    struct writer w = {.variables = xstrdup(""), .validations = xstrdup("")};
    struct path here = {0};

    write_hubs(&w);
    for (enum hub hub = 0; hub < NHUBS; hub++)
        write_objects(&w, hub, w.hub[hub], &here);
    printf(
        "# Made from operator/model/policy_table.c by make policy.\nvariables:\n%svalidations:\n%s",
        w.variables, w.validations);
    free_ptr(&w.variables);
    free_ptr(&w.validations);
}

/* --- Markdown */

static void print_list(const struct policy_field *fields, int depth)
{
    for (const struct policy_field *f = fields; f->key; f++) {
        printf("%*s- `%s%s`", 2 * depth, "", f->key, f->rule == POLICY_ITEMS ? "[]" : "");
        if (f->rule == POLICY_PLAIN)
            printf(": keys with neither `.` nor `/`, and these");
        else if (f->rule != POLICY_ANY && f->rule != POLICY_FIELDS && f->rule != POLICY_ITEMS)
            printf(": %s", POLICY_WORDS[f->rule]);
        putchar('\n');
        if (f->fields)
            print_list(f->fields, depth + 1);
        if (f->own) {
            printf("%*s- in containers%s%s, moreover:\n", 2 * depth + 2, "",
                   f->merged ? " other than " : "", f->merged ? f->merged : "");
            print_list(f->own, depth + 2);
        }
    }
}

static void print_markdown(void)
{
    fputs("<!-- Made from operator/model/policy_table.c by make policy. -->\n\n"
          "# What may a pod template have?\n\n"
          "With `templatePolicy: restricted` a template has only these fields "
          "([rights](rights.md)).\n\n",
          stdout);
    print_list(POLICY_TEMPLATE, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "cel") == 0) {
        print_cel();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "markdown") == 0) {
        print_markdown();
        return 0;
    }
    fputs("usage: policy cel|markdown\n", stderr);
    return 2;
}
