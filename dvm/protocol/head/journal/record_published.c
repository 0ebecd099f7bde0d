/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs of the records of published values.
 *
 * In: decisions of published/published.c, or bytes. Out: bytes, or a record; of bytes that no head
 * has written a reason. Values stay packed: the fold reads them. */
#include "dvm/protocol/head/journal/record_published.h"

#include "dvm/protocol/wire/msg/fields.h"
#include "dvm/protocol/wire/msg/msg.h"

void record_published_put_request(struct buf *b, const struct record_data_request *r)
{
    buf_put_u32(b, r->asker.vpid);
    msg_put_epoch(b, r->asker.epoch);
    buf_put_u64(b, r->question);
    buf_put_u64(b, r->open_from);
}

int record_published_get_request(struct cur *c, struct record_data_request *r, struct err *err)
{
    r->asker.vpid = cur_u32(c);
    r->asker.epoch = msg_get_epoch(c);
    r->question = cur_u64(c);
    r->open_from = cur_u64(c);
    if (!c->bad && (!vpid_allowed(r->asker.vpid) || r->open_from > r->question ||
                    (r->question && epoch_none(r->asker.epoch))))
        return err_set(err, "question %llu of vpid %u", (unsigned long long)r->question,
                       r->asker.vpid);
    return 0;
}

void record_published_put(struct buf *b, const struct record_published *r)
{
    record_published_put_request(b, &r->request);
    buf_put_bytes(b, r->blob, r->len);
}

int record_published_get(struct cur *c, struct record_published *r, struct err *err)
{
    if (record_published_get_request(c, &r->request, err) < 0)
        return -1;
    r->blob = cur_bytes(c, MSG_DATA_MAX, &r->len);
    return 0;
}

void record_published_put_removed(struct buf *b, const struct record_unpublished *r)
{
    record_published_put_request(b, &r->request);
    buf_put_u8(b, r->result);
    buf_put_bytes(b, r->answer, r->len);
    buf_put_u32(b, r->n);
    for (uint32_t i = 0; i < r->n; i++)
        buf_put_u64(b, r->ids[i]);
}

int record_published_get_removed(struct cur *c, struct record_unpublished *r, struct err *err)
{
    uint32_t n;

    if (record_published_get_request(c, &r->request, err) < 0)
        return -1;
    r->result = cur_u8(c);
    r->answer = cur_bytes(c, MSG_DATA_MAX, &r->len);
    n = cur_count(c, RECORD_VALUES_MAX, 8);
    r->ids = xcalloc(n + 1, sizeof(*r->ids));
    for (; r->n < n; r->n++)
        r->ids[r->n] = cur_u64(c);
    return !c->bad && n == 0 ? err_set(err, "no value") : 0;
}
