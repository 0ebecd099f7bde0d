#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bats as make and CI run it: each test prints its time, and has a time limit, after which it is ended and named.
# Usage: bats.sh [OPTION...] FILE...; BATS_TEST_TIMEOUT: seconds for a test.
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-300}
exec bats --timing "$@"
