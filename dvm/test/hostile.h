/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of hostile_probe.c: of all commands of libpmix' protocol, made of typed fields of
 * which some are odd. What would remove or write files, or end jobs, is never asked for. Everything
 * follows from `state`. */
#ifndef DVM_TEST_HOSTILE_H
#define DVM_TEST_HOSTILE_H

#include "dvm/test/probe.h"

#include <stdint.h>

#define DEPTH_MAX 3

/* Commands of the protocol, by number (src/include/pmix_globals.h of the library). */
enum {
    CMD_REQ,
    CMD_ABORT,
    CMD_COMMIT,
    CMD_FENCE,
    CMD_GET,
    CMD_FINALIZE,
    CMD_PUBLISH,
    CMD_LOOKUP,
    CMD_UNPUBLISH,
    CMD_SPAWN,
    CMD_CONNECT,
    CMD_DISCONNECT,
    CMD_NOTIFY,
    CMD_REGEVENTS,
    CMD_DEREGEVENTS,
    CMD_QUERY,
    CMD_LOG,
    CMD_ALLOC,
    CMD_JOB_CONTROL,
    CMD_MONITOR,
    CMD_GET_CREDENTIAL,
    CMD_VALIDATE_CREDENTIAL,
    CMD_IOF_PULL,
    CMD_IOF_PUSH,
    CMD_GROUP_CONSTRUCT,
    CMD_GROUP_JOIN,
    CMD_GROUP_INVITE,
    CMD_GROUP_LEAVE,
    CMD_GROUP_DESTRUCT,
    CMD_IOF_DEREG,
    CMD_FABRIC_REGISTER,
    CMD_FABRIC_UPDATE,
    CMD_DISTANCES,
    CMD_REFRESH_CACHE,
    CMD_NONE /* the first that is none */
};

static uint64_t state;
static bool honest; /* nothing is odd by chance */

