#!/usr/bin/env bash
# Checks what a built program costs: `packaging/check-size.sh BINARY`, its size stripped, how fast `list` is there, how
# much memory `list` and the parent of a run take, and how many crates of others it is built from. Ends with 1 when a
# bound is passed. A line that begins with "skipped" tells what could not be measured.
set -euo pipefail

if [ $# != 1 ] || [ ! -x "$1" ]; then
    echo "give the program: packaging/check-size.sh target/dist/hostmark"
    exit 2
fi
binary=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Bounds, so that growth is decided and not slipped in. Each stands a part over what was measured when it was set: for
# size and memory of x86_64 with glibc half as much again, since every probe adds to them; for time much, since a shared
# machine adds to it; for crates a few, since one more is always somebody's choice.
MOST_BYTES=${MOST_BYTES:-20000000}
MOST_LIST_MS=${MOST_LIST_MS:-20}
# Memory is the process's own: how many pages of the program's file are resident depends on how the page cache holds it.
MOST_LIST_KIB=${MOST_LIST_KIB:-2560}
MOST_RUN_KIB=${MOST_RUN_KIB:-20480}
MOST_CRATES=${MOST_CRATES:-92}
# Starts of which the median counts.
STARTS=50

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

check() { # WHAT VALUE BOUND UNIT
    local verdict=ok
    [ "$2" -le "$3" ] || { verdict="too much"; failed=1; }
    printf '%-28s %9d  at most %9d %-5s  %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

# Anonymous memory of a process now, KiB; fails once it has ended.
own_kib() { awk '/^RssAnon/ { print $2; found = 1 } END { exit !found }' "/proc/$1/status" 2>/dev/null; }

# The most anonymous memory that a program was seen to have, KiB. Its children's is not in it.
peak_kib() {
    "$@" >"$work/out" 2>&1 &
    local pid=$! peak=0 now
    while now=$(own_kib "$pid"); do
        [ "$now" -le "$peak" ] || peak=$now
        sleep 0.002
    done
    wait "$pid" || { cat "$work/out" >&2; return 1; }
    echo "$peak"
}

# The anonymous memory of a program that writes to a pipe that is full, and so waits with all that it has to say, KiB.
waiting_kib() {
    mkfifo "$work/full"
    exec 3<>"$work/full"
    head -c 65536 /dev/zero >&3
    "$@" >&3 &
    local pid=$! now=0 before=-1
    while [ "$now" != "$before" ] || [ "$now" = 0 ]; do
        before=$now
        sleep 0.2
        now=$(own_kib "$pid") || { echo "$* did not wait for its reader" >&2; return 1; }
    done
    kill "$pid"
    exec 3>&-
    echo "$now"
}

if strip -o "$work/stripped" "$binary" 2>"$work/strip"; then
    check "size, stripped" "$(stat -c %s "$work/stripped")" "$MOST_BYTES" bytes
else
    echo "skipped: size, stripped: $(head -n 1 "$work/strip")"
    check "size" "$(stat -c %s "$binary")" "$MOST_BYTES" bytes
fi

start_us() {
    local from=${EPOCHREALTIME/[.,]/}
    "$binary" list >/dev/null
    echo $((${EPOCHREALTIME/[.,]/} - from))
}
"$binary" list >/dev/null
median_us=$(for ((i = 0; i < STARTS; i++)); do start_us; done | sort -n | sed -n "$((STARTS / 2))p")
printf 'list, median of %d starts: %d us\n' "$STARTS" "$median_us"
check "list, time" $(((median_us + 999) / 1000)) "$MOST_LIST_MS" ms

list=$(waiting_kib "$binary" list)
check "list, own memory" "$list" "$MOST_LIST_KIB" KiB
run=$(XDG_DATA_HOME="$work" peak_kib "$binary" run syscall clock)
check "run's parent, own memory" "$run" "$MOST_RUN_KIB" KiB

# Without those for tests, and those that other targets need. Ours are not counted; macros are, though they are not linked.
if command -v cargo >/dev/null; then
    crates=$(cargo tree --locked -p hostmark -e normal --prefix none -f '{p}' | awk '$1 !~ /^hostmark/ { print $1, $2 }' | sort -u | wc -l)
    check "crates of others" "$crates" "$MOST_CRATES" ""
else
    echo "skipped: crates of others: there is no cargo"
fi

exit "$failed"
