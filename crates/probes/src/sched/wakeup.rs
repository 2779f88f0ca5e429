//! Probe sched.wakeup: how long a sleeping process that is woken takes to run, at a fixed rate, by placement.

use crate::workloads::handover::request_queue::Sleeper;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
    axes: &[
        Axis::choice("by", "futex", Points::quick(&["futex"]).standard(&["eventfd"])),
        Axis::count("rate", "1000", Points::quick(&["1000"]).standard(&["100", "10000"])),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::quick(&["same_cache"]).standard(&[
                "same_cpu",
                "smt_sibling",
                "other_cache",
                "same_package_other_node",
                "other_node",
                "free",
            ]),
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["by", "rate", "cpus"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::sched::WAKEUP
};

fn measure(case: &mut Case) -> Result<()> {
    let (by, placement): (String, String) = (case.param("by")?, case.param("cpus")?);
    let period_ns = 1e9 / case.param::<f64>("rate")?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    // The waker is this process, on the first CPU; a sleeper that is placed has the last.
    let theirs = if placement == "free" { &cpus[..] } else { &cpus[cpus.len().saturating_sub(1)..] };
    let is_here = cpus.len() == 1 || placement == "same_cpu";
    let mut state: Option<(Sleeper, Ticks)> = None;
    case.timed(|clock| {
        let period = clock.ticks(period_ns);
        let (sleeper, due) = match &mut state {
            Some(state) => state,
            none => {
                let sleeper = Sleeper::spawn(&by, theirs, is_here, clock)
                    .map_err(|error| RoundError::lacking(say!("cannot make a sleeper that is woken by {by}"), &error))?
                    .ok_or_else(|| RoundError::internal(say!("nothing wakes by '{by}'")))?;
                none.insert((sleeper, clock.start()))
            }
        };
        due.0 += period.0;
        while clock.start() < *due {
            std::hint::spin_loop();
        }
        Ok(sleeper.wake(*due)?)
    })
    .singly()
    .time()
}
