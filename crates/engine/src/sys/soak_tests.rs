//! Every hand-made wait goes on for as long as HOSTMARK_SOAK says, in seconds, on two CPUs; one that sleeps for ever fails.

use std::io;
use std::time::Duration;

use super::process::in_a_child;
use super::{affinity, byte_ring, crowd, exchange, file_lock, futex, ring, signal_pair, sleeper, sysv};
use crate::clock::{Clock, monotonic_ns};

/// How long each goes on where nothing is said: a look whether the soak itself works.
const SHORT_S: f64 = 0.2;
/// Whoever does not come back within so much more has lost a wake-up.
const PATIENCE_S: u32 = 30;

/// Has `step` done again and again, with its number, between moments of work that are never as long as the last.
fn soak<S: FnMut(u64) -> io::Result<()>>(make: impl FnOnce(&[usize]) -> io::Result<S>) {
    let seconds = std::env::var("HOSTMARK_SOAK").map_or(SHORT_S, |text| text.parse().unwrap());
    in_a_child(|| {
        // SAFETY: no pointer is given; the signal ends this child, and its children with it.
        unsafe { libc::alarm(seconds.ceil() as u32 + PATIENCE_S) };
        let cpus = affinity::allowed()?;
        affinity::bind(&cpus[..1])?;
        let mut step = make(&cpus[cpus.len() - 1..])?;
        let end_ns = monotonic_ns() + (seconds * 1e9) as u64;
        let (mut nth, mut state) = (0_u64, 0x9e37_79b9_7f4a_7c15_u64);
        while monotonic_ns() < end_ns {
            step(nth)?;
            nth += 1;
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            for _ in 0..state >> 54 {
                std::hint::spin_loop();
            }
        }
        Ok(())
    });
}

/// Soaks an exchange, and looks whether every turn was one.
fn exchanges<T: exchange::Turn>(make: impl FnOnce(&[usize]) -> io::Result<exchange::Exchange<T>>) {
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
        let writer = byte_ring::RingWriter::spawn(&message, cpus)?;
        let mut block = vec![0; 64 << 10];
        // By small and large reads: who is ahead, and sleeps, changes.
        Ok(move |nth| writer.read(1_u64 << (nth % 21), &mut block))
    });
}

#[test]
fn a_token_goes_to_and_fro_by_futex_for_ever() {
    exchanges(futex::by_futex);
}

#[test]
fn a_byte_goes_to_and_fro_by_pipe_for_ever() {
    exchanges(exchange::by_pipe);
}

#[test]
fn a_token_goes_to_and_fro_by_semaphores_for_ever() {
    exchanges(sysv::by_semaphores);
}

#[test]
fn locks_go_round_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    exchanges(|cpus| file_lock::by_file_locks(cpus, directory.path()));
}

#[test]
fn signals_go_to_and_fro_for_ever() {
    soak(|cpus| {
        let mut pair = signal_pair::SignalPair::start(cpus)?;
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
            let mut sleeper = sleeper::Sleeper::spawn("futex", cpus, is_here, &Clock::MonotonicRaw)?.unwrap();
            Ok(move |_| sleeper.wake(Clock::MonotonicRaw.start()).map(drop))
        });
    }
}

#[test]
fn a_ring_of_processes_goes_round_for_ever() {
    soak(|cpus| {
        let cpus = cpus.to_vec();
        let ring = ring::Ring::new(ring::Member::Process, 4, move |_| cpus.clone(), || Ok(|| ()))?;
        Ok(move |_| ring.tour())
    });
}

#[test]
fn a_crowd_gathers_for_ever() {
    soak(|_| {
        let channel = crowd::Channel::Socket;
        let crowd = crowd::Crowd { groups: 2, senders: 3, messages: 20, bytes: 100, channel };
        let gathered = crowd::Gathered::new(crowd, &affinity::allowed()?)?;
        Ok(move |_| gathered.burst())
    });
}

#[test]
fn threads_meet_for_ever() {
    struct Nothing;

    impl crate::together::Part for Nothing {
        fn pass(&mut self) {}

        fn check(&mut self) -> crate::stop::Result<()> {
            Ok(())
        }
    }

    let cpus = affinity::allowed().unwrap();
    let two = [cpus[0], cpus[cpus.len() - 1]].map(crate::case::Cpu);
    soak(|_| {
        Ok(move |_| {
            let meet = || {
                let witness = crate::sample::Witness::Blind;
                let one_way = crate::together::Trials { ways: 1, seed: 0, known: Some(0) };
                let budget_ns = Duration::from_millis(10).as_nanos() as f64;
                crate::together::measure(&Clock::MonotonicRaw, &witness, budget_ns, &two, one_way, |_| Ok(Nothing))
                    .map(drop)
            };
            meet().map_err(|_| io::Error::other("they did not meet"))
        })
    });
}
