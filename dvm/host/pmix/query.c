/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Query_info: questions of local clients about jobs, processes and this DVM.
 *
 * In: a list of queries, each with keys and qualifiers. The questions are kept, the head is asked
 * for its table of jobs and processes, and each question gets its value from the row of its key in
 * `answers`. Out: the values found, on the library's thread.
 *
 * Invariants: all values of one request come from one table of the head. A question is about the
 * job that its qualifiers name, else about the requester's own.
 *
 * Failures: a key without a row, or a question without a value, adds nothing; the status says
 * whether all, some or none were found. If the head cannot be asked, the request gets that status.
 */
#include "dvm/host/pmix/jobtable.h"
#include "dvm/host/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>

#define DEBUG_SUPPORT PMIX_DEBUG_STOP_ON_EXEC "," PMIX_DEBUG_STOP_IN_INIT "," PMIX_DEBUG_STOP_IN_APP
/* The attributes that spawn.c reads. */
#define SPAWN_SUPPORT                                                                              \
    PMIX_MAPBY "," PMIX_RANKBY "," PMIX_BINDTO "," PMIX_WDIR "," PMIX_SET_SESSION_CWD              \
               "," PMIX_PRELOAD_FILES "," PMIX_PRELOAD_BIN "," PMIX_RUNTIME_OPTIONS                \
               "," PMIX_JOB_RECOVERABLE "," PMIX_ABORT_NON_ZERO_TERM "," PMIX_JOB_TIMEOUT          \
               "," PMIX_STDIN_TGT "," PMIX_FWD_STDIN "," PMIX_REGISTER_CLEANUP                     \
               "," PMIX_REGISTER_CLEANUP_DIR "," PMIX_CLEANUP_RECURSIVE "," PMIX_CLEANUP_EMPTY     \
               "," PMIX_CLEANUP_IGNORE "," PMIX_CLEANUP_LEAVE_TOPDIR "," PMIX_NOTIFY_COMPLETION    \
               "," DEBUG_SUPPORT

struct question {
    char key[PMIX_MAX_KEYLEN + 1];
    char nspace[PMIX_MAX_NSLEN + 1];
};
struct query {
    struct pmix_srv *srv;
    size_t n;
    struct question *questions;
};

/* The data from which a value is made. */
struct source {
    const struct pmix_srv *srv;
    const struct jobtable *table;
    const char *nspace;
};

static const struct jobtable_job *job_of(const struct source *s, uint32_t *index)
{
    for (size_t i = 0; i < s->table->njobs; i++) {
        *index = (uint32_t)i;
        if (strcmp(s->table->jobs[i].nspace, s->nspace) == 0)
            return &s->table->jobs[i];
    }
    return NULL;
}

/* Each adds the value under the key and returns true, or returns false: there is none. */

static bool put_text(void *list, const char *key, const char *text)
{
    return PMIx_Info_list_add(list, key, text, PMIX_STRING) == PMIX_SUCCESS;
}

static bool put_namespaces(void *list, const char *key, const struct source *s)
{
    BUF_AUTO struct buf names = {.max = PMIX_SRV_BLOB_MAX};

    for (size_t i = 0; i < s->table->njobs; i++) {
        const struct jobtable_job *j = &s->table->jobs[i];

        if (j->over)
            continue;
        buf_put_raw(&names, ",", names.len ? 1 : 0);
        buf_put_raw(&names, j->nspace, strlen(j->nspace));
    }
    buf_put_u8(&names, 0);
    return put_text(list, key, (const char *)names.data);
}

static bool put_universe(void *list, const char *key, const struct source *s)
{
    return PMIx_Info_list_add(list, key, &s->table->universe, PMIX_UINT32) == PMIX_SUCCESS;
}

static bool put_job_size(void *list, const char *key, const struct source *s)
{
    uint32_t i;
    const struct jobtable_job *j = job_of(s, &i);

    return j && PMIx_Info_list_add(list, key, &j->ranks, PMIX_UINT32) == PMIX_SUCCESS;
}

