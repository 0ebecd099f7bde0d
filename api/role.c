/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the roles, and which roles are daemons or clients. */
#include "api/role.h"

#include <string.h>

#define API_ROLE_WORD(role, word) [API_ROLE_##role] = (word),
static const char *const words[API_ROLES] = {API_ROLE_LIST(API_ROLE_WORD)};
#undef API_ROLE_WORD

const char *api_role_word(enum api_role role)
{
    return (unsigned)role < API_ROLES ? words[role] : words[API_ROLE_NONE];
}

enum api_role api_role_of(const char *word)
{
    for (int r = API_ROLE_NONE + 1; r < API_ROLES; r++) {
        if (strcmp(words[r], word) == 0)
            return (enum api_role)r;
    }
    return API_ROLE_NONE;
}

bool api_role_is_daemon(enum api_role role)
{
    return role == API_ROLE_HEAD || role == API_ROLE_MEMBER;
}

bool api_role_is_client(enum api_role role)
{
    return role == API_ROLE_USER || role == API_ROLE_OPERATOR;
}
