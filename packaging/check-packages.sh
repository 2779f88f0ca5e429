#!/usr/bin/env bash
# Looks into packages: `packaging/check-packages.sh FILE…`, unpacked beside each other and not installed. The program
# starts, the man page and the completions can be read by what reads them, the licences are there, and what it depends on
# is what it links. Ends with 1 when something is wrong. A line that begins with "skipped" tells what could not be looked
# at.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

skip() { printf 'skipped: %s\n' "$*"; }
wrong() {
    printf 'wrong: %s\n' "$*"
    failed=1
}

# Unpacks a package; 2 where there is nothing to unpack it with.
unpack() { # FILE ROOT
    case $1 in
    *.deb)
        command -v dpkg-deb >/dev/null || return 2
        dpkg-deb -x "$1" "$2" || return 1
        ;;
    *.rpm)
        command -v rpm2cpio >/dev/null && command -v cpio >/dev/null || return 2
        # Its own exit code is that of a size which packages need not name.
        { rpm2cpio "$1" || true; } | (cd "$2" && cpio -idm --quiet) || return 1
        ;;
    *.tar.zst)
        command -v zstd >/dev/null || return 2
        mkdir "$2/usr"
        tar --zstd -xf "$1" -C "$2/usr" --strip-components=1 || return 1
        ;;
    *)
        echo "$1 is no package; give .deb, .rpm and .tar.zst files"
        exit 2
        ;;
    esac
}

# What a package depends on, a line each, without what rpm itself must be able to do, and the shell that removes a directory.
requires() { # FILE
    case $1 in
    *.deb) dpkg-deb -f "$1" Depends | tr ',' '\n' | sed 's/^ *//' ;;
    *.tar.zst) ;;
    *.rpm) rpm -qp --requires "$1" | grep -vE '^rpmlib\(|^/bin/sh$' || true ;;
    esac
}

# A script in the language of a shell, read and not run; a shell that is not there reads nothing.
reads() { # FILE SHELL…
    local file=$1
    shift
    [ -s "$file" ] || { wrong "$file is not there"; return; }
    if ! command -v "$1" >/dev/null; then skip "$file: there is no $1"; return; fi
    "$@" "$file" || wrong "$file is no script for $1"
}

# The nightly run. The program is named where the package is unpacked: the units' own path is that of another one, or of none.
check_units() { # ROOT
    local unit folder=$work/units
    rm -rf "$folder"
    mkdir "$folder"
    for unit in hostmark.service hostmark.timer; do
        [ -s "$1/usr/lib/systemd/system/$unit" ] || { wrong "there is no $unit"; return; }
        sed "s#=/usr/bin/hostmark#=$1/usr/bin/hostmark#" "$1/usr/lib/systemd/system/$unit" >"$folder/$unit"
    done
    if ! command -v systemd-analyze >/dev/null; then skip "the units: there is no systemd-analyze"; return; fi
    systemd-analyze verify --man=no "$folder"/hostmark.* >"$work/verify" 2>&1 || wrong "systemd-analyze verify fails"
    [ ! -s "$work/verify" ] || wrong "systemd-analyze says of the units: $(head -n 3 "$work/verify")"
}

check() { # PACKAGE
    local package=$1 root=$work/${1##*/} status=0
    printf '\n%s, %d bytes\n' "${package##*/}" "$(stat -c %s "$package")"
    mkdir "$root"
    unpack "$package" "$root" || status=$?
    if [ "$status" = 2 ]; then skip "nothing here unpacks it"; return; fi
    [ "$status" = 0 ] || { wrong "it cannot be unpacked"; return; }

    local outside
    outside=$(find "$root" -type f ! -path "$root/usr/bin/hostmark" ! -path "$root/usr/share/*" \
        ! -path "$root/usr/lib/systemd/system/hostmark.*")
    [ -z "$outside" ] || wrong "files where none belong: $outside"
    outside=$(find "$root" -type f ! -path "$root/usr/bin/hostmark" ! -perm 644)
    [ -z "$outside" ] || wrong "files with other rights than 644: $outside"

    local binary=$root/usr/bin/hostmark emulator=()
    if [[ $package == *aarch64*.tar.zst && $(uname -m) != aarch64 ]]; then emulator=(qemu-aarch64-static); fi
    if [ ${#emulator[@]} -gt 0 ] && ! command -v "${emulator[0]}" >/dev/null; then
        skip "starting the program: there is no ${emulator[0]}"
    elif [ "$("${emulator[@]}" "$binary" list | wc -l)" -le 10 ]; then
        wrong "the program lists no probes"
    fi
    local needed needs
    needed=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    needs=$(requires "$package")
    printf 'links: %s\ndepends on: %s\n' "$(tr '\n' ' ' <<<"$needed")" "$(tr '\n' ' ' <<<"$needs")"
    if [ -z "$needed" ]; then
        [ -z "$needs" ] || wrong "a static program depends on something"
    else
        local library
        for library in $needed; do
            case $library,$package in
            libgcc_s.so.*,*.deb) grep -q '^libgcc-s1' <<<"$needs" || wrong "$library is not asked for" ;;
            libc.so.* | libm.so.* | ld-linux*.so.*)
                grep -qE '^libc6 \(>= |^libc\.so\.|^libm\.so\.|^ld-linux' <<<"$needs" || wrong "$library is not asked for"
                ;;
            *.deb) wrong "nothing says which package has $library" ;;
            *) grep -qF "$library" <<<"$needs" || wrong "$library is not asked for" ;;
            esac
        done
    fi

    local share=$root/usr/share page=$root/usr/share/man/man1/hostmark.1.gz
    if [ ! -s "$page" ]; then
        wrong "there is no man page"
    elif command -v man >/dev/null; then
        MANWIDTH=100 man --warnings -l "$page" >"$work/page" 2>"$work/page.errors" || wrong "man cannot read the page"
        grep -q 'hostmark run' "$work/page" || grep -q 'hostmark-run' "$work/page" || wrong "the man page tells nothing of run"
        [ ! -s "$work/page.errors" ] || wrong "man says of the page: $(head -n 3 "$work/page.errors")"
    else
        skip "the man page: there is no man"
        gzip -dc "$page" | grep -q '^\.TH' || wrong "the man page is none"
    fi
    reads "$share/bash-completion/completions/hostmark" bash -n
    reads "$(find "$share/zsh" -name _hostmark)" zsh -n
    reads "$share/fish/vendor_completions.d/hostmark.fish" fish --no-execute
    [[ $package == *.tar.zst ]] || check_units "$root"
    local file
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        [ -n "$(find "$share" -name "$file*")" ] || wrong "there is no $file"
    done
}

[ $# -gt 0 ] || { echo "give packages: packaging/check-packages.sh target/packages/*"; exit 2; }
for package in "$@"; do check "$package"; done
exit "$failed"
