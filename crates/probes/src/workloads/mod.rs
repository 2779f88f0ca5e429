//! Workloads of probes: processes that hand something over, rings, servers, files, mappings, signals, clocks, as typed,
//! safe functions over raw calls. Functions that the engine needs too are in the crate `sys`.

use hostmark_engine::prelude::sys::{
    affinity, call, child, clock, descendants, exit_message, ipc_cleanup, memory, process, usage, waits,
};

pub(crate) mod handover;
pub mod machine;
pub(crate) mod mappings;
pub(crate) mod network;
pub(crate) mod pipeline;
pub(crate) mod processes;
pub(crate) mod storage;

/// A call's result, as programs see it; an error says which call it was.
#[inline(always)]
fn checked(call: &'static str, result: i64) -> std::io::Result<usize> {
    usize::try_from(result).map_err(|_| call::named(call, std::io::Error::from_raw_os_error(-result as i32)))
}

/// Makes a call of a library that would inline the instruction, by a function that returns: as [`machine::arch`] makes its own.
#[inline(never)]
pub fn by_function<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// `getpid` by a function around the instruction: no library and no cache can answer it.
#[inline(always)]
pub fn getpid() -> u64 {
    machine::arch::call0(libc::SYS_getpid) as u64
}

/// The same by the instruction alone.
#[inline(always)]
pub fn bare_getpid() -> u64 {
    machine::arch::bare_call0(libc::SYS_getpid) as u64
}

/// `getppid` by a function around the instruction: no libc, no vDSO, no cache can answer it.
#[inline(always)]
pub fn getppid() -> u64 {
    machine::arch::call0(libc::SYS_getppid) as u64
}

/// Every hand-made wait goes on for as long as HOSTMARK_SOAK says, in seconds, on two CPUs; one that sleeps for ever fails.
#[cfg(test)]
mod soak_tests {
    use std::io;

    use hostmark_engine::prelude::Clock;
    use hostmark_engine::prelude::sys::soak::soak;

    use super::affinity;
    use super::handover::{SignalPair, exchange, request_queue, stream, sysv, token_ring};

    /// Soaks an exchange, and looks whether every turn was one.
    fn exchanges<T: exchange::ExchangeStep>(make: impl FnOnce(&[usize]) -> io::Result<exchange::Exchange<T>>) {
        soak(|cpus| {
            let mut exchange = make(cpus)?;
            Ok(move |nth| {
                exchange.there_and_back()?;
                if nth % 10_000 == 0 { exchange.check() } else { Ok(()) }
            })
        });
    }

    #[test]
    fn bytes_go_through_a_ring_for_ever() {
        let message = vec![0x5a; 100_000];
        soak(|cpus| {
            let writer = stream::RingWriter::spawn(&message, cpus)?;
            let mut block = vec![0; 64 << 10];
            // By small and large reads: who is ahead, and sleeps, changes.
            Ok(move |nth| writer.read(1_u64 << (nth % 21), &mut block))
        });
    }

    #[test]
    fn exchanges_go_to_and_fro_for_ever() {
        exchanges(exchange::by_futex);
        exchanges(exchange::by_pipe);
        exchanges(sysv::by_semaphores);
        let directory = tempfile::tempdir().unwrap();
        exchanges(|cpus| exchange::by_file_locks(cpus, directory.path()));
    }

    #[test]
    fn signals_go_to_and_fro_for_ever() {
        soak(|cpus| {
            let mut pair = SignalPair::start(cpus)?;
            Ok(move |nth| {
                pair.there_and_back()?;
                if nth % 10_000 == 0 { pair.check() } else { Ok(()) }
            })
        });
    }

    #[test]
    fn a_sleeper_wakes_for_ever() {
        for is_here in [false, true] {
            soak(|cpus| {
                let cpus = if is_here { &affinity::allowed()?[..1] } else { cpus };
                let is_here = is_here || cpus == &affinity::allowed()?[..1];
                let mut sleeper = request_queue::Sleeper::spawn("futex", cpus, is_here, &Clock::MonotonicRaw)?.unwrap();
                Ok(move |_| sleeper.wake(Clock::MonotonicRaw.start()).map(drop))
            });
        }
    }

    #[test]
    fn a_ring_of_processes_goes_round_for_ever() {
        soak(|cpus| {
            let cpus = cpus.to_vec();
            let ring = token_ring::Ring::new(token_ring::Member::Process, 4, move |_| cpus.clone(), || Ok(|| ()))?;
            Ok(move |_| ring.tour())
        });
    }

    #[test]
    fn a_crowd_gathers_for_ever() {
        soak(|_| {
            let channel = token_ring::MessageChannel::Socket;
            let crowd = token_ring::Crowd { groups: 2, senders: 3, messages: 20, bytes: 100, channel };
            let gathered = token_ring::Gathered::new(crowd, &affinity::allowed()?)?;
            Ok(move |_| gathered.burst())
        });
    }
}
