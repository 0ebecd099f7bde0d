/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the mutants, and the chosen one. */
#include "dvm/sim/mutant.h"

#include "dvm/sim/mutant_list.h"

#ifdef DVM_MUTANTS

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 64

struct name {
    const char *id, *text;
};

#define NAME(id, text) {#id, text},
static const struct name names[] = {{"NONE", ""}, MUTANTS(NAME)};

static enum mutant chosen;

bool mutant_is(enum mutant m)
{
    return m == chosen;
}

static void spell_name(const char *id, char name[NAME_MAX_BYTES])
{
    size_t i = 0;

    for (; id[i] && i < NAME_MAX_BYTES - 1; i++)
        name[i] = id[i] == '_' ? '-' : (char)tolower((unsigned char)id[i]);
    name[i] = 0;
}

int mutant_choose(const char *name, struct err *err)
{
    char spelt[NAME_MAX_BYTES];

    chosen = MUTANT_NONE;
    if (!name || !*name)
        return 0;
    for (int i = 1; i < MUTANT_COUNT; i++) {
        spell_name(names[i].id, spelt);
        if (strcmp(spelt, name) != 0)
            continue;
        chosen = (enum mutant)i;
        return 0;
    }
    return err_set(err, "there is no mutant %s", name);
}

void mutant_list(void)
{
    char spelt[NAME_MAX_BYTES];

    for (int i = 1; i < MUTANT_COUNT; i++) {
        spell_name(names[i].id, spelt);
        printf("%-24s %s\n", spelt, names[i].text);
    }
}

#else

int mutant_choose(const char *name, struct err *err)
{
    return name && *name
               ? err_set(err, "mutant %s: this build holds none (build/mutant does)", name)
               : 0;
}

void mutant_list(void)
{
}

#endif
