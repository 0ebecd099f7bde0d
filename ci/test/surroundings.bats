#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/surroundings.sh gives tests the surroundings that it names, and refuses a test that fails or does not run there.

# shellcheck disable=SC2016  # for the sample's tests

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/{ci,dvm/test,build}
    cp "$BATS_TEST_DIRNAME"/../{surroundings,bats}.sh "$tree/ci"
    cp "$BATS_TEST_DIRNAME/../../dvm/test/outer.bash" "$tree/dvm/test"
    for file in local alone pmix; do sample "$file" 'another one' false; done
}

# sample FILE NAME COMMAND: a test.
sample() { printf '@test "%s" { %s; }\n' "$2" "$3" >> "$tree/dvm/test/$1.bats"; }
# surroundings NAME...: as a shell without the variables of this one's bats.
surroundings() { env -u BATS_TMPDIR -u BATS_RUN_TMPDIR SURROUNDINGS_TESTS="${tests:-it}" "$tree/ci/surroundings.sh" "$@"; }

@test "surroundings: each one is there for the tests, and what they start" {
    local name variable
    sample run it 'env > "$OUT"; umask >> "$OUT"; echo "here ${#BATS_TEST_TMPDIR}" >> "$OUT"'
    export OUT=$BATS_TEST_TMPDIR/out HOME=/somewhere
    for name in sbatch:SLURM_NODELIST srun:SLURM_PROCID qsub:PBS_JOBID bsub:LSB_HOSTS flux:FLUX_URI mpirun:OMPI_MCA_ess hydra:PMI_FD; do
        variable=${name#*:} name=${name%:*}
        run surroundings "$name"
        [ "$status" -eq 0 ]
        [[ $output == "ok $name: 1 tests, "* ]]
        grep -q "^$variable=" "$OUT"
    done
    grep -q '^HOME=' "$OUT"
    surroundings no-home
    [ "$(grep -c '^HOME=' "$OUT")" -eq 0 ]
    surroundings umask
    grep -qx 0077 "$OUT"
    surroundings long-tmpdir
    [ "$(sed -n 's/^TMPDIR=//p' "$OUT" | tr -d '\n' | wc -c)" -eq 70 ]
    [ "$(sed -n 's/^here //p' "$OUT")" -lt 40 ]
}

@test "surroundings: a test that fails in one of them is shown, the others run, and the whole fails" {
    sample run it '[ -n "${HOME+set}" ]'
    run surroundings umask no-home sbatch
    [ "$status" -eq 1 ]
    [[ $output == "ok umask: "*"not ok 1 it"*"not ok no-home: 0 of 1 tests, "*"ok sbatch: 1 tests"* ]]
}

@test "surroundings: a test that does not exist any more, and an unknown name, are failures" {
    sample run it true
    tests=$'it\nno such test' run surroundings umask
    [ "$status" -eq 1 ]
    [[ $output == *"not ok umask: 1 of 2 tests, "* ]]
    run surroundings nowhere
    [ "$status" -eq 1 ]
    [[ $output == *"surroundings: none is called nowhere"* ]]
}

@test "surroundings: make and the scripts of the cluster find the user's cache without HOME" {
    local home repo=$BATS_TEST_DIRNAME/../..
    home=$(getent passwd "$(id -u)" | cut -d: -f6)
    [ "$(env -u HOME make -s -C "$repo" --eval 'print-home: ; @echo $$HOME' print-home)" = "$home" ]
    [ "$(env -u HOME -u XDG_CACHE_HOME bash -euc '. "$1"; echo "$DVM_CACHE $HOME"' sh "$repo/e2e/provider/kind/versions.sh")" = \
        "$home/.cache/dvm-operator $home" ]
}
