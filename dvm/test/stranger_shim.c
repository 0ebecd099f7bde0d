/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a client of the PMIx server: it states user STRANGER_UID and group STRANGER_GID in
 * place of its own. */
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned stated(const char *name)
{
    const char *text = getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

uid_t getuid(void)
{
    return stated("STRANGER_UID");
}

uid_t geteuid(void)
{
    return stated("STRANGER_UID");
}

gid_t getgid(void)
{
    return stated("STRANGER_GID");
}

gid_t getegid(void)
{
    return stated("STRANGER_GID");
}
