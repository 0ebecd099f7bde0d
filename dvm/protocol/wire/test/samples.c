/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's specification and the messages of a client: small, valid, and with something in every
 * field. */
#include "dvm/protocol/wire/test/samples.h"

#define BYTES(s) .data = (const uint8_t *)(s), .len = sizeof(s) - 1

static char *some_argv[] = {"prog", "-v", "", NULL};
static char *some_env[] = {"PATH=/bin", NULL};
static uint32_t some_vpids[] = {1, 3};
static struct job_app some_app = {
    .argv = some_argv, .env = some_env, .cwd = "/tmp", .nprocs = 2, .program = 2};

static struct job_cleanup some_cleanups[] = {{"/tmp/f", 0},
                                             {"/tmp/d", JOB_CLEAN_DIR | JOB_CLEAN_RECURSIVE}};

static char *some_files[] = {"in/data", "prog"};

struct job_spec sample_spec(void)
{
    return (struct job_spec){.flags = JOB_NO_WAIT,
                             .map_by = JOB_MAP_BY_PPR,
                             .ppr = 2,
                             .stdin_rank = JOB_RANK_ALL,
                             .timeout_ms = 1500,
                             .stop = JOB_STOP_INIT,
                             .stop_rank = 1,
                             .nhosts = 2,
                             .hosts = some_vpids,
                             .parent_nspace = "5.1",
                             .parent_rank = 6,
                             .ncleanups = 2,
                             .cleanups = some_cleanups,
                             .nfiles = 2,
                             .files = some_files,
                             .napps = 1,
                             .apps = &some_app};
}

const struct client_msg *sample_clients(size_t *n)
{
    static struct client_msg list[] = {
        {.type = CLIENT_SUBMIT},
        {.type = CLIENT_STDIN, .input = {BYTES("in\0put")}},
        {.type = CLIENT_SIGNAL, .signal = {15}},
        {.type = CLIENT_CALL, .call = {"GET", "/v1/dvm?x=y", "{}"}},
        {.type = CLIENT_ACCEPTED, .accepted = {"5.12"}},
        {.type = CLIENT_STATE, .state = {JOB_RUNNING, "why"}},
        {.type = CLIENT_OUTPUT, .output = {.rank = 7, .stream = 2, BYTES("out\0put")}},
        {.type = CLIENT_DONE, .done = {255, "rank 3 failed"}},
        {.type = CLIENT_ERROR, .error = {125, "no"}},
        {.type = CLIENT_AWAY, .away = {125, "leaving"}},
        {.type = CLIENT_REPLY, .reply = {404, "{\"error\":{}}"}},
        {.type = CLIENT_LINE, .line = {"{\"number\":1}"}},
        {.type = CLIENT_STDIN_PAUSE, .pause = {true}},
        {.type = CLIENT_ATTACH, .attach = {"5.12"}},
        {.type = CLIENT_NOTE, .note = {"7 bytes are gone"}},
        {.type = CLIENT_MAP, .map = {BYTES("RANK  NODE\n")}},
        {.type = CLIENT_OPEN,
         .open =
             {.attempt = 2, .have = 1ull << 40, .window_ms = 30000, .token = "sixteen secrets"}},
        {.type = CLIENT_ACK, .ack = {1ull << 41}},
        {.type = CLIENT_BYE},
        {.type = CLIENT_OPENED, .opened = {.have = 3, .next = 1ull << 42}},
        {.type = CLIENT_REACHED, .reached = {"127.0.0.1"}},
        {.type = CLIENT_UNREACHED, .unreached = {true, "no"}},
        {.type = CLIENT_FILES, .files = {BYTES("\2\0\0\0\0\0\0\0\1x")}},
        {.type = CLIENT_FILES_ROOM, .room = {1ull << 33}},
        {.type = CLIENT_REFERRAL_ASK},
        {.type = CLIENT_REFERRAL, .referral = {2, {{"10.0.0.7", 7400}, {"fd00::1:2", 65535}}}},
    };

    list[0].submit.spec = sample_spec();
    *n = sizeof(list) / sizeof(*list);
    return list;
}
