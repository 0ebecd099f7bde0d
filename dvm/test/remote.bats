#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# prun, pstat and pterm over mutual TLS, and connections of prun that are lost and made again.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034  # set by lib.bash; each test is a process of its own
# shellcheck disable=SC2016,SC2094  # what is for the ranks' shell is for it; nothing is written to what is compared

bats_require_minimum_version 1.5.0
load lib

proxy=$repo/build/probe/cut_proxy

setup_file() {
    build_all
    [ -n "${BIN:-}" ] || make -s -C "$repo" build/bin/dvm-connect >&2
    make -s -C "$repo" build/probe/cut_proxy build/probe/client_probe >&2
    export DVM_DIR=$BATS_FILE_TMPDIR/d
    export DVM_TLS_DIR=$DVM_DIR/tls/user
    unset DVM_SESSION_DIR
    prte start --dvm "$DVM_DIR" -n 2 --slots 8 >&2
    JOIN=$(jq .join "$DVM_DIR/0/ports.json")
    MEMBER=$(jq .join "$DVM_DIR/1/ports.json")
    export JOIN MEMBER
}

teardown_file() {
    prte stop --dvm "$DVM_DIR" >&2
}

teardown() {
    [ -z "${proxy_pid:-}" ] || kill "$proxy_pid" 2> /dev/null || true
    [ -z "${homeless:-}" ] || kill "$homeless" 2> /dev/null || true
}

outside() { prun --dvm "127.0.0.1:$JOIN" "$@"; }

# through_proxy RULE...: in $at is where to connect to. The way leads to a member, unless $way names another port: the
# head would send prun on, past the proxy.
through_proxy() {
    local port
    mkfifo "$BATS_TEST_TMPDIR/port"
    "$proxy" "${way:-$MEMBER}" "$@" > "$BATS_TEST_TMPDIR/port" 2> "$BATS_TEST_TMPDIR/proxy.err" 3>&- &
    proxy_pid=$!
    read -r -t "$limit" port < "$BATS_TEST_TMPDIR/port"
    rm "$BATS_TEST_TMPDIR/port"
    at=127.0.0.1:$port
}

end_proxy() {
    kill "$proxy_pid"
    wait "$proxy_pid" || true
    proxy_pid=
}

# job_state JOB: as pstat shows it.
job_state() { pstat --dvm "$DVM_DIR" --json jobs | jq -r --arg id "$1" '.jobs[] | select(.id == $id).state'; }

job_runs() { [ "$(job_state "$1")" = RUNNING ]; }

# one_line CODE TEXT COMMAND...: that code, nothing on standard output, one line with the text.
one_line() {
    local code=$1 text=$2
    shift 2
    run --separate-stderr "-$code" "$@"
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$text"* ]] || { echo "$stderr" && false; }
}

# --- refused clients

@test "a connection from outside ends without a reset, which would end kubectl port-forward" {
    local way
    for way in "$MEMBER" "$JOIN"; do
        through_proxy whole
        prun --dvm "$at" -n 2 true
        prun --dvm "$at" -n 1 cat <<< text
        pstat --dvm "$at" > /dev/null
        end_proxy
        [ "$(cat "$BATS_TEST_TMPDIR/proxy.err")" = "" ]
    done
}

@test "a host needs credentials, and credentials need a host" {
    unset DVM_TLS_DIR
    one_line 2 "give --tls-dir or set DVM_TLS_DIR" prun --dvm nobody.invalid true
    one_line 2 "--tls-dir is for a daemon at a host" prun --dvm "$DVM_DIR" --tls-dir /x true
    one_line 2 "is no HOST[:PORT]" prun --dvm "[::1" --tls-dir /x true
    one_line 2 "not within 1..65535" pstat --dvm "x:65536" --tls-dir /x
    one_line 2 "has to begin with '/'" prun --dvm x --tls-dir /x --wdir sub true
    one_line 2 "before the first program" prun -n 1 true : --dvm x -n 1 true
    one_line 2 "not within 0..600" prun --reconnect 601 true
}

