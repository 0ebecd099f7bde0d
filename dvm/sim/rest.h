/* SPDX-License-Identifier: BSD-3-Clause */
/* What a head still has to do. */
#ifndef DVM_SIM_REST_H
#define DVM_SIM_REST_H

#include "dvm/protocol/core/core.h"

struct rest {
    size_t jobs;
    size_t campaigns; /* that have not ended */
};

struct rest rest_look(const struct core *head);

#endif
