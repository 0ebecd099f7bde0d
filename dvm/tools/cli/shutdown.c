/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a DVM and waits until its head has ended. */
#include "dvm/tools/cli/shutdown.h"

#include "api/size.h"
#include "dvm/tools/cli/call.h"

#include <errno.h>

int cli_shutdown_ask(struct cli_conn *c, int64_t deadline_s, struct cli_limit *l, struct err *err)
{
    struct api_shutdown s = {.deadline_s = deadline_s};
    json_t *reply = cli_call_limit(c, "PUT", "/v1/shutdown", api_shutdown_encode(&s), l, err);

    if (!reply)
        return -1;
    json_decref(reply);
    cli_limit_extend(l, deadline_s * 1000);
    return 0;
}

int cli_shutdown_wait(struct cli_conn *c, struct cli_limit *l, struct err *err)
{
    struct client_msg m;
    int got;

    while ((got = cli_conn_wait_limit(c, &m, -1, l, err)) > 0)
        client_msg_free(&m);
    if (got < 0 && err->code == ETIMEDOUT)
        return err_code(err, ETIMEDOUT, "the head has not ended within %lld s",
                        (long long)cli_limit_total_ms(l) / 1000);
    return got;
}
