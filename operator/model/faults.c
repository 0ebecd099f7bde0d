/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits after which a fault counts, in spec.faults. */
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"

#include <string.h>

#define GRACE_MAX_S 600
#define SILENCE_MAX_S 3600
#define ABSENCE_MAX_S 86400

static int decode_seconds(const json_t *o, const char *path, int64_t max, uint64_t *ms,
                          struct err *err)
{
    int64_t s = -1;

    if (field_int(o, path, 1, max, &s, err))
        return -1;
    if (s > 0)
        *ms = (uint64_t)s * 1000;
    return 0;
}

static int decode_node_lost(const json_t *faults, bool *wait, struct err *err)
{
    const char *word = NULL;

    if (field_str(faults, "spec.faults.nodeLost", 16, &word, err))
        return -1;
    if (word && strcmp(word, "Replace") != 0 && strcmp(word, "Wait") != 0)
        return err_set(err, "spec.faults.nodeLost is \"%s\", it must be Replace or Wait", word);
    *wait = word && strcmp(word, "Wait") == 0;
    return 0;
}

int cluster_faults_decode(const json_t *spec, struct cluster *out, struct err *err)
{
    struct api_faults f = API_FAULTS_DEFAULTS;
    const json_t *faults = NULL;

    if (field_object(spec, "spec.faults", &faults, err) ||
        decode_seconds(faults, "spec.faults.linkGraceSeconds", GRACE_MAX_S, &f.link_grace_ms,
                       err) ||
        decode_seconds(faults, "spec.faults.silenceSeconds", SILENCE_MAX_S, &f.silence_ms, err) ||
        decode_seconds(faults, "spec.faults.headAbsenceSeconds", ABSENCE_MAX_S, &f.head_absence_ms,
                       err) ||
        decode_node_lost(faults, &out->node_lost_wait, err))
        return -1;
    if (api_faults_check(&f, err))
        return err_wrap(err, "spec.faults");
    out->faults = f;
    return 0;
}
