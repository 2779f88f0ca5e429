#!/usr/bin/env bash
# Installs packages in clean roots: `packaging/check-installed.sh FILE…`. A .deb goes into a minimal Debian by dpkg; an .rpm into a root of
# its own by rpm, beside one package that has that Debian's C library and shell; a tarball into the Debian by tar; and from a directory that
# packaging/repository.sh laid out and signed, by apt and dnf. There the program says its version, lists its probes and measures a
# little; then the package is removed, and no file of it may be left. Ends with 1 when something is wrong. A line that begins with
# "skipped" tells what could not be tried.
#
# Needs root, mmdebstrap and unshare; for an .rpm also rpm and rpmbuild; for a tarball of aarch64 qemu-aarch64-static. All happens in one temporary directory, and what is mounted is
# mounted in a namespace that ends with the program.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
failed=0
DEBIAN=${DEBIAN:-bookworm}

skip() { printf 'skipped: %s\n' "$*"; }
wrong() {
    printf 'wrong: %s\n' "$*"
    failed=1
}

has() { # TOOL…
    local tool
    for tool; do command -v "$tool" >/dev/null || { skip "installing: there is no $tool"; return 1; }; done
}

# What executes another architecture's programs, as the kernel is told it, in a namespace that alone knows of it (Linux 6.7); empty where
# nothing does.
emulator=
ARM=':aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:'
ARM+='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

# Runs a command in a root with /proc, /dev and /sys, in namespaces that end with it.
inside() { # ROOT COMMAND…
    # shellcheck disable=SC2016
    unshare ${emulator:+--map-root-user} --mount --pid --fork --kill-child sh -ec '
        root=$1 emulator=$2
        shift 2
        mkdir -p "$root/proc" "$root/dev" "$root/sys" "$root/tmp"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        if [ -n "$emulator" ]; then
            mount -t binfmt_misc binfmt_misc "$root/proc/sys/fs/binfmt_misc"
            printf %s "$emulator" >"$root/proc/sys/fs/binfmt_misc/register"
        fi
        exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" "$@"' sh "$1" "$emulator" "${@:2}"
}

# Every file of a root, but for what package managers note down.
files() { # ROOT
    (cd "$1" && find . -xdev ! -path './var/lib/dpkg*' ! -path './var/lib/rpm*' ! -path './var/lib/apt*' ! -path './var/lib/dnf*' ! -path './var/log*' \
        ! -path './var/cache*' ! -path './tmp*' ! -path './dev*' ! -path './proc*' ! -path './sys*' | sort)
}

# The minimal Debian, made once.
debian() {
    [ ! -d "$work/debian" ] || return 0
    has mmdebstrap unshare || return 1
    local sources=()
    # The mirrors that this machine takes its own packages from.
    for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
        if [ -s "$file" ]; then sources=("$file"); break; fi
    done
    mmdebstrap --quiet --variant=minbase "$DEBIAN" "$work/debian" "${sources[@]}" >"$work/mmdebstrap" 2>&1 ||
        { skip "installing: mmdebstrap: $(tail -n 1 "$work/mmdebstrap")"; rm -rf "$work/debian"; return 1; }
}

began() { from=${EPOCHREALTIME/[.,]/}; }

# What the installed program does.
try() { # ROOT
    local root=$1 version probes took
    version=$(inside "$root" hostmark --version) || wrong "hostmark --version fails"
    probes=$(inside "$root" hostmark list | wc -l)
    [ "$probes" -gt 10 ] || wrong "the program lists no probes"
    inside "$root" hostmark --quiet run syscall.null clock.read --out /tmp/run.json >"$work/run" || wrong "a run fails: $(tail -n 3 "$work/run")"
    took=$(((${EPOCHREALTIME/[.,]/} - from) / 1000))
    [ -s "$root/tmp/run.json" ] || wrong "a run leaves no file"
    inside "$root" hostmark --quiet report /tmp/run.json >/dev/null || wrong "the run cannot be reported"
    rm -f "$root/tmp/run.json"
    printf 'installed: %s, %s lines of probes, a run of %s %d ms after its installation began\n' "$version" "$probes" \
        "$(grep -c . "$work/run") lines" "$took"
}

# What packages bring besides.
units() { # ROOT
    local file
    for file in usr/lib/systemd/system/hostmark.{service,timer}; do
        [ -s "$1/$file" ] || wrong "there is no /$file"
    done
    [ -z "$(find "$1/etc/systemd" -name 'hostmark*' 2>/dev/null)" ] || wrong "the timer is enabled by default"
}

