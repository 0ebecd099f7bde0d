#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# If Debian 13 cannot be downloaded, its tests fail and say why; they are not skipped.

# shellcheck disable=SC2154  # set by bats

bats_require_minimum_version 1.5.0

setup() {
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR APT_CONFIG=$BATS_TEST_TMPDIR/apt.conf
    mkdir "$BATS_TEST_TMPDIR/lists"
    cat > "$APT_CONFIG" << 'END'
Dir::Etc::sourceparts "/dev/null";
END
}

run_with_sources() {
    printf 'Dir::Etc::sourcelist "%s";\n' "$1" >> "$APT_CONFIG"
    run --separate-stderr "$BATS_TEST_DIRNAME/../trixie.sh" true
}

@test "without a source of packages it fails with a message, and leaves no tree" {
    run_with_sources /dev/null
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"apt has no Debian source"* ]]
    [[ "$stderr" == *"Debian 13 cannot be had"* ]]
    [ -z "$(find "$BATS_TEST_TMPDIR/dvm-operator" -name 'trixie-*')" ]
}
