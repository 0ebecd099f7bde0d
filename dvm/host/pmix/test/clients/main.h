/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of clients: the tests start it with "--client=<name>". It is linked with the release's
 * own libpmix. */
#ifndef DVM_PMIX_TEST_CLIENTS_MAIN_H
#define DVM_PMIX_TEST_CLIENTS_MAIN_H

#include <stddef.h>

struct client {
    const char *name;
    int (*run)(int argc, char **argv);
};
int client_main(int argc, char **argv, const struct client *clients, size_t n);

#endif
