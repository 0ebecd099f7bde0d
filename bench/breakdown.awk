# SPDX-License-Identifier: BSD-3-Clause
# Splits the time of jobs of one rank into steps: medians over the runs, from the debug logs of head and member.
# usage: awk -v members=N -f breakdown.awk TIMES HEAD-LOG MEMBER-LOG
# TIMES: start and end of each run, in microseconds since 1970 (launcher -t); the jobs run one after the other.

function us(stamp,   p) { # 2026-01-02T03:04:05.678901Z, of today or yesterday: seconds of the day do
    split(substr(stamp, 12, 15), p, /[:.]/)
    return ((p[1] * 60 + p[2]) * 60 + p[3]) * 1000000 + p[4]
}
function note(job, step, at) { if (!((job, step) in t)) t[job, step] = at }

FNR == 1 { file++ }
file == 1 { start[FNR] = $1 % 86400000000; end[FNR] = $2 % 86400000000; runs = FNR; next }
!/Z debug|Z info/ { next }
{ at = us($1) }
$4 == "job" { job = $5; sub(/:$/, "", job); sub(/.*\./, "", job); last = job }
file == 2 && / INIT -> / { note(job, "submit", at) }
file == 2 && / -> SEND_LAUNCH_MSG / { note(job, "map", at) }
file == 3 && / this daemon runs / { note(job, "send", at) }
file == 3 && / on registered$/ { note(job, "register", at) }
file == 3 && /: forked pid/ { note(last, "fork", at) }
file == 3 && /: executed pid/ { note(last, "exec", at) }
file == 3 && /: reaped pid/ { note(last, "exit", at) }
file == 3 && / -> CLEANING / { note(job, "report", at) }
file == 3 && / CLEANING -> / { note(job, "clean", at) }

function median(n,   i, j, x) {
    for (i = 2; i <= n; i++) {
        x = v[i]
        for (j = i - 1; j >= 1 && v[j] > x; j--) v[j + 1] = v[j]
        v[j + 1] = x
    }
    return v[int((n + 1) / 2)]
}
END {
    steps = split("submit map send register fork exec exit report clean end", name)
    for (s = 1; s <= steps; s++) {
        n = 0
        for (r = 1; r <= runs; r++) {
            from = s == 1 ? start[r] : t[r, name[s - 1]]
            to = s == steps ? end[r] : t[r, name[s]]
            if (from && to) v[++n] = to - from
        }
        if (!n) { print "breakdown: no run has the step " name[s] > "/dev/stderr"; exit 1 }
        line = line sprintf(", \"%s_ms\": %.3f", name[s], median(n) / 1000)
        whole = n
    }
    n = 0
    for (r = 1; r <= runs; r++) v[++n] = end[r] - start[r]
    printf "{\"bench\": \"breakdown\", \"members\": %d, \"runs\": %d%s, \"whole_ms\": %.3f}\n", members, runs, line, median(n) / 1000
}
