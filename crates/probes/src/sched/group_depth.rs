//! Probe sched.group_depth: from one process to the next, by how deep in control groups they are.

use hostmark_engine::prelude::*;

use crate::own_group::OwnGroup;
use crate::workloads::handover::exchange;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::choice("depth", "4", Points::quick(&["0", "1", "4", "8"]).thorough(&["2", "16"])),
        Axis::choice("groups", "one", Points::quick(&["one", "two"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["depth", "groups"] }],
    limit: Limit::HandOvers(1),
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::GROUP_DEPTH
};

/// Round trips between two looks at the clock: what begins and ends them, two switches of its own, is a five hundredth.
const ROUND_TRIPS: u64 = 500;

fn measure(case: &mut Case) -> Result<()> {
    let depth: usize = case.param("depth")?;
    let count = match case.param::<String>("groups")?.as_str() {
        _ if depth == 0 => 0,
        "two" => 2,
        _ => 1,
    };
    let [cpu] = case.cpus::<1>()?;
    let groups: Vec<OwnGroup> = (0..count).map(|_| OwnGroup::nested(depth)).collect::<Result<_>>()?;
    // After the groups, so that both end before these are removed.
    let mut pair = None;
    let mut both = exchange::working(&[cpu.0], || {
        let pair = match &mut pair {
            Some(pair) => pair,
            // The second begins here, in the first one's group.
            none => {
                let second = exchange::by_pipe(&[cpu.0])?;
                groups.get(1).map_or(Ok(()), |group| group.admit(second.pid())).map_err(std::io::Error::other)?;
                none.insert(second)
            }
        };
        (0..ROUND_TRIPS).try_for_each(|_| pair.there_and_back())?;
        pair.check()
    })?;
    groups.first().map_or(Ok(()), |group| group.admit(both.pid()))?;
    both.there_and_back()?;
    case.calls(|| both.there_and_back()).each(2 * ROUND_TRIPS).time()?;
    Ok(both.check()?)
}
