/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes one number from a seed through many collectives and checks each of them on every rank;
 * usage: mpi_coll [seed]. */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 64

struct ctx {
    int rank;
    int size;
    uint64_t seed;
    int errors;
};

/* What rank r holds in its i-th word: every rank can compute it for any other (splitmix64). */
static uint64_t word(uint64_t seed, int r, int i)
{
    uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(r * WORDS + i + 1);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void check(struct ctx *c, const char *what, uint64_t got, uint64_t expected)
{
    if (got == expected)
        return;
    fprintf(stderr, "coll: rank %d: %s gave %" PRIu64 ", expected %" PRIu64 "\n", c->rank, what,
            got, expected);
    c->errors++;
}

static void fill(const struct ctx *c, uint64_t *v)
{
    for (int i = 0; i < WORDS; i++)
        v[i] = word(c->seed, c->rank, i);
}

static uint64_t do_bcast(struct ctx *c)
{
    int root = (int)(c->seed % (uint64_t)c->size);
    uint64_t v[WORDS];

    fill(c, v);
    MPI_Bcast(v, WORDS, MPI_UINT64_T, root, MPI_COMM_WORLD);
    for (int i = 0; i < WORDS; i++)
        check(c, "bcast", v[i], word(c->seed, root, i));
    return v[0];
}

static uint64_t do_reductions(struct ctx *c)
{
    uint64_t v[WORDS], sum[WORDS], max[WORDS], prefix[WORDS];

    fill(c, v);
    MPI_Allreduce(v, sum, WORDS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(v, max, WORDS, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Scan(v, prefix, WORDS, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    for (int i = 0; i < WORDS; i++) {
        uint64_t s = 0, m = 0, x = 0;

        for (int r = 0; r < c->size; r++) {
            uint64_t w = word(c->seed, r, i);

            s += w;
            m = w > m ? w : m;
            x ^= r <= c->rank ? w : 0;
        }
        check(c, "allreduce", sum[i], s);
        check(c, "scan", prefix[i], x);
        if (c->rank == 0)
            check(c, "reduce", max[i], m);
    }
    return sum[0];
}

static uint64_t do_gathers(struct ctx *c)
{
    uint64_t mine = word(c->seed, c->rank, 1), result = 0, back;
    uint64_t *all = calloc((size_t)c->size, sizeof(*all));
    uint64_t *at_root = calloc((size_t)c->size, sizeof(*at_root));

    MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    MPI_Gather(&mine, 1, MPI_UINT64_T, at_root, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int r = 0; r < c->size; r++) {
        check(c, "allgather", all[r], word(c->seed, r, 1));
        if (c->rank == 0)
            check(c, "gather", at_root[r], word(c->seed, r, 1));
        result ^= all[r];
    }
    MPI_Scatter(at_root, 1, MPI_UINT64_T, &back, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    check(c, "scatter", back, mine);
    free(all);
    free(at_root);
    return result;
}

static uint64_t do_alltoall(struct ctx *c)
{
    uint64_t *out = calloc((size_t)c->size, sizeof(*out));
    uint64_t *in = calloc((size_t)c->size, sizeof(*in));
    uint64_t result = 0, total;

    for (int r = 0; r < c->size; r++)
        out[r] = word(c->seed, c->rank, 2) + (uint64_t)r;
    MPI_Alltoall(out, 1, MPI_UINT64_T, in, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < c->size; r++) {
        check(c, "alltoall", in[r], word(c->seed, r, 2) + (uint64_t)c->rank);
        result += in[r];
    }
    MPI_Allreduce(&result, &total, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    free(out);
    free(in);
    return total;
}

int main(int argc, char **argv)
{
    struct ctx c = {.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1};
    uint64_t result;
    int errors;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.size);
    result = do_bcast(&c);
    MPI_Barrier(MPI_COMM_WORLD);
    result = result * 31 + do_reductions(&c);
    result = result * 31 + do_gathers(&c);
    result = result * 31 + do_alltoall(&c);
    MPI_Allreduce(&c.errors, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (c.rank == 0)
        printf("coll: size=%d seed=%" PRIu64 " result=%" PRIu64 " %s\n", c.size, c.seed, result,
               errors ? "WRONG" : "ok");
    MPI_Finalize();
    return errors != 0;
}
