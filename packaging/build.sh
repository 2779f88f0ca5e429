#!/usr/bin/env bash
# Builds the packages: `packaging/build.sh [TARGET…]`, by default this machine's glibc target. A musl target becomes the
# package hostmark-static, which depends on nothing. A line that begins with "skipped" tells what could not be made.
#
#   OUT       where the packages go; target/packages unless set
#   PACKAGES  which ones: "tar deb rpm" unless set; also "wheel"
#
# Needs zstd, cargo-deb and cargo-generate-rpm (`cargo install --locked cargo-deb cargo-generate-rpm`), for a wheel maturin, for aarch64 with
# glibc also its linker, as CARGO_TARGET_…_LINKER, and to make its man page a way to run it (qemu-user).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=packaging/flags.sh
. packaging/flags.sh

# Where Cargo.toml's package metadata look for what is not compiled; not moved by CARGO_TARGET_DIR.
SHARE=$PWD/target/packaging/share
OUT=$(realpath -m "${OUT:-target/packages}")
PACKAGES=${PACKAGES:-tar deb rpm}

say() { printf '\n== %s\n' "$*"; }
skip() { printf 'skipped: %s\n' "$*"; }

target_dir() {
    cargo metadata --locked --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}

# A file that the program itself writes; absent, with a line, where this program has no such command or cannot run here.
generate() { # FILE WORDS…
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    if ! "${program[@]}" "$@" >"$file" 2>"$file.errors" || [ ! -s "$file" ]; then
        skip "${file#"$SHARE/"}: hostmark $*: $(head -n 1 "$file.errors")"
        rm -f "$file"
    fi
    rm -f "$file.errors"
}

# Documents, man page and completions, laid out as under /usr/share.
stage() { # EMULATOR… BINARY
    local program=("$@")
    rm -rf "$SHARE"
    mkdir -p "$SHARE/doc/hostmark"
    cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$SHARE/doc/hostmark/"
    local lang folder
    for lang in en:man/man1 zh:man/zh_CN/man1; do
        folder=$SHARE/${lang#*:}
        mkdir -p "$folder"
        "${program[@]}" --lang "${lang%%:*}" man --dir "$folder" || skip "manual pages in ${lang%%:*}"
        find "$folder" -name '*.1' -exec gzip -9n {} +
    done
    generate "$SHARE/bash-completion/completions/hostmark" completions bash
    generate "$SHARE/zsh/vendor-completions/_hostmark" completions zsh
    generate "$SHARE/fish/vendor_completions.d/hostmark.fish" completions fish
    find "$SHARE" -type d -empty -delete
    find "$SHARE" -type f -exec chmod 644 {} +
}

# Debian's zsh looks elsewhere than that of the rpm distributions.
zsh_folder() { # NAME
    local here
    for here in "$SHARE"/zsh/*; do
        [ ! -d "$here" ] || [ "${here##*/}" = "$1" ] || mv "$here" "$SHARE/zsh/$1"
    done
}

# The program with what a package lays out under /usr/share, in a directory of its own: the same bytes from every build.
tarball() { # TARGET BINARY
    local name
    name=hostmark-$(version)-$1
    local root=$WORK/$name
    mkdir -p "$root/bin"
    cp "$2" "$root/bin/hostmark"
    cp -r "$SHARE" "$root/share"
    find "$root" -type d -exec chmod 755 {} +
    tar -C "$WORK" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
        zstd -q -19 -T1 -f -o "$OUT/$name.tar.zst"
    rm -rf "$root"
}

# A program alone as a wheel: the static one fits both C libraries.
wheel() { # TARGET
    local compatible=()
    if [[ $1 == *-musl ]]; then compatible=(--compatibility manylinux2014 musllinux_1_1); fi
    # It reads the project of the directory that it is in.
    (cd packaging/python && CARGO_TARGET_DIR=$(target_dir) maturin build --quiet --profile dist --locked --target "$1" "${compatible[@]}" --out "$OUT")
}

version() { sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1; }

package() { # TARGET
    local target=$1 for_target=(--target "$1") folder=$1/dist deb=() rpm=() emulator=() status=0
    say "hostmark for $target"
    if [ "$target" = "$HERE" ]; then
        for_target=()
        folder=dist
    fi
    # One program for every package, stripped by cargo: cargo-generate-rpm strips nothing.
    cargo build --profile dist --locked "${for_target[@]}" -p hostmark
    local binary
    binary=$(target_dir)/$folder/hostmark
    if [[ $target == aarch64-* && $(uname -m) != aarch64 ]]; then
        emulator=(qemu-aarch64-static -L /usr/aarch64-linux-gnu)
    fi
    stage "${emulator[@]}" "$binary"
    if [[ $target == *-musl ]]; then
        deb=(--variant static)
        rpm=(--variant static --auto-req no)
    fi
    mkdir -p "$OUT"
    for kind in $PACKAGES; do
        case $kind in
        tar)
            zsh_folder site-functions
            if command -v zstd >/dev/null; then tarball "$target" "$binary"; else skip "tar: no zstd"; fi
            ;;
        wheel)
            if command -v maturin >/dev/null; then wheel "$target" || status=1; else skip "wheel: no maturin"; fi
            ;;
        deb)
            zsh_folder vendor-completions
            if cargo deb --version >/dev/null 2>&1; then
                cargo deb --profile dist --locked --no-build --no-strip "${for_target[@]}" -p hostmark "${deb[@]}" --output "$OUT" || status=1
            else
                skip "deb: no cargo-deb"
            fi
            ;;
        rpm)
            zsh_folder site-functions
            if cargo generate-rpm --version >/dev/null 2>&1; then
                cargo generate-rpm --profile dist -p crates/cli "${for_target[@]}" --target-dir "$(target_dir)" "${rpm[@]}" --output "$OUT" || status=1
            else
                skip "rpm: no cargo-generate-rpm"
            fi
            ;;
        *)
            echo "there is no package kind '$kind'; use tar deb rpm wheel"
            return 2
            ;;
        esac
    done
    return "$status"
}

HERE=$(rustc -vV | sed -n 's/^host: //p')
[ $# -gt 0 ] || set -- "$HERE"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
for target in "$@"; do package "$target"; done
(cd "$OUT" && rm -f SHA256SUMS && sha256sum -- * >"$WORK/sums" && mv "$WORK/sums" SHA256SUMS)
ls -l "$OUT"
