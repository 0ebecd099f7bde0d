#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# All members have one certificate. Which vpid a daemon has is decided by the key in its session directory.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib

setup_file() { build_all; }

setup() {
    new_dvm_dir
    pids=()
}

teardown() {
    [ "${#pids[@]}" -eq 0 ] || kill "${pids[@]}" 2> /dev/null || true
    end_dvm
}

# Vpid 1 is started by start_member, in a directory of its name.
start_members() {
    prte start -n 2 --slots 1
    join=$(jq .join "$DVM_SESSION_DIR/0/ports.json")
    prte resize --remove 1 > "$BATS_TEST_TMPDIR/resize"
    start_member first
    eventually is_wired
}

start_member() {
    [ -e "$BATS_TEST_TMPDIR/$1" ] || mkdir -m 700 "$BATS_TEST_TMPDIR/$1"
    "$bin/prted" --role member --vpid 1 --cluster local/d --head "127.0.0.1:$join" --tls-dir "$DVM_SESSION_DIR/tls/member" \
        --session-dir "$BATS_TEST_TMPDIR/$1" --host-name node1 --join-port 0 --plain-port 0 --slots 1 \
        --exit-on-leave >> "$BATS_TEST_TMPDIR/$1.log" 2>&1 3>&- &
    pids+=($!)
}

is_wired() { [ "$(view '.members[] | select(.vpid == 1).state')" = wired ]; }
epoch() { view '.members[] | select(.vpid == 1).epoch'; }
# The answer of the second daemon to /readyz has this text.
second_is() { curl -s "http://127.0.0.1:$(jq .plain "$BATS_TEST_TMPDIR/second/ports.json")/readyz" | grep -q -- "$1"; }
log_has() { grep -q -- "$2" "$1"; }

# The spawner is ended with its daemon, as at the end of a container.
crash_member() {
    local daemon
    daemon=$(pgrep -P "$1" -x prted)
    kill -KILL "$1" "$daemon"
    wait "$1" || true
}

@test "another process with the members' certificate does not become a vpid whose daemon lives, and then it does" {
    local before
    start_members
    before=$(epoch)
    hold_job a 1 --host node1
    start_member second
    eventually second_is 'which is not lost yet'
    is_wired
    [ "$(epoch)" = "$before" ]
    release_job a 1
    end_job a
    [ "$code" -eq 0 ]
    crash_member "${pids[0]}"
    eventually log_has "$DVM_SESSION_DIR/0/prted.log" 'vpid 1 .*lost'
    eventually is_wired
    [ "$(epoch)" != "$before" ]
    log_has "$BATS_TEST_TMPDIR/second.log" 'wired as vpid 1'
}

@test "a daemon that is started again in its session directory is the same one, and ends its former epoch" {
    start_members
    crash_member "${pids[0]}"
    start_member first
    eventually log_has "$DVM_SESSION_DIR/0/prted.log" 'a new process of this vpid has called the head'
    eventually is_wired
}

# The daemon is started again, and has made a key.
has_new_key() {
    crash_member "${pids[-1]}"
    "$@"
    start_member first
    eventually is_new
    eventually is_wired
}

is_new() { [ ! -L "$key" ] && [ "$(stat -c '%F %a %s' "$key")" = 'regular file 600 32' ] && [ "$(digest)" != "$before" ]; }
digest() { sha256sum < "$key"; }

@test "a malformed key is replaced, one that others may read is not used, and a link is not followed" {
    start_members
    local key=$BATS_TEST_TMPDIR/first/key before
    before=$(digest)
    [ "$(stat -c %a "$key")" = 600 ]
    has_new_key chmod 640 "$key"
    log_has "$BATS_TEST_TMPDIR/first.log" 'is not a key of this daemon; it gets a new one'
    before=$(digest)
    has_new_key truncate -s 31 "$key"
    before=$(digest)
    cp "$key" "$BATS_TEST_TMPDIR/elsewhere"
    has_new_key ln -sf "$BATS_TEST_TMPDIR/elsewhere" "$key"
    [ "$(sha256sum < "$BATS_TEST_TMPDIR/elsewhere")" = "$before" ]
}
