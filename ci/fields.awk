# SPDX-License-Identifier: BSD-3-Clause
# The CRD (charts/dvm-operator/crds) as a list of the fields of spec and status: path, type, values, default, meaning.
# The fields of lastCampaign are those of campaign, and those of pod templates are Kubernetes' own.

function schema_key(name) { return depth > 1 && key[depth - 1] != "properties" && key[depth] == name }

# Of the field that the innermost "properties" above this line names; "" outside of spec and status.
function path_of(    i, path) {
    for (i = 2; i <= depth; i++) {
        if (key[i - 1] == "properties")
            path = path (path == "" ? "" : ".") key[i]
        else if (key[i] == "items")
            path = path "[]"
    }
    return path ~ /^(spec|status)\./ ? path : ""
}

function values(    text) {
    if (enum[at] != "")
        return enum[at]
    if (min[at] != "" && max[at] != "")
        return min[at] " to " max[at]
    return min[at] != "" ? "at least " min[at] : max[at] != "" ? "at most " max[at] : ""
}

/^ *#/ { next }
{
    match($0, /^ */)
    indent = RLENGTH
    line = substr($0, indent + 1)
}
folded != "" && (indent > folded || line == "") {
    meaning[folded_at] = meaning[folded_at] (meaning[folded_at] == "" ? "" : " ") line
    next
}
{ folded = "" }
line !~ /^[A-Za-z-]+:( |$)/ { next }
{
    while (depth > 0 && indents[depth] >= indent)
        depth--
    name = line
    sub(/:.*/, "", name)
    value = substr(line, length(name) + 3)
    indents[++depth] = indent
    key[depth] = name
    at = path_of()
}
at == "" || at ~ /(template|lastCampaign)\./ { next }
key[depth - 1] == "properties" && !(at in seen) { seen[at] = 1; order[++n] = at; next }
schema_key("type") && !(at in type) { type[at] = value }
schema_key("default") { standard[at] = value }
schema_key("minimum") { min[at] = value }
schema_key("maximum") { max[at] = value }
schema_key("enum") { gsub(/^\[|\]$/, "", value); enum[at] = value }
schema_key("description") && !(at in meaning) {
    if (value == ">-") { folded = indent; folded_at = at } else meaning[at] = value
}
# Wraps a list item at 120 characters.
function print_item(text,    words, count, i, line) {
    count = split(text, words, " ")
    line = "-"
    for (i = 1; i <= count; i++) {
        if (length(line) + 1 + length(words[i]) > 120) {
            print line
            line = " "
        }
        line = line " " words[i]
    }
    print line
}

END {
    print "<!-- Generated from the CRD by make docs-graphs. -->\n"
    print "# The fields of a `DvmCluster`"
    for (i = 1; i <= n; i++) {
        at = order[i]
        part = at ~ /^spec/ ? "spec" : "status"
        if (part != last)
            printf "\n## `%s`\n\n", part
        last = part
        facts = type[at] == "" ? "" : ", " type[at]
        if (values() != "")
            facts = facts ", " values()
        if (standard[at] != "")
            facts = facts ", default `" standard[at] "`"
        print_item("`" at "`" facts ": " meaning[at])
    }
}
