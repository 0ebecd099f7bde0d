/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of the radix. */
#include "dvm/protocol/wire/msg/radix.h"

int msg_check_radix(uint32_t radix, struct err *err)
{
    if (radix < RADIX_MIN || radix > RADIX_MAX)
        return err_set(err, "radix %u is not in %d..%d", radix, RADIX_MIN, RADIX_MAX);
    return 0;
}
