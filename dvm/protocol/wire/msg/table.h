/* SPDX-License-Identifier: BSD-3-Clause */
/* TABLE: a member to a new head that has asked for it: the members of the DVM as this one knows
 * them. */
#ifndef DVM_WIRE_MSG_TABLE_H
#define DVM_WIRE_MSG_TABLE_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_table {
    uint64_t version;     /* all broadcasts up to this one are in the table */
    const uint8_t *table; /* as in SNAPSHOT; borrowed, also after decoding */
    size_t len;
    size_t nlinked;
    uint32_t *linked; /* children of this member that have a link to it */
};
MSG_CODEC(table);
MSG_OWNED(table);

#endif

#ifdef MSG_ROW
MSG_ROW(TABLE, table, table, table, ON_LINK)
#endif
