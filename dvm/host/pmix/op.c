/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: our unfinished calls into the library. Each has a number, since its callbacks may
 * come late or never. */
#include "dvm/host/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>

struct op *op_new(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    struct op *op = xcalloc(1, sizeof(*op));

    op->id = ++p->last_id;
    op->srv = p;
    op->nspace = xstrdup(nspace);
    op->rank = rank;
    HASH_ADD(hh, p->ops, id, sizeof(op->id), op);
    return op;
}

static struct op *op_find(struct pmix_srv *p, uint64_t id)
{
    struct op *op;

    HASH_FIND(hh, p->ops, &id, sizeof(id), op);
    return op;
}

/* The number itself, not a pointer: the callback may come after the operation has been dropped. */
void *op_cbdata(const struct op *op)
{
    return (void *)(uintptr_t)op->id;
}

void op_finish(struct op *op, int status, const void *data, size_t len)
{
    HASH_DEL(op->srv->ops, op);
    loop_timer_destroy(op->timer);
    if (op->then)
        op->then(op->srv, op);
    if (op->done)
        op->done(status, op->arg);
    if (op->done_data)
        op->done_data(status, data, len, op->arg);
    PMIX_DATA_ARRAY_DESTRUCT(&op->info);
    free(op->nspace);
    free(op);
}

static void run_status(struct pmix_srv *p, struct upcall *u)
{
    struct op *op = op_find(p, u->id);

    watch_look(p);
    if (!op)
        return;
    if (u->number != PMIX_SUCCESS && u->number != PMIX_OPERATION_SUCCEEDED &&
        op->status == PMIX_SUCCESS)
        op->status = u->number;
    if (--op->left == 0)
        op_finish(op, op->status, NULL, 0);
}

static void run_data(struct pmix_srv *p, struct upcall *u)
{
    struct op *op = op_find(p, u->id);

    if (op)
        op_finish(op, u->number, u->data.data, u->data.len);
}

void op_part_done(uint64_t id, int status)
{
    struct upcall *u = pmix_srv_upcall_new(run_status);

    if (!u)
        return;
    u->id = id;
    u->number = status;
    pmix_srv_upcall_post(u);
}

void op_on_status(pmix_status_t status, void *cbdata)
{
    watch_answered();
    op_part_done((uintptr_t)cbdata, status);
}

void op_on_data(pmix_status_t status, char *data, size_t len, void *cbdata)
{
    struct upcall *u = pmix_srv_upcall_new(run_data);

    if (!u)
        return;
    u->id = (uintptr_t)cbdata;
    u->number = status;
    if (data && len)
        buf_put_raw(&u->data, data, len);
    if (u->data.failed)
        u->number = PMIX_ERR_OUT_OF_RESOURCE;
    pmix_srv_upcall_post(u);
}

void op_returned(struct op *op, pmix_status_t rc)
{
    op->left++;
    if (rc != PMIX_SUCCESS)
        op_part_done(op->id, rc);
    else if (!op->done_data) /* the modex does not end until its rank has put it */
        watch_asked(op->srv);
}

void op_finish_all_of(struct pmix_srv *p, const char *nspace, uint32_t rank, int status)
{
    struct op *op, *next;

    HASH_ITER(hh, p->ops, op, next)
    {
        if (op->done_data && strcmp(op->nspace, nspace) == 0 &&
            (rank == PMIX_RANK_WILDCARD || rank == op->rank))
            op_finish(op, status, NULL, 0);
    }
}
