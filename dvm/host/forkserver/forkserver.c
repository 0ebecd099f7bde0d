/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks the members of several vpids.
 *
 * Input: the command line of the first vpid and the number of the last one. Output: a process for
 * each vpid, and one line with its number on standard output.
 *
 * The caller has done before what is the same in all of them: they share that memory until one of
 * them writes to it. They have the server's control group and affinity, so its topology is theirs.
 *
 * Failures: words in which the vpid does not stand, or a range whose numbers differ in length, are
 * refused before the first fork. If a fork fails, the processes that exist stay; prte ends them. */
#include "dvm/host/forkserver/forkserver.h"

#include "base/buf/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS_MAX 11

enum { WORD_VPID, WORD_SESSION, WORD_HOST, WORDS };
static const char *const names[WORDS] = {"--vpid", "--session-dir", "--host-name"};

uint32_t forkserver_last(uint32_t first, uint32_t last)
{
    uint64_t next = 10; /* the first number with more digits */

    while (next <= first)
        next *= 10;
    return last < next ? last : (uint32_t)(next - 1);
}

/* Whether the word ends in the number and in no longer one. */
static bool ends_in(const char *word, const char *number)
{
    size_t len = strlen(word);
    size_t digits = strlen(number);

    return len >= digits && strcmp(word + len - digits, number) == 0 &&
           (len == digits || word[len - digits - 1] < '0' || word[len - digits - 1] > '9');
}

/* The word after `name` that ends in the number. NULL: there is none. */
static char *find_word(char **argv, const char *name, const char *number)
{
    for (size_t i = 1; argv[i] && argv[i + 1]; i++) {
        if (strcmp(argv[i], name) == 0)
            return ends_in(argv[i + 1], number) ? argv[i + 1] : NULL;
    }
    return NULL;
}

static int find_words(char **argv, uint32_t first, char *words[WORDS], struct err *err)
{
    char number[DIGITS_MAX];

    snprintf(number, sizeof(number), "%" PRIu32, first);
    for (int w = 0; w < WORDS; w++) {
        words[w] = find_word(argv, names[w], number);
        if (!words[w])
            return err_set(err, "%s: a value that ends in the vpid %s is needed", names[w], number);
    }
    return 0;
}

static int open_streams(const char *session, struct err *err)
{
    FREE_AUTO char *log = xasprintf("%s/" FORKSERVER_LOG, session);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = in >= 0 && out >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
              dup2(out, STDERR_FILENO) >= 0;
    int reason = errno;

    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return ok ? 0 : err_sys(err, reason, "opening %s", log);
}

static int become_member(char *const words[WORDS], uint32_t vpid, struct err *err)
{
    char number[DIGITS_MAX];
    size_t digits = (size_t)snprintf(number, sizeof(number), "%" PRIu32, vpid);

    for (int w = 0; w < WORDS; w++)
        memcpy(words[w] + strlen(words[w]) - digits, number, digits);
    setsid(); /* a Ctrl-C at the terminal is not meant for the daemon */
    return open_streams(words[WORD_SESSION], err);
}

int forkserver_run(char **argv, uint32_t first, uint32_t last, uint32_t *vpid, struct err *err)
{
    char *words[WORDS];

    if (last < first || forkserver_last(first, last) != last)
        return err_set(err, "vpids %u to %u: numbers of one length, in order, are needed", first,
                       last);
    if (find_words(argv, first, words, err) < 0)
        return -1;
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, nobody could wait for the members */
    for (*vpid = first; *vpid <= last; ++*vpid) {
        pid_t pid = fork();

        if (pid < 0)
            return err_sys(err, errno, "forking the daemon of vpid %u", *vpid);
        if (pid == 0)
            return become_member(words, *vpid, err);
        if (dprintf(STDOUT_FILENO, "%u %d\n", *vpid, (int)pid) < 0)
            return err_sys(err, errno, "reporting the daemon of vpid %u", *vpid);
    }
    return 1;
}
