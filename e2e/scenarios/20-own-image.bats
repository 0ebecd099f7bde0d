#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A program of one's own: an image by the Dockerfile of demo/own, named in spec.image, and a job of it.
load ../lib

setup_file() {
    "$ROOT/e2e/provider/build-image.sh" "$ROOT/demo/own/Dockerfile" "$ROOT/demo/own" pi:1
    provider load pi:1
}
setup() { remember_start; }
teardown() {
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    k delete dvm own --timeout=90s
}

@test "own image: a program that the Dockerfile of demo/own has compiled runs over the members, and the examples too" {
    cluster_yaml own 2 | sed 's|image: dvm-daemon:dev|image: pi:1|' | k apply -f -
    k wait --for=condition=Available dvm/own --timeout=120s
    settled 2 own
    equal "the image of the pods" "$(k get pods -l dvm.openpmix.io/cluster=own -o json | jq -r '[.items[].spec.containers[].image] | unique | join(" ")')" pi:1
    equal "the answer" "$(k exec own-1 -- prun -n 4 pi)" "pi is 3.141592654, by 4 ranks"
    [ "$(k exec own-1 -- prun -n 2 --map-by node mpi_hello | grep -c '^hello from rank [01] of 2 on own-[12]$')" = 2 ]
}