static uint32_t any(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static bool one_in(uint32_t n)
{
    return !honest && any(n) == 0;
}

/* --- fields. What would remove or write files, or end jobs, is not among the keys. */

static const char *const keys[] = {PMIX_TIMEOUT,
                                   PMIX_COLLECT_DATA,
                                   PMIX_GROUP_ASSIGN_CONTEXT_ID,
                                   PMIX_GROUP_LOCAL_ONLY,
                                   PMIX_GROUP_MEMBERSHIP,
                                   PMIX_GROUP_CONTEXT_ID,
                                   PMIX_GROUP_ENDPT_DATA,
                                   PMIX_GROUP_OPTIONAL,
                                   PMIX_GROUP_NOTIFY_TERMINATION,
                                   "pmix.grp.info",
                                   "pmix.embed.barrier",
                                   "pmix.loc.col.st",
                                   PMIX_RANGE,
                                   PMIX_PERSISTENCE,
                                   PMIX_WAIT,
                                   PMIX_IMMEDIATE,
                                   PMIX_OPTIONAL,
                                   PMIX_GET_REFRESH_CACHE,
                                   PMIX_DATA_SCOPE,
                                   PMIX_NODE_INFO,
                                   PMIX_APP_INFO,
                                   PMIX_SESSION_INFO,
                                   PMIX_HOSTNAME,
                                   PMIX_NODEID,
                                   PMIX_APPNUM,
                                   PMIX_SESSION_ID,
                                   PMIX_NSPACE,
                                   PMIX_RANK,
                                   PMIX_PROCID,
                                   PMIX_JOBID,
                                   PMIX_PROC_DATA,
                                   PMIX_LOCAL_PEERS,
                                   PMIX_JOB_SIZE,
                                   PMIX_NODE_MAP,
                                   PMIX_PROC_MAP,
                                   PMIX_EVENT_NON_DEFAULT,
                                   PMIX_EVENT_CUSTOM_RANGE,
                                   PMIX_EVENT_AFFECTED_PROC,
                                   PMIX_EVENT_AFFECTED_PROCS,
                                   PMIX_EVENT_DO_NOT_CACHE,
                                   PMIX_EVENT_HDLR_NAME,
                                   PMIX_EVENT_TEXT_MESSAGE,
                                   PMIX_EVENT_RETURN_OBJECT,
                                   PMIX_EVENT_PROXY,
                                   PMIX_QUERY_NAMESPACES,
                                   PMIX_QUERY_PROC_TABLE,
                                   PMIX_QUERY_LOCAL_PROC_TABLE,
                                   PMIX_QUERY_JOB_STATUS,
                                   PMIX_QUERY_REFRESH_CACHE,
                                   PMIX_QUERY_ATTRIBUTE_SUPPORT,
                                   PMIX_CLIENT_ATTRIBUTES,
                                   PMIX_SERVER_ATTRIBUTES,
                                   PMIX_HOST_ATTRIBUTES,
                                   PMIX_QUERY_GROUP_NAMES,
                                   PMIX_QUERY_GROUP_MEMBERSHIP,
                                   PMIX_QUERY_PSET_NAMES,
                                   PMIX_QUERY_MEMORY_USAGE,
                                   PMIX_LOG_STDERR,
                                   PMIX_LOG_STDOUT,
                                   PMIX_LOG_GENERATE_TIMESTAMP,
                                   PMIX_LOG_XML_OUTPUT,
                                   PMIX_LOG_ONCE,
                                   PMIX_LOG_MSG,
                                   PMIX_LOG_SOURCE,
                                   PMIX_ALLOC_ID,
                                   PMIX_ALLOC_REQ_ID,
                                   PMIX_ALLOC_NUM_NODES,
                                   PMIX_ALLOC_NODE_LIST,
                                   PMIX_ALLOC_TIME,
                                   PMIX_ALLOC_NETWORK,
                                   PMIX_JOB_CTRL_ID,
                                   PMIX_JOB_CTRL_RESUME,
                                   PMIX_JOB_CTRL_CANCEL,
                                   PMIX_MONITOR_HEARTBEAT,
                                   PMIX_MONITOR_ID,
                                   PMIX_MONITOR_CANCEL,
                                   PMIX_MONITOR_HEARTBEAT_TIME,
                                   PMIX_MONITOR_FILE,
                                   PMIX_SEND_HEARTBEAT,
                                   PMIX_CRED_TYPE,
                                   PMIX_USERID,
                                   PMIX_GRPID,
                                   PMIX_IOF_CACHE_SIZE,
                                   PMIX_IOF_DROP_OLDEST,
                                   PMIX_IOF_BUFFERING_SIZE,
                                   PMIX_IOF_TAG_OUTPUT,
                                   PMIX_IOF_XML_OUTPUT,
                                   PMIX_IOF_COMPLETE,
                                   PMIX_IOF_STOP,
                                   PMIX_STDIN_TGT,
                                   PMIX_FWD_STDIN,
                                   PMIX_FWD_STDOUT,
                                   PMIX_MAPBY,
                                   PMIX_RANKBY,
                                   PMIX_BINDTO,
                                   PMIX_HOST,
                                   PMIX_NOTIFY_COMPLETION,
                                   PMIX_SET_ENVAR,
                                   PMIX_UNSET_ENVAR,
                                   PMIX_ADD_ENVAR,
                                   PMIX_PREPEND_ENVAR,
                                   PMIX_PARENT_ID,
                                   PMIX_SPAWNED,
                                   PMIX_REQUESTOR_IS_TOOL,
                                   PMIX_TAG_OUTPUT,
                                   PMIX_PERSONALITY,
                                   PMIX_TOPOLOGY2,
                                   PMIX_CPUSET,
                                   PMIX_LOCALITY_STRING,
                                   PMIX_DEVICE_TYPE,
                                   PMIX_FABRIC_INDEX,
                                   PMIX_QUALIFIED_VALUE};

static const char *const texts[] = {"",       "x",    "true", "node1",  "node2",
                                    "native", "slot", "core", "no-such"};

static const char *text(void)
{
    static char longer[1024];

    if (one_in(8)) {
        size_t n = any(sizeof(longer) - 1);

        memset(longer, 'a' + (int)any(26), n);
        longer[n] = '\0';
        return longer;
    }
    return one_in(5) ? me.nspace : texts[any(sizeof(texts) / sizeof(texts[0]))];
}

static void load_proc(pmix_proc_t *p)
{
    static const pmix_rank_t ranks[] = {
        0, 1, 2, 3, PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF, PMIX_RANK_LOCAL_NODE, 1000};

    PMIX_LOAD_PROCID(p, one_in(4) ? text() : me.nspace,
                     ranks[any(sizeof(ranks) / sizeof(ranks[0]))]);
}

static uint64_t number(void)
{
    static const uint64_t odd[] = {0, 1, 2, 255, INT32_MAX, UINT32_MAX, UINT64_MAX, 1u << 20};

    return one_in(2) ? any(6) : odd[any(sizeof(odd) / sizeof(odd[0]))];
}

static void load_info(pmix_info_t *info, int depth);

static void load_array(pmix_value_t *v, int depth)
{
    size_t n = any(4);
    pmix_data_array_t *a = calloc(1, sizeof(*a));

    v->type = PMIX_DATA_ARRAY;
    v->data.darray = a;
    if (depth < DEPTH_MAX && one_in(2)) {
        PMIX_DATA_ARRAY_CONSTRUCT(a, n, PMIX_INFO);
        for (size_t i = 0; i < n; i++)
            load_info((pmix_info_t *)a->array + i, depth + 1);
    } else if (one_in(2)) {
        PMIX_DATA_ARRAY_CONSTRUCT(a, n, PMIX_PROC);
        for (size_t i = 0; i < n; i++)
            load_proc((pmix_proc_t *)a->array + i);
    } else {
        PMIX_DATA_ARRAY_CONSTRUCT(a, n, PMIX_UINT32);
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)a->array)[i] = (uint32_t)number();
    }
}

