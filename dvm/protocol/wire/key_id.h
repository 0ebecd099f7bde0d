/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of the key that a daemon holds (base/tls/proof.c). All members show one certificate;
 * by its key a daemon proves on each connection that it is the one that the head has admitted. */
#ifndef DVM_WIRE_KEY_ID_H
#define DVM_WIRE_KEY_ID_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_ID_BYTES 16

/* The first 16 bytes of the public key's SHA-256, big-endian. All zero: no key was shown. */
struct key_id {
    uint64_t high, low;
};

static inline bool key_id_eq(struct key_id a, struct key_id b)
{
    return a.high == b.high && a.low == b.low;
}

static inline bool key_id_none(struct key_id k)
{
    return k.high == 0 && k.low == 0;
}

#endif
