/* SPDX-License-Identifier: BSD-3-Clause */
/* Escapes what a terminal may act on.
 *
 * In: bytes of any origin. Out: printable UTF-8. Control characters (C0, DEL, and C1, which are
 * U+0080 to U+009F), bytes that are not UTF-8, ends of lines in Unicode (U+2028, U+2029) and
 * characters that change the direction of the text (U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069, U+061C) are replaced by their bytes: "\x1b". A newline becomes "\n".
 *
 * The logger uses it too, so nothing here allocates. */
#include "base/text/printable.h"

#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 sequence at p and its character; 0: malformed or overlong. */
static size_t decode_character(const unsigned char *p, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (len == 0 || p[0] >= 0xf8)
        return 0;
    *code = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    return *code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : len;
}

static bool is_printable(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code != 0x061c && code != 0x200e &&
           code != 0x200f && !(code >= 0x2028 && code <= 0x202e) &&
           !(code >= 0x2066 && code <= 0x2069);
}

/* Length of the character at p if it may be shown; 0: its first byte is to be escaped. */
static size_t printable_bytes(const char *p)
{
    uint32_t code = 0;
    size_t len = decode_character((const unsigned char *)p, &code);

    return len && is_printable(code) ? len : 0;
}

bool printable_copy(char *out, size_t *len, size_t room, const char *text)
{
    for (const char *p = text; *p;) {
        size_t n = printable_bytes(p);
        char escaped[8];
        size_t m = n;

        if (n == 0)
            m = (size_t)snprintf(escaped, sizeof(escaped), *p == '\n' ? "\\n" : "\\x%02x",
                                 (unsigned char)*p);
        if (*len + m > room)
            return false;
        memcpy(out + *len, n ? p : escaped, m);
        *len += m;
        p += n ? n : 1;
    }
    return true;
}

void printable_json(const char *json, FILE *out)
{
    for (const char *p = json; *p;) {
        uint32_t code = 0;
        size_t len = decode_character((const unsigned char *)p, &code);

        if (len == 0)
            fputs("\\ufffd", out);
        else if (!is_printable(code) && *p != '\n' && *p != '\t')
            fprintf(out, "\\u%04x", (unsigned)code);
        else
            fwrite(p, 1, len, out);
        p += len ? len : 1;
    }
}