@test "an unreachable daemon is reported in one line with the reason" {
    one_line 125 "/nowhere/ca.crt: No such file" prun --dvm x --tls-dir /nowhere true
    one_line 125 "its name is not resolved" prun --dvm nobody.invalid true
    one_line 125 "Connection refused" prun --dvm 127.0.0.1:1 true
    one_line 1 "Connection refused" pstat --dvm 127.0.0.1:1
    one_line 1 "Connection refused" pterm --dvm 127.0.0.1:1 --job 1.1
}

@test "a prun that waits for a host to answer is ended by a signal, and its helper with it" {
    through_proxy hold
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$at" true 3>&- &
    pid=$!
    eventually pgrep -f "^dvm-connect 127.0.0.1 ${at#*:} "
    helper=$(pgrep -f "^dvm-connect 127.0.0.1 ${at#*:} ")
    pkill -TERM -P "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 143 ]
    wait_end "$helper"
}

@test "a daemon's certificate is not accepted as a user's" {
    one_line 125 "is of role member; programs need one of role user" \
        outside --tls-dir "$DVM_DIR/tls/member" true
}

@test "certificates of another DVM are refused on both sides" {
    # The other has the same name, or another. Its authority does not know the daemon.
    for name in d o; do
        prte start --dvm "$BATS_TEST_TMPDIR/$name" -n 0 >&2
        cp -r "$BATS_TEST_TMPDIR/$name/tls/user" "$BATS_TEST_TMPDIR/mixed.$name"
        prte stop --dvm "$BATS_TEST_TMPDIR/$name" >&2
    done
    mv "$BATS_TEST_TMPDIR/mixed.d" "$BATS_TEST_TMPDIR/mixed"
    one_line 125 "certificate is not trusted by $BATS_TEST_TMPDIR/mixed/ca.crt" \
        outside --tls-dir "$BATS_TEST_TMPDIR/mixed" true
    # The daemon does not know the other's authority.
    cp "$DVM_TLS_DIR/ca.crt" "$BATS_TEST_TMPDIR/mixed/ca.crt"
    one_line 125 "it refuses the certificate $BATS_TEST_TMPDIR/mixed/tls.crt" \
        outside --tls-dir "$BATS_TEST_TMPDIR/mixed" true
    cp "$DVM_TLS_DIR/ca.crt" "$BATS_TEST_TMPDIR/mixed.o/ca.crt"
    one_line 125 "it is a daemon of local/d, the certificate $BATS_TEST_TMPDIR/mixed.o/tls.crt is one of local/o" \
        outside --tls-dir "$BATS_TEST_TMPDIR/mixed.o" true
}

@test "a listener with a user's certificate is not accepted as a daemon" {
    mkfifo "$BATS_TEST_TMPDIR/in"
    exec {hold}<> "$BATS_TEST_TMPDIR/in" # at the end of its input it would end
    openssl s_server -accept 0 -naccept 1 -cert "$DVM_TLS_DIR/tls.crt" -key "$DVM_TLS_DIR/tls.key" \
        -CAfile "$DVM_TLS_DIR/ca.crt" -Verify 1 < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
    server=$!
    eventually grep -q '^ACCEPT ' "$BATS_TEST_TMPDIR/server"
    port=$(grep -m1 -oP '^ACCEPT .*:\K[0-9]+' "$BATS_TEST_TMPDIR/server")
    one_line 125 "a certificate of role user, which is no daemon's" prun --dvm "localhost:$port" true
    wait "$server" || true
}

# --- a name with several addresses

# at_both COMMAND...: the name "both" has the addresses 127.0.0.1 and 127.0.0.2, which are tried in this order.
at_both() {
    printf '127.0.0.1 both\n127.0.0.2 both\n' > "$BATS_TEST_TMPDIR/hosts"
    timeout --kill-after=10 "$limit" unshare --mount sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$BATS_TEST_TMPDIR/hosts" "$@"
}

can_name() {
    at_both true 2> /dev/null || skip "no right to name hosts"
    [ "$(at_both getent ahosts both | awk '$2 == "STREAM" { print $1 }' | tr '\n' ' ')" = "127.0.0.1 127.0.0.2 " ]
}

