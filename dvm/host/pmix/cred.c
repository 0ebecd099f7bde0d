/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials: requests of connected clients to make one or to check one, and the answers.
 *
 * In: PMIx_Get_credential and PMIx_Validate_credential, on the library's thread; the results of
 * services/credentials.c. Out: the holder of the wanted credential (on_cred_get()), or the bytes to
 * be checked (on_cred_check()); for the client the bytes, or the holder as a list of attributes.
 *
 * Invariants: the holder is the process as this daemon knows it: its job, rank, user and group. A
 * client of no known job is a tool, and has the daemon's user and group. A tool is accepted only
 * where tools may attach, and if its namespace is neither a job's nor the servers'. If the client
 * gives an expected user or group, the check succeeds only for a holder with these.
 *
 * Failures: an unknown required attribute, or a list of types without CRED_TYPE, gives
 * PMIX_ERR_NOT_SUPPORTED. A credential that is empty or longer than CRED_MAX gives
 * PMIX_ERR_INVALID_CRED. A client that is neither a local rank nor an accepted tool gets
 * PMIX_ERR_NO_PERMISSIONS.
 *
 * Signatures are made and checked in dvm/host/cred, not here. */
#include "dvm/host/cred/cred.h"
#include "dvm/host/pmix/pmix_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static_assert(PMIX_SRV_CRED_MAX == CRED_MAX, "credentials are handed through as they are");

/* --- requests; on PMIx's thread */

/* Attributes that the library or its clients add are ignored, not refused. */
static bool is_known(const pmix_info_t *i)
{
    return PMIX_CHECK_KEY(i, PMIX_CRED_TYPE) || PMIX_CHECK_KEY(i, PMIX_TIMEOUT) ||
           PMIX_CHECK_KEY(i, PMIX_USERID) || PMIX_CHECK_KEY(i, PMIX_GRPID);
}

