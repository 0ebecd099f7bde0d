/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator of OpenSSL. Without it an allocation that fails once can leave the library in a
 * state in which every handshake is refused until the program ends: the key of an authority that
 * could not be copied counts as no key.
 *
 * The functions keep what OpenSSL does by itself for no bytes: it gets NULL, which is no failure.
 * The longest message of a handshake that a peer can send is bounded by OpenSSL. */
#include "base/buf/buf.h"
#include "base/heap/heap.h"
#include "base/log/log.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static void *crypto_malloc(size_t n, const char *file, int line)
{
    return n ? xmalloc(n) : NULL;
}

static void crypto_free(void *p, const char *file, int line)
{
    free(p);
}

static void *crypto_realloc(void *p, size_t n, const char *file, int line)
{
    if (n)
        return xrealloc(p, n);
    free(p);
    return NULL;
}

void heap_guard_crypto(void)
{
    if (!CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free))
        log_warn("OpenSSL was used before its allocator was set: it keeps the C library's");
}
