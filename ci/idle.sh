#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command at the lowest priority, beside others that mostly wait: idle.sh COMMAND...
#
# It has a session of its own: a kernel with autogroups (sched(7)) shares the processors between sessions first, whatever
# the nice values in them are.
exec setsid --wait nice -n 19 sh -c '{ echo 19 > /proc/self/autogroup; } 2> /dev/null; exec "$@"' sh "$@"
