# SPDX-License-Identifier: BSD-3-Clause
# Puts the deliberate mistakes of dvm/sim/mutants.txt into a copy of one source file:
# awk -v file=PATH -f ci/mutate.awk dvm/sim/mutants.txt PATH > COPY
# A hunk is a run of lines with a prefix of two characters ("  " stays, "- " goes, "+ " comes), ended by an empty line.
# A line of one character is an empty one: "=" stays, "-" goes, "+" comes.
# The lines to replace have to be in the file exactly once, and in no other hunk; otherwise: exit code 1.

function add_hunk() {
    if (hunk_lines)
        nhunks++
    hunk_lines = 0
}

function fits(h, at,    k) {
    if (at + nold[h] - 1 > nlines)
        return 0
    for (k = 1; k <= nold[h]; k++)
        if (line[at + k - 1] != old[h, k])
            return 0
    return 1
}

FNR == NR && /^file / { add_hunk(); mine = $2 == file; next }
FNR == NR && /^$/ { add_hunk(); next }
FNR == NR && mine && /^([-+ ] |[-+=]$)/ {
    h = nhunks + 1
    hunk_lines++
    text = substr($0, 3)
    if (!/^\+/)
        old[h, ++nold[h]] = text
    if (!/^-/)
        new[h, ++nnew[h]] = text
    next
}
FNR == NR { next }
{ line[++nlines] = $0 }

END {
    add_hunk()
    for (h = 1; h <= nhunks; h++) {
        found = 0
        for (i = 1; i <= nlines; i++)
            if (fits(h, i)) {
                found++
                at = i
            }
        if (found != 1) {
            print file ": the lines of a mutant stand there " found + 0 " times, not once:" > "/dev/stderr"
            for (k = 1; k <= nold[h]; k++)
                print "  " old[h, k] > "/dev/stderr"
            exit 1
        }
        place[at] = h
        for (k = at; k < at + nold[h]; k++) {
            if (k in owned) {
                print file ": two mutants have the same line: " line[k] > "/dev/stderr"
                exit 1
            }
            owned[k]
        }
    }
    for (i = 1; i <= nlines; i++) {
        if (!(i in place)) {
            print line[i]
            continue
        }
        h = place[i]
        for (k = 1; k <= nnew[h]; k++)
            print new[h, k]
        i += nold[h] - 1
    }
}
