/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of handlers of application messages: one for each kind. */
#include "dvm/host/app/app.h"

#include "base/log/log.h"

void app_table_add(struct app_table *t, const struct app_handler *h, size_t n, void *service)
{
    for (size_t i = 0; i < n; i++) {
        t->row[h[i].kind].on_message = h[i].on_message;
        t->row[h[i].kind].service = service;
    }
}

void app_table_dispatch(const struct app_table *t, uint32_t from, uint32_t kind, const void *data,
                        size_t len)
{
    struct cur c = cur_of(data, len);

    if (kind < APP_KINDS && t->row[kind].on_message)
        t->row[kind].on_message(from, &c, t->row[kind].service);
    else
        log_warn("vpid %u sent an application message of unknown kind %u", from, kind);
}
