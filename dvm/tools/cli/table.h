/* SPDX-License-Identifier: BSD-3-Clause */
/* Text tables: columns as wide as their widest cell, two spaces between them. */
#ifndef DVM_CLI_TABLE_H
#define DVM_CLI_TABLE_H

#include <stdio.h>

struct table;

/* `heads` is a NULL-terminated list and is copied. A heading that begins with '>' aligns its
 * column to the right. */
struct table *table_create(const char *const *heads);
void table_destroy(struct table *t);
/* Appends a cell, as cli_text() shows it. A row is complete after as many cells as there are
 * headings. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_print(const struct table *t, FILE *out);

#endif
