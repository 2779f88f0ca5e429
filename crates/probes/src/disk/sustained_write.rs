//! Probe disk.sustained_write: direct writes in order until the device's cache or burst credit is used up, or space or time is.

use super::direct_io::IoPath;
use crate::workloads::storage::files;
use crate::workloads::storage::uring::IoDirection;
use hostmark_engine::prelude::*;

/// Bytes of a write, and how many are under way: enough for the full rate of most devices.
const BLOCK_BYTES: u64 = 1 << 20;
const DEPTH: u32 = 8;
/// Bytes written where the axis does not set another amount; a smaller disk gets less.
const USUAL_BYTES: u64 = 8 << 30;
/// Divisor of the room left on the filesystem that gives the most to write.
const MOST_OF_ROOM: u64 = 4;
/// Writing ends after so many times what the round has for samples, far below the time after which a round counts as hung.
const MOST_OF_GRANT: f64 = 5.0;
/// The rate is taken over so long, ns.
const SLICE_NS: f64 = 50e6;
/// Fewest slices in which the end of a cache is visible.
const LEAST_SLICES: usize = 8;
/// Levels that differ by less than this, in the logarithm, are one: a sixth.
const LEAST_STEP: f64 = 0.18;

const FIRST: Quantity = Quantity::given("first", Unit::BytesPerSecond, Better::Higher, term!("rate at the beginning"));
const OVERALL: Quantity =
    Quantity::given("sustained", Unit::BytesPerSecond, Better::Higher, term!("rate over all of it"));
const KNEE: Quantity = Quantity::given("knee", Unit::Bytes, Better::Higher, term!("written before the rate fell"));
const WRITTEN: Quantity = Quantity::given("written", Unit::Bytes, Better::Neither, term!("written in all"));

pub static PROBE: Probe = Probe {
    also: &[FIRST, OVERALL, KNEE, WRITTEN, Quantity::DEVICE_SHARE],
    axes: &[Axis::size("size", "8589934592", Points::quick(&["8589934592"]))],
    blocking: true,
    from: Profile::Thorough,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::disk::SUSTAINED_WRITE)
};

fn measure(case: &mut Case) -> Result<()> {
    let asked: u64 = case.param("size")?;
    let directory = crate::place::with_device(case)?;
    let most = asked.min(files::room(&directory)? / MOST_OF_ROOM) / BLOCK_BYTES * BLOCK_BYTES;
    if most < u64::from(DEPTH) * BLOCK_BYTES || asked > files::capacity(&directory)?.max(USUAL_BYTES) {
        return Err(RoundError::skipped(ReasonCode::TooLittleSpace, say!("too little room on the disk for this")));
    }
    let file = files::unnamed(&directory)?;
    files::preallocate(&file, most)
        .or_unable(ReasonCode::Filesystem, || say!("this filesystem preallocates nothing"))?;
    files::sync(&file)?;
    files::bypass_cache(&file)
        .or_unable(ReasonCode::Filesystem, || say!("this filesystem has no direct input and output"))?;
    case.may_fill(u64::from(DEPTH) * BLOCK_BYTES)?;
    let mut io_path = IoPath::open(case, file, true, DEPTH, usize::try_from(BLOCK_BYTES)?)?;
    let (most_ns, device) = (MOST_OF_GRANT * case.grant_ns(), crate::place::Device::of(case)?);
    let mut slices = Slices::default();
    let mut course = None;
    let last = case.once(|clock| {
        let (begin, mut submitted, mut done) = (clock.start(), 0, 0);
        let mut next = |io_path: &mut IoPath, slot| {
            submitted += BLOCK_BYTES;
            io_path.submit(slot, IoDirection::Write, submitted - BLOCK_BYTES)
        };
        (0..io_path.depth()).try_for_each(|slot| next(&mut io_path, slot))?;
        loop {
            let slot = io_path.wait()?;
            done += BLOCK_BYTES;
            let now_ns = clock.ns(clock.end().since(begin));
            slices.add(done, now_ns);
            if done + (DEPTH as u64) * BLOCK_BYTES > most || now_ns >= most_ns {
                break;
            }
            next(&mut io_path, slot)?;
        }
        (1..io_path.depth()).try_for_each(|_| io_path.wait().map(drop))?;
        let seen = slices.course();
        course = seen;
        seen.map(|course| course.last).ok_or_else(|| {
            RoundError::skipped(ReasonCode::Inconclusive, say!("too few writes were done for a course of rates"))
        })
    });
    last.value()?;
    device.give(case, slices.bytes + u64::from(DEPTH - 1) * BLOCK_BYTES, |work| work.written_bytes)?;
    let Some(course) = course else { return Ok(()) };
    case.also(FIRST.name, [course.first])?;
    case.also(OVERALL.name, [slices.bytes as f64 * 1e9 / slices.now_ns])?;
    case.also(KNEE.name, course.knee)?;
    case.also(WRITTEN.name, [slices.bytes as f64])
}

