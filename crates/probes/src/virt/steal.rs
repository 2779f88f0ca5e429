//! Probe virt.steal: the share of the CPUs' time that the hypervisor gives to others while all of them are busy.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::workloads::machine::busy::Stolen;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::Ratio,
    axes: &[Axis::all_threads("threads", Points::quick(&["all"]).standard(&["1"]))],
    needs: &[Need::Guest],
    measure: Measure::Run(measure),
    ..crate::texts::virt::STEAL
};

/// A round looks for so long, ns: 25 of the kernel's steps.
const WINDOW_NS: f64 = 250e6;

fn measure(case: &mut Case) -> Result<()> {
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let read = || {
        Stolen::read(&cpus).map_err(|error| RoundError::lacking(say!("the kernel does not tell stolen time"), &error))
    };
    let is_reported = Stolen::read(&[]).is_ok_and(|all| all.ns > 0);
    case.note("stolen_since_boot", if is_reported { "yes" } else { "nothing" });
    let step = Stolen::STEP_NS as f64 / (WINDOW_NS * cpus.len() as f64);
    case.note("smallest_share", format!("{step:.4}"));
    let others: Vec<Cpu> = case.thread_cpus().into_iter().skip(1).collect();
    case.search(|clock| {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let works = others.iter().map(|&cpu| {
                move || {
                    threads::bind(cpu)?;
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                    Ok(())
                }
            });
            let others = threads::start(scope, works)?;
            let shared = || -> Result<f64> {
                let (before, start) = (read()?, clock.start());
                while clock.ns(clock.end().since(start)) < WINDOW_NS {}
                let (after, passed_ns) = (read()?, clock.ns(clock.end().since(start)));
                Ok(after.ns.saturating_sub(before.ns) as f64 / (passed_ns * cpus.len() as f64))
            };
            let share = shared();
            is_over.store(true, Ordering::Relaxed);
            threads::join(others).and(share).map(Some)
        })
    })
}
