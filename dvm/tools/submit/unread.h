/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables by which other launchers are told where ranks run; prun does not read them. */
#ifndef DVM_SUBMIT_UNREAD_H
#define DVM_SUBMIT_UNREAD_H

/* The names of those that are set, for a message. On the heap; NULL: there are none. */
char *unread_names(char *const *env);

#endif
