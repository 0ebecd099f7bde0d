/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec between daemon and spawner: commands, reports, and the description of a rank. */
#include "dvm/host/spawner/spawn_msg.h"

#include <stdlib.h>
#include <string.h>

/* Copies a string of at most size - 1 bytes into a fixed array. */
static void get_text(struct cur *in, char *out, size_t size)
{
    FREE_AUTO char *s = cur_str(in, size - 1);

    memcpy(out, s, strlen(s) + 1);
}

void spawn_msg_cmd_encode(struct buf *b, const struct spawn_cmd *c)
{
    buf_put_u8(b, (uint8_t)c->kind);
    buf_put_u64(b, c->id);
    buf_put_u64(b, c->job);
    buf_put_u32(b, c->signum);
    buf_put_u32(b, c->flags);
    buf_put_u32(b, c->limit_ms);
    buf_put_str(b, c->path);
}

int spawn_msg_cmd_decode(struct cur *in, struct spawn_cmd *out, struct err *err)
{
    uint8_t kind = cur_u8(in);

    out->kind = (enum spawn_cmd_kind)kind;
    out->id = cur_u64(in);
    out->job = cur_u64(in);
    out->signum = cur_u32(in);
    out->flags = cur_u32(in);
    out->limit_ms = cur_u32(in);
    get_text(in, out->path, sizeof(out->path));
    if (!cur_done(in))
        return err_set(err, "decoding a command to the spawner: malformed");
    if (kind < SPAWN_CMD_START || kind > SPAWN_CMD_PING)
        return err_set(err, "decoding a command to the spawner: unknown kind %u", kind);
    return 0;
}

void spawn_msg_rep_encode(struct buf *b, const struct spawn_rep *r)
{
    buf_put_u8(b, (uint8_t)r->kind);
    buf_put_u64(b, r->id);
    buf_put_u32(b, (uint32_t)r->value);
    buf_put_str(b, r->what);
}

int spawn_msg_rep_decode(struct cur *in, struct spawn_rep *out, struct err *err)
{
    uint8_t kind = cur_u8(in);

    out->kind = (enum spawn_rep_kind)kind;
    out->id = cur_u64(in);
    out->value = (int32_t)cur_u32(in);
    get_text(in, out->what, sizeof(out->what));
    if (!cur_done(in))
        return err_set(err, "decoding a report of the spawner: malformed");
    if (kind < SPAWN_REP_READY || kind > SPAWN_REP_ALIVE)
        return err_set(err, "decoding a report of the spawner: unknown kind %u", kind);
    return 0;
}

static int put_strings(struct buf *b, const char *what, const char *const *v, struct err *err)
{
    uint32_t n = 0;

    for (; v && v[n]; n++) {
        if (n >= SPAWN_STRINGS_MAX)
            return err_set(err, "%s has more than %d strings", what, SPAWN_STRINGS_MAX);
    }
    buf_put_u32(b, n);
    for (uint32_t i = 0; i < n; i++) {
        if (strlen(v[i]) > SPAWN_STRING_MAX)
            return err_set(err, "%s: string %u has more than %d bytes", what, i, SPAWN_STRING_MAX);
        buf_put_str(b, v[i]);
    }
    return 0;
}

int spawn_msg_spec_encode(struct buf *b, const struct spawn_spec *s, struct err *err)
{
    if (!s->argv || !s->argv[0])
        return err_set(err, "no program is named");
    if (s->cwd && strlen(s->cwd) >= PATH_MAX)
        return err_set(err, "the working directory's name has more than %d bytes", PATH_MAX - 1);
    if (put_strings(b, "argv", s->argv, err) < 0 || put_strings(b, "environment", s->env, err) < 0)
        return -1;
    buf_put_str(b, s->cwd);
    buf_put_str(b, s->cpuset);
    buf_put_bytes(b, s->mask, s->mask_len);
    if (b->failed)
        return err_set(err, "arguments and environment take more than %u bytes", SPAWN_SPEC_MAX);
    return 0;
}

static void free_strings(const char *const *v)
{
    if (!v)
        return;
    for (const char *const *s = v; *s; s++)
        free((void *)*s);
    free((void *)v);
}

static const char *const *get_strings(struct cur *in)
{
    uint32_t n = cur_count(in, SPAWN_STRINGS_MAX, 4);
    const char **v = xcalloc((size_t)n + 1, sizeof(*v));

    for (uint32_t i = 0; i < n; i++)
        v[i] = cur_str(in, SPAWN_STRING_MAX);
    return v;
}

int spawn_msg_spec_decode(struct cur *in, struct spawn_spec *out, struct err *err)
{
    *out = (struct spawn_spec){0};
    out->argv = get_strings(in);
    out->env = get_strings(in);
    out->cwd = cur_str(in, PATH_MAX - 1);
    out->cpuset = cur_str(in, SPAWN_STRING_MAX);
    out->mask = cur_bytes(in, SPAWN_MASK_MAX, &out->mask_len);
    if (cur_done(in) && out->argv[0])
        return 0;
    spawn_msg_spec_free(out);
    return err_set(err, "decoding the description of a rank: malformed");
}

void spawn_msg_spec_free(struct spawn_spec *s)
{
    free_strings(s->argv);
    free_strings(s->env);
    free((void *)s->cwd);
    free((void *)s->cpuset);
    *s = (struct spawn_spec){0};
}
