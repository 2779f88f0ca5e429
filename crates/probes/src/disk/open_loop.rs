//! Probe disk.open_loop: direct reads that begin when they are due, whether or not others are done.

use hostmark_engine::prelude::*;

use super::direct_io::{self, IoPath};
use crate::kernels::random_access::Random;
use crate::workloads::storage::uring::IoDirection;

pub static PROBE: Probe = Probe {
    also: &[
        Quantity::P90,
        Quantity::P99,
        Quantity::P999,
        Quantity::MEAN,
        Quantity::REQUESTS_DUE,
        Quantity::DEVICE_SHARE,
    ],
    axes: &[
        Axis::count("load", "50", Points::quick(&["50"]).standard(&["10", "80"]).thorough(&["90"])),
        Axis::size("block", "4096", Points::quick(&["4096"]).thorough(&["131072"])),
        Axis::count("outstanding", "32", Points::quick(&["32"]).standard(&["1"])),
        Axis::count("rate", "auto", Points::quick(&["auto"])),
    ],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::disk::OPEN_LOOP
};

/// Requests without pause by which a round learns what the device gives, in about this share of its time.
const CLOSED: u64 = 200;
const CLOSED_SHARE: f64 = 0.1;

fn measure(case: &mut Case) -> Result<()> {
    let (block, outstanding): (u64, u32) = (case.param("block")?, case.param("outstanding")?);
    let load = case.param::<f64>("load")? / 100.0;
    let fixed: Option<f64> = case.param::<String>("rate")?.parse().ok();
    let (mut io_path, places) = direct_io::open(case, false, outstanding, block)?;
    let (mut random, closed_ns) = (Random::new(case.seed()), CLOSED_SHARE * case.grant_ns());
    let mut read = |io_path: &mut IoPath, slot: usize| {
        io_path.submit(slot, IoDirection::Read, u64::from(random.below(places as u32)) * block)
    };
    let device = crate::place::Device::of(case)?;
    let (mut schedule, mut rate, mut asked): (Option<Schedule>, f64, u64) = (None, 0.0, 0);
    case.timed(|clock| {
        let schedule = match &mut schedule {
            Some(schedule) => schedule,
            None => {
                let can = closed(&mut io_path, clock, closed_ns, &mut read)?;
                asked += (can * closed_ns / 1e9) as u64 * block;
                rate = fixed.unwrap_or(can * load);
                let period = clock.ticks(1e9 / rate).0.max(1);
                schedule.insert(Schedule::new(io_path.depth(), Ticks(clock.start().0 + period), period))
            }
        };
        loop {
            let now = clock.start();
            while let Some(slot) = schedule.begin(now) {
                asked += block;
                read(&mut io_path, slot)?;
            }
            if let Some(slot) = io_path.poll()? {
                return Ok::<_, RoundError>(clock.end().since(schedule.end(slot)));
            }
        }
    })
    .singly()
    .time()?;
    case.also(Quantity::REQUESTS_DUE.name, [rate])?;
    device.give(case, asked, |work| work.read_bytes)
}

/// Reads without pause in every slot: how many a second. None is under way afterwards.
fn closed(
    io_path: &mut IoPath,
    clock: &Clock,
    most_ns: f64,
    read: &mut impl FnMut(&mut IoPath, usize) -> std::io::Result<()>,
) -> Result<f64> {
    let slots = io_path.depth();
    let (start, mut done) = (clock.start(), 0_u64);
    (0..slots).try_for_each(|slot| read(io_path, slot))?;
    while done < CLOSED || clock.ns(clock.end().since(start)) < most_ns {
        let slot = io_path.wait()?;
        done += 1;
        read(io_path, slot)?;
    }
    let took_ns = clock.ns(clock.end().since(start));
    (0..slots).try_for_each(|_| io_path.wait().map(drop))?;
    Ok(done as f64 * 1e9 / took_ns)
}

struct Schedule {
    due: Ticks,
    period: u64,
    free: Vec<usize>,
    /// Time when the request of each slot was due.
    begun: Vec<Ticks>,
}

impl Schedule {
    fn new(slots: usize, due: Ticks, period: u64) -> Schedule {
        Schedule { due, period, free: (0..slots).collect(), begun: vec![Ticks(0); slots] }
    }

    /// The slot of a request that is due; none where none is, or all slots are taken.
    fn begin(&mut self, now: Ticks) -> Option<usize> {
        let slot = if self.due.0 <= now.0 { self.free.pop() } else { None }?;
        self.begun[slot] = self.due;
        self.due.0 += self.period;
        Some(slot)
    }

    /// Frees the slot of a completed request, and returns when that was due.
    fn end(&mut self, slot: usize) -> Ticks {
        self.free.push(slot);
        self.begun[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_from_when_it_was_due_however_long_it_waits_for_a_slot() {
        let mut schedule = Schedule::new(2, Ticks(100), 10);
        assert_eq!(schedule.begin(Ticks(99)), None);
        // The device stalls: two are begun, the third is due at 120 and has to wait.
        let (one, two) = (schedule.begin(Ticks(100)).unwrap(), schedule.begin(Ticks(150)).unwrap());
        assert_eq!(schedule.begin(Ticks(150)), None);
        assert_eq!((schedule.end(one), schedule.end(two)), (Ticks(100), Ticks(110)));
        let three = schedule.begin(Ticks(500)).unwrap();
        assert_eq!(schedule.end(three), Ticks(120));
        // None is left out: what was due meanwhile is begun at once.
        let four = schedule.begin(Ticks(500)).unwrap();
        assert_eq!(schedule.end(four), Ticks(130));
    }
}
