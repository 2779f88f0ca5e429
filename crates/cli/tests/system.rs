//! The second tier: runs that measure, and what needs root, a wire, an emulator or a cluster.

#[path = "../../../tests/support/alone.rs"]
mod alone;
#[path = "support/control_group.rs"]
mod control_group;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
#[path = "support/faults.rs"]
mod faults;
#[path = "support/fleets.rs"]
mod fleets;
#[path = "support/jobs.rs"]
mod jobs;
#[path = "support/machine.rs"]
mod machine;
#[path = "../../../tests/support/quiet.rs"]
mod quiet;
#[path = "support/relay.rs"]
mod relay;
#[path = "../../../tests/support/skip.rs"]
mod skip;
#[path = "../../../tests/support/sshd.rs"]
mod sshd;
/// Names that tests of this tier use, beside those of the first.
mod prelude {
    pub use hostmark_model::FlagKind;
    pub use rustix::process::kill_process_group;

    pub use crate::alone::beside;
    pub use crate::quiet::Quiet;
    pub use crate::support::prelude::*;
}
mod support;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
#[path = "support/tracer.rs"]
mod tracer;
#[path = "support/under_way.rs"]
mod under_way;

mod attacked;
mod confined;
mod contention;
mod declared;
mod far_ends;
mod fleet_run;
mod fleet_slurm;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod injected;
mod interrupted;
mod isolate;
mod lacking;
mod left_behind;
mod limits;
mod machines;
mod places;
mod tcp_link;
mod truth;
mod try_tuning;
mod two_hosts;
mod udp_link;
mod vm_run;
