/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict decoding of the metadata and the spec of a DvmCluster.
 *
 * In: the object as JSON, as the API server returned it. Out: struct cluster, which the caller
 * frees with cluster_free().
 *
 * Order: cluster_decode() reads metadata, conditions and status, then the record in the status.
 * cluster_decode_spec() checks the name and reads the spec into the same struct. They are separate
 * because a user can make the spec invalid, and the operator still has to report that.
 *
 * Invariants: a field that is absent has its default (spec_defaults()). replicas is within the
 * limits for applications, where they are given. The user's template sets neither command, args nor
 * image of the daemon's container.
 *
 * Failures: a wrong type or a value out of its limits is refused with the path of the field. Limits
 * are CLUSTER_NAME_MAX, CLUSTER_MEMBERS_MAX, CLUSTER_SLOTS_MAX and API_NAME_MAX. The struct is
 * empty after refused metadata or record. A time of contact that cannot be read counts as none.
 *
 * The schema of the CRD is not relied on: an object may be older than the schema. */
#include "operator/model/cluster.h"

#include "base/buf/buf.h"
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"
#include "operator/model/timestamp.h"

#include <stdlib.h>
#include <string.h>

#define IDENTITY_MAX 64 /* bytes of an organization's name (X.520) */

static void spec_defaults(struct cluster *c)
{
    c->replicas = 1;
    c->limits = (struct cluster_limits){-1, -1};
    c->slots = 0;
    c->head_slots = 0;
    c->suspend = false;
    c->drain = (struct cluster_drain){.mode = API_DRAIN_WAIT, .deadline_s = -1};
    c->faults = (struct api_faults)API_FAULTS_DEFAULTS;
    c->node_lost_wait = false;
    c->update = (struct cluster_update){.max_unavailable = 1};
    c->disruption = (struct cluster_disruption){.members = 1, .head = 1};
    c->foreign = false;
    cluster_security_clear(&c->security);
    free_ptr(&c->image);
    free_ptr(&c->head_claim);
    json_decref(c->template);
    json_decref(c->head_resources);
    json_decref(c->head_template);
    c->template = c->head_resources = c->head_template = NULL;
}

static int need_str(const json_t *meta, const char *path, char **out, struct err *err)
{
    const char *s = NULL;

    if (field_str(meta, path, API_NAME_MAX, &s, err))
        return -1;
    if (!s || !*s)
        return err_set(err, "%s is missing", path);
    *out = xstrdup(s);
    return 0;
}

static const char *meta_word(const json_t *meta, const char *map, const char *key)
{
    return json_string_value(json_object_get(json_object_get(meta, map), key));
}

static int decode_meta(const json_t *object, struct cluster *c, struct err *err)
{
    const json_t *meta = NULL;

    if (field_object(object, "metadata", &meta, err))
        return -1;
    if (!meta)
        return err_set(err, "metadata is missing");
    if (need_str(meta, "metadata.namespace", &c->ns, err) ||
        need_str(meta, "metadata.name", &c->name, err) ||
        need_str(meta, "metadata.uid", &c->uid, err) ||
        need_str(meta, "metadata.resourceVersion", &c->resource_version, err) ||
        field_int(meta, "metadata.generation", 0, INT64_MAX, &c->generation, err))
        return -1;
    c->deleting = json_is_string(json_object_get(meta, "deletionTimestamp"));
    const char *queue = meta_word(meta, "labels", CLUSTER_LABEL_QUEUE);
    const char *dry_run = meta_word(meta, "annotations", CLUSTER_DRY_RUN);
    c->queue = queue ? xstrdup(queue) : NULL;
    c->untried = dry_run && strcmp(dry_run, "skip") == 0;
    return 0;
}

static int drop_cluster(struct cluster *c)
{
    cluster_free(c);
    memset(c, 0, sizeof(*c));
    return -1;
}

/* A time that cannot be read is none: nothing is decided from it. */
static void decode_contact(struct cluster *c)
{
    const char *text = json_string_value(json_object_get(c->status, "lastHeadContact"));

    if (!text || timestamp_parse(text, &c->last_contact_ms))
        c->last_contact_ms = 0;
}

