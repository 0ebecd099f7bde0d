/* SPDX-License-Identifier: BSD-3-Clause */
/* splitmix64: the same on every machine, so a seed has one meaning. */
#ifndef DVM_SIM_DICE_H
#define DVM_SIM_DICE_H

#include <stdint.h>

#define DICE_STEP 0x9e3779b97f4a7c15ull /* a sequence mixes start + DICE_STEP, + 2 DICE_STEP, … */

static inline uint64_t dice_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

#endif
