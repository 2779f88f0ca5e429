#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Boots KERNEL in an emulated machine, loads MODULE there, and lets PROGRAM (tests/Makefile) have its way with it:
#     guest.sh KERNEL MODULE PROGRAM
# Prints what was tested and a verdict; exit code 0 if all held, 1 if not, 2 if it could not be tried. What is timed
# there is the emulator. IDLE, BUSY, MALFORMED, KILLED and SEED say how often; with HOSTMARK=PATH, a static hostmark
# measures in the guest what FILTERS pick, with the module loaded. For a kernel of another machine: MACHINE (the emulator and
# its machine), CONSOLE, and BUSYBOX, a static one for that machine.
set -euo pipefail

[ $# = 3 ] || { sed -n '3,8p' "$0" >&2; exit 2; }
kernel=$1 module=$2 program=$3
: "${IDLE:=1000}" "${BUSY:=1000}" "${MALFORMED:=1000000}" "${KILLED:=60}" "${SEED:=1}" "${LIMIT_S:=1800}" "${HOSTMARK:=}"
read -ra machine <<<"${MACHINE:=qemu-system-x86_64 -accel tcg -cpu max}"
: "${CONSOLE:=ttyS0}" "${BUSYBOX:=$(command -v busybox || true)}"
: "${FILTERS:=file.kernel_read file.kernel_write file.read_start file.overwrite cpu.kernel_sieve cpu.sieve memory.kernel_random_access memory.random_access syscall.kernel_null syscall.null}"
for file in "$kernel" "$module" "$program" ${HOSTMARK:+"$HOSTMARK"}; do
    [ -r "$file" ] || { echo "cannot read $file" >&2; exit 2; }
done
PATH=$PATH:/usr/sbin:/sbin
for tool in "${machine[0]}" "${BUSYBOX:-busybox}" cpio gzip mkfs.ext4; do
    command -v "$tool" >/dev/null || { echo "there is no $tool" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,disk}
busybox=$BUSYBOX
cp "$busybox" "$root/bin/busybox"
# Debian's busybox is linked to libraries, busybox-static is not.
{ ldd "$busybox" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done || true
cp "$program" "$root/bin/client"
cp "$module" "$root/hostmark.ko"
# Without what debuggers need it is a tenth as large; a strip of another machine refuses it, and it stays as it is.
strip -g "$root/hostmark.ko" 2>/dev/null || true
[ -z "$HOSTMARK" ] || cp "$HOSTMARK" "$root/bin/hostmark"

cat >"$root/init" <<EOF
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp TERM=dumb LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t ext4 /dev/nvme0n1 /disk || echo "FAILED: no disk"
failed=0
tries() { "\$@" || { echo "FAILED (exit \$?): \$*"; failed=1; }; }
available() { sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1; awk '/^MemAvailable/ { print \$2 }' /proc/meminfo; }

echo "kernel \$(uname -r), \$(nproc) CPUs, emulated: no time here says anything of hardware"
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
if dmesg | grep -E 'BUG|WARNING|Oops|[Ll]eak|stall|lockup|Call Trace|general protection|hung'; then
    echo "FAILED: the kernel complains"
    failed=1
fi
[ \$failed = 0 ] && echo "VERDICT: all held"
poweroff -f
EOF
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1 >"$work/initrd")

truncate -s 256M "$work/disk"
mkfs.ext4 -q "$work/disk"

begin=$SECONDS
timeout "$LIMIT_S" "${machine[@]}" -smp 2 -m 768 \
    -drive "file=$work/disk,format=raw,if=none,id=disk,cache=unsafe" -device nvme,serial=1,drive=disk -nographic -no-reboot \
    -kernel "$kernel" -initrd "$work/initrd" -append "console=$CONSOLE panic=-1 oops=panic quiet" </dev/null 2>&1 |
    tr -d '\r' | tee "$work/console" | sed -n 's/^.*\(kernel [0-9].*emulated\)/\1/; /^kernel [0-9].*emulated/,$p' || true
if grep -q '^VERDICT: all held' "$work/console"; then
    echo "held on $(basename "$kernel"), in $((SECONDS - begin)) s"
else
    grep -q '^VERDICT\|^FAILED' "$work/console" || tail -n 30 "$work/console" | sed 's/^/| /'
    echo "DID NOT HOLD on $(basename "$kernel"), after $((SECONDS - begin)) s"
    exit 1
fi
