/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits and the umask of the shell that submits a job, as an environment variable of its
 * ranks. */
#ifndef DVM_SPAWNER_LIMITS_H
#define DVM_SPAWNER_LIMITS_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The spawner applies the variable and takes it out: no rank has it. */
#define LIMITS_VARIABLE "DVM_LIMITS"
#define LIMITS_COUNT 5 /* stack, core, nofile, memlock, cpu */

struct limits {
    struct rlimit of[LIMITS_COUNT];
    mode_t umask;
};

/* Of this process. */
struct limits limits_read(void);
/* "DVM_LIMITS=022 SOFT:HARD ...", "-" for no limit; on the heap. */
char *limits_encode(const struct limits *l);
/* The value of the variable. False: it is malformed, or a number is out of range. */
bool limits_decode(const char *text, struct limits *out);
/* For this process, each no higher than its hard limit now. Returns an errno. */
int limits_apply(const struct limits *l);
/* The soft limits that are above the hard limits of the process: "stack 8192 kB, core 0", what they
 * become; on the heap. NULL: none is, or it is not known. */
char *limits_over(const struct limits *l, pid_t pid);

#endif
