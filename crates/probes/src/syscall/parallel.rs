//! Probes of calls on many objects: on several CPUs at once, and on many descriptors in one call.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicU32;

use hostmark_engine::prelude::sys::waits;
use hostmark_engine::prelude::*;

use crate::authenticated::PATIENCE;
use crate::paging::THREADS;
use crate::workloads;
use crate::workloads::mappings::Heap;
use crate::workloads::mappings::mapping::Mapping;
use crate::workloads::network::local::{self, Descriptors};
use crate::workloads::network::socket;
use crate::workloads::storage::files::{self, OwnedFd};
use crate::workloads::storage::path_ops::{FileNames, KernelPath};

/// Operations; the further ones from the thorough profile on.
const OPERATIONS: &[&str] = &["open", "stat", "map", "futex", "pipe", "unix", "unlink", "unlink_scratch"];
const FURTHER: &[&str] = &["null", "connect", "allocate"];

/// Probe syscall.parallel: calls on several CPUs at once, each on objects of its own, by threads of one process or by several processes.
pub static PARALLEL: Probe = Probe {
    axes: &[
        Axis::choice("call", "open", Points::quick(OPERATIONS).thorough(FURTHER)),
        THREADS,
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["call", "threads"] },
        FullFactorial { from: Profile::Standard, axes: &["call", "copies"] },
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure_parallel),
    ..crate::texts::syscall::PARALLEL
};

fn measure_parallel(case: &mut Case) -> Result<()> {
    let (name, cpus) = (case.param::<String>("call")?, case.thread_cpus());
    let directory = match name.as_str() {
        "unlink_scratch" => crate::place::scratch(case)?,
        _ => case.memory_dir()?,
    };
    match cpus.as_slice() {
        [] | [_] => {
            let mut operation = Operation::of(&name, &directory, 0)?;
            case.loops(|n| operation.repeat(n)).time()
        }
        cpus => case
            .workers(cpus, |cpu| {
                let mut operation = Operation::of(&name, &directory, cpu.0)?;
                Ok(move |n: u64| operation.repeat(n))
            })
            .time(),
    }
}

enum Operation {
    Open(KernelPath),
    Stat(KernelPath),
    Map,
    Futex(AtomicU32),
    /// A pipe, or a pair of sockets: where a byte goes in, and where it comes out.
    Byte(OwnedFd, OwnedFd),
    Unlink(FileNames),
    Null,
    Connect(TcpListener, SocketAddr),
    Allocate(Heap),
}

impl Operation {
    fn of(name: &str, directory: &Path, party: usize) -> Result<Operation> {
        let file = || {
            let path = directory.join(format!("file{party}"));
            files::write(&path, b"x", 0o600)?;
            KernelPath::new(&path)
        };
        Ok(match name {
            "stat" => Operation::Stat(file()?),
            "map" => Operation::Map,
            "futex" => Operation::Futex(AtomicU32::new(0)),
            "pipe" => {
                let (out, into) = std::io::pipe().call("pipe2")?;
                Operation::Byte(into.into(), out.into())
            }
            "unix" => {
                let (into, out) = std::os::unix::net::UnixStream::pair().call("socketpair")?;
                Operation::Byte(into.into(), out.into())
            }
            "unlink" | "unlink_scratch" => Operation::Unlink(FileNames::named(directory, [format!("new{party}")])?),
            "null" => Operation::Null,
            "connect" => {
                let (listener, address) = local::tcp_listener(&local::LOOPBACK)?;
                Operation::Connect(listener, address)
            }
            "allocate" => Operation::Allocate(Heap::new(party)?),
            _ => Operation::Open(file()?),
        })
    }

    fn repeat(&mut self, times: u64) -> std::io::Result<()> {
        let mut all = 0..times;
        match self {
            Operation::Open(path) => all.try_for_each(|_| path.open_close()),
            Operation::Stat(path) => all.try_for_each(|_| path.stat()),
            Operation::Map => all.try_for_each(|_| Mapping::plain(Pages::Base.bytes()).map(drop)),
            Operation::Futex(word) => all.try_for_each(|_| waits::futex_wake(word, true).map(drop)),
            Operation::Byte(into, out) => all.try_for_each(|_| {
                files::write_byte(into)?;
                files::read_byte(out)
            }),
            Operation::Unlink(names) => all.try_for_each(|_| {
                names.create(b"")?;
                names.delete()
            }),
            Operation::Null => all.try_for_each(|_| {
                std::hint::black_box(workloads::getppid());
                Ok(())
            }),
            Operation::Connect(listener, address) => all.try_for_each(|_| {
                let near = socket::connect(*address, PATIENCE)?;
                let (far, _) = listener.accept().call("accept4")?;
                // The end that is reset first has none wait for a minute in TIME_WAIT.
                drop(near);
                drop(far);
                Ok(())
            }),
            Operation::Allocate(heap) => all.try_for_each(|_| heap.replace()),
        }
    }
}

/// Probe syscall.readiness: asking once about many descriptors, by select, poll or epoll.
pub static READINESS: Probe = Probe {
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
    measure: Measure::Run(measure_readiness),
    ..crate::texts::syscall::READINESS
};

fn measure_readiness(case: &mut Case) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_do_every_operation_beside_each_other_and_leave_their_files_alone() {
        for name in OPERATIONS.iter().chain(FURTHER) {
            let directory = tempfile::tempdir().unwrap();
            std::thread::scope(|scope| {
                for party in 0..4 {
                    let path = directory.path();
                    scope.spawn(move || Operation::of(name, path, party).unwrap().repeat(200).unwrap());
                }
            });
            let left = std::fs::read_dir(directory.path()).unwrap().count();
            assert_eq!(left, if ["open", "stat"].contains(name) { 4 } else { 0 }, "{name}");
        }
    }
}
