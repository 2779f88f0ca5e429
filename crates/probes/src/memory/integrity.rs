//! Probe memory.integrity: whether locked memory gives back what was written to it.

use crate::kernels::words::VolatileWords;
use hostmark_engine::prelude::*;

mod walk;
mod words;

use walk::WalkPattern;
use words::sound;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Count,
    better: Better::Lower,
    also: &[TESTED],
    related: &["memory.write", "memory.read"],
    axes: &[
        Axis::choice(
            "pattern",
            "inversions",
            Points::Listed { quick: &["inversions", "address", "moving", "random"], standard: &[], thorough: &[] },
        ),
        Axis::settled_size("amount", share),
    ],
    section: crate::section::INTEGRITY,
    measure: Measure::Run(measure),
    ..crate::texts::memory::INTEGRITY
};

/// A part is walked as a whole, between two looks at the time.
const PART_BYTES: u64 = 4 << 20;

/// Bytes that a round tested.
const TESTED: Quantity = Quantity::given("tested", Unit::Bytes, Better::Higher, term!("tested in a round"));

/// What a round tests at most unless it is told: what it may fill, as a power of two, so that a case keeps its id from run to
/// run.
fn share(host: &HostFacts) -> u64 {
    1 << may_fill_bytes(host).max(PART_BYTES).ilog2()
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("pattern")?;
    let pattern = WalkPattern::named(&name)
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, say!("there is no pattern {name}")))?;
    let amount: u64 = case.param("amount")?;
    // A part tells something where others have the rest, and nothing of a size that this machine has not.
    if sys::memory::of_machine().is_some_and(|(all, _)| amount > all) {
        case.may_fill(amount)?;
    }
    let (mut buffer, filling) = room(case, amount)?;
    // What is locked is tested at once.
    let mut filling = filling.without_forecast();
    let (seed, whole) = (case.seed(), buffer.bytes().len());
    let (mut from, mut locked, mut tested, mut limit) = (0, 0, 0, None);
    // No part is walked only to be thrown away: what is found does not depend on warm caches.
    case.search(|_| {
        if from == locked && limit.is_none() && from < whole {
            let to = whole.min(from + PART_BYTES as usize);
            let lock = buffer.lock(from, to).map_err(|error| {
                let (kib, hint) = ((to - from) >> 10, say!("raise RLIMIT_MEMLOCK (ulimit -l)"));
                RoundError::skipped(ReasonCode::ResourceLimit, say!("{kib} KiB cannot be locked ({error}): {hint}"))
            });
            match lock.and_then(|()| filling.advance((to - from) as u64)) {
                Ok(()) => locked = to,
                Err(error) if locked == 0 => return Err(error),
                Err(error) => limit = Some(error),
            }
        }
        if from == locked {
            from = 0;
        }
        let to = locked.min(from + PART_BYTES as usize);
        let faults =
            pattern.walk(&mut VolatileWords::of(&mut buffer.bytes_mut()[from..to]), seed.wrapping_add(from as u64));
        sound(&faults, from)?;
        (from, tested) = (to, tested.max(to));
        Ok(Some(0.0))
    })?;
    case.also(TESTED.name, [tested as f64])?;
    let walked = match limit {
        _ if tested as u64 >= amount => "all".to_owned(),
        Some(RoundError::Skipped(reason) | RoundError::Failed(reason)) => format!("a part: {reason}"),
        None if (whole as u64) < amount => "a part: no more may be filled".to_owned(),
        None => "a part: give it more time by the profile".to_owned(),
    };
    case.note("walked", walked);
    Ok(())
}

/// As much of `amount` as may be filled now, and can be had.
fn room(case: &Case, amount: u64) -> Result<(Buffer, Filling)> {
    let asked = amount.min(case.fillable_bytes().max(PART_BYTES));
    let reserve = |bytes| case.allot(1, bytes, Pages::Base, None)?.reserve();
    // Others may have taken memory since the run began.
    let smaller = std::iter::successors(Some(asked), |bytes| Some(bytes / 2)).take_while(|bytes| *bytes >= PART_BYTES);
    smaller.map(reserve).find(Result::is_ok).unwrap_or_else(|| reserve(asked))
}
