/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the certificates of a local DVM. */
#include "dvm/tools/ldvm/certs.h"

#include "api/role.h"
#include "base/buf/buf.h"
#include "base/tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAYS 365

static int make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0700) < 0)
        return err_sys(err, errno, "making %s", path);
    return 0;
}

static int write_file(const char *dir, const char *name, const char *text, struct err *err)
{
    FREE_AUTO char *path = xasprintf("%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0)
        return err_sys(err, errno, "making %s", path);
    n = write(fd, text, len);
    if (close(fd) < 0 || n != (ssize_t)len)
        return err_sys(err, n < 0 ? errno : ENOSPC, "writing %s", path);
    return 0;
}

static int issue_cert(const struct ldvm *l, struct tls_ca *ca, enum api_role cert_role,
                      struct err *err)
{
    static const char *const names[] = {"127.0.0.1", "localhost", NULL};
    const char *role = api_role_word(cert_role);
    FREE_AUTO char *dir = xasprintf("%s/tls/%s", l->dir, role);
    FREE_AUTO char *trust = tls_ca_cert_pem(ca);
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;

    if (tls_ca_issue(ca, role, role, names, DAYS, &cert, &key, err) < 0)
        return err_wrap(err, "certificate of role %s", role);
    if (make_dir(dir, err) < 0 || write_file(dir, "ca.crt", trust, err) < 0 ||
        write_file(dir, "tls.crt", cert, err) < 0)
        return -1;
    return write_file(dir, "tls.key", key, err);
}

int ldvm_certs(const struct ldvm *l, struct err *err)
{
    static const enum api_role roles[] = {API_ROLE_HEAD, API_ROLE_MEMBER, API_ROLE_OPERATOR,
                                          API_ROLE_USER};
    FREE_AUTO char *dir = xasprintf("%s/tls", l->dir);
    struct tls_ca *ca = tls_ca_create(l->cluster, DAYS, err);
    int rc;

    if (!ca)
        return err_wrap(err, "certificate authority of %s", l->cluster);
    rc = make_dir(dir, err);
    for (size_t i = 0; rc == 0 && i < sizeof(roles) / sizeof(roles[0]); i++)
        rc = issue_cert(l, ca, roles[i], err);
    tls_ca_destroy(ca);
    return rc;
}