static void load_value(pmix_value_t *v, int depth)
{
    static const pmix_data_type_t simple[] = {
        PMIX_BOOL,   PMIX_BYTE,      PMIX_SIZE,   PMIX_INT,   PMIX_UINT32,     PMIX_UINT64,
        PMIX_STATUS, PMIX_PROC_RANK, PMIX_UINT16, PMIX_SCOPE, PMIX_DATA_RANGE, PMIX_PERSIST};
    uint64_t n = number();
    pmix_byte_object_t bo;
    pmix_envar_t envar;
    pmix_proc_t proc;

    switch (any(8)) {
    case 0:
    case 1:
        PMIX_VALUE_LOAD(v, text(), PMIX_STRING);
        break;
    case 2:
        load_proc(&proc);
        PMIX_VALUE_LOAD(v, &proc, PMIX_PROC);
        break;
    case 3:
        load_array(v, depth);
        break;
    case 4:
        bo = (pmix_byte_object_t){.bytes = (char *)text()};
        bo.size = strlen(bo.bytes);
        PMIX_VALUE_LOAD(v, &bo, PMIX_BYTE_OBJECT);
        break;
    case 5:
        envar =
            (pmix_envar_t){.envar = (char *)"HOSTILE", .value = (char *)text(), .separator = ':'};
        PMIX_VALUE_LOAD(v, &envar, PMIX_ENVAR);
        break;
    default:
        PMIX_VALUE_LOAD(v, &n, simple[any(sizeof(simple) / sizeof(simple[0]))]);
    }
}

static void load_info(pmix_info_t *info, int depth)
{
    PMIX_INFO_CONSTRUCT(info);
    PMIX_LOAD_KEY(info->key, keys[any(sizeof(keys) / sizeof(keys[0]))]);
    info->flags = one_in(4) ? PMIX_INFO_REQD : 0;
    load_value(&info->value, depth);
}

/* --- messages */

static pmix_data_buffer_t msg;

static void put(void *what, int32_t n, pmix_data_type_t type)
{
    (void)PMIx_Data_pack(NULL, &msg, what, n, type);
}

static void put_size(size_t n)
{
    put(&n, 1, PMIX_SIZE);
}

static void put_text(const char *t)
{
    put(&t, 1, PMIX_STRING);
}

static void put_u32(uint32_t n)
{
    put(&n, 1, PMIX_UINT32);
}

