#!/usr/bin/env bash
# Checks the image of packaging/Containerfile: `packaging/check-container.sh PROGRAM [FOR-AARCH64]` builds its last stage with that static program
# in the place of the first stage's, looks at what is in it, and measures a little in a container of it. With a second program it builds the image
# for aarch64 too, beside the first in one manifest. The first stage, which takes a public image of Rust, is not built. A line that begins with
# "skipped" tells what could not be tried. Ends with 1 when something is wrong, with 2 where buildah is missing or cannot build.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -x "$1" ]; then
    echo "give the static program: packaging/check-container.sh target/x86_64-unknown-linux-musl/dist/hostmark"
    exit 1
fi
program=$(realpath "$1")
program_arm=${2:+$(realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v buildah >/dev/null; then
    echo "there is no buildah"
    exit 2
fi

work=$(mktemp -d)
failed=0
container=
# Images, containers and their mounts lie in the directory that goes.
builder() { buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs "$@"; }
# shellcheck disable=SC2317,SC2329
finish() {
    [ -z "$container" ] || builder rm "$container" >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap finish EXIT
wrong() {
    printf 'wrong: %s\n' "$*"
    failed=1
}

if readelf -d "$program" 2>/dev/null | grep -q '(NEEDED)'; then
    echo "$program is linked to libraries, which an empty image has none of; give the one for musl"
    exit 1
fi
# What the first stage would leave.
stage() { # PROGRAM DIRECTORY
    local image=$2/image
    install -D "$1" "$image/usr/bin/hostmark"
    install -D -m 644 -t "$image/usr/share/doc/hostmark" LICENSE-MIT LICENSE-APACHE
    mkdir -m 1777 "$image/tmp" "$image/data"
}
stage "$program" "$work/stage"
mkdir "$work/context"

if ! builder build --quiet --isolation chroot --build-context build="$work/stage" -f packaging/Containerfile -t hostmark "$work/context" \
    >"$work/log" 2>&1; then
    echo "buildah cannot build here: $(tail -n 1 "$work/log")"
    exit 2
fi
container=$(builder from --pull-never hostmark)
told=$(builder inspect --type image --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}} {{.OCIv1.Config.Env}}' hostmark)
[ "$told" = "[/usr/bin/hostmark] [run] [PATH=/usr/bin XDG_DATA_HOME=/data TMPDIR=/tmp]" ] || wrong "the image starts otherwise: $told"
root=$(builder mount "$container")
files=$(cd "$root" && find . -type f | sort | tr '\n' ' ')
[ "$files" = "./usr/bin/hostmark ./usr/share/doc/hostmark/LICENSE-APACHE ./usr/share/doc/hostmark/LICENSE-MIT " ] ||
    wrong "files where none belong: $files"
for directory in tmp data; do
    [ "$(stat -c %a "$root/$directory")" = 1777 ] || wrong "/$directory is not everybody's"
done
cmp -s "$program" "$root/usr/bin/hostmark" || wrong "another program than the given one"
printf 'image: %s\n%s bytes in files\n' "$told" "$(du -sb "$root" | cut -f1)"

# By name alone, as the pod of a Job starts it.
inside() { builder run --isolation chroot "$container" -- "$@"; }
inside hostmark --version || wrong "hostmark --version fails"
[ "$(inside hostmark list | wc -l)" -gt 10 ] || wrong "the program lists no probes"
inside hostmark --quiet run syscall.null file.create_delete@op=create >"$work/log" || wrong "a run fails: $(tail -n 3 "$work/log")"
[ -n "$(find "$root/data/hostmark/runs" -name '*.json' -size +1k 2>/dev/null)" ] || wrong "a run is not kept in /data"
[ -z "$(ls -A "$root/tmp")" ] || wrong "left in /tmp: $(ls -A "$root/tmp")"

# As people have it: from an archive into podman, and away again.
pod() {
    podman --root "$work/pod" --runroot "$work/pod-run" --tmpdir "$work/pod-tmp" --storage-driver vfs --cgroup-manager cgroupfs \
        --events-backend none --runtime "$runtime" "$@"
}
if ! command -v podman >/dev/null; then
    echo "skipped: podman: it is not here"
else
    # crun refuses a machine whose groups are of both versions.
    runtime=$(command -v runc || command -v crun || true)
    builder push --quiet hostmark "oci-archive:$work/hostmark.tar:hostmark"
    from=${EPOCHREALTIME/[.,]/}
    pod load --quiet --input "$work/hostmark.tar" >/dev/null
    # Limits that are set are none that this machine cannot raise.
    if pod run --rm --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 -v runs:/data localhost/hostmark --quiet run syscall.null clock.read \
        >"$work/run-of-podman" 2>"$work/log"; then
        printf 'podman: an archive of %d bytes, %d lines of an answer after %d ms\n' "$(stat -c %s "$work/hostmark.tar")" \
            "$(grep -c . "$work/run-of-podman")" $(((${EPOCHREALTIME/[.,]/} - from) / 1000))
    else
        echo "skipped: podman: $(tail -n 1 "$work/log")"
    fi
    pod volume rm runs >/dev/null 2>&1 || true
    pod rmi localhost/hostmark >/dev/null
    left=$(pod images --quiet && pod ps --all --quiet && pod volume ls --quiet)
    [ -z "$left" ] || wrong "left in podman: $left"
fi

if [ -n "$program_arm" ]; then
    stage "$program_arm" "$work/stage-arm"
    builder manifest create hostmark-all >/dev/null
    builder manifest add hostmark-all hostmark >/dev/null
    builder build --quiet --platform linux/arm64 --build-context build="$work/stage-arm" -f packaging/Containerfile --manifest hostmark-all \
        "$work/context" >"$work/log" 2>&1 || wrong "the image for aarch64 is not built: $(tail -n 1 "$work/log")"
    told=$(builder manifest inspect hostmark-all | sed -n 's/.*"architecture": "\(.*\)".*/\1/p' | sort | tr '\n' ' ')
    [ "$told" = "amd64 arm64 " ] || wrong "the manifest has other architectures: $told"
    printf 'manifest: %s\n' "$told"
fi
exit "$failed"
