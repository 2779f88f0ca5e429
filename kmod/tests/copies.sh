#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Holds the copies that net.data_path tells against those that the kernel makes:
#     copies.sh KERNEL MODULE HOSTMARK
# Boots KERNEL in an emulated machine, where MODULE (tests/copies, built for it) counts the bytes copied from and to each
# process's memory, has HOSTMARK take each of PATHS there, and compares for each process. AMOUNT bytes are moved at a time.
# Prints a line for each process; exit code 0 if all agree within 1 %, 1 if not, 2 if it could not be tried.
set -euo pipefail

[ $# = 3 ] || { sed -n '3,7p' "$0" >&2; exit 2; }
: "${AMOUNT:=4194304}" "${DETAILS:=}" "${PATHS:=zero_null file_null cold_file_null memory_pipe_memory memory_socket_memory memory_socket_memory_close \
    memory_socket_memory_behind zero_pipe_socket_null file_socket_null cold_file_socket_null file_pipe_socket_null \
    zero_pipe_socket_pipe_null zero_pipe_socket_pipe_pipe_null memory_socket_pipe_memory zero_pipe_splice_socket_null \
    zero_pipe_socket_splice_null file_splice_socket_null file_sendfile_socket_null memory_zero_copy_socket_memory}"
for file in "$@"; do
    [ -r "$file" ] || { echo "cannot read $file" >&2; exit 2; }
done
# shellcheck source=kmod/tests/machine.sh
. "$(dirname "${BASH_SOURCE[0]}")/machine.sh"
has_tools || exit 2

cp "$2" "$root/copies.ko"
strip -g "$root/copies.ko"
with_libraries "$3" hostmark
cat >"$root/compare.awk" <<'EOF'
# The copies told, as "stage4_copies,ratio,2"; then the lines of /proc/copies, in the order in which processes started.
FNR == NR { split($0, told, ","); of_stage[substr(told[1], 6, 1)] = told[3]; stages++; next }
$1 == "missed" { print "FAILED: not all is counted: " $0; failed = 1 }
# Of the processes those that moved all, and are no ancestor of one that did: the worker fills files, and the program reads
# itself for its digest.
$1 == "process" && $2 > last {
    parent[$2] = $3
    moved = 0
    for (column = 4; column <= 7; column++) if ($column > moved) moved = $column
    if (moved >= amount) { all[++count] = $2; ratio[$2] = ($8 + $9 + $10 + $11) / moved }
}
END {
    for (nth = 1; nth <= count; nth++)
        for (number = parent[all[nth]]; number in parent && !(number in starts); number = parent[number]) starts[number] = 1
    for (nth = 1; nth <= count; nth++) {
        number = all[nth]
        if (number in starts) continue
        stage = ++started[parent[number]]
        if (stage == 1) pipelines++
        seen[stage]++
        if (seen[stage] == 1 || ratio[number] < least[stage]) least[stage] = ratio[number]
        if (ratio[number] > most[stage]) most[stage] = ratio[number]
    }
    for (stage = 1; stage <= stages; stage++) {
        printf "%-32s process %d: told %.3f, counted %.3f to %.3f in %d processes\n", path, stage, of_stage[stage], least[stage], most[stage], seen[stage]
        if (seen[stage] == 0 || seen[stage] != pipelines || least[stage] < of_stage[stage] - 0.01 || most[stage] > of_stage[stage] + 0.01) {
            print "FAILED: " path ", process " stage
            failed = 1
        }
    }
    if (stages == 0 || stages + 1 in seen) { print "FAILED: " path " has not " stages " processes"; failed = 1 }
    exit failed
}
EOF

boot "$1" <<EOF
insmod /copies.ko || failed=1
export TMPDIR=/disk XDG_DATA_HOME=/disk
for path in $PATHS; do
    last=\$(sh -c 'echo \$\$')
    hostmark run net.data_path@path=\$path,cpus=1,block=65536,amount=$AMOUNT >/tmp/run 2>&1 || { cat /tmp/run; echo "FAILED: \$path"; failed=1; }
    hostmark report last --format csv | grep -o 'stage[0-9]_copies,ratio,[0-9.e-]*' >/tmp/told
    cat /proc/copies >/tmp/counted
    [ -z "$DETAILS" ] || awk -v last=\$last '\$2 > last' /tmp/counted
    tries awk -v path=\$path -v amount=$AMOUNT -v last=\$last -f /compare.awk /tmp/told /tmp/counted
done
EOF
