# SPDX-License-Identifier: BSD-3-Clause
# The call graph between files and folders, from the symbols that their objects define and use.
# Input: "path header" of each header; and from nm, one line for a symbol: file, "def" or "use", name. -v known=FILE: known cycles, one a line, as
# "folder: a b c" for folder/a.c, folder/b.c and folder/c.c; a cycle is refused unless all its files are in one line.
# -v list=1: every call between two folders is printed.
#
# A file calls another if it uses a symbol that the other defines: it calls a function, takes its address or reads a
# table. Calls by way of a table of functions that is filled in elsewhere are not seen, and are not meant to be. Files
# of one noun may call each other. A noun has a header, alone or with a private one; a file without a header of its own
# belongs to the noun of its first word (job_end.c to job.h), or else to that of its folder.

function folder(path) {
    sub(/\/[^\/]*$/, "", path)
    return path
}

function base(path) {
    sub(/.*\//, "", path)
    sub(/(_private)?\.[ch]$/, "", path)
    return path
}

function noun(path,    in_folder, name, word) {
    in_folder = folder(path) "/"
    name = word = base(path)
    sub(/_.*/, "", word)
    if ((in_folder word) in header)
        return in_folder word
    return in_folder ((in_folder name) in header ? name : base(folder(path)))
}

function top(path) {
    sub(/\/.*/, "", path)
    return path
}

$2 == "header" { header[folder($1) "/" base($1)] = 1; next }
$2 == "def" { defined[$3] = defined[$3] " " $1; files[$1] = 1; next }
$2 == "use" { used[++nused] = $1 SUBSEP $3 }

# Of files that define one name, that of the user's own part of the tree; none if that is not one file.
function definer(from, name,    list, n, i, found, count) {
    n = split(defined[name], list, " ")
    for (i = 1; i <= n; i++) {
        if (list[i] == from)
            return ""
        if (n == 1)
            return list[i]
        if (top(list[i]) == top(from)) {
            found = list[i]
            count++
        }
    }
    return count == 1 ? found : ""
}

function add_edge(graph, from, to) {
    if (from == to || (graph, from, to) in edge)
        return
    edge[graph, from, to] = 1
    next_of[graph, from] = next_of[graph, from] " " to
    nedges[graph]++
}

# All that can be reached from a node.
function reach_from(graph, from,    queue, head, tail, list, n, i) {
    queue[tail = 1] = from
    for (head = 1; head <= tail; head++) {
        n = split(next_of[graph, queue[head]], list, " ")
        for (i = 1; i <= n; i++) {
            if ((graph, from, list[i]) in reach)
                continue
            reach[graph, from, list[i]] = 1
            queue[++tail] = list[i]
        }
    }
}

# Fills known_in: file and number of the line.
function read_known(    line, words, n, i, where) {
    while (known != "" && (getline line < known) > 0) {
        if (line ~ /^#/ || line ~ /^[ \t]*$/)
            continue
        nknown++
        n = split(line, words, " ")
        where = words[1]
        sub(/:$/, "", where)
        for (i = 2; i <= n; i++)
            known_in[where "/" words[i] ".c", nknown] = 1
    }
}

# All of these files are in one line of the known cycles.
function is_known(text,    list, n, i, k) {
    n = split(text, list, " ")
    for (k = 1; k <= nknown; k++) {
        for (i = 1; i <= n && ((list[i], k) in known_in); i++)
            ;
        if (i > n)
            return 1
    }
    return 0
}

# Prints each set of nodes that all call each other, in some number of steps. nodes: all. Returns how many sets.
function show_cycles(graph, nodes, what, one_noun_may,    a, b, done, sets, text, nouns, bad) {
    for (a in nodes)
        reach_from(graph, a)
    for (a in nodes) {
        if ((a in done) || !((graph, a, a) in reach))
            continue
        text = ""
        nouns = 0
        for (b in nodes) {
            if (!((graph, a, b) in reach) || !((graph, b, a) in reach))
                continue
            done[b] = 1
            text = text " " b
            nouns += noun(b) != noun(a)
        }
        if (one_noun_may && !nouns)
            continue
        sets++
        bad = !is_known(text)
        refused += bad
        print what (bad ? "" : " (known)") ":" text
    }
    return sets + 0
}

END {
    read_known()
    for (i = 1; i <= nused; i++) {
        split(used[i], u, SUBSEP)
        to = definer(u[1], u[2])
        if (to == "")
            continue
        calls++
        add_edge("file", u[1], to)
        add_edge("folder", folder(u[1]), folder(to))
        if (list && folder(u[1]) != folder(to))
            print u[1] " -> " to ": " u[2]
    }
    for (f in files) {
        nfiles++
        nfolders += !(folder(f) in folders)
        folders[folder(f)] = 1
    }
    nfolder_cycles = show_cycles("folder", folders, "cycle between folders", 0)
    nfile_cycles = show_cycles("file", files, "cycle between files", 1)
    printf "%d files in %d folders; %d calls between files, %d between folders; cycles: %d between files of different nouns, %d between folders\n",
        nfiles, nfolders, nedges["file"], nedges["folder"], nfile_cycles, nfolder_cycles
    exit refused > 0
}
