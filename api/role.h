/* SPDX-License-Identifier: BSD-3-Clause */
/* Roles of certificates: OU of the subject. Labels, Secrets and folders have the same words. */
#ifndef API_ROLE_H
#define API_ROLE_H

#include <stdbool.h>

/* X(ROLE, word) */
#define API_ROLE_LIST(X)                                                                           \
    X(NONE, "none") /* no certificate, or one whose role is not in this list */                    \
    X(HEAD, "head")                                                                                \
    X(MEMBER, "member")                                                                            \
    X(OPERATOR, "operator")                                                                        \
    X(USER, "user")                                                                                \
    X(CA, "ca") /* the authority itself; no connection is made with its certificate */

#define API_ROLE_MEMBER_OF(role, word) API_ROLE_##role,
enum api_role { API_ROLE_LIST(API_ROLE_MEMBER_OF) API_ROLES };
#undef API_ROLE_MEMBER_OF

/* "none": no such role. */
const char *api_role_word(enum api_role role);
/* API_ROLE_NONE: no role has this word. */
enum api_role api_role_of(const char *word);
/* A daemon of the DVM: head or member. */
bool api_role_is_daemon(enum api_role role);
/* A program that uses the DVM: user or operator. */
bool api_role_is_client(enum api_role role);

#endif