static bool put_job_status(void *list, const char *key, const struct source *s)
{
    uint32_t i;
    const struct jobtable_job *j = job_of(s, &i);
    pmix_status_t status = PMIX_OPERATION_IN_PROGRESS;

    if (j && j->over)
        status = j->exit_code ? PMIX_ERR_JOB_NON_ZERO_TERM : PMIX_SUCCESS;
    return j && PMIx_Info_list_add(list, key, &status, PMIX_STATUS) == PMIX_SUCCESS;
}

static void put_proc(pmix_proc_info_t *to, const struct source *s, const struct jobtable_proc *p)
{
    PMIX_LOAD_PROCID(&to->proc, s->nspace, p->rank);
    to->hostname = xstrdup(p->host);
    to->executable_name = xstrdup(p->program);
    to->pid = p->pid;
    to->exit_code = p->exit_code;
    to->state = p->state;
}

static bool put_procs(void *list, const char *key, const struct source *s, const char *host)
{
    pmix_data_array_t array = {.type = PMIX_PROC_INFO};
    uint32_t index;
    bool ok;

    if (!job_of(s, &index))
        return false;
    array.array = xcalloc(s->table->nprocs + 1, sizeof(pmix_proc_info_t));
    for (size_t i = 0; i < s->table->nprocs; i++) {
        const struct jobtable_proc *p = &s->table->procs[i];

        if (p->job == index && (!host || strcmp(host, p->host) == 0))
            put_proc((pmix_proc_info_t *)array.array + array.size++, s, p);
    }
    ok = PMIx_Info_list_add(list, key, &array, PMIX_DATA_ARRAY) == PMIX_SUCCESS;
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    return ok;
}

static bool put_proc_table(void *list, const char *key, const struct source *s)
{
    return put_procs(list, key, s, NULL);
}

static bool put_local_proc_table(void *list, const char *key, const struct source *s)
{
    return put_procs(list, key, s, s->srv->host);
}

static bool put_spawn_support(void *list, const char *key, const struct source *s)
{
    return put_text(list, key, SPAWN_SUPPORT);
}

static bool put_debug_support(void *list, const char *key, const struct source *s)
{
    return put_text(list, key, DEBUG_SUPPORT);
}

static bool put_keys(void *list, const char *key, const struct source *s);

static const struct {
    const char *key;
    bool (*put)(void *list, const char *key, const struct source *s);
} answers[] = {
    {PMIX_QUERY_NAMESPACES, put_namespaces},
    {PMIX_UNIV_SIZE, put_universe},
    {PMIX_JOB_SIZE, put_job_size},
    {PMIX_QUERY_JOB_STATUS, put_job_status},
    {PMIX_QUERY_PROC_TABLE, put_proc_table},
    {PMIX_QUERY_LOCAL_PROC_TABLE, put_local_proc_table},
    {PMIX_QUERY_SPAWN_SUPPORT, put_spawn_support},
    {PMIX_QUERY_DEBUG_SUPPORT, put_debug_support},
    {PMIX_QUERY_SUPPORTED_KEYS, put_keys},
};
#define NANSWERS (sizeof(answers) / sizeof(answers[0]))

static bool put_keys(void *list, const char *key, const struct source *s)
{
    BUF_AUTO struct buf names = {.max = PMIX_SRV_BLOB_MAX};

    for (size_t i = 0; i < NANSWERS; i++) {
        buf_put_raw(&names, ",", i ? 1 : 0);
        buf_put_raw(&names, answers[i].key, strlen(answers[i].key));
    }
    buf_put_u8(&names, 0);
    return put_text(list, key, (const char *)names.data);
}

static bool put_answer(void *list, const char *key, const struct source *s)
{
    for (size_t i = 0; i < NANSWERS; i++) {
        if (strcmp(key, answers[i].key) == 0)
            return answers[i].put(list, key, s);
    }
    return false;
}

/* --- the question */

