//! /proc/cpuinfo, read no further than needed: its first processor on x86, all of them where they are short or asked for.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::root::Root;

/// One processor's lines.
pub(crate) type Stanza = BTreeMap<String, String>;

/// The file; the whole of it is read only when someone asks (the kernel writes 1.5 KB for each x86 CPU).
pub(crate) struct CpuInfo<'a> {
    root: &'a Root,
    first: Stanza,
    all: OnceCell<Vec<Stanza>>,
}

impl<'a> CpuInfo<'a> {
    pub(crate) fn read(root: &'a Root) -> Self {
        let first = root.first_stanza("/proc/cpuinfo").map(|text| stanza(&text)).unwrap_or_default();
        CpuInfo { root, first, all: OnceCell::new() }
    }

    /// What the first processor says of `key`.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.first.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The first processor's list of words (`flags`, `Features`).
    pub(crate) fn words(&self, key: &str) -> impl Iterator<Item = &str> {
        self.first(key).into_iter().flat_map(str::split_whitespace)
    }

    /// Every processor that the file lists.
    pub(crate) fn processors(&self) -> &[Stanza] {
        self.all.get_or_init(|| {
            let text = self.root.raw("/proc/cpuinfo").unwrap_or_default();
            text.split("\n\n").map(stanza).filter(|stanza| stanza.contains_key("processor")).collect()
        })
    }
}

fn stanza(text: &str) -> Stanza {
    let pair = |line: &str| line.split_once(':').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    text.lines().filter_map(pair).collect()
}

/// A number of a processor's lines.
pub(crate) fn number(stanza: &Stanza, key: &str) -> Option<usize> {
    stanza.get(key)?.parse().ok()
}
