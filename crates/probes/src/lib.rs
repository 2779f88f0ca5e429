//! Probes: one folder a group, one file a probe; `kernels` holds the inner loops.
#![deny(unsafe_code)]

/// The pages of the probes, made of the Markdown files beside them, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

#[expect(unsafe_code, reason = "the measured loops are instructions chosen by hand")]
pub mod kernels;
#[expect(unsafe_code, reason = "raw system calls and mappings, as typed safe functions")]
pub mod workloads;

mod authenticated;
mod chained;
mod clock;
mod context_switches;
mod cpu;
mod disk;
mod external;
mod fastest;
mod file;
mod former;
mod in_kernel;
mod ipc;
mod memory;
mod net;
mod own_group;
mod paging;
mod place;
mod process;
mod reach;
mod running;
mod sched;
mod signal;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod submission;
mod syscall;
mod virt;

use hostmark_engine::probe::Catalogue;

pub use former::{run_of_today, words_of_today};
pub use memory::stream_elements;
pub use reach::{REACHED, reach};

/// Every group, in the order of a report.
pub static CATALOGUE: Catalogue = &[
    &memory::GROUP,
    &cpu::GROUP,
    &clock::GROUP,
    &syscall::GROUP,
    &signal::GROUP,
    &process::GROUP,
    &paging::GROUP,
    &file::GROUP,
    &disk::GROUP,
    &sched::GROUP,
    &ipc::GROUP,
    &net::GROUP,
    &virt::GROUP,
    &external::GROUP,
];

/// A module's name as its file's: without the mark of a raw identifier.
const fn file_name(module: &'static str) -> &'static str {
    match module.as_bytes() {
        [b'r', b'#', ..] => module.split_at(2).1,
        _ => module,
    }
}

/// A folder's group: its name, whether one worker measures several of its cases in a pass, and its probes by their files' names.
macro_rules! group {
    ($name:literal: $($probe:ident)*) => {
        crate::group!($name, shares_worker false: $($probe)*);
    };
    ($name:literal, shares_worker $shares_worker:literal: $($probe:ident)*) => {
        /// The group of this folder.
        pub static GROUP: hostmark_engine::probe::Group = hostmark_engine::probe::Group {
            name: $name,
            shares_worker: $shares_worker,
            probes: &[$((crate::file_name(stringify!($probe)), &$probe::PROBE)),*],
        };
    };
}
pub(crate) use group;
