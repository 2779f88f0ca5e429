//! Probe clock.sleep: how much later than asked a sleeping thread runs again, by way of sleeping and by delay.

use std::time::Duration;

use crate::workloads::machine::timer::{Sleeper, slack_ns};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
    axes: &[
        Axis::choice("way", "nanosleep", Points::quick(&["nanosleep", "timerfd"]).standard(&["poll", "epoll"])),
        Axis::count("delay_us", "100", Points::quick(&["100"]).standard(&["10", "1000", "10000"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["way", "delay_us"] }],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::clock::SLEEP
};

fn measure(case: &mut Case) -> Result<()> {
    let way: String = case.param("way")?;
    let delay = Duration::from_micros(case.param("delay_us")?);
    let sleeper =
        Sleeper::of_name(&way).map_err(|error| RoundError::lacking(say!("{way} is not available"), &error))?;
    let sleeper = sleeper.ok_or_else(|| RoundError::internal(say!("there is no way to sleep called '{way}'")))?;
    if let Ok(slack) = slack_ns() {
        case.note("timer_slack_ns", slack);
    }
    case.timed(|clock| {
        let asked = clock.ticks(delay.as_nanos() as f64);
        let start = clock.start();
        sleeper.sleep(delay)?;
        let away = clock.end().since(start);
        match away < asked {
            true => {
                Err(RoundError::wrong(say!("a sleep ended before its time: the kernel's clock and the run's differ")))
            }
            false => Ok(away.since(asked)),
        }
    })
    .singly()
    .time()
}
