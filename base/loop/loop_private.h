/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the event loop share. */
#ifndef BASE_LOOP_LOOP_PRIVATE_H
#define BASE_LOOP_LOOP_PRIVATE_H

#include "base/loop/loop.h"

struct event;

void loop_fatal(int code); /* one line, then the end of the program */
struct event *loop_must_event(struct event *ev);

#endif
