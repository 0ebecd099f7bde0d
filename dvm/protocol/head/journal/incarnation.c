/* SPDX-License-Identifier: BSD-3-Clause */
/* Number, cluster and end of one incarnation. */
#include "dvm/protocol/head/journal/incarnation.h"

#include <stdio.h>
#include <stdlib.h>

struct incarnation {
    char *cluster;
    char text[17];
    uint64_t number;
    bool ending;
    enum shutdown_why why;
    uint64_t at_ms;
};

struct incarnation *incarnation_create(const char *cluster, uint64_t number)
{
    struct incarnation *i = xcalloc(1, sizeof(*i));

    i->cluster = xstrdup(cluster);
    i->number = number;
    snprintf(i->text, sizeof(i->text), "%016llx", (unsigned long long)number);
    return i;
}

void incarnation_destroy(struct incarnation *i)
{
    if (!i)
        return;
    free(i->cluster);
    free(i);
}

const char *incarnation_cluster(const struct incarnation *i)
{
    return i->cluster;
}

const char *incarnation_text(const struct incarnation *i)
{
    return i->text;
}

struct epoch incarnation_epoch(const struct incarnation *i, uint64_t ctr)
{
    return (struct epoch){i->number, ctr};
}

bool incarnation_end(struct incarnation *i, enum shutdown_why why, uint64_t at_ms)
{
    if (i->ending) {
        i->at_ms = at_ms < i->at_ms ? at_ms : i->at_ms;
        return false;
    }
    i->ending = true;
    i->why = why;
    i->at_ms = at_ms;
    return true;
}

bool incarnation_ending(const struct incarnation *i)
{
    return i->ending;
}

uint64_t incarnation_ends_at(const struct incarnation *i)
{
    return i->at_ms;
}

enum shutdown_why incarnation_why(const struct incarnation *i)
{
    return i->why;
}
