/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of the event stream: encode and decode side by side. */
#include "api/event.h"

#include "api/fields.h"
#include "base/buf/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TYPES[] = {
    [API_EVENT_DAEMON_WIRED] = "DaemonWired",
    [API_EVENT_DAEMON_LOST] = "DaemonLost",
    [API_EVENT_DAEMON_DEPARTED] = "DaemonDeparted",
    [API_EVENT_CAMPAIGN_ACCEPTED] = "CampaignAccepted",
    [API_EVENT_CAMPAIGN_CHANGED] = "CampaignChanged",
    [API_EVENT_NODES_OFFERED] = "NodesOffered",
    [API_EVENT_CAMPAIGN_COMPLETE] = "CampaignComplete",
    [API_EVENT_CAMPAIGN_FAILED] = "CampaignFailed",
    [API_EVENT_CAMPAIGN_CANCELLED] = "CampaignCancelled",
    [API_EVENT_SIZE] = "Size",
    [API_EVENT_SHUTDOWN] = "Shutdown",
};
_Static_assert(sizeof(TYPES) / sizeof(TYPES[0]) == API_EVENT_TYPES, "each event type has a name");

const char *api_event_type_name(enum api_event_type t)
{
    return (unsigned)t < API_EVENT_TYPES ? TYPES[t] : "?";
}

static bool of_daemon(enum api_event_type t)
{
    return t <= API_EVENT_DAEMON_DEPARTED;
}

static bool of_campaign(enum api_event_type t)
{
    return t >= API_EVENT_CAMPAIGN_ACCEPTED && t <= API_EVENT_CAMPAIGN_CANCELLED;
}

/* Reads "<incarnation>.<counter>" and keeps the counter: the incarnation is the event's own. */
static uint64_t epoch_decode(struct fields *f, const char *incarnation)
{
    char text[64];

    fields_word(f, "epoch", text, sizeof(text));
    if (f->bad)
        return 0;
    size_t n = strlen(incarnation);
    const char *digits = text + n + 1;
    if (strncmp(text, incarnation, n) != 0 || text[n] != '.' || *digits == '\0' ||
        strlen(digits) > 18 || strspn(digits, "0123456789") != strlen(digits)) {
        fields_refuse(f, "epoch", "\"%s\" is not %s.<number>", text, incarnation);
        return 0;
    }
    return strtoull(digits, NULL, 10);
}

/* Absent in events of other kinds, and in those of a head with an older image. */
static char *cause_decode(struct fields *f)
{
    char *text = f->bad ? NULL : fields_str_or(f, "cause", API_TEXT_MAX, "");

    if (text && !*text)
        free_ptr(&text);
    return text;
}

static void campaign_decode(struct fields *f, struct api_event *out)
{
    const json_t *c = fields_object_or_null(f, "campaign");

    if (!c) {
        fields_refuse(f, "campaign", "missing");
        return;
    }
    if (api_campaign_decode(c, &out->campaign, f->err) < 0) {
        err_wrap(f->err, "campaign");
        f->bad = true;
        return;
    }
    out->has_campaign = true;
}

int api_event_decode(const json_t *o, struct api_event *out, struct err *err)
{
    *out = (struct api_event){0};
    struct fields f = fields_of(o, err);
    fields_word(&f, "incarnation", out->incarnation, sizeof(out->incarnation));
    out->number = fields_u64(&f, "number", INT64_MAX);
    if (!f.bad && out->number == 0)
        fields_refuse(&f, "number", "0, events count from 1");
    out->time_ms = fields_i64_or(&f, "timeMs", 0, INT64_MAX, 0);
    out->type = (enum api_event_type)fields_choice(&f, "type", TYPES, API_EVENT_TYPES);
    if (!f.bad && of_daemon(out->type)) {
        out->vpid = (uint32_t)fields_u64(&f, "vpid", UINT32_MAX);
        out->epoch = epoch_decode(&f, out->incarnation);
        out->cause = cause_decode(&f);
    }
    if (!f.bad && of_campaign(out->type))
        campaign_decode(&f, out);
    if (!f.bad)
        return 0;
    api_event_free(out);
    return -1;
}

json_t *api_event_encode(const struct api_event *e)
{
    json_t *o = json_object();

    fields_put_str(o, "incarnation", e->incarnation, sizeof(e->incarnation) - 1);
    fields_put_u64(o, "number", e->number);
    fields_put_i64(o, "timeMs", e->time_ms);
    json_object_set_new(o, "type", json_string(api_event_type_name(e->type)));
    if (of_daemon(e->type)) {
        char epoch[64];

        snprintf(epoch, sizeof(epoch), "%s.%" PRIu64, e->incarnation, e->epoch);
        fields_put_u64(o, "vpid", e->vpid);
        json_object_set_new(o, "epoch", json_string(epoch));
        if (e->cause)
            fields_put_str(o, "cause", e->cause, API_TEXT_MAX);
    }
    if (e->has_campaign)
        json_object_set_new(o, "campaign", api_campaign_encode(&e->campaign));
    return o;
}

void api_event_free(struct api_event *e)
{
    free_ptr(&e->cause);
    api_campaign_free(&e->campaign);
    *e = (struct api_event){0};
}
