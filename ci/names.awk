# SPDX-License-Identifier: BSD-3-Clause
# Refuses names of functions that do not show in a backtrace where they belong (docs/style.md).
# Input, from ctags, one line for a definition or a prototype: name, file, line, "file" for a static one or
# "-", kind ("function" or "prototype").
# - An exported function begins with the noun of its file, of its header or of a folder above. The noun may
#   differ by an ending (objects: object_; reconcile: reconciler_).
# - A static function has two words or more: a verb and its object.

BEGIN {
    # Known in every C program by these names.
    split("main xmalloc xcalloc xrealloc xstrdup xstrndup xasprintf xvasprintf free_ptr", list, " ")
    for (i in list)
        known[list[i]] = 1
}

function refuse(file, line, name, why) {
    print file ":" line ": " name ": " why
    bad = 1
    refused++
}

function begins_with(name, noun,    rest) {
    sub(/s$/, "", noun)
    if (substr(name, 1, length(noun)) != noun)
        return 0
    rest = substr(name, length(noun) + 1)
    return rest ~ /^[a-z]?[a-z]?_./
}

function belongs(name, path,    part, n, i) {
    sub(/\.[ch]$/, "", path)
    sub(/_private$/, "", path)
    gsub(/-/, "_", path)
    n = split(path, part, "/")
    for (i = n; i > 0; i--)
        if (begins_with(name, part[i]))
            return 1
    return 0
}

$1 in known { next }

$5 == "prototype" {
    if ($2 ~ /\.h$/)
        header[$1] = header[$1] " " $2
    next
}

$4 == "file" {
    static_count++
    if ($1 !~ /._./)
        refuse($2, $3, $1, "a static function says what it does and to what")
    next
}

{
    name[++count] = $1
    file[count] = $2
    line[count] = $3
}

function declared_well(name,    path, n, i) {
    n = split(header[name], path, " ")
    for (i = 1; i <= n; i++)
        if (belongs(name, path[i]))
            return 1
    return 0
}

END {
    for (k = 1; k <= count; k++)
        if (!belongs(name[k], file[k]) && !declared_well(name[k]))
            refuse(file[k], line[k], name[k], "an exported function begins with the noun of its file or folder")
    if (bad)
        print "names: " refused " functions of " count + static_count " are refused"
    exit bad
}