compare() { # ROOT BEFORE
    files "$1" | comm -3 "$2" - >"$work/differs"
    if [ -s "$work/differs" ]; then
        wrong "gone with the removal, or (indented) left after it: $(cat "$work/differs")"
    else
        echo "removed, and nothing is left"
    fi
}

check_deb() { # FILE
    debian || return 0
    local root=$work/debian name
    name=$(dpkg-deb -f "$1" Package)
    files "$root" >"$work/before"
    began
    cp "$1" "$root/tmp/package.deb"
    inside "$root" dpkg -i /tmp/package.deb >"$work/log" 2>&1 || { wrong "dpkg -i: $(tail -n 3 "$work/log")"; return; }
    rm "$root/tmp/package.deb"
    try "$root"
    units "$root"
    inside "$root" dpkg --purge "$name" >"$work/log" 2>&1 || wrong "dpkg --purge: $(tail -n 3 "$work/log")"
    compare "$root" "$work/before"
}

# As a person without rights on packages has it: unpacked below /usr/local, and removed by the list of its files.
check_tar() { # FILE
    has zstd && debian || return 0
    local root=$work/debian emulator=
    if [[ $1 == *-aarch64-* && $(uname -m) == x86_64 ]]; then
        has qemu-aarch64-static || return 0
        emulator=$ARM:$(command -v qemu-aarch64-static):F
        inside "$root" true 2>"$work/log" || { skip "programs of aarch64 cannot be executed here: $(tail -n 1 "$work/log")"; return 0; }
    elif [[ $1 != *"-$(uname -m)-"* ]]; then
        skip "it is for another architecture"
        return 0
    fi
    files "$root" >"$work/before"
    began
    tar --zstd -C "$root/usr/local" --strip-components=1 --no-same-owner -xf "$1"
    try "$root"
    tar --zstd -tf "$1" | sed 's#^[^/]*/##' | sort -r | while read -r path; do
        if [ -d "$root/usr/local/$path" ]; then rmdir "$root/usr/local/$path" 2>/dev/null || true; else rm "$root/usr/local/$path"; fi
    done
    # Directories that were empty before it came are this Debian's.
    mkdir -p "$root"/usr/local/{bin,share/man}
    compare "$root" "$work/before"
}

# A package with a shell, rmdir and a C library. rpmbuild finds what it provides in the files: what an rpm asks of glibc is held against real
# names of symbols.
system() { # INTO
    has rpmbuild && debian || return 1
    local library
    mkdir -p "$work/system"
    for library in "$work"/debian/lib/*/{libc.so.6,libm.so.6,libgcc_s.so.1,libpthread.so.0,libdl.so.2} \
        "$work"/debian/lib*/ld-linux*.so.*; do
        [ -e "$library" ] || continue
        install -D -m 755 "$library" "$work/system/${library#"$work/debian/"}"
    done
    install -D "$work/debian/bin/dash" "$work/system/bin/sh"
    install -D "$work/debian/bin/rmdir" "$work/system/bin/rmdir"
    cat >"$work/system.spec" <<SPEC
Name: system
Version: 1
Release: 1
Summary: What other packages are installed beside
License: LGPL-2.1-or-later
Provides: rtld(GNU_HASH)
%define _build_id_links none
%define __os_install_post %{nil}
%description
A shell, rmdir and a C library.
%install
cp -a "$work/system/." %{buildroot}
%files
$(cd "$work/system" && find . -type f | sed 's/^\.//')
SPEC
    rpmbuild -bb --quiet --define "_topdir $work/rpmbuild" --define "_rpmdir $1" "$work/system.spec" >"$work/log" 2>&1 ||
        { skip "installing an rpm: rpmbuild: $(tail -n 1 "$work/log")"; return 1; }
}

