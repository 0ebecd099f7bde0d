/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a DVM and waits until its head has ended. */
#include "dvm/tools/cli/shutdown.h"

#include "api/size.h"
#include "dvm/tools/cli/call.h"

#include <errno.h>
#include <limits.h>

/* Time that the end may take beyond the deadline: grace of ranks, orderly close of links. */
#define MARGIN_S 60

int cli_shutdown(struct cli_conn *c, int64_t deadline_s, struct err *err)
{
    struct api_shutdown s = {.deadline_s = deadline_s};
    json_t *reply = cli_call(c, "PUT", "/v1/shutdown", api_shutdown_encode(&s), NULL, err);
    int64_t wait_ms = (deadline_s + MARGIN_S) * 1000;
    struct client_msg m;
    int got;

    if (!reply)
        return -1;
    json_decref(reply);
    while ((got = cli_conn_wait(c, &m, wait_ms > INT_MAX ? INT_MAX : (int)wait_ms, err)) > 0)
        client_msg_free(&m);
    if (got < 0 && err->code == ETIMEDOUT)
        return err_code(err, ETIMEDOUT, "the head is still there %d s after the deadline",
                        MARGIN_S);
    return got;
}
