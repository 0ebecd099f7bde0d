/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns libyaml's events into jansson values and refuses the parts of YAML that configurations do
 * not need.
 *
 * In: a text of at most CONF_MAX_BYTES and its name for messages. Out: a new reference, or NULL and
 * an error, with line and column where it has any.
 *
 * One function for each kind of value reads events until its end: read_scalar(), read_sequence(),
 * read_mapping(). conf_plain_scalar() decides the type of a plain scalar without a tag; any other
 * scalar is a string. A text without a document gives JSON's null.
 *
 * Refused: anchors, aliases, tags other than !!str, NUL characters, keys that are no scalars or
 * that are there twice, a second document. More than DEPTH_MAX levels are refused, too. An error of
 * libyaml's reader has an offset in bytes, since it has no line. Files are read in file.c. */
#include "base/conf/conf_private.h"

#include "base/buf/buf.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 64

struct reader {
    yaml_parser_t parser;
    const char *name;
    struct err *err;
};

static json_t *read_value(struct reader *r, yaml_event_t *ev, int depth);

static void free_json(json_t **j)
{
    json_decref(*j);
}

static void free_event(yaml_event_t *ev)
{
    yaml_event_delete(ev);
}

#define JSON_AUTO __attribute__((cleanup(free_json)))
#define EVENT_AUTO __attribute__((cleanup(free_event)))

static int refuse_event(struct reader *r, const yaml_event_t *ev, const char *why)
{
    return err_set(r->err, "%s:%zu:%zu: %s", r->name, ev->start_mark.line + 1,
                   ev->start_mark.column + 1, why);
}

static int next_event(struct reader *r, yaml_event_t *ev)
{
    const yaml_parser_t *p = &r->parser;

    if (yaml_parser_parse(&r->parser, ev))
        return 0;
    memset(ev, 0, sizeof(*ev));
    /* An error of libyaml's reader (bytes that are not UTF-8) has an offset in place of a mark. */
    if (p->error == YAML_READER_ERROR)
        return err_set(r->err, "%s: byte %zu: %s", r->name, p->problem_offset, p->problem);
    return err_set(r->err, "%s:%zu:%zu: %s", r->name, p->problem_mark.line + 1,
                   p->problem_mark.column + 1, p->problem ? p->problem : "not readable as YAML");
}

static int check_scalar(struct reader *r, const yaml_event_t *ev)
{
    const char *tag = (const char *)ev->data.scalar.tag;

    if (ev->data.scalar.anchor)
        return refuse_event(r, ev, "anchors are not supported");
    if (tag && strcmp(tag, YAML_STR_TAG) != 0)
        return refuse_event(r, ev, "tags other than !!str are not supported");
    if (memchr(ev->data.scalar.value, '\0', ev->data.scalar.length))
        return refuse_event(r, ev, "a NUL character is not supported");
    return 0;
}

static json_t *read_scalar(struct reader *r, const yaml_event_t *ev)
{
    const char *s = (const char *)ev->data.scalar.value;
    struct err why = {0};
    json_t *j;

    if (check_scalar(r, ev) < 0)
        return NULL;
    if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !ev->data.scalar.tag)
        j = conf_plain_scalar(s, &why);
    else
        j = json_string(s);
    if (!j)
        refuse_event(r, ev, why.msg[0] ? why.msg : "not valid UTF-8");
    return j;
}

static int check_collection(struct reader *r, const yaml_event_t *ev, const yaml_char_t *anchor,
                            const yaml_char_t *tag, int depth)
{
    if (anchor)
        return refuse_event(r, ev, "anchors are not supported");
    if (tag)
        return refuse_event(r, ev, "tags other than !!str are not supported");
    if (depth > DEPTH_MAX)
        return refuse_event(r, ev, "nested too deeply");
    return 0;
}

