# shellcheck shell=bash
# Sourced by whatever builds the program as it is packaged. Two builds of one source are the same bytes, wherever they are made: the paths of
# this machine's crates are in none, and nothing has the time of the build.
# Cargo 1.95 drops a profile's `strip` where the profile has more to say of the program's own package, as ours have: a quarter of the file.
export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo -Cstrip=symbols ${RUSTFLAGS:-}"
# The compiler brings a linker for this target, which takes no C library of its own.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER:-rust-lld}
# Archives have the time of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
