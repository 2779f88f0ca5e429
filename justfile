# The steps of .ci/run by name; `just --list` shows them.

# What a change must pass
check:
    .ci/run

# Format as the repository is formatted
fmt:
    cargo fmt --all

# Formatting, lints, licences
lint:
    .ci/run fmt lint

# The first tier of tests
test:
    .ci/run test

# A quick run of this machine, of what FILTERS pick
smoke *FILTERS:
    cargo run --release -- run {{ FILTERS }}

# Write the generated documents anew, and build the API's
docs:
    HOSTMARK_BLESS=1 cargo test -p hostmark --test fast -- catalogue:: tidy::
    HOSTMARK_BLESS=1 cargo test -p hostmark-model --lib schema
    cargo doc --workspace --no-deps

# What lacks Chinese, by file and line
untranslated:
    cargo test -p hostmark --test fast -- has_its_chinese

# A probe of this group and name from the example of docs/adding-a-probe.md; its two words in mod.rs are yours to add
probe GROUP NAME:
    test -d crates/probes/src/{{ GROUP }}
    test ! -e crates/probes/src/{{ GROUP }}/{{ NAME }}.rs
    sed 's/file\.lookup/{{ GROUP }}.{{ NAME }}/' crates/cli/tests/tidy/example.rs > crates/probes/src/{{ GROUP }}/{{ NAME }}.rs
    @echo 'now add `mod {{ NAME }};` and {{ NAME }} in the list of crates/probes/src/{{ GROUP }}/mod.rs'

# The static program for this architecture
release:
    rustup target add {{ arch() }}-unknown-linux-musl
    cargo build --profile dist --target {{ arch() }}-unknown-linux-musl -p hostmark
