#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a job in a DVM with the programs of another processor's root file system: try-foreign.sh QEMU DIRECTORY
#
# The kernel is not told to run such programs by QEMU (binfmt_misc). So a script of its name runs each program. The
# programs are beside the scripts, because a program of the DVM looks for the others in its own directory.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: try-foreign.sh QEMU DIRECTORY" >&2; exit 2; }
qemu=$1 root=$2
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
for program in "$root"/usr/local/bin/* "$root"/opt/dvm/examples/*; do
    name=$(basename "$program")
    cp "$program" "$bin/$name.$qemu"
    printf '#!/bin/sh\nexec %s -L %s %s "$@"\n' "$qemu" "$root" "$bin/$name.$qemu" > "$bin/$name"
    chmod 755 "$bin/$name"
done
export PATH=$bin:$PATH

for program in prted prte prun pstat pterm; do "$program" --version; done
prte start -n 2
ranks=$(prun -n 2 mpi_hello)
prte stop
printf '%s\n' "$ranks"
[ "$(grep -c '^hello from rank [01] of 2' <<< "$ranks")" -eq 2 ]
