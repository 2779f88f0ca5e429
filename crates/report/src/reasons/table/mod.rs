//! The one table of reasons: each English template with its Chinese. An English hole is `{}`; the Chinese names it by its
//! place, `{0}`, `{1}`, …

mod cpus;
mod far_ends;
mod files;
mod flags;
mod helpers;
mod launching;
mod limits;
mod measuring;
mod memory;
mod network;
mod planning;
mod processes;
mod virtualization;

/// An English template and its Chinese.
type Pair = (&'static str, &'static str);

const TOPICS: [&[Pair]; 13] = [
    planning::PAIRS,
    limits::PAIRS,
    measuring::PAIRS,
    processes::PAIRS,
    memory::PAIRS,
    cpus::PAIRS,
    files::PAIRS,
    network::PAIRS,
    far_ends::PAIRS,
    virtualization::PAIRS,
    helpers::PAIRS,
    flags::PAIRS,
    launching::PAIRS,
];

/// Every pair.
pub(super) fn all() -> impl Iterator<Item = Pair> {
    TOPICS.iter().flat_map(|topic| topic.iter().copied())
}
