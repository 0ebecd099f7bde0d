/* SPDX-License-Identifier: BSD-3-Clause */
/* Bitmaps of hwloc that end the program with one line when memory runs out. */
#include "base/bitmap/bitmap.h"

#include "base/buf/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* hwloc's functions that make a bitmap longer return -1 if that fails, and for no other reason. */
static void check_grown(int rc)
{
    if (rc < 0)
        alloc_fail(0);
}

hwloc_bitmap_t bitmap_alloc(void)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (!set)
        alloc_fail(0);
    return set;
}

hwloc_bitmap_t bitmap_dup(hwloc_const_bitmap_t set)
{
    hwloc_bitmap_t copy = hwloc_bitmap_dup(set);

    if (!copy)
        alloc_fail(0);
    return copy;
}

void bitmap_copy(hwloc_bitmap_t to, hwloc_const_bitmap_t from)
{
    check_grown(hwloc_bitmap_copy(to, from));
}

void bitmap_set(hwloc_bitmap_t set, unsigned bit)
{
    check_grown(hwloc_bitmap_set(set, bit));
}

void bitmap_set_range(hwloc_bitmap_t set, unsigned first, int last)
{
    check_grown(hwloc_bitmap_set_range(set, first, last));
}

void bitmap_clr(hwloc_bitmap_t set, unsigned bit)
{
    check_grown(hwloc_bitmap_clr(set, bit));
}

void bitmap_or(hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
    check_grown(hwloc_bitmap_or(to, a, b));
}

void bitmap_and(hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
    check_grown(hwloc_bitmap_and(to, a, b));
}

char *bitmap_list_text(hwloc_const_bitmap_t set)
{
    char *text = NULL;

    if (hwloc_bitmap_list_asprintf(&text, set) < 0 || !text)
        alloc_fail(0);
    return text;
}

/* The greatest number in the text, at most BITMAP_LIST_MAX + 1. */
static unsigned greatest_number(const char *text)
{
    unsigned long most = 0;

    while (*text && most <= BITMAP_LIST_MAX) {
        unsigned long n = 0;
        char *end;

        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        n = strtoul(text, &end, 0); /* as hwloc does */
        most = n > most ? n : most;
        text = end;
    }
    return most > BITMAP_LIST_MAX ? BITMAP_LIST_MAX + 1 : (unsigned)most;
}

/* hwloc does not check that the bitmap could be made long enough for each number. So it is made
 * long enough first: hwloc never makes a bitmap shorter. */
int bitmap_list_parse(hwloc_bitmap_t set, const char *text)
{
    unsigned most = greatest_number(text);

    hwloc_bitmap_zero(set);
    if (most > BITMAP_LIST_MAX)
        return -1;
    bitmap_set(set, most);
    return hwloc_bitmap_list_sscanf(set, text);
}
