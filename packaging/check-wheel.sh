#!/usr/bin/env bash
# Installs a wheel in a virtual environment of its own: `packaging/check-wheel.sh WHEEL`, offline. There the program says its version and
# measures a little; then it is removed, and no file of it may be left. So do uvx and pipx, where they are there; a line that begins with
# "skipped" tells which is not. Ends with 1 when something is wrong.
set -euo pipefail

if [ $# != 1 ] || [ ! -s "$1" ]; then
    echo "give the wheel: packaging/check-wheel.sh target/packages/hostmark-*.whl"
    exit 2
fi
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() {
    printf 'wrong: %s\n' "$*"
    failed=1
}
files() { (cd "$work" && find venv home ! -name '*.pyc' ! -name __pycache__ | sort); }

python3 -m venv "$work/venv"
mkdir "$work/home" "$work/runs"
files >"$work/before"
from=${EPOCHREALTIME/[.,]/}
# Nothing of the caller's is seen, and nothing is written elsewhere.
inside() { env -i PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work/home" XDG_DATA_HOME="$work/runs" TMPDIR="$work" LC_ALL=C.UTF-8 "$@"; }
inside pip install --quiet --disable-pip-version-check --no-cache-dir --no-index "$wheel" || { wrong "pip install fails"; exit 1; }
version=$(inside hostmark --version) || wrong "hostmark --version fails"
inside hostmark --quiet run syscall.null clock.read >"$work/run" || wrong "a run fails: $(tail -n 3 "$work/run")"
[ -n "$(find "$work/runs" -name '*.json' -size +1k)" ] || wrong "a run leaves no file"
printf '%s, %d bytes: %s, and %d lines of an answer %d ms after its installation began\n' "${wheel##*/}" "$(stat -c %s "$wheel")" "$version" \
    "$(grep -c . "$work/run")" $(((${EPOCHREALTIME/[.,]/} - from) / 1000))
inside pip uninstall --quiet --yes hostmark || wrong "pip uninstall fails"
files | comm -3 "$work/before" - >"$work/differs"
if [ -s "$work/differs" ]; then wrong "left after its removal: $(cat "$work/differs")"; else echo "removed, and nothing is left"; fi

# The same by another tool, in directories that are new as well.
by() { # TOOL ANSWER REMOVE
    local tool left
    if ! tool=$(command -v "$1"); then printf 'skipped: %s: it is not here\n' "$1"; return 0; fi
    rm -rf "${work:?}"/{home,runs}
    mkdir "$work"/{home,runs}
    from=${EPOCHREALTIME/[.,]/}
    inside PATH="${tool%/*}:/usr/bin:/bin" WHEEL="$wheel" UV_OFFLINE=1 sh -ec "$2" >"$work/run" 2>"$work/log" || { wrong "$1: $(tail -n 3 "$work/log")"; return 0; }
    printf '%s: %d lines of an answer after %d ms\n' "$1" "$(grep -c . "$work/run")" $(((${EPOCHREALTIME/[.,]/} - from) / 1000))
    inside PATH="${tool%/*}:/usr/bin:/bin" sh -ec "$3" >"$work/log" 2>&1 || wrong "$1: $(tail -n 3 "$work/log")"
    # But for an empty file of pipx.
    left=$(find "$work/home" "$work/runs" -iname '*hostmark*' ! -path "$work/runs/hostmark*" ! -name .hostmark.lock)
    [ -z "$left" ] || wrong "$1 leaves: $left"
}
# shellcheck disable=SC2016
by uvx 'uvx --quiet --from "$WHEEL" hostmark --quiet run syscall.null clock.read' 'uv cache clean'
# shellcheck disable=SC2016
by pipx 'pipx install --backend uv "$WHEEL" >&2; "$HOME/.local/bin/hostmark" --quiet run syscall.null clock.read' 'pipx uninstall hostmark; uv cache clean'
exit "$failed"
