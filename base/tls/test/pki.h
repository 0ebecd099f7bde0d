/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: a directory with a certificate authority and certificates, removed at the end. */
#ifndef BASE_TLS_TEST_PKI_H
#define BASE_TLS_TEST_PKI_H

#include "base/buf/buf.h"
#include "base/tls/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PKI_FILES_MAX 64

struct pki {
    char dir[64];
    char *files[PKI_FILES_MAX];
    size_t nfiles;
    struct tls_ca *ca;
};

static inline void pki_die(const char *what)
{
    fprintf(stderr, "pki: %s\n", what);
    abort();
}

static inline const char *pki_keep(struct pki *p, char *path)
{
    for (size_t i = 0; i < p->nfiles; i++) {
        if (strcmp(p->files[i], path) == 0) {
            free(path);
            return p->files[i];
        }
    }
    if (p->nfiles == PKI_FILES_MAX)
        pki_die("too many files");
    p->files[p->nfiles++] = path;
    return path;
}

/* The path belongs to the pki. An existing file is replaced by a new one, as Kubernetes does with a
 * Secret's. */
static inline const char *pki_write(struct pki *p, const char *name, const char *text)
{
    const char *path = pki_keep(p, xasprintf("%s/%s", p->dir, name));
    FILE *f;

    unlink(path);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        pki_die("cannot write a file");
    return path;
}

static inline void pki_init(struct pki *p, const char *cluster)
{
    struct err err = {0};
    char *pem;

    memset(p, 0, sizeof(*p));
    snprintf(p->dir, sizeof(p->dir), "/tmp/pki-XXXXXX");
    if (!mkdtemp(p->dir))
        pki_die("cannot create a directory");
    p->ca = tls_ca_create(cluster, 10, &err);
    if (!p->ca)
        pki_die(err.msg);
    pem = tls_ca_cert_pem(p->ca);
    pki_write(p, "ca.pem", pem);
    free(pem);
}

static inline void pki_fini(struct pki *p)
{
    for (size_t i = 0; i < p->nfiles; i++) {
        unlink(p->files[i]);
        free(p->files[i]);
    }
    rmdir(p->dir);
    tls_ca_destroy(p->ca);
}

/* Writes <name>.pem and <name>.key; `names` as in tls_ca_issue(). */
static inline void pki_issue(struct pki *p, const char *role, const char *name,
                             const char *const *names, int days)
{
    FREE_AUTO char *cert = NULL;
    FREE_AUTO char *key = NULL;
    FREE_AUTO char *cert_name = xasprintf("%s.pem", name);
    FREE_AUTO char *key_name = xasprintf("%s.key", name);
    struct err err = {0};

    if (tls_ca_issue(p->ca, role, name, names, days, &cert, &key, &err) < 0)
        pki_die(err.msg);
    pki_write(p, cert_name, cert);
    pki_write(p, key_name, key);
}

/* A context that trusts `trust`'s authority and shows the certificate `name` of `p`. */
static inline struct tls_ctx *pki_ctx(const struct pki *p, const char *name,
                                      const struct pki *trust)
{
    FREE_AUTO char *ca = xasprintf("%s/ca.pem", trust->dir);
    FREE_AUTO char *cert = xasprintf("%s/%s.pem", p->dir, name);
    FREE_AUTO char *key = xasprintf("%s/%s.key", p->dir, name);
    struct err err = {0};
    struct tls_ctx *ctx =
        tls_ctx_create(&(struct tls_files){.ca = ca, .cert = cert, .key = key}, &err);

    if (!ctx)
        pki_die(err.msg);
    return ctx;
}

#endif
