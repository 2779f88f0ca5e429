//! A wait tried for long, by tests: one that sleeps for ever fails.

use std::io;

use super::affinity;
use super::clock::monotonic_ns;
use super::process::in_a_child;

/// Duration of each soak by default, s: it shows whether the soak itself works.
const SHORT_S: f64 = 0.2;
/// Time after which a process that does not come back has lost a wake-up, s.
const PATIENCE_S: u32 = 30;

/// Has `step` done again and again, with its number, between moments of work that are never as long as the last: for as long
/// as HOSTMARK_SOAK says, in seconds. `make` makes it, and is told the last CPU; the caller has the first.
pub fn soak<S: FnMut(u64) -> io::Result<()>>(make: impl FnOnce(&[usize]) -> io::Result<S>) {
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
