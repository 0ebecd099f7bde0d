/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into daemons: the library's thread stands still for ever as soon as a client connects,
 * if there is a FIFO of the name in $STILL, through which it says so. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pmix_server.h>
#include <stdlib.h>
#include <unistd.h>

static pmix_server_module_t host;

static pmix_status_t connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                               size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    const char *path = getenv("STILL");
    int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return host.client_connected2(proc, object, info, ninfo, cb, cbdata);
    (void)!write(fd, "still\n", 6);
    close(fd);
    for (;;)
        pause();
}

pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t (*library)(pmix_server_module_t *, pmix_info_t *, size_t);
    static pmix_server_module_t ours;

    *(void **)&library = dlsym(RTLD_NEXT, "PMIx_server_init");
    host = ours = *module;
    ours.client_connected2 = connected;
    return library(&ours, info, ninfo);
}
