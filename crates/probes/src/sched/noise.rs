//! Probe sched.noise: the time that a thread which never waits loses to everything else.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[
        Quantity::given("gaps", Unit::Count, Better::Lower, term!("interruptions per second")),
        Quantity::given("longest", Unit::Nanoseconds, Better::Lower, term!("longest interruption")),
        Quantity::given("typical", Unit::Nanoseconds, Better::Lower, term!("mean gap")),
    ],
    measure: Measure::Run(measure),
    ..crate::texts::sched::NOISE
};

/// A stretch has whole ticks of every usual rate: 4, 10, 12 or 40.
const STRETCH_NS: f64 = 40e6;
/// A distance this much above the usual one is a gap: less than any interrupt takes, ten times a reading of the clock.
const GAP_NS: f64 = 500.0;
/// Readings that the usual distance is taken from.
const READINGS: usize = 1001;

/// The usual distance of two readings: the median of many.
fn usual(clock: &Clock) -> Ticks {
    let mut readings = vec![clock.end(); READINGS + 1];
    readings.iter_mut().for_each(|reading| *reading = clock.end());
    let mut distances: Vec<Ticks> = readings.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    distances.sort_unstable();
    distances[READINGS / 2]
}

fn measure(case: &mut Case) -> Result<()> {
    let (mut gaps_a_second, mut lengths_ns, mut longest_ns) = (Vec::new(), Vec::new(), 0.0_f64);
    let mut is_first = true;
    case.search(|clock| {
        let usual = usual(clock);
        let (gap, stretch) = (Ticks(usual.0 + clock.ticks(GAP_NS).0), clock.ticks(STRETCH_NS));
        let (mut gaps, mut lost) = (0_u32, Ticks(0));
        let begin = clock.start();
        let mut last = begin;
        let mut longest = Ticks(0);
        while last.since(begin) < stretch {
            let now = clock.end();
            let distance = now.since(last);
            if distance > gap {
                gaps += 1;
                lost.0 += distance.since(usual).0;
                longest = longest.max(distance.since(usual));
            }
            last = now;
        }
        if std::mem::take(&mut is_first) {
            return Ok(None);
        }
        let seconds = clock.ns(last.since(begin)) / 1e9;
        gaps_a_second.push(f64::from(gaps) / seconds);
        lengths_ns.extend((gaps > 0).then(|| clock.ns(lost) / f64::from(gaps)));
        longest_ns = longest_ns.max(clock.ns(longest));
        Ok(Some(clock.ns(lost) / seconds))
    })?;
    case.also("gaps", gaps_a_second)?;
    case.also("typical", lengths_ns)?;
    case.also("longest", [longest_ns])
}