static void run_query(struct pmix_srv *p, struct upcall *u)
{
    BUF_AUTO struct buf names = {.max = PMIX_SRV_BLOB_MAX};
    const struct query *q = u->answer.query;
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    for (size_t i = 0; i < q->n; i++) {
        buf_put_raw(&names, ",", i ? 1 : 0);
        buf_put_raw(&names, q->questions[i].nspace, strlen(q->questions[i].nspace));
    }
    buf_put_u8(&names, 0);
    if (p->up.on_query)
        p->up.on_query(req, (const char *)names.data, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* The job of a question: named by its qualifiers, else the requester's own. libpmix 4.2.2 names
 * its own server as the requester: then there is none. */
static void load_nspace(char *to, const pmix_query_t *q, const char *own)
{
    const char *name = strcmp(own, PMIX_SRV_NSPACE) == 0 ? "" : own;

    for (size_t i = 0; i < q->nqual; i++) {
        const pmix_info_t *info = &q->qualifiers[i];

        if (PMIX_CHECK_KEY(info, PMIX_NSPACE) && info->value.type == PMIX_STRING)
            name = info->value.data.string;
        else if (PMIX_CHECK_KEY(info, PMIX_PROCID) && info->value.type == PMIX_PROC)
            name = info->value.data.proc->nspace;
    }
    PMIX_LOAD_NSPACE(to, name);
}

pmix_status_t query_on_request(pmix_proc_t *proc, pmix_query_t *queries, size_t nqueries,
                               pmix_info_cbfunc_t cb, void *cbdata)
{
    struct upcall *u = pmix_srv_upcall_new(run_query);
    struct query *q;

    if (!u)
        return PMIX_ERR_INIT;
    q = xcalloc(1, sizeof(*q));
    q->srv = u->srv;
    for (size_t i = 0; i < nqueries; i++) {
        for (char **key = queries[i].keys; key && *key && q->n < PMIX_SRV_KEYS_MAX; key++) {
            q->questions = xrealloc(q->questions, (q->n + 1) * sizeof(*q->questions));
            PMIX_LOAD_KEY(q->questions[q->n].key, *key);
            load_nspace(q->questions[q->n++].nspace, &queries[i], proc->nspace);
        }
    }
    u->answer = (struct answer){.kind = ANSWER_QUERY, .cb.info = cb, .cbdata = cbdata, .query = q};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

void query_free(struct query *q)
{
    if (!q)
        return;
    free(q->questions);
    free(q);
}

/* --- the answer */

static void on_taken(void *cbdata)
{
    pmix_data_array_t *array = cbdata;

    PMIX_DATA_ARRAY_DESTRUCT(array);
    free(array);
}

static pmix_status_t status_of(size_t found, size_t asked)
{
    if (found == asked)
        return PMIX_SUCCESS;
    return found ? PMIX_QUERY_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/* The answer, under way to the library's thread. */
struct found {
    pmix_info_cbfunc_t cb;
    void *cbdata;
    pmix_status_t status;
    pmix_data_array_t *array;
};

static void give_found(void *arg)
{
    struct found *f = arg;

    f->cb(f->status, f->array->array, f->array->size, f->cbdata, on_taken, f->array);
    free(f);
}

static void drop_found(void *arg)
{
    struct found *f = arg;

    on_taken(f->array);
    free(f);
}

void query_answer(const struct answer *a, int status, const void *data, size_t len)
{
    pmix_data_array_t *array = xcalloc(1, sizeof(*array));
    void *list = PMIx_Info_list_start();
    struct jobtable table = {0};
    size_t found = 0;
    struct found *f;

    if (status == PMIX_SUCCESS && jobtable_decode(data, len, &table) < 0)
        status = PMIX_ERR_UNPACK_FAILURE;
    for (size_t i = 0; status == PMIX_SUCCESS && i < a->query->n; i++) {
        const struct question *q = &a->query->questions[i];
        struct source s = {a->query->srv, &table, q->nspace};

        found += put_answer(list, q->key, &s);
    }
    jobtable_free(&table);
    if (status == PMIX_SUCCESS)
        status = status_of(found, a->query->n);
    if (found)
        PMIx_Info_list_convert(list, array);
    PMIx_Info_list_release(list);
    f = xmalloc(sizeof(*f));
    *f = (struct found){a->cb.info, a->cbdata, status, array};
    handback_post(a->query->srv, give_found, drop_found, f);
}