/* Now and then the number is not that of what follows. */
static void put_count(size_t n)
{
    put_size(one_in(24) ? (size_t)number() : n);
}

static void put_procs(void)
{
    size_t n = any(5);
    pmix_proc_t procs[5];

    for (size_t i = 0; i < n; i++)
        load_proc(&procs[i]);
    if (one_in(2)) {
        n = 1;
        procs[0] = me;
    }
    put_count(n);
    put(procs, (int32_t)n, PMIX_PROC);
}

static void put_infos(void)
{
    size_t n = any(4);
    pmix_info_t info[4];

    put_count(n);
    for (size_t i = 0; i < n; i++) {
        load_info(&info[i], 0);
        put(&info[i], 1, PMIX_INFO);
        PMIX_INFO_DESTRUCT(&info[i]);
    }
}

static void put_codes(void)
{
    static const pmix_status_t codes[] = {PMIX_EVENT_JOB_END, PMIX_ERR_PROC_ABORTED, INT32_MIN,
                                          -1000, 7};
    size_t n = any(4);

    put_count(n);
    for (size_t i = 0; i < n; i++) {
        pmix_status_t code = codes[any(sizeof(codes) / sizeof(codes[0]))];

        put(&code, 1, PMIX_STATUS);
    }
}

static void put_texts(void)
{
    size_t n = any(4);

    put_count(n);
    for (size_t i = 0; i < n; i++)
        put_text(one_in(3) ? keys[any(sizeof(keys) / sizeof(keys[0]))] : text());
}

static void put_bytes(void)
{
    pmix_byte_object_t bo = {.bytes = (char *)text()};

    bo.size = strlen(bo.bytes);
    put(&bo, 1, PMIX_BYTE_OBJECT);
}

static void put_apps(void)
{
    size_t n = any(3);

    put_count(n);
    for (size_t i = 0; i < n; i++) {
        pmix_app_t app;

        PMIX_APP_CONSTRUCT(&app);
        app.cmd = strdup(one_in(2) ? "true" : "no-such-program");
        app.maxprocs = (int)any(3);
        PMIX_ARGV_APPEND(*(int[]){0}, app.argv, app.cmd);
        put(&app, 1, PMIX_APP);
        PMIX_APP_DESTRUCT(&app);
    }
}

static void put_queries(void)
{
    size_t n = any(3);

    put_count(n);
    for (size_t i = 0; i < n; i++) {
        pmix_query_t q;

        PMIX_QUERY_CONSTRUCT(&q);
        PMIX_ARGV_APPEND(*(int[]){0}, q.keys, keys[any(sizeof(keys) / sizeof(keys[0]))]);
        PMIX_QUERY_QUALIFIERS_CREATE(&q, 1);
        load_info(&q.qualifiers[0], 1);
        put(&q, 1, PMIX_QUERY);
        PMIX_QUERY_DESTRUCT(&q);
    }
}

/* Any field at all. */
static void put_something(void)
{
    pmix_info_t info;
    uint8_t byte = (uint8_t)any(256);

    switch (any(8)) {
    case 0:
        put_size((size_t)number());
        break;
    case 1:
        put_text(text());
        break;
    case 2:
        put_procs();
        break;
    case 3:
        put_infos();
        break;
    case 4:
        put(&byte, 1, PMIX_UINT8);
        break;
    case 5:
        put_u32((uint32_t)number());
        break;
    case 6:
        put_bytes();
        break;
    default:
        load_info(&info, 0);
        put(&info, 1, PMIX_INFO);
        PMIX_INFO_DESTRUCT(&info);
    }
}

static void put_modex(void)
{
    pmix_data_buffer_t outer = msg;
    pmix_byte_object_t bo;

    PMIX_DATA_BUFFER_CONSTRUCT(&msg);
    for (uint32_t i = any(4); i > 0; i--)
        put_something();
    bo = (pmix_byte_object_t){.bytes = msg.base_ptr, .size = msg.bytes_used};
    {
        pmix_data_buffer_t inner = msg;

        msg = outer;
        put(&bo, 1, PMIX_BYTE_OBJECT);
        PMIX_DATA_BUFFER_DESTRUCT(&inner);
    }
}

