/* SPDX-License-Identifier: BSD-3-Clause */
/* REFUSE: the answer to a HELLO that is not accepted. */
#ifndef DVM_WIRE_MSG_REFUSE_H
#define DVM_WIRE_MSG_REFUSE_H

#include "dvm/protocol/wire/msg/fields.h"

enum refuse_why {
    REFUSE_RETRY,      /* not now: try again later */
    REFUSE_EPOCH_OVER, /* the caller's epoch has ended */
    REFUSE_LEFT,  /* the caller was removed while it was disconnected, or its grow has failed */
    REFUSE_NEVER, /* another cluster, a wrong role: a mistake of configuration */
    REFUSE_WHYS
};

struct msg_refuse {
    enum refuse_why why;
    char *text;
};
MSG_CODEC(refuse);
MSG_OWNED(refuse);

#endif

#ifdef MSG_ROW
MSG_ROW(REFUSE, refuse, refuse, refuse, ON_LINK)
#endif
