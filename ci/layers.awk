# SPDX-License-Identifier: BSD-3-Clause
# Reads C files and refuses includes against the layers of docs/architecture.md.
# -v core=, host=, tool=: the modules of dvm/ in their order. -v edges=: a file that gets a line "from to" for
# each include of another folder, for tsort.

BEGIN {
    ncore = split(core, name, " ")
    for (i = 1; i <= ncore; i++)
        rank["dvm/" name[i]] = 100 + i
    nhost = split(host, name, " ")
    for (i = 1; i <= nhost; i++)
        rank["dvm/" name[i]] = 300 + i
    ntool = split(tool, name, " ")
    for (i = 1; i <= ntool; i++)
        rank["dvm/" name[i]] = 500 + i
    rank["api"] = 10
    rank["dvm/sim"] = 200   # drives the core, knows nothing of the host
    rank["dvm"] = 600       # tests of whole DVMs
    rank["dvm/bin"] = 700
}

function folder(path) {
    sub(/\/[^\/]*$/, "", path)
    return path
}

# The folder that owns a file: a test's is the one above test/.
function module(path,    d) {
    d = folder(path)
    sub(/\/test(\/.*)?$/, "", d)
    return d
}

function is_test(path) {
    return path ~ /\/test\//
}

function rank_of(m) {
    return m ~ /^base(\/|$)/ ? 1 : m ~ /^operator(\/|$)/ ? 1000 : rank[m]
}

function refuse(why) {
    print place ": " target ": " why
    bad = 1
}

function tree(m) {
    sub(/\/.*/, "", m)
    return m
}

# Services of a daemon: host.c joins them, they do not know each other (docs/architecture.md).
function is_service(m) {
    return m ~ /^dvm\/host\/(clients|ranks|services)$/
}

# The service of a file in dvm/host/services: each has one header and may have a private one.
function service(path) {
    sub(/.*\//, "", path)
    sub(/(_private)?\.[ch]$/, "", path)
    return path
}

function check_service(from_file, to_file, from, to) {
    if (from != to)
        return refuse("a service of " from " names one of " to ": host.c joins them")
    if (from == "dvm/host/services" && service(from_file) != service(to_file))
        return refuse("the service " service(from_file) " names another one: host.c joins them")
}

function check(from_file, to_file,    from, to) {
    from = module(from_file)
    to = module(to_file)
    if (!rank_of(from))
        return refuse("the folder " from " is in no list of the Makefile")
    if (!rank_of(to))
        return refuse("the folder " to " is in no list of the Makefile")
    if (to_file ~ /_private\.h$/ && from != to)
        return refuse("a private header of " to)
    if (is_test(to_file) && !is_test(from_file))
        return refuse("a header for tests only")
    if (tree(from) == "dvm" && tree(to) == "operator" || tree(from) == "operator" && tree(to) == "dvm")
        return refuse("dvm/ and operator/ do not know each other")
    if (to == "dvm/sim" && from != to)
        return is_test(from_file) ? 0 : refuse("dvm/sim is for tests only")
    if (is_service(from) && is_service(to) && !is_test(from_file))
        check_service(from_file, to_file, from, to)
    if (rank_of(to) > rank_of(from))
        return refuse("the layer " to " is above " from)
    if (from != to && !is_test(from_file))
        print from, to >> edges
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    place = FILENAME ":" FNR
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    if (target !~ /^(base|api|dvm|operator)\//)
        refuse("write the path from the root of the tree")
    else
        check(FILENAME, target)
}

END { exit bad }
