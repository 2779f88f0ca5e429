#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Boots KERNEL in an emulated machine, loads MODULE there, and lets PROGRAM (tests/Makefile) have its way with it:
#     guest.sh KERNEL MODULE PROGRAM
# Prints what was tested and a verdict; exit code 0 if all held, 1 if not, 2 if it could not be tried. What is timed
# there is the emulator. IDLE, BUSY, MALFORMED, KILLED and SEED say how often; with HOSTMARK=PATH, a static hostmark
# measures in the guest what FILTERS pick, with the module loaded. Of other machines machine.sh tells.
set -euo pipefail

[ $# = 3 ] || { sed -n '3,7p' "$0" >&2; exit 2; }
kernel=$1 module=$2 program=$3
: "${IDLE:=1000}" "${BUSY:=1000}" "${MALFORMED:=1000000}" "${KILLED:=60}" "${SEED:=1}" "${HOSTMARK:=}"
: "${FILTERS:=file.kernel_block file.block cpu.kernel_sieve cpu.sieve memory.kernel_random_access memory.random_access syscall.kernel_null syscall.null}"
for file in "$kernel" "$module" "$program" ${HOSTMARK:+"$HOSTMARK"}; do
    [ -r "$file" ] || { echo "cannot read $file" >&2; exit 2; }
done
# shellcheck source=kmod/tests/machine.sh
. "$(dirname "${BASH_SOURCE[0]}")/machine.sh"
has_tools || exit 2

cp "$program" "$root/bin/client"
cp "$module" "$root/hostmark.ko"
# Without what debuggers need it is a tenth as large; a strip of another machine refuses it, and it stays as it is.
strip -g "$root/hostmark.ko" 2>/dev/null || true
[ -z "$HOSTMARK" ] || cp "$HOSTMARK" "$root/bin/hostmark"

boot "$kernel" <<EOF
available() { sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1; awk '/^MemAvailable/ { print \$2 }' /proc/meminfo; }
tries insmod /hostmark.ko
[ "\$(cat /sys/module/hostmark/version)" = 1 ] || { echo "FAILED: the module's version"; failed=1; }
[ "\$(stat -c %a /dev/hostmark)" = 600 ] || { echo "FAILED: the device's mode"; failed=1; }
tries client killed /tmp 6
tries client malformed /tmp 1000 $SEED
before=\$(available)
tries client uses /tmp
tries client uses /disk
tries client malformed /disk $MALFORMED $SEED
tries client killed /disk $KILLED
tries client refused
if [ -x /bin/hostmark ]; then
    export TMPDIR=/disk XDG_DATA_HOME=/disk
    tries hostmark run $FILTERS
    tries hostmark report last --format overhead
fi
tries rmmod hostmark
tries client loads /hostmark.ko $IDLE $BUSY
[ ! -e /sys/module/hostmark ] || { echo "FAILED: the module is still there"; failed=1; }
after=\$(available)
echo "memory available: \$before KiB before, \$after KiB after"
# What is freed is counted late. A page kept for each request or load, or the memory of one client, would come to more.
for try in 1 2 3 4 5; do
    [ \$after -gt \$((before - 32768)) ] && break
    after=\$(available)
done
[ \$after -gt \$((before - 32768)) ] || { echo "FAILED: memory is lost"; failed=1; }
EOF
