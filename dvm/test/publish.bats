#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Values that ranks publish, over several daemons, with real clients.

# shellcheck disable=SC2154  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash

shares=${SHARE_PROBE:-$repo/build/probe/share_probe}

setup_file() {
    build_all
    [ -n "${SHARE_PROBE:-}" ] || make -s -C "$repo" build/probe/share_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

@test "a value published until the end of its rank is removed with the rank, on every daemon; one for the job stays" {
    start_dvm 3 --slots 1
    run prun -n 2 --host 2,3 "$shares" publish-own
    [ "$status" -eq 0 ]
    [ "$output" = $'own: NOT FOUND\njob: SUCCESS' ]
}

@test "values that a job has published are removed with it, also without ranks of it at the head" {
    start_dvm 2 --slots 1
    prun -n 1 "$shares" publish ours
    for _ in 1 2; do
        run prun -n 1 "$shares" look-up ours
        [ "$output" = "NOT FOUND" ]
        prun -n 1 "$shares" publish ours # the name is free
    done
}

@test "a value until its first read waits for it when its job has ended, and is read once" {
    start_dvm 2 --slots 1
    prun -n 1 --host 1 "$shares" publish-read once
    run prun -n 1 --host 2 "$shares" look-up once
    [ "$output" = "SUCCESS" ]
    run prun -n 1 "$shares" look-up once
    [ "$output" = "NOT FOUND" ]
}

@test "a required attribute that is unknown is refused by job control and the data service, without any effect" {
    start_dvm 1
    run prun -n 1 "$shares" required
    [ "$status" -eq 0 ]
    [ "$output" = "control: SUCCESS, NOT SUPPORTED
publish: SUCCESS, NOT SUPPORTED
lookup: SUCCESS, NOT SUPPORTED
unpublish: SUCCESS, NOT SUPPORTED
other: NOT FOUND" ]
}