static json_t *read_sequence(struct reader *r, const yaml_event_t *start, int depth)
{
    JSON_AUTO json_t *list = json_array();
    json_t *done = NULL;

    if (check_collection(r, start, start->data.sequence_start.anchor,
                         start->data.sequence_start.tag, depth) < 0)
        return NULL;
    while (!done) {
        EVENT_AUTO yaml_event_t ev;
        json_t *item;

        if (next_event(r, &ev) < 0)
            return NULL;
        if (ev.type == YAML_SEQUENCE_END_EVENT) {
            done = json_incref(list);
            continue;
        }
        item = read_value(r, &ev, depth);
        if (!item)
            return NULL;
        if (json_array_append_new(list, item) < 0) {
            refuse_event(r, &ev, "out of memory");
            return NULL;
        }
    }
    return done;
}

static int check_key(struct reader *r, const yaml_event_t *key, const json_t *map)
{
    if (key->type != YAML_SCALAR_EVENT)
        return refuse_event(r, key, "a key must be a scalar");
    if (check_scalar(r, key) < 0)
        return -1;
    if (json_object_get(map, (const char *)key->data.scalar.value)) {
        FREE_AUTO char *why =
            xasprintf("the key \"%.64s\" is there twice", (const char *)key->data.scalar.value);

        return refuse_event(r, key, why);
    }
    return 0;
}

static json_t *read_mapping(struct reader *r, const yaml_event_t *start, int depth)
{
    JSON_AUTO json_t *map = json_object();
    json_t *done = NULL;

    if (check_collection(r, start, start->data.mapping_start.anchor, start->data.mapping_start.tag,
                         depth) < 0)
        return NULL;
    while (!done) {
        EVENT_AUTO yaml_event_t key = {0};
        EVENT_AUTO yaml_event_t ev = {0};
        json_t *value;

        if (next_event(r, &key) < 0)
            return NULL;
        if (key.type == YAML_MAPPING_END_EVENT) {
            done = json_incref(map);
            continue;
        }
        if (check_key(r, &key, map) < 0 || next_event(r, &ev) < 0)
            return NULL;
        value = read_value(r, &ev, depth);
        if (!value)
            return NULL;
        if (json_object_set_new(map, (const char *)key.data.scalar.value, value) < 0) {
            refuse_event(r, &key, "the key is not valid UTF-8");
            return NULL;
        }
    }
    return done;
}

/* The depth of this recursion is bounded by DEPTH_MAX. */
static json_t *read_value(struct reader *r, yaml_event_t *ev, int depth)
{
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(r, ev);
    case YAML_SEQUENCE_START_EVENT:
        return read_sequence(r, ev, depth + 1);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(r, ev, depth + 1);
    case YAML_ALIAS_EVENT:
        refuse_event(r, ev, "aliases are not supported");
        return NULL;
    default:
        refuse_event(r, ev, "a value is missing");
        return NULL;
    }
}

static int expect_event(struct reader *r, yaml_event_type_t type, const char *otherwise)
{
    EVENT_AUTO yaml_event_t ev;

    if (next_event(r, &ev) < 0)
        return -1;
    return ev.type == type ? 0 : refuse_event(r, &ev, otherwise);
}

static json_t *read_stream(struct reader *r)
{
    EVENT_AUTO yaml_event_t start = {0};
    EVENT_AUTO yaml_event_t root = {0};
    JSON_AUTO json_t *value = NULL;

    if (expect_event(r, YAML_STREAM_START_EVENT, "no stream") < 0 || next_event(r, &start) < 0)
        return NULL;
    if (start.type == YAML_STREAM_END_EVENT)
        return json_null();
    if (next_event(r, &root) < 0)
        return NULL;
    value = read_value(r, &root, 0);
    if (!value || expect_event(r, YAML_DOCUMENT_END_EVENT, "the document does not end") < 0 ||
        expect_event(r, YAML_STREAM_END_EVENT, "more than one document") < 0)
        return NULL;
    return json_incref(value);
}

json_t *conf_parse_yaml(const char *text, size_t len, const char *name, struct err *err)
{
    struct reader r = {.name = name, .err = err};
    json_t *value;

    if (len > CONF_MAX_BYTES) {
        err_set(err, "%s: more than %u bytes", name, CONF_MAX_BYTES);
        return NULL;
    }
    if (!yaml_parser_initialize(&r.parser)) {
        err_set(err, "%s: cannot create a YAML parser", name);
        return NULL;
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    value = read_stream(&r);
    yaml_parser_delete(&r.parser);
    return value;
}
