/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks vpids and numbers of members against their limit. */
#include "api/vpid.h"

#include "base/conf/number.h"

bool vpid_allowed(uint64_t vpid)
{
    return vpid <= VPID_MAX;
}

int vpid_check(const char *what, uint64_t vpid, struct err *err)
{
    if (vpid_allowed(vpid))
        return 0;
    return err_code(err, 400, "%s: %llu is over the limit, %d members", what,
                    (unsigned long long)vpid, VPID_MAX);
}

int vpid_parse(const char *text, const char *what, uint32_t *out, struct err *err)
{
    uint64_t n;

    if (number_parse(text, what, 0, VPID_MAX, &n, err) < 0)
        return -1;
    *out = (uint32_t)n;
    return 0;
}
