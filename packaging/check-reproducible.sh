#!/usr/bin/env bash
# Builds the tarball of this commit twice, in two directories of different names: `packaging/check-reproducible.sh [TARGET]`. Both must be the
# same bytes. Ends with 1 when they are not. Each build takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:-$(uname -m)-unknown-linux-musl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for place in one another/place; do
    git clone --quiet --no-hardlinks . "$work/$place/hostmark"
    env -u CARGO_TARGET_DIR OUT="$work/$place/out" PACKAGES=tar "$work/$place/hostmark/packaging/build.sh" "$target" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log"; exit 1; }
    (cd "$work/$place/out" && sha256sum -- *.tar.zst)
    rm -rf "$work/$place/hostmark"
done
if cmp "$work"/one/out/*.tar.zst "$work"/another/place/out/*.tar.zst; then
    echo "both are the same"
else
    echo "the builds differ"
    exit 1
fi
