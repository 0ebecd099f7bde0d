/* SPDX-License-Identifier: BSD-3-Clause */
/* The key by which a daemon proves that it is the one that the head has admitted. */
#ifndef DVM_HOST_HELD_KEY_H
#define DVM_HOST_HELD_KEY_H

#include "base/tls/tls.h"

/* From the file "key" of the session directory, so that a process that is started again there is
 * the same daemon; a new key if there is no such file, or a malformed one. */
struct tls_held *held_key_open(const char *session_dir, struct err *err);

#endif
