//! The set-up of a round: the worker tells how far it is, and gives up where a forecast says that it takes too long.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hostmark_model::{Event, JsonLine, ReasonCode};
use hostmark_say::say;

use crate::clock::monotonic_ns;
use crate::round_error::{Result, RoundError};
use crate::sys::call::Call;

/// What is told lies so far apart at least, ns: whoever listens may be on the CPU that fills.
const APART_NS: u64 = 250_000_000;

/// Whether this process tells anything: a worker does, until it takes its first sample.
static SPEAKS: AtomicBool = AtomicBool::new(false);
/// When the set-up was over, by the monotonic clock.
static ENDED_NS: AtomicU64 = AtomicU64::new(0);
/// Where it is told, and when it was last.
static VOICE: Mutex<Option<Voice>> = Mutex::new(None);

struct Voice {
    output: File,
    reported_ns: u64,
}

/// From now on this process tells on its standard output what it has filled.
pub(crate) fn begin() -> io::Result<()> {
    // A descriptor of its own: the thread that does the job has locked the library's.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned().call("fcntl")?);
    if let Ok(mut voice) = VOICE.lock() {
        *voice = Some(Voice { output, reported_ns: monotonic_ns() });
        SPEAKS.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// The first sample is about to be taken: nothing is told any more.
pub(crate) fn end() {
    SPEAKS.store(false, Ordering::Relaxed);
    ENDED_NS.store(monotonic_ns(), Ordering::Relaxed);
}

/// When [`end`] was last called in this process, by the monotonic clock, ns.
pub(crate) fn ended_ns() -> u64 {
    ENDED_NS.load(Ordering::Relaxed)
}

/// What was done so far was no sample yet: where this process spoke, it goes on.
pub(crate) fn go_on() {
    let has_voice = VOICE.lock().is_ok_and(|voice| voice.is_some());
    SPEAKS.store(has_voice, Ordering::Relaxed);
}

/// Tells what is filled, unless it has just told, or is measuring. Nobody to listen is no error here: the end of the round
/// finds that out.
pub(crate) fn report_progress(bytes: u64, of_bytes: u64) {
    if !SPEAKS.load(Ordering::Relaxed) {
        return;
    }
    // Of several threads that fill, one tells.
    if let Ok(mut voice) = VOICE.try_lock()
        && let Some(Voice { output, reported_ns }) = &mut *voice
        && monotonic_ns().saturating_sub(*reported_ns) >= APART_NS
        && let Ok(line) = (Event::Filled { bytes, of_bytes }).to_line()
    {
        *reported_ns = monotonic_ns();
        let _ = output.write_all(line.as_bytes());
    }
}

/// How long a set-up may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    began_ns: u64,
    /// 0: as long as it takes.
    limit_ns: u64,
}

impl Deadline {
    /// So long from now on; 0 is for ever.
    pub(crate) fn from_now(limit_ns: u64) -> Deadline {
        Deadline { began_ns: monotonic_ns(), limit_ns }
    }

    /// Skipped where filling `of_bytes`, of which the first `done_bytes` have taken the time since `begun_ns`, would end
    /// after the deadline.
    pub(crate) fn forecast(self, begun_ns: u64, done_bytes: u64, of_bytes: u64) -> Result<()> {
        self.forecast_at(monotonic_ns(), begun_ns, done_bytes, of_bytes)
    }

    fn forecast_at(self, now_ns: u64, begun_ns: u64, done_bytes: u64, of_bytes: u64) -> Result<()> {
        let spent_ns = now_ns.saturating_sub(begun_ns) as f64;
        let left_ns = spent_ns * of_bytes.saturating_sub(done_bytes) as f64 / done_bytes.max(1) as f64;
        let ends_ns = now_ns.saturating_sub(self.began_ns) as f64 + left_ns;
        if self.limit_ns == 0 || done_bytes >= of_bytes || ends_ns <= self.limit_ns as f64 {
            return Ok(());
        }
        let rate = done_bytes as f64 / spent_ns.max(1.0) * 1e3;
        Err(RoundError::skipped(
            ReasonCode::TimeBudget,
            say!(
                "filling {of_bytes} MiB at {rate:.3} MB/s takes {taken:.1} s, and a round of this run may take {limit:.1} s to set up; \
             use a longer profile",
                of_bytes = of_bytes >> 20,
                taken = (spent_ns + left_ns) / 1e9,
                limit = self.limit_ns as f64 / 1e9
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_fill_that_would_end_too_late_is_skipped_after_its_first_part() {
        let limit = Deadline { began_ns: 10 * SECOND_NS, limit_ns: 5 * SECOND_NS };
        let after = |ms: u64, done: u64| {
            let begun_ns = 11 * SECOND_NS;
            limit.forecast_at(begun_ns + ms * 1_000_000, begun_ns, done, 3072 * MIB)
        };
        // 48 such parts, and a second is gone already.
        assert_eq!(after(80, 64 * MIB), Ok(()));
        let Err(RoundError::Skipped(reason)) = after(170, 64 * MIB) else { panic!() };
        assert_eq!(
            &*reason,
            "filling 3072 MiB at 394.758 MB/s takes 8.2 s, and a round of this run may take 5.0 s to set up; use a longer \
             profile"
        );
        assert_eq!(after(9000, 3072 * MIB), Ok(()), "what is done is not thrown away");
        let endless = Deadline { limit_ns: 0, ..limit };
        assert_eq!(endless.forecast_at(99 * SECOND_NS, 0, 1, 3072 * MIB), Ok(()));
    }
}