# A root that rpm knows, with that package.
rpm_root() { # ROOT
    local root=$1
    mkdir -p "$root"
    rpm --root "$root" --initdb
    [ -d "$work/rpms" ] || system "$work/rpms" || return 1
    rpm --root "$root" --install "$work"/rpms/*/system-*.rpm >"$work/log" 2>&1 || { wrong "rpm: $(tail -n 3 "$work/log")"; return 1; }
    # Directories that other packages of a distribution own.
    mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib/systemd/system,root,tmp,var/tmp,var/lib,etc/dnf/modules.d} \
        "$root"/usr/share/{bash-completion/completions,doc,fish/vendor_completions.d,man/man1,man/zh_CN/man1,zsh/site-functions}
    files "$root" >"$work/before"
}

check_rpm() { # FILE
    has rpm unshare || return 0
    local root=$work/rpm-${1##*/} name
    name=$(rpm -qp --queryformat '%{NAME}' "$1")
    rpm_root "$root" || return 0
    began
    rpm --root "$root" --install "$1" >"$work/log" 2>&1 || { wrong "rpm --install: $(tail -n 3 "$work/log")"; return; }
    try "$root"
    units "$root"
    rpm --root "$root" --erase "$name" >"$work/log" 2>&1 || wrong "rpm --erase: $(tail -n 3 "$work/log")"
    compare "$root" "$work/before"
}

# By apt, from what is signed; what was changed afterwards is refused.
check_apt() { # REPOSITORY
    debian || return 0
    local root=$work/debian release=deb/dists/stable name
    name=$(sed -n 's/^Package: //p' "$1/$release/main/binary-$(dpkg --print-architecture)/Packages" | sort | tail -n 1)
    files "$root" >"$work/before"
    cp -r "$1" "$root/tmp/repository"
    echo "deb [signed-by=/tmp/repository/hostmark.asc] file:/tmp/repository/deb stable main" >"$root/tmp/hostmark.list"
    by_apt() {
        inside "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dir::Etc::SourceList=/tmp/hostmark.list -o Dir::Etc::SourceParts=- \
            -o APT::Update::Error-Mode=any "$@" >"$work/log" 2>&1
    }
    began
    { by_apt update && by_apt install "$name"; } || { wrong "apt-get: $(tail -n 3 "$work/log")"; return; }
    try "$root"
    by_apt purge "$name" || wrong "apt-get purge: $(tail -n 3 "$work/log")"
    compare "$root" "$work/before"
    sed -i 's/^Origin: .*/Origin: another/' "$root/tmp/repository/$release/InRelease"
    if by_apt update; then wrong "apt-get takes a list of packages that was changed after it was signed"; fi
    rm -rf "$root/tmp/repository" "$root/tmp/hostmark.list"
}

check_dnf() { # REPOSITORY
    has dnf rpm unshare || return 0
    local root=$work/dnf folder key=$1/hostmark.asc name
    folder=$1/rpm/$(uname -m)
    name=$(rpm -qp --queryformat '%{NAME}\n' "$folder"/*.rpm | sort | tail -n 1)
    rpm_root "$root" || return 0
    by_dnf() {
        dnf --installroot="$root" --releasever=1 --assumeyes --setopt=reposdir=/var/empty --repofrompath="hostmark,file://$folder" --repo=hostmark \
            --setopt=hostmark.repo_gpgcheck=1 --setopt=hostmark.gpgkey="file://$key" "$@" >"$work/log" 2>&1
    }
    began
    by_dnf install "$name" || { wrong "dnf: $(tail -n 3 "$work/log")"; return; }
    try "$root"
    by_dnf remove "$name" || wrong "dnf remove: $(tail -n 3 "$work/log")"
    compare "$root" "$work/before"
    sed -i 's/<revision>/&9/' "$folder/repodata/repomd.xml"
    if by_dnf --refresh install "$name"; then wrong "dnf takes a list of packages that was changed after it was signed"; fi
}

[ $# -gt 0 ] || { echo "give packages: packaging/check-installed.sh target/packages/*"; exit 2; }
if [ "$(id -u)" != 0 ]; then
    skip "installing packages in clean roots: this user is not root"
    exit 0
fi
for package; do
    [ -e "$package" ] || { echo "there is no $package"; exit 2; }
    printf '\n%s, %d bytes\n' "${package##*/}" "$(du -sb "$package" | cut -f1)"
    if [ -d "$package" ]; then
        cp -r "$package" "$work/repository"
        [ ! -d "$work/repository/deb" ] || check_apt "$work/repository"
        [ ! -d "$work/repository/rpm" ] || check_dnf "$work/repository"
        rm -rf "$work/repository"
        continue
    fi
    case $package in
    *.deb) check_deb "$package" ;;
    *.rpm) check_rpm "$package" ;;
    *.tar.zst) check_tar "$package" ;;
    *) echo "$package is no package; give .deb, .rpm and .tar.zst files, or a repository"; exit 2 ;;
    esac
done
exit "$failed"
