//! Several streams at once, each with its two ends on a CPU of its own.

use hostmark_engine::prelude::*;

use super::sender::Receiver;
use super::window::Window;
use crate::door::unanswered;

/// How many, by profile: powers of two, and as many as there are CPUs.
pub fn points(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    let powers = (1..u64::BITS).map(|power| 1 << power).take_while(|&streams| streams < all);
    match profile {
        Profile::Quick => vec![1],
        _ => [1].into_iter().chain(powers).chain([all.max(1)]).collect(),
    }
}

/// Measures what comes over the connections to `senders` together, `step` bytes an iteration.
pub fn measure(case: &mut Case, cpus: &[Cpu], step: u64, senders: &[FarEnd]) -> Result<()> {
    let (window, block): (Window, u64) = (case.param("window")?, case.param("block")?);
    case.free_running(cpus, step, |cpu| {
        let stream = cpus.iter().position(|&known| known == cpu).unwrap_or(0);
        let (mut receiver, _) = Receiver::connect(&senders[stream], window, block)?;
        Ok(move |steps: u64| receiver.receive(steps.saturating_mul(step)).map_err(unanswered))
    })
}
