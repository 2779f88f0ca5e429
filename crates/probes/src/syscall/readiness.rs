//! Probe syscall.readiness: asking once about many descriptors, by select, poll or epoll.

use crate::workloads::network::local::{self, Descriptors};
use crate::workloads::storage::files;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::ways("call", "select", Points::quick(&["select", "poll", "epoll"])),
        Axis::count("descriptors", "100", Points::quick(&["100"]).standard(&["10", "250", "500"])),
        // lmbench's summary has a column for each of the quick ones.
        Axis::choice("kind", "tcp", Points::quick(&["tcp", "file"]).standard(&["pipe"])),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["call", "descriptors"] },
        FullFactorial { from: Profile::Thorough, axes: &["call", "kind"] },
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::READINESS
};

fn measure(case: &mut Case) -> Result<()> {
    let call: String = case.param("call")?;
    if call == "epoll" && case.param::<String>("kind")? == "file" {
        return Err(RoundError::not_applicable(say!("epoll refuses regular files")));
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