static void put_status(void)
{
    pmix_status_t rc = (pmix_status_t)number();

    put(&rc, 1, PMIX_STATUS);
}

static void put_byte(pmix_data_type_t type, uint32_t below)
{
    uint8_t b = (uint8_t)any(below);

    put(&b, 1, type);
}

static void put_channel(void)
{
    pmix_iof_channel_t c = (pmix_iof_channel_t)any(16);

    put(&c, 1, PMIX_IOF_CHANNEL);
}

static void put_monitor(void)
{
    pmix_info_t info;

    load_info(&info, 0);
    put(&info, 1, PMIX_INFO);
    PMIX_INFO_DESTRUCT(&info);
    put_status();
    put_infos();
}

static void put_get(void)
{
    pmix_proc_t p;

    load_proc(&p);
    put_text(p.nspace);
    put(&p.rank, 1, PMIX_PROC_RANK);
    put_infos();
    if (!one_in(4))
        put_text(one_in(2) ? keys[any(sizeof(keys) / sizeof(keys[0]))] : text());
}

static void put_log(void)
{
    time_t now = (time_t)number();

    put(&now, 1, PMIX_TIME);
    put_infos();
    put_infos();
}

/* The fields of a command, as its clients send them. */
static void put_fields(int cmd)
{
    switch (cmd) {
    case CMD_COMMIT:
        put_byte(PMIX_SCOPE, 6);
        put_modex();
        break;
    case CMD_FENCE:
    case CMD_CONNECT:
    case CMD_DISCONNECT:
    case CMD_JOB_CONTROL:
        put_procs();
        put_infos();
        break;
    case CMD_GET:
        put_get();
        break;
    case CMD_PUBLISH:
        put_u32((uint32_t)getuid());
        put_infos();
        break;
    case CMD_LOOKUP:
    case CMD_UNPUBLISH:
        put_u32((uint32_t)getuid());
        put_texts();
        put_infos();
        break;
    case CMD_SPAWN:
        put_infos();
        put_apps();
        break;
    case CMD_NOTIFY:
        put_status();
        put_byte(PMIX_DATA_RANGE, 9);
        put_infos();
        break;
    case CMD_REGEVENTS:
        put_codes();
        put_infos();
        break;
    case CMD_DEREGEVENTS:
        put_codes();
        break;
    case CMD_QUERY:
        put_queries();
        break;
    case CMD_LOG:
        put_log();
        break;
    case CMD_ALLOC:
        put_byte(PMIX_ALLOC_DIRECTIVE, 6);
        put_infos();
        break;
    case CMD_MONITOR:
        put_monitor();
        break;
    case CMD_GET_CREDENTIAL:
    case CMD_FABRIC_REGISTER:
        put_infos();
        break;
    case CMD_VALIDATE_CREDENTIAL:
        put_bytes();
        put_infos();
        break;
    case CMD_IOF_PULL:
        put_procs();
        put_infos();
        put_channel();
        put_size((size_t)any(8));
        break;
    case CMD_IOF_PUSH:
        put_procs();
        put_infos();
        put_bytes();
        break;
    case CMD_IOF_DEREG:
        put_infos();
        put_size((size_t)number());
        break;
    case CMD_GROUP_CONSTRUCT:
    case CMD_GROUP_DESTRUCT:
        put_text(text());
        put_procs();
        put_infos();
        break;
    case CMD_FABRIC_UPDATE:
        put_size((size_t)number());
        break;
    default:
        break;
    }
}

static void make_message(void)
{
    int cmd;
    uint8_t byte;

    do
        cmd = (int)any(CMD_NONE + 2);
    while (cmd == CMD_ABORT || (cmd == CMD_FINALIZE && !one_in(16)));
    byte = (uint8_t)cmd;
    PMIX_DATA_BUFFER_CONSTRUCT(&msg);
    put(&byte, 1, PMIX_COMMAND);
    put_fields(cmd);
    while (one_in(6))
        put_something();
}

#endif