/* A list of types, the best first: the only type here is "dvm". */
static bool has_our_type(const char *types)
{
    size_t n = strlen(CRED_TYPE);

    for (const char *at = types; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, CRED_TYPE, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

static pmix_status_t check_directives(const pmix_info_t *info, size_t n)
{
    const pmix_info_t *type = info_find(info, n, PMIX_CRED_TYPE);

    if (!info_understood(info, n, is_known))
        return PMIX_ERR_NOT_SUPPORTED;
    if (!type)
        return PMIX_SUCCESS;
    if (type->value.type != PMIX_STRING || !type->value.data.string)
        return PMIX_ERR_BAD_PARAM;
    return has_our_type(type->value.data.string) ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

/* The holder of the credential as this daemon knows it, never as the client describes itself. */
static bool find_holder(struct pmix_srv *p, const struct upcall *u, struct pmix_srv_holder *who)
{
    const struct job *j = job_find(p, u->nspace);

    *who = (struct pmix_srv_holder){.proc.rank = u->rank};
    memcpy(who->proc.nspace, u->nspace, sizeof(who->proc.nspace) - 1);
    if (j) {
        who->uid = j->uid;
        who->gid = j->gid;
        return u->rank < j->launch->nranks && job_is_local(j, u->rank);
    }
    who->tool = true;
    who->uid = geteuid();
    who->gid = getegid();
    return p->tools && !upcall_nspace_is_taken(u->nspace);
}

static void run_get(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);
    struct pmix_srv_holder who;

    if (!find_holder(p, u, &who))
        pmix_srv_answer(p, req, PMIX_ERR_NO_PERMISSIONS, NULL, 0);
    else if (p->up.on_cred_get)
        p->up.on_cred_get(req, &who, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

pmix_status_t cred_on_get(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                          pmix_credential_cbfunc_t cb, void *cbdata)
{
    pmix_status_t rc = check_directives(info, ninfo);
    struct upcall *u = rc == PMIX_SUCCESS ? pmix_srv_upcall_new(run_get) : NULL;

    if (!u)
        return rc == PMIX_SUCCESS ? PMIX_ERR_INIT : rc;
    memcpy(u->nspace, proc->nspace, sizeof(u->nspace) - 1);
    u->rank = proc->rank;
    u->answer = (struct answer){.kind = ANSWER_CRED, .cb.cred = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

static void run_check(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_cred_check)
        p->up.on_cred_check(req, u->data.data, u->data.len, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* The expected user or group of the holder; -1: any. */
static int64_t expected_id(const pmix_info_t *info, size_t n, const char *key)
{
    return info_find(info, n, key) ? info_int(info, n, key, INT64_MAX) : -1;
}

pmix_status_t cred_on_check(const pmix_proc_t *proc, const pmix_byte_object_t *cred,
                            const pmix_info_t info[], size_t ninfo, pmix_validation_cbfunc_t cb,
                            void *cbdata)
{
    pmix_status_t rc = check_directives(info, ninfo);
    struct upcall *u;

    if (rc == PMIX_SUCCESS && (!cred || !cred->bytes || !cred->size || cred->size > CRED_MAX))
        rc = PMIX_ERR_INVALID_CRED;
    if (rc != PMIX_SUCCESS)
        return rc;
    u = pmix_srv_upcall_new(run_check);
    if (!u)
        return PMIX_ERR_INIT;
    buf_put_raw(&u->data, cred->bytes, cred->size);
    u->answer = (struct answer){.kind = ANSWER_CHECKED,
                                .cb.checked = cb,
                                .cbdata = cbdata,
                                .uid = expected_id(info, ninfo, PMIX_USERID),
                                .gid = expected_id(info, ninfo, PMIX_GRPID)};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

/* --- answers; on PMIx's thread, but for the first */

void pmix_srv_cred_answer(struct pmix_srv *p, pmix_req req, int status,
                          const struct pmix_srv_holder *who)
{
    bool good = status == PMIX_SUCCESS;

    pmix_srv_answer(p, req, status, good ? who : NULL, good ? sizeof(*who) : 0);
}

/* The library copies the bytes, of an object even when there are none, and may read the info
 * later. */
void cred_answer(const struct answer *a, int status, void *data, size_t len)
{
    static pmix_info_t type = {.key = PMIX_CRED_TYPE,
                               .value = {.type = PMIX_STRING, .data.string = (char *)CRED_TYPE}};
    pmix_byte_object_t bo = {.bytes = data, .size = len};

    a->cb.cred(status, &bo, status == PMIX_SUCCESS ? &type : NULL, status == PMIX_SUCCESS,
               a->cbdata);
}

void cred_answer_check(const struct answer *a, int status, const void *data, size_t len)
{
    struct pmix_srv_holder who = {0};
    pmix_data_array_t info = PMIX_DATA_ARRAY_STATIC_INIT;
    pmix_proc_t proc;
    void *list;

    if (len == sizeof(who))
        memcpy(&who, data, sizeof(who));
    if (status == PMIX_SUCCESS &&
        ((a->uid >= 0 && a->uid != who.uid) || (a->gid >= 0 && a->gid != who.gid)))
        status = PMIX_ERR_INVALID_CRED;
    if (status != PMIX_SUCCESS) {
        a->cb.checked(status, NULL, 0, a->cbdata);
        return;
    }
    list = PMIx_Info_list_start();
    PMIX_LOAD_PROCID(&proc, who.proc.nspace, who.proc.rank);
    PMIx_Info_list_add(list, PMIX_USERID, &who.uid, PMIX_UINT32);
    PMIx_Info_list_add(list, PMIX_GRPID, &who.gid, PMIX_UINT32);
    PMIx_Info_list_add(list, PMIX_PROCID, &proc, PMIX_PROC);
    PMIx_Info_list_add(list, PMIX_CRED_TYPE, CRED_TYPE, PMIX_STRING);
    PMIx_Info_list_convert(list, &info);
    PMIx_Info_list_release(list);
    a->cb.checked(PMIX_SUCCESS, info.array, info.size, a->cbdata);
    PMIX_DATA_ARRAY_DESTRUCT(&info);
}
