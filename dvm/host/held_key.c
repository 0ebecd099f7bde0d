/* SPDX-License-Identifier: BSD-3-Clause */
/* The key of a daemon, and its file: the seed in hexadecimal digits, mode 0600. */
#include "dvm/host/held_key.h"

#include "base/buf/buf.h"
#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_BYTES (2 * TLS_SEED_BYTES + 1) /* with the end of the line */

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_seed(const char text[TEXT_BYTES], uint8_t seed[TLS_SEED_BYTES])
{
    for (size_t i = 0; i < TLS_SEED_BYTES; i++) {
        int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        seed[i] = (uint8_t)(high << 4 | low);
    }
    return text[TEXT_BYTES - 1] == '\n';
}

/* 1: read; 0: there is none, or it is no key of ours. */
static int read_seed(const char *path, uint8_t seed[TLS_SEED_BYTES], struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[TEXT_BYTES + 1]; /* one more than there should be */
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : err_sys(err, errno, "reading %s", path);
    n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                !(st.st_mode & (S_IRWXG | S_IRWXO))
            ? read(fd, text, sizeof(text))
            : 0;
    close(fd);
    if (n == TEXT_BYTES && parse_seed(text, seed))
        return 1;
    log_warn("%s is not a key of this daemon; it gets a new one", path);
    return 0;
}

static void format_seed(const uint8_t seed[TLS_SEED_BYTES], char text[TEXT_BYTES])
{
    for (size_t i = 0; i < TLS_SEED_BYTES; i++) {
        text[2 * i] = "0123456789abcdef"[seed[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[seed[i] & 15];
    }
    text[TEXT_BYTES - 1] = '\n';
}

static int write_seed(const char *path, const uint8_t seed[TLS_SEED_BYTES], struct err *err)
{
    FREE_AUTO char *tmp = xasprintf("%s.tmp", path);
    char text[TEXT_BYTES];
    bool ok;
    int fd;

    (void)unlink(tmp);
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    format_seed(seed, text);
    ok = fd >= 0 && write(fd, text, sizeof(text)) == (ssize_t)sizeof(text);
    OPENSSL_cleanse(text, sizeof(text));
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