# the_dvm_at PORT [RULE]: of 127.0.0.2.
the_dvm_at() {
    export CUT_PROXY_PORT=$1
    through_proxy "${2:-pass}"
}

@test "an address of a name without a daemon is passed over" {
    can_name
    mkfifo "$BATS_TEST_TMPDIR/in"
    exec {hold}<> "$BATS_TEST_TMPDIR/in" # at the end of its input it would end
    openssl s_server -accept 127.0.0.1:0 -cert "$DVM_TLS_DIR/tls.crt" -key "$DVM_TLS_DIR/tls.key" \
        < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
    server=$!
    eventually grep -q '^ACCEPT ' "$BATS_TEST_TMPDIR/server"
    port=$(grep -m1 -oP '^ACCEPT .*:\K[0-9]+' "$BATS_TEST_TMPDIR/server")
    one_line 125 "a certificate of role user, which is no daemon's" at_both "$bin/prun" --dvm "both:$port" true
    the_dvm_at "$port"
    at_both "$bin/prun" --dvm "both:$port" true
    at_both "$bin/pstat" --dvm "both:$port"
    kill "$server"
    wait "$server" || true
    at_both "$bin/prun" --dvm "both:$port" true
}

# A daemon of the DVM that does not reach the head, so that it takes no jobs; $port is its port.
start_homeless() {
    mkdir -m 700 "$BATS_TEST_TMPDIR/9"
    "$bin/prted" --role member --vpid 9 --cluster local/d --head 127.0.0.1:1 --tls-dir "$DVM_DIR/tls/member" \
        --session-dir "$BATS_TEST_TMPDIR/9" --address 127.0.0.1 --bind 127.0.0.1 --join-port 0 --plain-port 0 \
        > "$BATS_TEST_TMPDIR/prted.log" 2>&1 3>&- &
    homeless=$!
    eventually grep -q 'listens on ports' "$BATS_TEST_TMPDIR/prted.log"
    port=$(jq .join "$BATS_TEST_TMPDIR/9/ports.json")
}

@test "a job that a daemon does not take now is submitted at the next address" {
    can_name
    start_homeless
    one_line 125 "no connection to the head at 127.0.0.1:1" prun --dvm "127.0.0.1:$port" --reconnect 0 true
    the_dvm_at "$port"
    run --separate-stderr -0 at_both "$bin/prun" --dvm "both:$port" -n 2 sh -c 'cat; echo here' <<< text
    [ "$(sort <<< "$output")" = "$(printf 'here\nhere\ntext')" ]
    [ -z "$stderr" ]
    run --separate-stderr -7 at_both "$bin/prun" --dvm "both:$port" --reconnect 0 sh -c 'exit 7'
    end_proxy
}

@test "a prun that looks for a daemon that takes its job is ended by a signal" {
    can_name
    start_homeless
    the_dvm_at "$port" hold
    at_both "$bin/prun" --dvm "both:$port" true 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    eventually pgrep -f "^dvm-connect both $port .* 127.0.0.1,\$" # it has asked the first, and waits for the second
    pkill -TERM -f "^$bin/prun --dvm both:$port true\$"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 143 ]
    [ ! -s "$BATS_TEST_TMPDIR/err" ]
}

# --- the same as at the socket

@test "a job from outside has its output, its streams, its exit code and its final report" {
    run --separate-stderr -0 outside -n 2 --tag-output sh -c 'echo to out; echo to err >&2'
    [ "$(sort <<< "$output")" = "$(printf '[0]<stdout>: to out\n[1]<stdout>: to out')" ]
    [[ "$stderr" == *"[1]<stderr>: to err"* ]]
    run --separate-stderr -7 outside -n 1 sh -c 'exit 7'
    [[ "$stderr" == *"rank 0 on node"*"exited with code 7"* ]]
    run -125 outside -n 1 /no/such/program
    [[ "$output" == *"/no/such/program"* ]]
    run -125 outside -n 1000 --no-wait true
}

@test "standard input from outside arrives unchanged, and so does the output" {
    head -c 20000000 /dev/urandom > "$BATS_TEST_TMPDIR/in"
    outside -n 1 cat < "$BATS_TEST_TMPDIR/in" | cmp - "$BATS_TEST_TMPDIR/in"
}

