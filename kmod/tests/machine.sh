# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# What the tests that boot an emulated machine share, to be sourced: has_tools, with_libraries, boot. For a kernel of
# another machine: MACHINE (the emulator and its machine), CONSOLE, and BUSYBOX, a static one for that machine.

read -ra machine <<<"${MACHINE:=qemu-system-x86_64 -accel tcg -cpu max}"
: "${CONSOLE:=ttyS0}" "${BUSYBOX:=$(command -v busybox || true)}" "${LIMIT_S:=1800}"
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,disk}

# Whether all is there with which a machine is made.
has_tools() {
    local tool
    for tool in "${machine[0]}" "${BUSYBOX:-busybox}" cpio gzip mkfs.ext4; do
        command -v "$tool" >/dev/null || { echo "there is no $tool" >&2; return 1; }
    done
}

# Puts a program into the machine's /bin, with the libraries that it is linked to, if any.
with_libraries() {
    cp "$1" "$root/bin/$2"
    { ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done || true
}

# Boots KERNEL once, of what boot has made.
booted() {
    timeout "$LIMIT_S" "${machine[@]}" -smp 2 -m 768 \
        -drive "file=$work/disk,format=raw,if=none,id=disk,cache=unsafe" -device nvme,serial=1,drive=disk -nographic \
        -no-reboot -kernel "$1" -initrd "$work/initrd" -append "console=$CONSOLE panic=-1 oops=panic quiet" </dev/null 2>&1 |
        tr -d '\r' | tee "$work/console" | sed -n 's/^.*\(kernel [0-9].*emulated\)/\1/; /^kernel [0-9].*emulated/,$p' || true
}

# Boots KERNEL; its init does what standard input says, a script of busybox' sh, after a disk and the usual filesystems
# are mounted. Shows what it says from the line on that begins with "kernel", and keeps it in $work/console; says whether
# a line began with "VERDICT: all held".
boot() {
    with_libraries "$BUSYBOX" busybox
    {
        cat <<'INIT'
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
ip link set lo up
failed=0
tries() { "$@" || { echo "FAILED (exit $?): $*"; failed=1; }; }
echo "kernel $(uname -r), $(nproc) CPUs, emulated: no time here says anything of hardware"
INIT
        cat
        cat <<'INIT'
if dmesg | grep -E 'BUG|WARNING|Oops|[Ll]eak|stall|lockup|Call Trace|general protection|hung'; then
    echo "FAILED: the kernel complains"
    failed=1
fi
[ $failed = 0 ] && echo "VERDICT: all held"
poweroff -f
INIT
    } >"$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1 >"$work/initrd")
    truncate -s 256M "$work/disk"
    mkfs.ext4 -q "$work/disk"

    local begin=$SECONDS try
    for try in 1 2 3; do
        booted "$1"
        # An emulator of several CPUs now and then runs code that the kernel has just changed, where the kernel had put a breakpoint
        # for the while. Before our first line nothing of ours was there that could be its cause.
        grep -q '^kernel [0-9].*emulated' "$work/console" && break
        grep -q 'int3: 0000 \[#' "$work/console" || break
        [ $try = 3 ] || echo "the emulator ran what the kernel had changed, before anything of ours did: booted anew"
    done
    if grep -q '^VERDICT: all held' "$work/console"; then
        echo "held on $(basename "$1"), in $((SECONDS - begin)) s"
    else
        grep -q '^VERDICT\|^FAILED' "$work/console" || tail -n 30 "$work/console" | sed 's/^/| /'
        echo "DID NOT HOLD on $(basename "$1"), after $((SECONDS - begin)) s"
        return 1
    fi
}
