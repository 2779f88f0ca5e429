# shellcheck shell=bash disable=SC2154
# Steps of .ci/run that boot Debian's kernels in emulated machines. Sourced by it.

# Finds the newest kernel of a series that has headers, and its image without installing it: they go to `version` and `image`.
has_kernel() { # SERIES WHAT
    need make qemu-system-x86_64:qemu-system-x86 busybox cpio mkfs.ext4:e2fsprogs depmod:kmod
    version=$(apt-cache search --names-only "^linux-(image|headers)-$1[.].*-cloud-amd64\$" 2>/dev/null |
        sed -nE 's/^linux-(image|headers)-([^ ]*) .*/\2/p' | sort -V | uniq -d | tail -n 1)
    if [ -z "$version" ]; then skip "$2: apt has no kernel of $1 for it" && return 1; fi
    image=/boot/vmlinuz-$version
    if [ -r "$image" ]; then return; fi
    image=$all/$version$image
    if [ -r "$image" ]; then return; fi
    mkdir -p "$all/$version"
    (cd "$all/$version" && apt-get download -qq "linux-image-$version" && dpkg -x ./*.deb .) >"$work/apt" 2>&1 ||
        { skip "$2: the kernel $version: $(tail -n 1 "$work/apt")" && return 1; }
}

# The same, with what modules are built from.
has_headers() { # SERIES WHAT
    has_kernel "$1" "$2" || return
    [ -d "/usr/src/linux-headers-$version" ] || need "headers:linux-headers-$version"
    [ -d "/usr/src/linux-headers-$version" ]
}

# Lets the tests boot guests of the packaged program, which is static, and of the kernel that was found, whose modules lie beside it.
make_guests() {
    build_packaged
    export HOSTMARK_STATIC=$packaged HOSTMARK_KERNEL=$image
    if [ ! -d "/lib/modules/$version/kernel" ]; then
        export HOSTMARK_MODULES=${image%/boot/*}/lib/modules/$version
        depmod -b "${image%/boot/*}" "$version"
    fi
}

# Tried in an emulated machine, since a fault of the module would take this one down. The counts are small; kmod/tests/guest.sh has the large ones.
step_kmod() {
    local series version image
    make -s -C kmod/tests OUT="$work/client"
    for series in 6.1 6.12; do
        has_headers "$series" "the kernel module for $series" || continue
        need sparse
        cp -r kmod "$work/$series"
        make -s -C "$work/$series" KDIR="/usr/src/linux-headers-$version" "$(command -v sparse >/dev/null && echo check || echo all)" W=1 2>&1 | tee "$work/make"
        if grep -iE 'warning:|error:' "$work/make"; then return 1; fi
        IDLE=20 BUSY=20 MALFORMED=20000 KILLED=12 LIMIT_S=900 attempt "the kernel module in a guest of $version" \
            kmod/tests/guest.sh "$image" "$work/$series/hostmark.ko" "$work/client"
    done
}

# The copies that the program tells of the data path, against those that a kernel makes. What the other paths have in common with these is
# left to a run of kmod/tests/copies.sh by hand.
step_copies() {
    local version image
    has_headers 6.12 "copies of the data path" || return 0
    cargo test --workspace --locked --no-run --quiet
    cp -r kmod/tests/copies "$work/copies"
    make -s -C "/usr/src/linux-headers-$version" M="$work/copies" W=1 modules
    PATHS="file_null memory_socket_memory zero_pipe_socket_null zero_pipe_splice_socket_null zero_pipe_socket_splice_null \
        zero_pipe_socket_pipe_pipe_null file_sendfile_socket_null memory_zero_copy_socket_memory" LIMIT_S=900 \
        attempt "copies of the data path" kmod/tests/copies.sh "$image" "$work/copies/copies.ko" "$target/debug/hostmark"
}
