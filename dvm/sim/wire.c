/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of the simulator. Each end finds its connection by its number in the life of its
 * daemon. */
#include "dvm/sim/sim_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* With two connections of one key, frames would go to the wrong one. */
static void end_if_known(const struct wire *w, const struct wire_key *key)
{
    if (!w)
        return;
    fprintf(stderr, "sim: vpid %llu has two connections %llu in life %llu\n",
            (unsigned long long)key->vpid, (unsigned long long)key->conn,
            (unsigned long long)key->life);
    abort();
}

void sim_wire_add(struct sim *s, struct wire *w)
{
    struct wire *same;

    DL_APPEND(s->wires, w);
    w->key_a = (struct wire_key){w->a_conn, w->a, s->nodes[w->a].life};
    w->key_b = (struct wire_key){w->b_conn, w->b, s->nodes[w->b].life};
    HASH_FIND(hh_a, s->by_a, &w->key_a, sizeof(w->key_a), same);
    end_if_known(same, &w->key_a);
    HASH_FIND(hh_b, s->by_b, &w->key_b, sizeof(w->key_b), same);
    end_if_known(same, &w->key_b);
    HASH_ADD(hh_a, s->by_a, key_a, sizeof(w->key_a), w);
    HASH_ADD(hh_b, s->by_b, key_b, sizeof(w->key_b), w);
}

void sim_wire_free(struct sim *s, struct wire *w)
{
    DL_DELETE(s->wires, w);
    HASH_DELETE(hh_a, s->by_a, w);
    HASH_DELETE(hh_b, s->by_b, w);
    free(w);
}

struct wire *sim_wire_of(struct sim *s, uint32_t vpid, uint64_t conn)
{
    struct wire_key key = {conn, vpid, s->nodes[vpid].life};
    struct wire *w;

    HASH_FIND(hh_a, s->by_a, &key, sizeof(key), w);
    if (w)
        return w->open_a ? w : NULL;
    HASH_FIND(hh_b, s->by_b, &key, sizeof(key), w);
    return w && w->open_b ? w : NULL;
}
