//! Clocks that a program can read, and ways to wait for a time to pass, by the system calls that programs use.

use std::io;
use std::time::Duration;

use hostmark_engine::prelude::{ReasonCode, read_counter, say, smallest_step};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

use crate::workloads::by_function;
use crate::workloads::call::{Call, fault, named};
use crate::workloads::clock::{self, monotonic_ns, monotonic_raw_ns, sleep_until};
use crate::workloads::machine::arch;

/// A way to wait; its descriptors are made beforehand.
#[derive(Debug)]
pub enum Sleeper {
    /// `nanosleep`.
    Nanosleep,
    /// `ppoll` of nothing, with a time-out.
    Poll,
    /// `epoll_pwait2` of nothing, with a time-out: unlike `epoll_wait` it is not rounded to milliseconds.
    Epoll(OwnedFd),
    /// A one-shot timer descriptor of the monotonic clock, set and read.
    Timer(OwnedFd),
}

impl Sleeper {
    /// The way of this name: nanosleep, poll, epoll, timerfd. None for any other name; an error where the kernel has it not.
    pub fn of_name(name: &str) -> io::Result<Option<Sleeper>> {
        let sleeper = match name {
            "nanosleep" => Sleeper::Nanosleep,
            "poll" => Sleeper::Poll,
            "epoll" => Sleeper::Epoll(
                rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).call("epoll_create1")?,
            ),
            "timerfd" => Sleeper::Timer(
                rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
                    .call("timerfd_create")?,
            ),
            _ => return Ok(None),
        };
        // Whether the kernel has the call is known once it was made.
        sleeper.sleep(Duration::from_nanos(1)).map(|()| Some(sleeper))
    }

    /// Waits for `delay`, and until the thread runs again; an error where it was ended by anything but the time.
    #[inline]
    pub fn sleep(&self, delay: Duration) -> io::Result<()> {
        let delay = Timespec { tv_sec: delay.as_secs() as i64, tv_nsec: delay.subsec_nanos().into() };
        match self {
            Sleeper::Nanosleep => match by_function(|| rustix::thread::nanosleep(&delay)) {
                rustix::thread::NanosleepRelativeResult::Ok => Ok(()),
                rustix::thread::NanosleepRelativeResult::Interrupted(_) => {
                    Err(named("nanosleep", io::ErrorKind::Interrupted.into()))
                }
                rustix::thread::NanosleepRelativeResult::Err(error) => Err(named("nanosleep", error.into())),
            },
            Sleeper::Poll => poll(&delay),
            Sleeper::Epoll(epoll) => epoll_wait(epoll, &delay),
            Sleeper::Timer(timer) => {
                let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: delay };
                set(timer, &once)?;
                match by_function(|| rustix::io::read(timer, &mut [0_u8; 8])).call("read")? {
                    8 => Ok(()),
                    _ => Err(io::Error::other(say!("the timer told of no expiry"))),
                }
            }
        }
    }
}

/// Times at equal distances on CLOCK_MONOTONIC, at which the calling thread is to run.
#[derive(Debug)]
pub struct Beat {
    last_ns: u64,
    period_ns: u64,
}

impl Beat {
    pub fn every(period_ns: u64) -> Beat {
        Beat { last_ns: clock::monotonic_ns(), period_ns }
    }

    /// Sleeps until the first of these times that has not passed: how much later it is then, ns.
    pub fn overslept(&mut self) -> io::Result<u64> {
        self.last_ns = next_due(self.last_ns, clock::monotonic_ns(), self.period_ns);
        sleep_until(self.last_ns)?;
        let early = || {
            fault(
                ReasonCode::CheckFailed,
                say!("a sleep ended before its time: the kernel's clock and the run's differ"),
            )
        };
        clock::monotonic_ns().checked_sub(self.last_ns).ok_or_else(early)
    }
}

/// The first time after `now` that is a whole number of periods after `last`.
fn next_due(last: u64, now: u64, period: u64) -> u64 {
    last + period * (now.saturating_sub(last) / period.max(1) + 1)
}

/// Guard under which the kernel puts off the end of the calling thread's waits by no more than 1 ns, so as to end several at once.
#[derive(Debug)]
pub struct WithoutSlack(());

impl WithoutSlack {
    pub fn begin() -> io::Result<WithoutSlack> {
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)).call("prctl").map(WithoutSlack)
    }
}

impl Drop for WithoutSlack {
    fn drop(&mut self) {
        // What the thread began with.
        let _ = rustix::thread::set_current_timer_slack(None);
    }
}

/// A timer descriptor of the monotonic clock that nobody waits for; what it is set to ends with it.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    pub fn new() -> io::Result<Alarm> {
        rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).call("timerfd_create").map(Alarm)
    }

    /// Sets it to so long ahead, whatever it was set to before.
    #[inline(always)]
    pub fn set(&self, ahead: Duration) -> io::Result<()> {
        let ahead = Timespec { tv_sec: ahead.as_secs() as i64, tv_nsec: ahead.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: ahead };
        set(&self.0, &once)
    }
}

#[inline(always)]
fn set(timer: &OwnedFd, once: &Itimerspec) -> io::Result<()> {
    let set = || rustix::time::timerfd_settime(timer, TimerfdTimerFlags::empty(), once);
    by_function(set).call("timerfd_settime").map(drop)
}

