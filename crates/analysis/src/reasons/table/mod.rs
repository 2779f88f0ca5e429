//! The one table of reasons: each English template with its Chinese. An English hole is `{}`; the Chinese names it by its
//! place, `{0}`, `{1}`, …

mod cpus;
mod far_ends;
mod files;
mod flags;
mod guests;
mod library;
mod limits;
mod measuring;
mod memory;
mod network;
mod places;
mod planning;
mod processes;
mod virtualization;

/// An English template and its Chinese.
type Pair = (&'static str, &'static str);

const TOPICS: [&[Pair]; 14] = [
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
    library::PAIRS,
    flags::PAIRS,
    places::PAIRS,
    guests::PAIRS,
];

/// Every pair.
pub(super) fn all() -> impl Iterator<Item = Pair> {
    TOPICS.iter().flat_map(|topic| topic.iter().copied())
}
