#!/usr/bin/env bash
# Lays out what apt and dnf read: `packaging/repository.sh PACKAGES REPOSITORY [KEY]` takes the .deb and .rpm files of a directory into
# REPOSITORY/deb (dists/stable, pool) and REPOSITORY/rpm (one directory per architecture), and signs both, and each .rpm, with gpg's KEY.
# Packages of earlier releases that are there stay. A line that begins with "skipped" tells what could not be made.
#
# Needs apt-ftparchive (apt-utils), createrepo_c, rpmsign, and gpg.
set -euo pipefail

if [ $# -lt 2 ] || [ ! -d "$1" ]; then
    echo "give the packages' directory and the repository's: packaging/repository.sh release repository KEY"
    exit 2
fi
mkdir -p "$2"
packages=$(realpath "$1") repository=$(realpath "$2") key=${3:-}

skip() { printf 'skipped: %s\n' "$*"; }
sign() { gpg --batch --yes --local-user "$key" "$@"; }

deb() {
    local architecture where
    cd "$repository/deb"
    for architecture in amd64 arm64; do
        where=dists/stable/main/binary-$architecture
        mkdir -p "$where"
        apt-ftparchive --arch "$architecture" packages pool >"$where/Packages"
        gzip -9nkf "$where/Packages"
    done
    # Neither is to name an earlier self.
    rm -f dists/stable/{Release,InRelease}
    apt-ftparchive -o APT::FTPArchive::Release::Origin=hostmark -o APT::FTPArchive::Release::Suite=stable \
        -o APT::FTPArchive::Release::Components=main -o APT::FTPArchive::Release::Architectures='amd64 arm64' release dists/stable >Release
    mv Release dists/stable/Release
    [ -z "$key" ] || sign --clearsign --output dists/stable/InRelease dists/stable/Release
}

rpm() {
    local folder
    for folder in "$repository"/rpm/*/; do
        [ -z "$key" ] || rpmsign --define "__gpg $(command -v gpg)" --define "_gpg_name $key" --addsign "$folder"*.rpm >/dev/null
        createrepo_c --quiet "$folder"
        [ -z "$key" ] || sign --armor --detach-sign "$folder/repodata/repomd.xml"
    done
}

shopt -s nullglob
debs=("$packages"/*.deb) rpms=("$packages"/*.rpm)
if [ ${#debs[@]} = 0 ]; then
    skip "deb: there is no .deb in $packages"
elif ! command -v apt-ftparchive >/dev/null; then
    skip "deb: there is no apt-ftparchive"
else
    install -D -m 644 -t "$repository/deb/pool" "${debs[@]}"
    (deb)
fi
if [ ${#rpms[@]} = 0 ]; then
    skip "rpm: there is no .rpm in $packages"
elif ! command -v createrepo_c >/dev/null; then
    skip "rpm: there is no createrepo_c"
else
    for file in "${rpms[@]}"; do
        name=${file%.rpm}
        install -D -m 644 -t "$repository/rpm/${name##*.}" "$file"
    done
    (rpm)
fi
if [ -n "$key" ]; then gpg --armor --export "$key" >"$repository/hostmark.asc"; else skip "signatures: no KEY is given"; fi