int cluster_decode_meta(const json_t *object, struct cluster *out, struct err *err)
{
    const json_t *conditions = json_object_get(json_object_get(object, "status"), "conditions");

    memset(out, 0, sizeof(*out));
    spec_defaults(out);
    if (!json_is_object(object))
        return err_set(err, "a DvmCluster must be an object");
    if (decode_meta(object, out, err))
        return drop_cluster(out);
    out->conditions = json_is_array(conditions) ? json_deep_copy(conditions) : NULL;
    out->status = json_incref(json_object_get(object, "status"));
    decode_contact(out);
    return 0;
}

int cluster_decode(const json_t *object, struct cluster *out, struct err *err)
{
    if (cluster_decode_meta(object, out, err))
        return -1;
    return cluster_record_decode(object, out, err) ? drop_cluster(out) : 0;
}

/* A user may change the daemon's container, but not the fields that the operator relies on. */
static int check_template(const json_t *template, const char *path, struct err *err)
{
    static const char *const fixed[] = {"command", "args", "image"};
    const json_t *spec = NULL, *meta = NULL, *c;
    size_t i;

    if (field_object(template, "spec", &spec, err) ||
        field_object(template, "metadata", &meta, err))
        return err_wrap(err, "%s", path);
    const json_t *containers = json_object_get(spec, "containers");
    if (containers && !json_is_array(containers))
        return err_set(err, "%s.spec.containers must be a list", path);
    json_array_foreach((json_t *)containers, i, c)
    {
        const char *name = json_string_value(json_object_get(c, "name"));

        if (!name)
            return err_set(err, "%s.spec.containers[%zu] has no name", path, i);
        for (size_t k = 0; strcmp(name, "prted") == 0 && k < sizeof(fixed) / sizeof(*fixed); k++) {
            if (json_object_get(c, fixed[k]))
                return err_set(err,
                               "%s.spec.containers[%zu].%s: the daemon's container cannot have "
                               "one here%s",
                               path, i, fixed[k], k == 2 ? "; use spec.image" : "");
        }
    }
    return 0;
}

