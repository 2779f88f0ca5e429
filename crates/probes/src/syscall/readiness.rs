//! Probe syscall.readiness: asking once about many descriptors, by select, poll or epoll.

use crate::workloads::network::local::{self, Descriptors};
use crate::workloads::storage::files;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.null", "syscall.io_uring", "net.tcp"],
    axes: &[
        Axis::ways(
            "call",
            "select",
            Points::Listed { quick: &["select", "poll", "epoll"], standard: &[], thorough: &[] },
        ),
        Axis::count(
            "descriptors",
            "100",
            Points::Listed { quick: &["100"], standard: &["10", "250", "500"], thorough: &[] },
        ),
        // lmbench's summary has a column for each of the quick ones.
        Axis::choice("kind", "tcp", Points::Listed { quick: &["tcp", "file"], standard: &["pipe"], thorough: &[] }),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["call", "descriptors"] },
        FullFactorial { from: Profile::Thorough, axes: &["call", "kind"] },
    ],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::READINESS
};

fn measure(case: &mut Case) -> Result<()> {
    let call: String = case.param("call")?;
    if call == "epoll" && case.param::<String>("kind")? == "file" {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, say!("epoll refuses regular files")));
    }
    let set = descriptors(case)?;
    match call.as_str() {
        "poll" => {
            let mut poll = set.poll();
            case.calls(|| poll.ask()).time()
        }
        "epoll" => {
            let mut epoll = set.epoll()?;
            case.calls(|| epoll.ask()).time()
        }
        _ => {
            let select = set.select()?;
            case.calls(|| select.ask()).time()
        }
    }
}

/// The descriptors that the case's axes name.
fn descriptors(case: &mut Case) -> Result<Descriptors> {
    let count: usize = case.param("descriptors")?;
    let many = |error| RoundError::lacking(say!("cannot open {count} descriptors"), &error);
    match case.param::<String>("kind")?.as_str() {
        "file" => {
            let path = case.memory_dir()?.join("file");
            files::write(&path, b"", 0o600)?;
            Descriptors::of_file(&files::open(&path, true)?, count).map_err(many)
        }
        "pipe" => {
            let (ready, _) = local::ready_pipe()?;
            Descriptors::of_file(&ready, count).map_err(many)
        }
        _ => Descriptors::of_connection(count).map_err(many),
    }
}
