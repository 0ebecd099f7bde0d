/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the kubeconfig: the input is the file. What is accepted has an address and a
 * namespace; what is refused has a reason. */
#include "operator/kube/kube.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(const char *path, const char *context)
{
    struct err err = {0};
    struct kube_config *c = kube_config_load(path, context, &err);

    if (!c && !err.msg[0])
        abort();
    if (c && (strncasecmp(kube_config_server(c), "http", 4) != 0 || !kube_config_namespace(c)))
        abort();
    kube_config_destroy(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
    FREE_AUTO char *path = xasprintf("/proc/self/fd/%d", fd);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    load(path, NULL);
    load(path, "other");
    close(fd);
    return 0;
}
