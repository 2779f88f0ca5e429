//! Probe cpu.sieve: the sieve of Eratosthenes to a million, over and over: a pure load of one core or of all.

use crate::kernels::arith::{BELOW, PRIMES, WORDS, sieve};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    axes: &[
        Axis::threads("threads", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
        Axis::copies(Profile::Quick),
        Axis::bind_elsewhere(),
    ],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::SIEVE
};

fn measure(case: &mut Case) -> Result<()> {
    let found = sieve(&mut [0; WORDS]);
    if found != PRIMES {
        return Err(RoundError::wrong(say!("found {found} primes below {BELOW}, not {PRIMES}")));
    }
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(sieve_n()).rate(1),
        cpus => case.workers(cpus, |_| Ok(sieve_n())).rate(1),
    }
}

fn sieve_n() -> impl FnMut(u64) {
    let mut composite = Box::new([0; WORDS]);
    move |n| {
        for _ in 0..n {
            std::hint::black_box(sieve(&mut composite));
        }
    }
}