/// Bytes written by slices of time.
#[derive(Debug, Default)]
struct Slices {
    /// Rates in bytes a second, and the bytes that were written when each of them ended.
    rates: Vec<(f64, u64)>,
    end_ns: f64,
    /// Written so far, and when that was.
    bytes: u64,
    now_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Course {
    first: f64,
    last: f64,
    /// Bytes at the end of the first level, where the last is lower.
    knee: Option<f64>,
}

impl Slices {
    /// Records that `bytes` have been written by now.
    fn add(&mut self, bytes: u64, now_ns: f64) {
        (self.bytes, self.now_ns) = (bytes, now_ns);
        let (before, took_ns) = (self.rates.last().map_or(0, |&(_, end)| end), now_ns - self.end_ns);
        if took_ns >= SLICE_NS {
            self.rates.push(((bytes - before) as f64 * 1e9 / took_ns, bytes));
            self.end_ns = now_ns;
        }
    }

    fn course(&self) -> Option<Course> {
        if self.rates.len() < LEAST_SLICES {
            return None;
        }
        let logarithms: Vec<f64> = self.rates.iter().map(|(rate, _)| rate.ln()).collect();
        let phases = phases(&logarithms, LEAST_STEP);
        let (first, last) = (phases.first()?, phases.last()?);
        let falls = last.level < first.level;
        Some(Course {
            first: first.level.exp(),
            last: last.level.exp(),
            knee: falls.then(|| self.rates[first.end - 1].1 as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::random_access::Random;

    /// Returns the slices of a device that writes at `fast` up to `cache` bytes, and at `slow` from then on, each with 1 % of scatter.
    fn written(fast: f64, slow: f64, cache: u64, seconds: f64) -> Slices {
        let (mut slices, mut random, mut bytes, mut now_ns) = (Slices::default(), Random::new(7), 0, 0.0);
        while now_ns < seconds * 1e9 {
            let rate = if bytes < cache { fast } else { slow };
            bytes += BLOCK_BYTES;
            now_ns += BLOCK_BYTES as f64 / rate * 1e9 * (0.9 + f64::from(random.below(1000)) / 5000.0);
            slices.add(bytes, now_ns);
        }
        slices
    }

    #[test]
    fn a_cache_that_ends_is_found_with_both_rates_and_its_size() {
        let cache = 3 << 30;
        let course = written(2e9, 0.5e9, cache, 5.0).course().unwrap();
        assert!((course.first / 2e9 - 1.0).abs() < 0.03 && (course.last / 0.5e9 - 1.0).abs() < 0.03, "{course:?}");
        assert!((course.knee.unwrap() / cache as f64 - 1.0).abs() < 0.05, "{course:?}");
    }

    #[test]
    fn a_steady_device_has_no_knee_nor_has_one_that_speeds_up_or_stalls_once() {
        let steady = written(1e9, 1e9, 0, 5.0).course().unwrap();
        assert_eq!((steady.knee, steady.first), (None, steady.last));
        assert_eq!(written(0.5e9, 1e9, 1 << 30, 5.0).course().unwrap().knee, None);
        let mut stalled = written(1e9, 1e9, 0, 5.0);
        stalled.rates[20].0 /= 10.0;
        assert_eq!(stalled.course().unwrap().knee, None);
        assert_eq!(written(1e9, 1e9, 0, 0.2).course(), None);
    }
}
