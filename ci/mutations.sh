#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Mistakes by rule in the protocols: which ones no test notices. For each: the changed file is compiled, and the unit
# tests of its folder, those of dvm/protocol/core and SCHEDULES schedules run with it, until something fails. The
# unit tests run under ASan and LSan, as always.
# ci/mutations.sh BUILD; environment: CC, FLAGS_SIM, FLAGS_ASAN, LINK_ASAN, LDLIBS, HELPERS (objects that tests share),
# DIRS, SAMPLE (0: all), SEED.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly BUILD=$1 SCHEDULES=300 UNIT_S=120 SIM_S=120
dir=$BUILD/mutate
mkdir -p "$dir"
rm -f "$dir/libhelpers.a"
# shellcheck disable=SC2086 # a list of files
ar qcs "$dir/libhelpers.a" $HELPERS

list() {
    local d f
    for d in $DIRS; do
        for f in "dvm/protocol/$d"/*.c "dvm/protocol/$d"/*/*.c; do
            [[ -f $f && $f != */test/* ]] || continue
            awk -f ci/mutations.awk "$f" | sed "s|^|$d\t$f\t|"
        done
    done
}

sample() {
    if [ "$SAMPLE" -eq 0 ]; then cat; else awk -v seed="$SEED" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort -g | sed "1,${SAMPLE}!d" | cut -f2-; fi
}

build() { # FILE LINE TEXT: 1: it does not compile, 2: the same code
    local src=$dir/src/$1
    mkdir -p "$(dirname "$src")"
    cp "$1" "$src" # at the same path, which some code names
    # shellcheck disable=SC2086
    $CC $FLAGS_SIM -iquote "$(dirname "$1")" -g0 -c -o "$dir/same.o" "$src"
    TEXT=$3 awk -v at="$2" 'FNR == at { print ENVIRON["TEXT"]; next } { print }' "$1" >"$src"
    compile "$src" "$1" || return 1
    ! cmp -s "$dir/changed.sim.o" "$dir/same.o" || return 2
}

compile() { # FROM FILE
    local v flags
    for v in sim asan; do
        flags=FLAGS_${v^^}
        # shellcheck disable=SC2086 # flags are words
        $CC ${!flags} -iquote "$(dirname "$2")" -g0 -c -o "$dir/changed.$v.o" "$1" 2>/dev/null || return 1
    done
}

# The changed object comes first, so the archive's is not taken.
link_unit() { # OBJECT
    # shellcheck disable=SC2086
    $CC $FLAGS_ASAN -o "$dir/unit" "$1" "$dir/changed.asan.o" "$dir/libhelpers.a" "$BUILD"/asan/lib{sim,core,api,base}.a $LINK_ASAN $LDLIBS -lcmocka 2>"$dir/link.log"
}

# The archive's object is taken too if a mutant has given it a function of its own; the changed one counts.
link_sim() {
    # shellcheck disable=SC2086
    $CC $FLAGS_SIM -Wl,--allow-multiple-definition -o "$dir/sim" "$BUILD"/mutant/dvm/sim/test/{sim,explain}.o "$dir/changed.sim.o" "$BUILD"/mutant/lib{sim,core,api,base}.a $LDLIBS
}

# Limits are of CPU time, so a busy machine makes no mistake noticed; the one of the clock is for who waits for ever.
limited() { # SECONDS COMMAND...
    (ulimit -t "$1" && exec timeout --kill-after=2 $((10 * $1)) "${@:2}")
}

by_units() { # FOLDER: prints the first test that fails
    local o
    for o in "$BUILD/asan/dvm/protocol/$1"/test/test_*.o "$BUILD/asan/dvm/protocol/$1"/*/test/test_*.o; do
        [ -f "$o" ] || continue
        link_unit "$o" || { echo "mutate: $o is not linked: $(head -1 "$dir/link.log")" >&2 && continue; }
        limited "$UNIT_S" "$dir/unit" >/dev/null 2>&1 || { basename "$o" .o && return; }
    done
}

by_schedules() { # SEED COUNT: prints the first invariant that does not hold
    limited "$SIM_S" "$dir/sim" --seed "$1" --seeds "$2" >"$dir/out" 2>&1 ||
        { sed -n 's/^seed [0-9]*: \([^ ]*\) .*/\1/p' "$dir/out" | sed 1q | grep . || echo crash; }
}

killer() { # DIR: prints what fails first; nothing: it survives. The cheapest comes first.
    by_units "$1" | grep . && return
    link_sim
    by_schedules 1 60 | grep . && return
    by_units core | grep . && return
    by_schedules 61 $((SCHEDULES - 60))
}

# A row whose rule ends in ~ has a regular expression in the place of the line.
changes_nothing() { # FILE RULE TEXT
    F=$1 R=$2 T=$3 awk -F'\t' '$1 != ENVIRON["F"] { next }
        $2 == ENVIRON["R"] && $3 == ENVIRON["T"] || $2 == ENVIRON["R"] "~" && ENVIRON["T"] ~ $3 { found = 1 }
        END { exit !found }' ci/mutations.txt
}

# Without a mistake nothing may fail, or all of them would count as noticed.
check_clean() { # DIR FILE
    local by
    compile "$2" "$2"
    by=$(killer "$1")
    [ -z "$by" ] || { echo "mutate: without a mistake $by fails ($1)" >&2 && exit 1; }
}

declare -A made=() killed=() clean=()
list | sample >"$dir/list"
while IFS=$'\t' read -r d file line rule text; do
    rc=0
    build "$file" "$line" "$text" || rc=$?
    [ $rc -eq 0 ] || continue
    ! changes_nothing "$file" "$rule" "$text" || continue
    if [ -z "${clean[$d]:-}" ]; then
        check_clean "$d" "$file"
        clean[$d]=1
        compile "$dir/src/$file" "$file"
    fi
    made[$d]=$((${made[$d]:-0} + 1))
    by=$(killer "$d")
    if [ -n "$by" ]; then
        killed[$d]=$((${killed[$d]:-0} + 1))
        echo "killed by $by: $file:$line: $rule" >&2
    else
        echo "survives: $file:$line: $rule: ${text#"${text%%[![:space:]]*}"}"
    fi
done <"$dir/list"
for d in "${!made[@]}"; do
    echo "$d: ${killed[$d]:-0} of ${made[$d]} killed, $((100 * ${killed[$d]:-0} / made[$d])) %"
done | sort
