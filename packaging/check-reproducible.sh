#!/usr/bin/env bash
# Builds packages of this commit twice, in two directories of different names: `packaging/check-reproducible.sh [TARGET]`. Both must be the
# same bytes. Ends with 1 when they are not. Each build takes minutes.
#
#   PACKAGES  which ones, as of packaging/build.sh; "tar" unless set
#   OUT       where the first build's packages are left; nowhere unless set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:-$(uname -m)-unknown-linux-musl}
packages=${PACKAGES:-tar}
# Whatever is committed meanwhile.
commit=$(git rev-parse HEAD)
left=${OUT:+$(realpath -m "$OUT")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for place in one another/place; do
    from=$SECONDS
    git clone --quiet --no-hardlinks . "$work/$place/hostmark"
    git -C "$work/$place/hostmark" checkout --quiet --detach "$commit"
    env -u CARGO_TARGET_DIR OUT="$work/$place/out" PACKAGES="$packages" "$work/$place/hostmark/packaging/build.sh" "$target" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log"; exit 1; }
    grep '^skipped' "$work/log" || true
    printf '%s, built in %d s:\n' "$place" $((SECONDS - from))
    cat "$work/$place/out/SHA256SUMS"
    rm -rf "$work/$place/hostmark"
    [ -z "$left" ] || [ "$place" != one ] || { mkdir -p "$left" && cp "$work"/one/out/* "$left/"; }
done
if diff -r "$work/one/out" "$work/another/place/out"; then
    echo "both are the same"
else
    echo "the builds differ"
    exit 1
fi
