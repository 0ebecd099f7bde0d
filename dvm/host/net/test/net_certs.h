/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: the TLS contexts of two authorities. */
#ifndef DVM_NET_TEST_NET_CERTS_H
#define DVM_NET_TEST_NET_CERTS_H

#include "base/tls/test/pki.h"

/* A context is named after its certificate and the authority that it trusts. */
struct certs {
    struct pki red;
    struct pki blue;
    struct tls_ctx *head;
    struct tls_ctx *member;
    struct tls_ctx *stranger;  /* blue, trusts blue */
    struct tls_ctx *pretender; /* blue, trusts red: only the server can refuse it */
};

/* The red head and the blue certificate, which has the role `blue`, are valid for these names. */
static inline struct certs *certs_create(const char *const *names, const char *blue)
{
    struct certs *c = xcalloc(1, sizeof(*c));

    pki_init(&c->red, "red");
    pki_init(&c->blue, "blue");
    pki_issue(&c->red, "head", "x-head-0", names, 5);
    pki_issue(&c->red, "member", "x-1", NULL, 5);
    pki_issue(&c->blue, blue, "y-1", names, 5);
    c->head = pki_ctx(&c->red, "x-head-0", &c->red);
    c->member = pki_ctx(&c->red, "x-1", &c->red);
    c->stranger = pki_ctx(&c->blue, "y-1", &c->blue);
    c->pretender = pki_ctx(&c->blue, "y-1", &c->red);
    return c;
}

static inline void certs_destroy(struct certs *c)
{
    tls_ctx_destroy(c->head);
    tls_ctx_destroy(c->member);
    tls_ctx_destroy(c->stranger);
    tls_ctx_destroy(c->pretender);
    pki_fini(&c->red);
    pki_fini(&c->blue);
    free(c);
}

#endif
