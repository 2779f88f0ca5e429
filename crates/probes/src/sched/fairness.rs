//! Probe sched.fairness: what two busy processes on one CPU get of it, by their nice values or their control groups' weights.

use std::time::Duration;

use hostmark_engine::prelude::*;
use sys::control_group::GroupLimit;

use crate::own_group::OwnGroup;
use crate::workloads::processes::hog::{Hog, Priority};

pub static PROBE: Probe = Probe {
    unit: Unit::Ratio,
    better: Better::Neither,
    also: &[DUE],
    axes: &[Axis::choice("by", "nice", Points::quick(&["nice"]).standard(&["cgroup"]))],
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::FAIRNESS
};

/// Share that the lighter one is due by the weights.
const DUE: Quantity = Quantity::given("due", Unit::Ratio, Better::Neither, term!("due by the weights"));

/// Increments of the nice value, and the weights in the kernel of 5 and 0; all steps have about the same ratio.
const NICE: [(i32, f64); 2] = [(5, 335.0), (0, 1024.0)];
/// Quarters of an ordinary control group's weight.
const QUARTERS: [u32; 2] = [1, 4];
/// Time by which both are under way.
const BEGINNING: Duration = Duration::from_millis(30);
/// The scheduler gives turns of some ms: of so long a turn is less than a hundredth.
const LEAST: Duration = Duration::from_millis(500);

fn measure(case: &mut Case) -> Result<()> {
    let [cpu] = case.cpus::<1>()?;
    let is_nice = case.param::<String>("by")? == "nice";
    let (priorities, due) = match is_nice {
        true => (NICE.map(|(nice, _)| nice), share(NICE.map(|(_, weight)| weight))),
        false => ([0, 0], share(QUARTERS.map(|quarters| quarters as f64))),
    };
    let weighed = |quarters| OwnGroup::make(&GroupLimit::CpuWeight { quarters });
    let groups = if is_nice { Vec::new() } else { QUARTERS.into_iter().map(weighed).collect::<Result<_>>()? };
    let none = |error: std::io::Error| RoundError::lacking(say!("cannot keep a CPU busy"), &error);
    // After the groups, so that they end before these are removed.
    let hogs = priorities
        .into_iter()
        .map(|nice| Hog::spawn(cpu, Priority::Nice(nice), 100))
        .collect::<std::io::Result<Vec<Hog>>>()
        .map_err(none)?;
    hogs.iter().zip(&groups).try_for_each(|(hog, group)| group.admit(hog.pid()))?;
    let window = LEAST.max(Duration::from_nanos(case.grant_ns() as u64));
    case.once(|_| {
        hogs.iter().try_for_each(|hog| hog.set(true)).map_err(none)?;
        std::thread::sleep(BEGINNING);
        let spent =
            || -> Result<[u64; 2]> { Ok([hogs[0].spent_ns().map_err(none)?, hogs[1].spent_ns().map_err(none)?]) };
        let before = spent()?;
        std::thread::sleep(window);
        let after = spent()?;
        hogs.iter().try_for_each(Hog::has_run).map_err(none)?;
        Ok(share([0, 1].map(|one| (after[one] - before[one]) as f64)))
    })
    .value()?;
    case.also(DUE.name, [due])
}

/// The first one's share.
fn share([first, second]: [f64; 2]) -> f64 {
    first / (first + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_weights_are_those_of_the_kernel() {
        assert!((share(NICE.map(|(_, weight)| weight)) - 0.2465).abs() < 1e-4);
        assert!((share(QUARTERS.map(|quarters| quarters as f64)) - 0.2).abs() < 1e-9);
    }
}