@test "from outside only variables that do not describe that host, and -x, are sent" {
    export HOME=/outside PATH=/outside:$PATH COLOUR=blue TMPDIR=/outside
    [ "$(outside -n 1 sh -c 'echo $COLOUR')" = blue ]
    run -0 outside -n 1 sh -c 'echo "$HOME $PATH $TMPDIR $(pwd) $PWD"'
    [[ "$output" != *outside* ]]
    [[ "$output" == /* ]] # the daemon's own
    [ "$(outside -x HOME -x TMPDIR=/mine -n 1 sh -c 'echo $HOME $TMPDIR')" = "/outside /mine" ]
    [ "$(outside --wdir /usr -n 1 pwd)" = /usr ]
    # At the socket all goes along as ever.
    [ "$(prun --dvm "$DVM_DIR" -n 1 sh -c 'echo $HOME')" = /outside ]
}

@test "pstat and pterm from outside query, signal and end jobs; a member passes them on" {
    run -0 pstat --dvm "127.0.0.1:$JOIN" members
    [[ "$output" == *wired*node1* ]]
    run -0 pstat --dvm "localhost:$MEMBER" jobs
    [ "$(prun --dvm "localhost:$MEMBER" -n 1 echo via member)" = "via member" ]
    job=$(outside --detach -n 1 sh -c 'while :; do sleep 0.1; done')
    eventually job_runs "$job"
    pterm --dvm "127.0.0.1:$JOIN" --job "$job" --signal KILL
    run -137 outside --attach "$job"
}

@test "a user may end a whole DVM from outside" {
    prte start --dvm "$BATS_TEST_TMPDIR/o" -n 1 >&2
    port=$(jq .join "$BATS_TEST_TMPDIR/o/0/ports.json")
    pid=$(cut -d' ' -f1 "$BATS_TEST_TMPDIR/o/0/pid")
    pterm --dvm "127.0.0.1:$port" --tls-dir "$BATS_TEST_TMPDIR/o/tls/user"
    wait_end "$pid"
    prte stop --dvm "$BATS_TEST_TMPDIR/o" >&2
}

@test "a request beyond a user's certificate is refused; at the socket it is allowed" {
    run -0 says "127.0.0.1:$JOIN" "call PUT /v1/size {}" "hear REPLY" "call GET /v1/dvm " "hear REPLY"
    [[ "${lines[0]}" == "REPLY 403 "*"role 'user' may not use PUT /v1/size"* ]]
    [[ "${lines[1]}" == "REPLY 200 "* ]]
    run -0 says "$DVM_DIR" "call PUT /v1/size {}" "hear REPLY"
    [[ "$output" == "REPLY 400 "* ]]
}

# --- sessions: refused messages

# says WHERE STEP...: see client_probe.c.
says() { timeout --kill-after=10 "$limit" "$repo/build/probe/client_probe" "$@"; }

@test "a session that is unknown, or acknowledges too much, is refused" {
    run -0 says "$DVM_DIR" "open guess 1 7 1000" gone
    [[ "$output" == "ERROR 123 the daemon does not know the job any more"*gone ]]
    run -0 says "$DVM_DIR" "open mine 1 0 5000" "submit cat" "hear ACCEPTED" "use 1" "open mine 2 99 5000" gone
    [[ "$output" == *"ERROR 123 the client acknowledges messages that were never sent"*gone ]]
    run -0 says "$DVM_DIR" "open some 1 0 5000" "submit cat" "hear ACCEPTED" "use 1" "open somf 2 1 5000" gone
    [[ "$output" == *"ERROR 123 the daemon does not know the job"*gone ]]
}

@test "a later connection takes a session over, an earlier one does not" {
    run -0 says "$DVM_DIR" "open late 3 0 5000" "submit echo one; read x; echo two" "hear OUTPUT" \
        "use 1" "open late 2 0 5000" gone "use 2" "open late 3 0 5000" gone "use 0" "signal 15" "hear DONE" bye gone
    [ "$(grep -c "ERROR 123 the session has a later connection" <<< "$output")" -eq 2 ]
    [[ "$output" == *"DONE 143"* ]]
    run -0 says "$DVM_DIR" "open over 1 0 5000" "submit echo one; read x; echo two" "hear OUTPUT" \
        "use 1" "open over 2 2 5000" "hear OUTPUT" "use 0" gone "use 1" "signal 15" "hear DONE"
    [[ "$output" == *"OPENED have=1 next=3"* ]]
    [ "$(grep -c "OUTPUT one" <<< "$output")" -eq 2 ] # the second had said that it has two messages only
    [ "$(grep -c "ACCEPTED" <<< "$output")" -eq 1 ]
}

@test "messages that have no place in a session, or none outside one, are refused" {
    run -0 says "$DVM_DIR" bye gone
    [[ "$output" == "ERROR 2 there is no session to leave"* ]]
    run -0 says "$DVM_DIR" "ack 1" gone
    [[ "$output" == "ERROR 2 the client acknowledges messages that were never sent"* ]]
    run -0 says "$DVM_DIR" "open a 1 0 0" "open b 1 0 0" gone
    [[ "$output" == *"ERROR 2 a session is opened once, before its job"* ]]
    run -0 says "$DVM_DIR" "submit cat" "open b 1 0 0" gone
    [[ "$output" == *"ERROR 2 a session is opened once, before its job"* ]]
    run -0 says "$DVM_DIR" "open a 1 0 5000" "submit echo pid=\$\$; exec cat" "hear OUTPUT" "ack 1000" gone
    [[ "$output" == *"ERROR 2 the client acknowledges messages that were never sent"* ]]
    wait_end "$(grep -oP 'pid=\K[0-9]+' <<< "$output")" # it is not waited for
}

@test "a goodbye ends the job at once" {
    run -0 says "$DVM_DIR" "open bye 1 0 600000" "submit echo pid=\$\$; exec cat" "hear OUTPUT" bye gone
    wait_end "$(grep -oP 'pid=\K[0-9]+' <<< "$output")"
    run -0 says "$DVM_DIR" "open bye 2 1 1000" gone
    [[ "$output" == "ERROR 123"* ]]
}

@test "a prun that reconnects too late finds the job ended" {
    run -0 says "$DVM_DIR" "open tardy 1 0 300" "submit echo pid=\$\$; exec cat" "hear OUTPUT"
    wait_end "$(grep -oP 'pid=\K[0-9]+' <<< "$output")"
    run -0 says "$DVM_DIR" "open tardy 2 4 300" gone
    [[ "$output" == "ERROR 123 "*"it has ended the job because prun did not reconnect in time"*gone ]]
}

@test "unread input is not acknowledged beyond a limit, and more is refused" {
    run -0 says "$DVM_DIR" "open in 1 0 1000" "submit exec sleep 1002" "hear STATE" "stdin 1000000" "hear PAUSE" "stdin 4000000" gone
    [[ "$output" == *ACK*"ERROR 2 more input than was asked for"* ]]
}

# A session with a closed connection counts until the daemon has seen the close: the sessions of the crowd above do.
# The daemon may also still wait for clients of other tests.
crowd_fills_it() {
    run -0 says "$DVM_DIR" crowd
    [[ "$output" == *"ERROR 125 too many jobs of clients outside"*"crowd of "* ]] || { echo "$output" && exit 1; }
    n=$(grep -oP 'crowd of \K[0-9]+' <<< "$output")
    [ "$n" -le 256 ] || { echo "a crowd of $n" && exit 1; }
    [ "$n" -ge 200 ]
}

@test "sessions are limited in number, and a closed connection frees its session" {
    eventually crowd_fills_it
    eventually crowd_fills_it
    [ "$(outside -n 1 echo fine)" = fine ]
}

@test "connections from outside are limited in number, and free again when they are closed" {
    run -0 says "$DVM_DIR" "outside $JOIN"
    [[ "$output" == *"ERROR 256 programs outside are connected to this daemon already"* ]]
    [ "${lines[1]}" = "outside 256" ]
    [ "$(outside -n 1 echo fine)" = fine ]
}

# --- lost connections

@test "a connection cut at any place loses nothing and repeats nothing" {
    seq 1 3000 > "$BATS_TEST_TMPDIR/in"
    # A handshake takes some 2,000 bytes each way; then every message of such a job is within the next 1,500.
    for at_byte in 1 700 {1500..3600..90} 5000 9000 14000; do
        for rule in "down$at_byte" "fup$at_byte"; do
            through_proxy pass # pstat's and the like are never cut; of prun the first is
            end_proxy
            through_proxy "$rule" pass
            code=0
            prun --dvm "$at" -n 1 sh -c 'cat; exit 5' < "$BATS_TEST_TMPDIR/in" \
                > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" || code=$?
            end_proxy
            # Before the daemon is reached for the first time there is nothing to come back to.
            if [ "$code" = 125 ]; then
                [ ! -s "$BATS_TEST_TMPDIR/out" ]
                [ "$(wc -l < "$BATS_TEST_TMPDIR/err")" -eq 1 ]
                continue
            fi
            [ "$code" = 5 ] || { echo "$rule: $code" && cat "$BATS_TEST_TMPDIR/err" && false; }
            cmp "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out" || { echo "$rule" && false; }
        done
    done
}

@test "under load in both directions many cuts lose and repeat nothing" {
    head -c 20000000 /dev/urandom > "$BATS_TEST_TMPDIR/in"
    through_proxy down5000 up300000 fdown700000 up1000000 down2000000 fup100000 down2500 up2500 down3000000 \
        refuse up5000000 refuse down1500000 pass
    prun --dvm "$at" -n 2 sh -c '[ "$PMIX_RANK" = 0 ] && exec cat; for i in $(seq 20000); do echo "line $i" >&2; done' \
        < "$BATS_TEST_TMPDIR/in" 2> "$BATS_TEST_TMPDIR/err" | cmp - "$BATS_TEST_TMPDIR/in"
    grep '^line' "$BATS_TEST_TMPDIR/err" | cmp - <(seq -f 'line %.0f' 20000)
    [ "$(grep -c 'is there again' "$BATS_TEST_TMPDIR/err")" -ge 6 ]
}

@test "files from outside arrive whole on every daemon over cut connections" {
    cd "$BATS_TEST_TMPDIR"
    mkdir in
    head -c 9000000 /dev/urandom > in/data
    printf '#!/bin/sh\nsha256sum in/data\n' > prog && chmod 755 prog
    through_proxy up300000 up1000000 refuse fup2500000 up70000 fup600000 pass
    run --separate-stderr prun --dvm "$at" -N 1 --preload-files in/data -s ./prog
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [ "$(sort -u <<< "$output")" = "$(sha256sum in/data)" ]
    [ "$(grep -c 'is there again' <<< "$stderr")" -ge 5 ]
    [ -z "$(find "$DVM_DIR" -name files)" ]
}

no_files() { [ -z "$(find "$DVM_DIR" -name files)" ]; }

@test "a detached job from outside is ended when its files do not come any more" {
    cd "$BATS_TEST_TMPDIR"
    truncate -s 4G big
    through_proxy up9000000 end
    run --separate-stderr -123 prun --reconnect 1 --dvm "$at" --detach -N 1 --preload-files big true
    [[ "$stderr" == *"not restored within 1 s"* ]]
    eventually no_files
    [ -z "$(pgrep -f "dvm-stage write $DVM_DIR/" || true)" ]
}

@test "a job that ends without a connection delivers its output and its end afterwards" {
    through_proxy down4500 refuse refuse refuse refuse refuse refuse pass
    run --separate-stderr -6 prun --dvm "$at" -n 1 sh -c 'head -c 100000 /dev/zero | tr "\0" x; exit 6'
    [ "${#output}" -eq 100000 ]
    [[ "$stderr" == *"is lost"*"there again"*"exited with code 6"* ]]
}

@test "a signal given while the connection is lost arrives, once" {
    through_proxy down4500 hold pass
    fifo=$BATS_TEST_TMPDIR/says
    mkfifo "$fifo" "$fifo.err"
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$at" -n 1 sh -c \
        'trap "echo usr1" USR1; trap "echo end; exit 4" TERM; echo up; head -c 9000 /dev/zero | tr "\0" x; echo; while :; do sleep 0.1; done' \
        > "$fifo" 2> "$fifo.err" 3>&- &
    pid=$!
    exec {fd}< "$fifo" {err}< "$fifo.err"
    read -r -t "$limit" -u "$fd" line
    [ "$line" = up ]
    # The second connection hangs until the limit of its handshake.
    read -r -t "$limit" -u "$err" line
    [[ "$line" == *"is lost"* ]]
    pkill -USR1 -P "$pid"
    read -r -t "$limit" -u "$fd" line
    [ "${#line}" -eq 9000 ]
    read -r -t "$limit" -u "$fd" line
    [ "$line" = usr1 ]
    pkill -TERM -P "$pid"
    read -r -t "$limit" -u "$fd" line
    [ "$line" = end ]
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 143 ] # as without the cut: ended by the user
}

@test "when the connection cannot be made again in time, prun reports it and the job is ended" {
    through_proxy down6000 end
    run --separate-stderr -123 prun -v --reconnect 1 --dvm "$at" -n 1 \
        sh -c "head -c 30000 /dev/zero; exec sleep 1000.$BATS_TEST_NUMBER"
    [[ "$stderr" == *"not restored within 1 s"* ]]
    job=$(grep -m1 -oP 'job \K[0-9a-f.]+(?=: accepted)' <<< "$stderr")
    pids=$(own -f "^sleep 1000.$BATS_TEST_NUMBER\$" || true)
    # shellcheck disable=SC2086
    wait_end $pids
    [ "$(job_state "$job")" != RUNNING ]
}

@test "the ranks of a killed prun outside are ended at its time limit" {
    fifo=$BATS_TEST_TMPDIR/says
    mkfifo "$fifo"
    timeout --kill-after=10 "$limit" "$bin/prun" --reconnect 1 --dvm "127.0.0.1:$JOIN" -n 2 \
        sh -c 'echo $$; exec sleep 1001' > "$fifo" 3>&- &
    pid=$!
    exec {fd}< "$fifo"
    read -r -t "$limit" -u "$fd" a
    read -r -t "$limit" -u "$fd" b
    pkill -KILL -P "$pid"
    wait "$pid" || true
    wait_end "$a" "$b"
    run ! pgrep -f "^dvm-connect 127.0.0.1 $JOIN"
}

@test "another daemon, or one that does not know the job, is reported in one line" {
    through_proxy down6000 "to$JOIN"
    run --separate-stderr -123 prun --dvm "$at" -n 1 sh -c 'head -c 30000 /dev/zero'
    [[ "$stderr" == *"the daemon does not know the job any more"* ]]
    end_proxy
    # Too late: the job goes on for a second only, the first attempt that gets through comes after that.
    through_proxy down6000 hold pass
    run --separate-stderr -123 prun --reconnect 1 --dvm "$at" -n 1 sh -c 'head -c 30000 /dev/zero'
    [[ "$stderr" == *"not restored within 1 s"* ]]
}

@test "the backlog of a lost connection is bounded, and the ranks wait, not the daemon" {
    # Of the daemon's processes the larger one: the other makes its ranks.
    high() {
        pgrep -f -- "prted .*--session-dir $DVM_DIR/1 " | xargs -I{} awk '/VmHWM/ { print $2 }' /proc/{}/status | sort -n | tail -n 1
    }
    prun --dvm "127.0.0.1:$MEMBER" -n 1 sh -c 'head -c 50000000 /dev/zero' > /dev/null # what the daemon needs anyway
    before=$(high)
    [ "$before" -gt 8192 ]
    # Idle when the connection is cut, and then with a flood for 3 s.
    gate=$BATS_TEST_TMPDIR/gate err=$BATS_TEST_TMPDIR/err
    mkfifo "$gate" "$err"
    through_proxy down4500 refuse
    timeout --kill-after=10 "$limit" "$bin/prun" --reconnect 3 --dvm "$at" -n 4 sh -c \
        'head -c 9000 /dev/zero; read -r _ < "$1"; exec head -c 1000000000 /dev/zero' rank "$gate" \
        > /dev/null 2> "$err" 3>&- &
    pid=$!
    exec {fd}< "$err" {gate_fd}<> "$gate"
    read -r -t "$limit" -u "$fd" line
    [[ "$line" == *"is lost"* ]]
    for _ in 1 2 3 4; do echo >&"$gate_fd"; done
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 123 ]
    [ $(($(high) - before)) -lt 32768 ] # KiB
}

@test "a detached job is followed from outside over cuts, and by a second prun when the first has ended" {
    gate=$BATS_TEST_TMPDIR/gate way=$JOIN
    mkfifo "$gate"
    job=$(outside --detach -n 1 sh -c "seq 1 5000; read -r _ < $gate; seq 5001 10000; exit 3")
    through_proxy down9000 down9000 down9000 pass
    fifo=$BATS_TEST_TMPDIR/says
    mkfifo "$fifo"
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$at" --attach "$job" > "$fifo" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    exec {fd}< "$fifo"
    cmp <(head -n 5000 <&"$fd") <(seq 1 5000)
    run -125 outside --attach "$job"
    [[ "$output" == *"another prun is attached to job $job already"* ]]
    echo > "$gate"
    [ "$(cat <&"$fd" | tail -n 1)" = 10000 ]
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 3 ]
    run -3 outside --attach "$job"
    [ "$(grep -vc '^prun:' <<< "$output")" -eq 10000 ]
}

@test "a job with --survive is followed from outside over cuts, and goes on when its prun is killed" {
    gate=$BATS_TEST_TMPDIR/gate fifo=$BATS_TEST_TMPDIR/says way=$JOIN
    mkfifo "$gate" "$fifo"
    through_proxy down9000 down9000 pass
    timeout --kill-after=10 "$limit" "$bin/prun" --survive --dvm "$at" -n 1 sh -c "seq 1 5000; read -r _ < $gate; echo last; exit 3" \
        > "$fifo" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    exec {fd}< "$fifo"
    cmp <(head -n 5000 <&"$fd") <(seq 1 5000)
    pkill -KILL -P "$pid"
    wait "$pid" || [ $? -eq 137 ]
    echo > "$gate"
    job=$(sed -nE 's/^prun: job (.*) goes on without this prun; .*/\1/p' "$BATS_TEST_TMPDIR/err")
    eventually attach_ends_with 3 # until the daemon has seen the end of the first prun, another one is refused
    [ "$(grep -v '^prun:' <<< "$output" | tail -n 1)" = last ]
}
attach_ends_with() {
    run outside --attach "$job"
    [ "$status" -eq "$1" ]
}

@test "a session serves the local socket as well" {
    [ "$(prun --reconnect 5 --dvm "$DVM_DIR" -n 1 echo here)" = here ]
}

# --- other versions

# daemon_answers VERSION BYTES: the texts in the answer of the head's join port to a frame of BYTES zeros after its version,
# from a member's certificate.
daemon_answers() {
    local tls=$DVM_DIR/tls/member
    { printf '\0\0\0%b%b' "\\0$(printf %o $(($2 + 1)))" "\\0$(printf %o "$1")" && head -c "$2" /dev/zero; } |
        timeout --kill-after=10 "$limit" openssl s_client -quiet -connect "127.0.0.1:$JOIN" -CAfile "$tls/ca.crt" \
            -cert "$tls/tls.crt" -key "$tls/tls.key" 2> /dev/null | tr -c '[:print:]' '\n' | grep -a 'speaks'
}

@test "a daemon or a program of another version is told both versions before its connection ends" {
    for bytes in 79 0 40; do # a header of this length, and of others
        run -0 daemon_answers 5 "$bytes"
        [[ "$output" == *"frame: version 5, this daemon speaks 4" ]]
    done
    run -0 daemon_answers 3 79
    [[ "$output" == *"frame: version 3, this daemon speaks 4" ]]
    for where in "$DVM_DIR" "127.0.0.1:$JOIN"; do
        run -0 says "$where" "version 3" gone
        [[ "$output" == *"ERROR 2 client message: version 3 of the local protocol, this program speaks 2"*gone ]]
    done
    outside -n 1 true
}
