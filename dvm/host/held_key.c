/* SPDX-License-Identifier: BSD-3-Clause */
/* The key of a daemon, and its file: the bytes of the seed, mode 0600. */
#include "dvm/host/held_key.h"

#include "base/buf/buf.h"
#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 1: read; 0: there is none, or it is no key of ours. */
static int read_seed(const char *path, uint8_t seed[TLS_SEED_BYTES], struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint8_t bytes[TLS_SEED_BYTES + 1]; /* one more than there should be */
    bool ok;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : err_sys(err, errno, "reading %s", path);
    n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                !(st.st_mode & (S_IRWXG | S_IRWXO))
            ? read(fd, bytes, sizeof(bytes))
            : 0;
    close(fd);
    ok = n == TLS_SEED_BYTES;
    if (ok)
        memcpy(seed, bytes, TLS_SEED_BYTES);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    if (ok)
        return 1;
    log_warn("%s is not a key of this daemon; it gets a new one", path);
    return 0;
}

static int write_seed(const char *path, const uint8_t seed[TLS_SEED_BYTES], struct err *err)
{
    FREE_AUTO char *tmp = xasprintf("%s.tmp", path);
    bool ok;
    int fd;

    (void)unlink(tmp);
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    ok = fd >= 0 && write(fd, seed, TLS_SEED_BYTES) == TLS_SEED_BYTES;
    if (fd >= 0)
        ok &= close(fd) == 0;
    return ok && rename(tmp, path) == 0 ? 0 : err_sys(err, errno, "writing %s", path);
}

struct tls_held *held_key_open(const char *session_dir, struct err *err)
{
    FREE_AUTO char *path = xasprintf("%s/key", session_dir);
    struct tls_held *held = NULL;
    uint8_t seed[TLS_SEED_BYTES];
    int rc = read_seed(path, seed, err);

    if (rc == 0) {
        rc = tls_held_new_seed(seed, err);
        if (rc == 0)
            rc = write_seed(path, seed, err);
    }
    if (rc >= 0)
        held = tls_held_create(seed, err);
    OPENSSL_cleanse(seed, sizeof(seed));
    return held;
}
