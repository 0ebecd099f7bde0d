#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bats as make and CI run it: each test prints its time, and has a time limit, after which it is ended and named. Where
# TMPDIR is long, the tests' own directories are in /tmp: a socket's path has 107 bytes. What they start keeps TMPDIR.
# Usage: bats.sh [OPTION...] FILE...; BATS_TEST_TIMEOUT: seconds for a test.
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-300}
place=()
if [ "${#TMPDIR}" -gt 40 ]; then place=(--tempdir "$(mktemp --dry-run /tmp/bats-run-XXXXXX)"); fi
exec bats --timing "${place[@]}" "$@"