/* Labels of lower-case letters, digits and '-', joined by dots (RFC 1123). */
static bool is_subdomain(const char *s)
{
    static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";

    for (;;) {
        size_t len = strcspn(s, ".");

        if (len == 0 || !strchr(ends, s[0]) || !strchr(ends, s[len - 1]) ||
            strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") < len)
            return false;
        if (!s[len])
            return true;
        s += len + 1;
    }
}

static int decode_storage(const json_t *head, char **claim, struct err *err)
{
    const char *path = "spec.head.storage.claimName", *name = NULL;
    const json_t *storage = NULL;

    if (field_object(head, "spec.head.storage", &storage, err) ||
        field_str(storage, path, 253, &name, err))
        return -1;
    if (!storage)
        return 0;
    if (!name)
        return err_set(err, "%s is missing", path);
    if (!is_subdomain(name))
        return err_set(err, "%s is \"%s\", which cannot be the name of a claim", path, name);
    *claim = xstrdup(name);
    return 0;
}

static int decode_head(const json_t *spec, struct cluster *c, struct err *err)
{
    const json_t *head = NULL, *resources = NULL, *template = NULL;
    int64_t slots = 0;

    if (field_object(spec, "spec.head", &head, err))
        return -1;
    if (field_int(head, "spec.head.slots", 0, CLUSTER_SLOTS_MAX, &slots, err) ||
        field_object(head, "spec.head.resources", &resources, err) ||
        field_object(head, "spec.head.template", &template, err) ||
        check_template(template, "spec.head.template", err) ||
        decode_storage(head, &c->head_claim, err))
        return -1;
    c->head_slots = (uint32_t)slots;
    c->head_resources = resources ? json_deep_copy(resources) : NULL;
    c->head_template = template ? json_deep_copy(template) : NULL;
    return 0;
}

static int decode_manager(const json_t *spec, bool *foreign, struct err *err)
{
    const char *manager = NULL;

    if (field_str(spec, "spec.managedBy", 253, &manager, err))
        return -1;
    *foreign = manager && strcmp(manager, CLUSTER_CONTROLLER) != 0;
    return 0;
}

static int decode_limits(const json_t *spec, int64_t replicas, struct cluster_limits *out,
                         struct err *err)
{
    const char *path = "spec.applicationLimits";
    const json_t *limits = NULL;
    int64_t min = -1, max = -1;

    if (field_object(spec, path, &limits, err) ||
        field_int(limits, "spec.applicationLimits.min", 0, CLUSTER_MEMBERS_MAX, &min, err) ||
        field_int(limits, "spec.applicationLimits.max", 0, CLUSTER_MEMBERS_MAX, &max, err))
        return -1;
    if (min > replicas)
        return err_set(err, "%s.min is %lld, it must be at most spec.replicas, %lld", path,
                       (long long)min, (long long)replicas);
    if (max >= 0 && max < replicas)
        return err_set(err, "%s.max is %lld, it must be at least spec.replicas, %lld", path,
                       (long long)max, (long long)replicas);
    *out = (struct cluster_limits){min, max};
    return 0;
}

static int decode_spec(const json_t *object, struct cluster *c, struct err *err)
{
    const json_t *spec = NULL, *template = NULL;
    const char *image = NULL;
    int64_t replicas = 1, slots = 0;

    if (field_object(object, "spec", &spec, err))
        return -1;
    if (!spec)
        return err_set(err, "spec is missing");
    if (field_int(spec, "spec.replicas", 0, CLUSTER_MEMBERS_MAX, &replicas, err) ||
        decode_limits(spec, replicas, &c->limits, err) ||
        field_int(spec, "spec.slotsPerDaemon", 1, CLUSTER_SLOTS_MAX, &slots, err) ||
        field_bool(spec, "spec.suspend", &c->suspend, err) ||
        field_str(spec, "spec.image", 1024, &image, err) ||
        field_object(spec, "spec.template", &template, err) ||
        cluster_drain_decode(spec, "spec.drain", &c->drain, err) ||
        cluster_faults_decode(spec, c, err) || cluster_update_decode(spec, &c->update, err) ||
        cluster_security_decode(spec, &c->security, err) ||
        cluster_disruption_decode(spec, &c->disruption, err) ||
        decode_manager(spec, &c->foreign, err) || decode_head(spec, c, err))
        return -1;
    if (image && !*image)
        return err_set(err, "spec.image is empty");
    if (check_template(template, "spec.template", err))
        return -1;
    c->replicas = (uint32_t)replicas;
    c->slots = (uint32_t)slots;
    c->image = image ? xstrdup(image) : NULL;
    c->template = template ? json_deep_copy(template) : NULL;
    return 0;
}

/* The schema of the CRD has the same rule, but an object may be older than the schema. */
static int check_name(const char *name, struct err *err)
{
    size_t len = strlen(name);

    if (len > CLUSTER_NAME_MAX)
        return err_set(err, "metadata.name has %zu characters, at most %d are possible", len,
                       CLUSTER_NAME_MAX);
    if (name[0] < 'a' || name[0] > 'z' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != len || name[len - 1] == '-')
        return err_set(err, "metadata.name \"%s\" cannot be the name of a Service", name);
    if (len >= 5 && strcmp(name + len - 5, "-head") == 0)
        return err_set(err, "metadata.name may not end in \"-head\"");
    return 0;
}

int cluster_decode_spec(const json_t *object, struct cluster *out, struct err *err)
{
    spec_defaults(out);
    if (!check_name(out->name, err) && !decode_spec(object, out, err))
        return 0;
    spec_defaults(out);
    return -1;
}

void cluster_free(struct cluster *c)
{
    if (!c)
        return;
    spec_defaults(c);
    free_ptr(&c->ns);
    free_ptr(&c->name);
    free_ptr(&c->uid);
    free_ptr(&c->resource_version);
    free_ptr(&c->queue);
    cluster_record_free(&c->record);
    json_decref(c->conditions);
    c->conditions = NULL;
    json_decref(c->status);
    c->status = NULL;
}

char *cluster_identity(const struct cluster *c)
{
    return strlen(c->ns) + 1 + strlen(c->name) <= IDENTITY_MAX ? xasprintf("%s/%s", c->ns, c->name)
                                                               : xstrdup(c->uid);
}

char *cluster_selector(const struct cluster *c)
{
    return xasprintf(CLUSTER_LABEL_NAME "=%s," CLUSTER_LABEL_ROLE "=member", c->name);
}