fn timed_out(call: &'static str, ready: i64) -> io::Result<()> {
    match ready {
        0 => Ok(()),
        -1 => Err(named(call, io::Error::last_os_error())),
        _ => Err(io::Error::other(say!("something was ready where nothing is watched"))),
    }
}

fn poll(delay: &Timespec) -> io::Result<()> {
    let delay = libc::timespec { tv_sec: delay.tv_sec, tv_nsec: delay.tv_nsec };
    // SAFETY: no descriptors are given, the time is read alone, and no signal mask is given.
    let ready = unsafe { libc::ppoll(std::ptr::null_mut(), 0, &raw const delay, std::ptr::null()) };
    timed_out("ppoll", ready.into())
}

fn epoll_wait(epoll: &OwnedFd, delay: &Timespec) -> io::Result<()> {
    let delay = libc::timespec { tv_sec: delay.tv_sec, tv_nsec: delay.tv_nsec };
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    let (descriptor, event, no_mask) = (epoll.as_raw_fd(), &raw mut event, std::ptr::null::<libc::sigset_t>());
    // SAFETY: the kernel writes at most one event to `event` and reads the time; no signal mask is given.
    let ready = unsafe { libc::syscall(libc::SYS_epoll_pwait2, descriptor, event, 1, &raw const delay, no_mask, 0) };
    timed_out("epoll_pwait2", ready)
}

/// The time by which the kernel may put off the end of the calling thread's waits, so as to end several at once, ns.
pub fn slack_ns() -> io::Result<u64> {
    rustix::thread::current_timer_slack().call("prctl")
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ClockSource {
        /// The CPU's counter, read in order by its instruction.
        Counter = "tsc",
        /// `CLOCK_MONOTONIC` through the vDSO.
        Monotonic = "monotonic",
        /// `CLOCK_MONOTONIC_RAW` through the vDSO.
        MonotonicRaw = "monotonic_raw",
        /// `CLOCK_MONOTONIC` by a system call.
        Syscall = "syscall",
    }
}

impl ClockSource {
    /// The step over some hundred readings: ticks of the counter, nanoseconds of others; none when it stood still.
    pub fn step(self) -> Option<u64> {
        let mut readings = [0; 500];
        readings.fill_with(|| self.read());
        smallest_step(&readings)
    }

    /// Tells whether this process may read it: reading a forbidden counter would end it.
    pub fn is_readable(self) -> bool {
        self != ClockSource::Counter || !crate::workloads::process::counter_forbidden()
    }

    /// Reads it once: ticks of the counter, nanoseconds of the others.
    #[inline(always)]
    pub fn read(self) -> u64 {
        match self {
            ClockSource::Counter => read_counter(),
            ClockSource::Monotonic => monotonic_ns(),
            ClockSource::MonotonicRaw => monotonic_raw_ns(),
            ClockSource::Syscall => monotonic_by_syscall().unwrap_or(0),
        }
    }
}

#[inline(always)]
fn monotonic_by_syscall() -> io::Result<u64> {
    let mut now = [0_i64; 2];
    match arch::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) {
        0 => Ok(now[0] as u64 * 1_000_000_000 + now[1] as u64),
        error => Err(named("clock_gettime", io::Error::from_raw_os_error(-error as i32))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_wakes_before_its_time() {
        for name in ["nanosleep", "poll", "epoll", "timerfd"] {
            let sleeper = match Sleeper::of_name(name) {
                Ok(sleeper) => sleeper.unwrap(),
                Err(error) if crate::workloads::call::errno(&error) == Some(libc::ENOSYS) => continue,
                Err(error) => panic!("{name}: {error}"),
            };
            let before = ClockSource::Monotonic.read();
            sleeper.sleep(Duration::from_micros(1500)).unwrap();
            let took = ClockSource::Monotonic.read() - before;
            assert!(took >= 1_500_000, "{name}: {took} ns");
        }
        assert!(Sleeper::of_name("snooze").unwrap().is_none());
    }

    #[test]
    fn periods_that_have_passed_are_left_out_and_the_beat_stays() {
        assert_eq!([100, 999, 1000, 1001, 5500].map(|now| next_due(0, now, 1000)), [1000, 1000, 2000, 2000, 6000]);
        assert_eq!(next_due(7000, 7010, 1000), 8000);
    }

    #[test]
    fn a_thread_has_slack_but_while_it_is_without_and_sleeps_until_no_earlier_than_it_asks() {
        let usual = slack_ns().unwrap();
        let without = WithoutSlack::begin().unwrap();
        assert!(usual > 0 && slack_ns().unwrap() <= usual);
        let due = ClockSource::Monotonic.read() + 1_500_000;
        sleep_until(due).unwrap();
        assert!(ClockSource::Monotonic.read() >= due);
        drop(without);
        assert_eq!(slack_ns().unwrap(), usual);
    }

    #[test]
    fn every_source_goes_forward() {
        for name in ["tsc", "monotonic", "monotonic_raw", "syscall"] {
            let source = name.parse::<ClockSource>().unwrap();
            let first = source.read();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(source.read() > first, "{name}");
        }
    }

    #[test]
    fn the_instruction_and_the_vdso_read_one_clock() {
        let before = ClockSource::Monotonic.read();
        let between = ClockSource::Syscall.read();
        let after = ClockSource::Monotonic.read();
        assert!((before..=after).contains(&between));
    }
}
