/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the client that this process is. */
#include "dvm/host/pmix/test/clients/main.h"

#include <stdio.h>
#include <string.h>

/* As in pair.c: memory that the release's libpmix keeps until the process ends. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "suppressions=ci/lsan.supp:print_suppressions=0";
}

int client_main(int argc, char **argv, const struct client *clients, size_t n)
{
    for (size_t i = 0; argc > 1 && i < n; i++) {
        if (strncmp(argv[1], "--client=", 9) == 0 && strcmp(argv[1] + 9, clients[i].name) == 0)
            return clients[i].run(argc, argv);
    }
    fprintf(stderr, "there is no client %s\n", argc > 1 ? argv[1] : "");
    return 1;
}
