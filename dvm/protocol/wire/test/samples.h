/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's specification, and one message of every type between a client and its daemon, for tests
 * and fuzz targets. */
#ifndef DVM_WIRE_TEST_SAMPLES_H
#define DVM_WIRE_TEST_SAMPLES_H

#include "dvm/protocol/wire/client.h"

struct job_spec sample_spec(void); /* static storage */
const struct client_msg *sample_clients(size_t *n);

#endif
