/* SPDX-License-Identifier: BSD-3-Clause */
/* APP_CALL: u32 client, str method, str path, str body. APP_REPLY: u32 client, u32 status, str
 * body. */
#include "dvm/host/app/app.h"

#include "dvm/protocol/wire/client.h"

#include <stdlib.h>

#define METHOD_MAX 16

void app_call_encode(struct buf *b, const struct app_call *m)
{
    buf_init(b, CLIENT_BODY_MAX);
    buf_put_u32(b, m->client);
    buf_put_str(b, m->method);
    buf_put_str(b, m->path);
    buf_put_str(b, m->body);
}

int app_call_decode(struct cur *c, struct app_call *m)
{
    m->client = cur_u32(c);
    m->method = cur_str(c, METHOD_MAX);
    m->path = cur_str(c, CLIENT_TEXT_MAX);
    m->body = cur_str(c, CLIENT_BODY_MAX);
    return cur_done(c) ? 0 : -1;
}

void app_call_free(struct app_call *m)
{
    free(m->method);
    free(m->path);
    free(m->body);
}

void app_reply_encode(struct buf *b, const struct app_reply *m)
{
    buf_init(b, CLIENT_BODY_MAX);
    buf_put_u32(b, m->client);
    buf_put_u32(b, m->status);
    buf_put_str(b, m->body);
}

int app_reply_decode(struct cur *c, struct app_reply *m)
{
    m->client = cur_u32(c);
    m->status = cur_u32(c);
    m->body = cur_str(c, CLIENT_BODY_MAX);
    return cur_done(c) ? 0 : -1;
}

void app_reply_free(struct app_reply *m)
{
    free(m->body);
}
