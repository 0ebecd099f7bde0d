/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the names in the signature of a collective. */
#include "dvm/protocol/gather/signature.h"

#include "base/buf/buf.h"

#include <string.h>

#define KIND_BYTES 1
#define RANK_BYTES 4

bool signature_next(const void *sig, size_t siglen, size_t *at, struct signature_name *out)
{
    const char *bytes = sig;
    size_t begin = *at ? *at : KIND_BYTES;
    size_t len = begin < siglen ? strnlen(bytes + begin, siglen - begin) : 0;
    struct cur rank;

    if (begin >= siglen || siglen - begin < len + 1 + RANK_BYTES)
        return false;
    rank = cur_of(bytes + begin + len + 1, RANK_BYTES);
    *out = (struct signature_name){bytes + begin, cur_u32(&rank)};
    *at = begin + len + 1 + RANK_BYTES;
    return true;
}

bool signature_has_jobs(const void *sig, size_t siglen)
{
    struct signature_name name;
    size_t at = 0;

    while (signature_next(sig, siglen, &at, &name))
        ;
    return at > 0 && at == siglen;
}

bool signature_names(const void *sig, size_t siglen, const char *nspace)
{
    struct signature_name name;

    for (size_t at = 0; signature_next(sig, siglen, &at, &name);) {
        if (strcmp(name.nspace, nspace) == 0)
            return true;
    }
    return false;
}
