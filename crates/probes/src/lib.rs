//! Probes: one folder a group, one file a theme; `kernels` holds the inner loops.
#![deny(unsafe_code)]

/// The pages of the probes, made of the Markdown files beside them, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

/// An enum whose variants the values of an axis name.
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $value:literal,)*
    }) => {
        $(#[$about])*
        $visibility enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(value: &str) -> Result<Self, ()> {
                match value {
                    $($value => Ok(Self::$variant),)*
                    _ => Err(()),
                }
            }
        }
    };
}

#[expect(unsafe_code, reason = "the measured loops are instructions chosen by hand")]
pub mod kernels;
#[expect(unsafe_code, reason = "raw system calls and mappings, as typed safe functions")]
pub mod workloads;

mod authenticated;
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

use hostmark_engine::prelude::{Better, Unit};
use hostmark_engine::probe::{Catalogue, Probe};

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

pub(crate) const fn rate(unit: Unit, page: Probe) -> Probe {
    Probe { unit, better: Better::Higher, ..page }
}

/// A folder's group: its name, whether one worker measures several of its cases in a pass, and its probes by the second halves of their ids:
/// `name` is `PROBE` in the file of that name, and `name = file::NAME` lies where that says.
macro_rules! group {
    ($name:literal: $($probes:tt)*) => {
        crate::group!($name, shares_worker false: $($probes)*);
    };
    ($name:literal, shares_worker $shares_worker:literal: $($probe:ident $(= $($at:ident)::+)?)*) => {
        pub static GROUP: hostmark_engine::probe::Group = hostmark_engine::probe::Group {
            name: $name,
            shares_worker: $shares_worker,
            probes: &[$((stringify!($probe), crate::group!(@ $probe $($($at)::+)?))),*],
        };
    };
    (@ $probe:ident) => {
        &$probe::PROBE
    };
    (@ $probe:ident $($at:ident)::+) => {
        &$($at)::+
    };
}
pub(crate) use group;
