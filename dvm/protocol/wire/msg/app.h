/* SPDX-License-Identifier: BSD-3-Clause */
/* APP: a message of a service of the host. The protocol carries it and does not read its
 * content. */
#ifndef DVM_WIRE_MSG_APP_H
#define DVM_WIRE_MSG_APP_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_app {
    uint32_t kind;       /* chosen by the host */
    const uint8_t *data; /* borrowed, also after decoding */
    size_t len;
};
MSG_CODEC(app);

#endif

#ifdef MSG_ROW
MSG_ROW(APP, app, app, nothing, ROUTED)
#endif
