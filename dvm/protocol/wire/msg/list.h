/* SPDX-License-Identifier: BSD-3-Clause */
/* Every message between daemons, one line each, in the order of their numbers, from 1.
 *
 * A message's header declares its fields and ends with its row,
 * MSG_ROW(TYPE, member of struct msg's union, kind of its fields (struct msg_KIND), kind that is
 * freed, way: enum msg_way). This list is included once for the declarations, and once with
 * MSG_ROW defined for each table that is made of the rows (msg.h, msg.c): it has no include
 * guard. */
/* clang-format off */

/* Between neighbours, on the link that carries them. */
#include "dvm/protocol/wire/msg/hello.h"
#include "dvm/protocol/wire/msg/welcome.h"
#include "dvm/protocol/wire/msg/refuse.h"
#include "dvm/protocol/wire/msg/bye.h"
#include "dvm/protocol/wire/msg/ping.h"
#include "dvm/protocol/wire/msg/pong.h"
#include "dvm/protocol/wire/msg/add.h"
#include "dvm/protocol/wire/msg/remove.h"
#include "dvm/protocol/wire/msg/shutdown.h"
#include "dvm/protocol/wire/msg/snapshot.h"
#include "dvm/protocol/wire/msg/xack.h"
#include "dvm/protocol/wire/msg/left.h"
#include "dvm/protocol/wire/msg/hop_ack.h"
#include "dvm/protocol/wire/msg/link_out.h"
/* Of large messages. */
#include "dvm/protocol/wire/msg/match.h"
#include "dvm/protocol/wire/msg/rndv.h"
#include "dvm/protocol/wire/msg/rget.h"
#include "dvm/protocol/wire/msg/frag.h"
#include "dvm/protocol/wire/msg/ack.h"
#include "dvm/protocol/wire/msg/put.h"
#include "dvm/protocol/wire/msg/get.h"
#include "dvm/protocol/wire/msg/transfer_fin.h"
#include "dvm/protocol/wire/msg/rndvrestartnotify.h"
#include "dvm/protocol/wire/msg/recverrnotify.h"
#include "dvm/protocol/wire/msg/rndvrestartack.h"
#include "dvm/protocol/wire/msg/rndvrestartnack.h"
#include "dvm/protocol/wire/msg/anew.h"
#include "dvm/protocol/wire/msg/taken.h"

/* From here on routed along the tree, once and in order per (source, destination, class). */
#include "dvm/protocol/wire/msg/rack.h"

/* To the head. */
#include "dvm/protocol/wire/msg/submit.h"
#include "dvm/protocol/wire/msg/signal.h"
#include "dvm/protocol/wire/msg/launched.h"
#include "dvm/protocol/wire/msg/registered.h"
#include "dvm/protocol/wire/msg/exited.h"
#include "dvm/protocol/wire/msg/local_gone.h"
#include "dvm/protocol/wire/msg/abort.h"
#include "dvm/protocol/wire/msg/lost.h"
#include "dvm/protocol/wire/msg/gone.h"
#include "dvm/protocol/wire/msg/release_me.h"
#include "dvm/protocol/wire/msg/report.h"
#include "dvm/protocol/wire/msg/local_job.h"
#include "dvm/protocol/wire/msg/ready.h"
#include "dvm/protocol/wire/msg/no_files.h"
#include "dvm/protocol/wire/msg/held.h"
#include "dvm/protocol/wire/msg/continue_ask.h"
#include "dvm/protocol/wire/msg/resize_ask.h"

/* To a member. */
#include "dvm/protocol/wire/msg/ask.h"
#include "dvm/protocol/wire/msg/launch.h"
#include "dvm/protocol/wire/msg/start.h"
#include "dvm/protocol/wire/msg/kill.h"
#include "dvm/protocol/wire/msg/continue.h"
#include "dvm/protocol/wire/msg/ranks_lost.h"
#include "dvm/protocol/wire/msg/job_ended.h"
#include "dvm/protocol/wire/msg/accepted.h"
#include "dvm/protocol/wire/msg/job_state.h"
#include "dvm/protocol/wire/msg/job_map.h"
#include "dvm/protocol/wire/msg/files.h"
#include "dvm/protocol/wire/msg/done.h"
#include "dvm/protocol/wire/msg/resize_answer.h"
#include "dvm/protocol/wire/msg/resize_ended.h"

/* To any daemon. */
#include "dvm/protocol/wire/msg/iof_end.h"
#include "dvm/protocol/wire/msg/app.h"
#include "dvm/protocol/wire/msg/gather_up.h"
#include "dvm/protocol/wire/msg/gather_down.h"
/* Since edition 1. Numbers do not change: a new message comes last, whomever it is for. */
#include "dvm/protocol/wire/msg/job_ask.h"
#include "dvm/protocol/wire/msg/orphaned.h"
/* Of these, between neighbours. */
#include "dvm/protocol/wire/msg/records.h"
#include "dvm/protocol/wire/msg/kept.h"
#include "dvm/protocol/wire/msg/records_ask.h"
#include "dvm/protocol/wire/msg/table.h"
