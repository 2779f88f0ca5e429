//! The references that come with the program.

use std::sync::LazyLock;

use super::{Reference, designs};

macro_rules! files {
    ($($name:literal),+) => { &[$(($name, include_str!(concat!("../../references/", $name, ".json")))),+] };
}

/// Their names and texts. A test holds the directory to it.
const FILES: &[(&str, &str)] = files![
    "broadwell-stream",
    "celeron-1037u",
    "emerald-rapids-kvm",
    "graviton2",
    "graviton4",
    "i7-6500u",
    "i7-6500u-kvm",
    "lmbench-result",
    "usual-broadwell-ep",
    "usual-cascade-lake",
    "usual-cooper-lake",
    "usual-emerald-rapids",
    "usual-granite-rapids",
    "usual-haswell-ep",
    "usual-ice-lake-sp",
    "usual-neoverse-n1",
    "usual-neoverse-n2",
    "usual-neoverse-v2",
    "usual-neoverse-v3",
    "usual-sapphire-rapids",
    "usual-skylake-sp",
    "usual-zen-2-rome",
    "usual-zen-3-milan",
    "usual-zen-4-genoa",
    "usual-zen-5-turin",
    "x220"
];

/// The references that come with the program, by name.
pub fn built_in() -> &'static [Reference] {
    static READ: LazyLock<Vec<Reference>> = LazyLock::new(|| {
        // What could not be read a test would have found.
        let mut all: Vec<Reference> =
            FILES.iter().filter_map(|(name, text)| Reference::parse(text, name, name).ok()).collect();
        all.iter_mut().for_each(designs::complete);
        all
    });
    &READ
}
