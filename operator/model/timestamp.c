/* SPDX-License-Identifier: BSD-3-Clause */
/* Points in time as Kubernetes writes them: RFC 3339 in UTC. */
#include "operator/model/timestamp.h"

#include "base/buf/buf.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

char *timestamp_ms(int64_t wall_ms)
{
    time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;
    char day[32];

    gmtime_r(&s, &tm);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    return xasprintf("%s.%03dZ", day, (int)(wall_ms % 1000));
}

char *timestamp_s(int64_t wall_ms)
{
    char *t = timestamp_ms(wall_ms);

    memcpy(strchr(t, '.'), "Z", 2);
    return t;
}

int timestamp_parse(const char *text, int64_t *wall_ms)
{
    struct tm tm = {0};
    const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t ms = 0;

    if (!p)
        return -1;
    if (*p == '.') {
        int scale = 100;

        for (p++; *p >= '0' && *p <= '9'; p++, scale /= 10)
            ms += (*p - '0') * scale;
    }
    if (strcmp(p, "Z") != 0)
        return -1;
    *wall_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return 0;
}
