# SPDX-License-Identifier: BSD-3-Clause
# Refuses C code that clang-format takes but that the house style does not (docs/style.md). Input: code
# without comments and texts, from ci/strip.awk, as "file:line:text", in the layout of clang-format.
# - strcmp() and its like are compared: strcmp(a, b) == 0, never !strcmp(a, b).
# - A body of one simple statement has no braces; any other body has, and so has every loop macro. If one
#   branch of an if has braces, all have.
# - A blank line follows the declarations at the head of a block.
# - The macro of a cleanup attribute stands before the type: FREE_AUTO char *name.
# - sizeof has parentheses.

BEGIN {
    LOOP = "(HASH_ITER|(LL|DL|CDL)_FOREACH[A-Z_0-9]*|json_[a-z_]*foreach[a-z_]*)\\("
    CONTROL = "^ *(} )?((else )?if \\(|for \\(|while \\(|else( [{])?$|do [{]|switch \\(|" LOOP ")"
    WORDS = "((const|static|struct|enum|union|unsigned|signed|volatile|long|register) )*"
    NAME = "[A-Za-z_][A-Za-z_0-9]*"
    DECLARATION = "^ +([A-Z_0-9]+_AUTO )?" WORDS NAME "( (const|long|int|char|unsigned))*( +| *[*]+ *(const )?)" \
        "([(][*])?[*]*" NAME " *(=|;|\\[|,|[)][(]|[A-Z_]+_AUTO|__attribute__|[{])"
    NO_TYPE = "^ +(return|goto|else|case|typedef|sizeof|do)[^A-Za-z_0-9]"
    COMPARED = "(str|strn|strcase|strncase|mem)cmp\\("
    bad = 0
}

function refuse(at, why) {
    print file ":" at ": " trimmed(text[at]) "  <- " why
    bad = 1
}

function trimmed(line) {
    sub(/^ +/, "", line)
    return line
}

function indent(at) {
    match(text[at], /^ */)
    return RLENGTH
}

function is_code(at) {
    return text[at] ~ /[^ ]/
}

# The line on which the parentheses that open on line `at` are closed, and what follows them in `rest`.
function closing(at, from,    depth, i, c, line) {
    depth = 0
    for (; at <= n; at++) {
        line = text[at]
        for (i = from; i <= length(line); i++) {
            c = substr(line, i, 1)
            if (c == "(")
                depth++
            else if (c == ")" && --depth == 0) {
                rest = substr(line, i + 1)
                return at
            }
        }
        from = 1
    }
    rest = ""
    return n
}

function next_code(at) {
    do
        at++
    while (at <= n && !is_code(at))
    return at
}

# --- strcmp

function check_compared(at,    line, from, before) {
    line = text[at]
    from = 1
    while (match(substr(line, from), COMPARED)) {
        before = substr(line, from, RSTART - 1)
        from += RSTART + RLENGTH - 1
        closing(at, from - 1)
        if (before ~ /!$/ || rest ~ /^ *(\)|&&|[|][|]|[?]|$)/ && before !~ /[A-Za-z_0-9]$/)
            refuse(at, "compare its result with 0")
    }
}

# --- braces

function check_body(at,    end, braced, first, last, top, simple, i, after, chained, kind) {
    if (text[at] !~ CONTROL || text[at] ~ /^ *(do [{]|switch \()/ || text[at] ~ /^ *} while \(/)
        return
    end = at
    rest = ""
    if (text[at] !~ /else( [{])?$/)
        end = closing(at, index(text[at], "("))
    if (text[at] ~ ("^ *" LOOP)) {
        i = rest ~ /[{]$/ ? end : next_code(end)
        if (text[i] !~ /[{]$/)
            refuse(at, "a loop macro has braces")
        return
    }
    if (text[end] ~ /;$/)
        return
    braced = text[end] ~ /[{]$/
    first = next_code(end)
    top = indent(first)
    simple = text[first] !~ CONTROL
    count = 0
    for (i = first; i <= n && (!is_code(i) || indent(i) > indent(at) || text[i] ~ /^#/); i++)
        if (is_code(i)) {
            last = i
            count += indent(i) == top || text[i] ~ /^#/
        }
    after = i
    chained = text[at] ~ /else/ || text[after] ~ /^ *(} )?else/
    if (!braced && !simple)
        refuse(at, "a body that is not one simple statement has braces")
    if (braced && simple && count == 1 && !chained && text[last] ~ /;$/ && text[first] !~ /^ *}/ && first < after &&
        text[first] !~ DECLARATION)
        refuse(at, "a body of one simple statement has no braces")
    if (text[at] ~ /else/ && (text[at] ~ /^ *} else/) != braced)
        refuse(at, "braces on all branches or on none")
}

# --- declarations

function declares(at) {
    return text[at] ~ DECLARATION && text[at] !~ NO_TYPE
}

# The last line of the declaration that begins on line `at`.
function end_of_declaration(at,    depth, i, c) {
    depth = 0
    for (; at <= n; at++)
        for (i = 1; i <= length(text[at]); i++) {
            c = substr(text[at], i, 1)
            if (index("({[", c))
                depth++
            else if (index(")}]", c))
                depth--
            else if (c == ";" && !depth)
                return at
        }
    return n
}

function check_declarations(at,    i, found, blank) {
    if (text[at] !~ /[{]$/ || text[at] ~ /= *[{]$/ || text[at] ~ /^[^(]*(struct|union|enum)[^(]*[{]$/ ||
        text[at] ~ /[)][{]$/)
        return
    for (i = at + 1; i <= n; i++) {
        if (text[i] ~ /^ +$/) # a comment
            continue
        if (text[i] == "") {
            blank = 1
            continue
        }
        if (blank || !declares(i))
            break
        found = 1
        i = end_of_declaration(i)
    }
    if (found && !blank && i <= n && text[i] !~ /^ *}/)
        refuse(i, "a blank line goes before the first statement")
}

function check_file(    at) {
    for (at = 1; at <= n; at++) {
        if (text[at] ~ /^ *#/ || text[at] ~ /\\$/) # clang-format has no layout for macros
            continue
        check_compared(at)
        check_body(at)
        check_declarations(at)
        if (text[at] ~ /[A-Za-z_0-9\])*] [A-Z_0-9]+_AUTO( =|;|,|$)/ || text[at] ~ /__attribute__\(\(cleanup/)
            refuse(at, "the macro of a cleanup attribute stands before the type")
        if (text[at] ~ /(^|[^A-Za-z_0-9])sizeof [^(]/)
            refuse(at, "sizeof has parentheses")
    }
}

{
    match($0, /^[^:]+:[0-9]+:/)
    head = substr($0, 1, RLENGTH - 1)
    name = head
    sub(/:[0-9]+$/, "", name)
    if (name != file) {
        if (n)
            check_file()
        file = name
        n = 0
    }
    text[++n] = substr($0, RLENGTH + 1)
    if (is_code(n))
        sub(/ +$/, "", text[n])
}

END {
    if (n)
        check_file()
    exit bad
}
