//! Use of the processor: the kernel's counts of a thread, CPU time of processes, and this one's use when its input ends.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::thread::sched_getcpu;

use super::call::{Call, named, returned};

/// A reading of the calling thread's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    pub involuntary_switches: u64,
    /// Minor and major page faults.
    pub faults: u64,
    /// Time runnable without running, ns; 0 where the kernel does not tell.
    pub run_delay_ns: u64,
    pub cpu: usize,
}

impl Reading {
    /// The next reading. Counters only grow, and readers take differences: one that cannot be read now stays as it was.
    fn then(self, usage: Option<Reading>, run_delay_ns: Option<u64>, cpu: usize) -> Reading {
        Reading { run_delay_ns: run_delay_ns.unwrap_or(self.run_delay_ns), cpu, ..usage.unwrap_or(self) }
    }
}

/// Reads the counters of the thread that made it.
#[derive(Debug)]
pub struct ThreadCounters {
    schedstat: Option<OwnedFd>,
    last: Cell<Reading>,
}

impl ThreadCounters {
    pub fn open() -> ThreadCounters {
        ThreadCounters { schedstat: open_schedstat(), last: Cell::default() }
    }

    pub fn cpu(&self) -> usize {
        sched_getcpu()
    }

    /// Reads them: one to three microseconds.
    pub fn read(&self) -> Reading {
        let delay = self.schedstat.as_ref().and_then(schedstat_ns).map(|[_, delay]| delay);
        let cpu = self.cpu();
        self.last.set(self.last.get().then(thread_usage().ok(), delay, cpu));
        self.last.get()
    }
}

/// Tells whether the kernel reports how long a thread could run and did not.
pub fn has_run_delay() -> bool {
    open_schedstat().as_ref().and_then(schedstat_ns).is_some()
}

/// Time that the calling thread has waited for a CPU, where the kernel tells it.
pub fn thread_wait() -> Option<Duration> {
    schedstat_ns(&open_schedstat()?).map(|[_, waited]| Duration::from_nanos(waited))
}

fn open_schedstat() -> Option<OwnedFd> {
    File::open("/proc/thread-self/schedstat").ok().map(OwnedFd::from)
}

/// CPU time of a thread and its time runnable without running, ns.
fn schedstat_ns(schedstat: &OwnedFd) -> Option<[u64; 2]> {
    let mut text = [0_u8; 96];
    let length = rustix::io::pread(schedstat, &mut text, 0).ok()?;
    let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_whitespace().map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?])
}

/// Page faults of the calling thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// Number of faults without input or output.
    pub minor: u64,
    /// Number of faults that waited for a device.
    pub major: u64,
}

/// Page faults of the calling thread so far.
pub fn thread_faults() -> io::Result<Faults> {
    let usage = usage_of(libc::RUSAGE_THREAD)?;
    Ok(Faults { minor: usage.ru_minflt as u64, major: usage.ru_majflt as u64 })
}

/// Returns the usage of this thread, this process or its children by getrusage(2).
fn usage_of(whose: libc::c_int) -> io::Result<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that the kernel fills.
    returned("getrusage", unsafe { libc::getrusage(whose, usage.as_mut_ptr()) })?;
    // SAFETY: zeroed is a valid rusage, and the call filled it.
    Ok(unsafe { usage.assume_init() })
}

fn thread_usage() -> io::Result<Reading> {
    let usage = usage_of(libc::RUSAGE_THREAD)?;
    Ok(Reading {
        involuntary_switches: usage.ru_nivcsw as u64,
        faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        ..Reading::default()
    })
}

/// CPU time of this process and of all children that it has waited for, theirs among it, ns.
pub fn cpu_ns_of_all_own() -> io::Result<u64> {
    Ok(usage_ns(libc::RUSAGE_SELF)? + usage_ns(libc::RUSAGE_CHILDREN)?)
}

/// CPU time of this process alone, ns, by a clock: getrusage(2) splits it by ticks where switches are not counted.
#[inline]
pub fn cpu_ns_of_process() -> io::Result<u64> {
    cpu_ns_of_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

pub fn cpu_ns_of_thread() -> io::Result<u64> {
    cpu_ns_of_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of another process, up to now.
pub fn cpu_ns_of_other(pid: u32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: the library writes one number.
    match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) } {
        0 => cpu_ns_of_clock(clock),
        error => Err(named("clock_getcpuclockid", io::Error::from_raw_os_error(error))),
    }
}

#[inline]
fn cpu_ns_of_clock(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec. (rustix's function takes the call for one that cannot fail.)
    returned("clock_gettime", unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// CPU time of this process in user code, ns: in microseconds, or shared out by ticks where entries are not counted.
pub fn user_ns_of_process() -> io::Result<u64> {
    Ok(ns(usage_of(libc::RUSAGE_SELF)?.ru_utime))
}

fn usage_ns(whose: libc::c_int) -> io::Result<u64> {
    let usage = usage_of(whose)?;
    Ok(ns(usage.ru_utime) + ns(usage.ru_stime))
}

fn ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

/// Resources used by a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Number of times that it slept, and was woken later.
    pub voluntary_switches: u64,
    /// Number of times that another process took its place.
    pub involuntary_switches: u64,
    pub faults: u64,
}

impl Usage {
    pub fn so_far() -> io::Result<Usage> {
        let usage = usage_of(libc::RUSAGE_SELF)?;
        Ok(Usage {
            cpu_ns: cpu_ns_of_process()?,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        })
    }

    /// Returns what was used since `before`.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        let [now, then] = [self, before].map(Usage::numbers);
        let [cpu_ns, voluntary_switches, involuntary_switches, faults] =
            std::array::from_fn(|index| now[index].saturating_sub(then[index]));
        Usage { cpu_ns, voluntary_switches, involuntary_switches, faults }
    }

    fn numbers(self) -> [u64; NUMBERS] {
        [self.cpu_ns, self.voluntary_switches, self.involuntary_switches, self.faults]
    }
}

const NUMBERS: usize = 4;
/// Digits of a number at most.
const MOST_DIGITS: usize = 20;

/// Message template of the final report: the texts before, between and behind the numbers of a usage, in the order of its fields.
pub type Account = [Vec<u8>; NUMBERS + 1];

/// Template of the final report, and the usage from which on it counts.
static ACCOUNT: OnceLock<(Account, Usage)> = OnceLock::new();

/// Makes this process end with status 0 as soon as its standard input does: it first writes its use since this call to standard output.
/// Data read there is lost, and nothing it made is removed: the processes that outlive it do that.
pub fn end_with_input(account: Account) -> io::Result<()> {
    ACCOUNT.get_or_init(|| (account, Usage::so_far().unwrap_or_default()));
    handle(end_of_input as *const () as usize)?;
    // SAFETY: no memory is involved. The kernel tells this process when there is something to read, or no writer any more.
    let asked = unsafe {
        match libc::fcntl(libc::STDIN_FILENO, libc::F_SETOWN, libc::getpid()) {
            0 => libc::fcntl(libc::STDIN_FILENO, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK),
            failed => failed,
        }
    };
    returned("fcntl", asked)?;
    // It may have ended before.
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::IO).call("kill")
}

/// Lets this process speak for itself from now on, and not end with its input.
pub fn outlive_input() -> io::Result<()> {
    handle(libc::SIG_IGN)
}

fn handle(action: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: an action of zeros is valid: default action, empty mask, no flags.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = action;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler does nothing but what is safe at any point of the program: it loads from memory that nobody writes
    // any more, and calls read(2), clock_gettime(2), getrusage(2), write(2) and _exit(2).
    returned("sigaction", unsafe { libc::sigaction(libc::SIGIO, &raw const new, std::ptr::null_mut()) }).map(drop)
}

/// Handles the signal that there is something to read, or the input has ended.
extern "C" fn end_of_input(_: libc::c_int) {
    let mut part = [0_u8; 64];
    loop {
        // SAFETY: the kernel writes into `part` alone. The input does not block, and errno is put back.
        let got = unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            let got = libc::read(libc::STDIN_FILENO, part.as_mut_ptr().cast(), part.len());
            *errno = before;
            got
        };
        match got {
            0 => say_and_end(),
            1.. => {}
            _ => return,
        }
    }
}

fn say_and_end() -> ! {
    if let Some((texts, before)) = ACCOUNT.get() {
        let used = Usage::so_far().unwrap_or_default().since(*before).numbers();
        for (index, text) in texts.iter().enumerate() {
            say(text);
            if let Some(&number) = used.get(index) {
                let mut digits = [0; MOST_DIGITS];
                say(decimal(number, &mut digits));
            }
        }
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Writes the text; a closed output is no error of this process.
fn say(mut text: &[u8]) {
    while !text.is_empty() {
        // SAFETY: so many bytes are there.
        match usize::try_from(unsafe { libc::write(libc::STDOUT_FILENO, text.as_ptr().cast(), text.len()) }) {
            Ok(written) if written > 0 => text = &text[written.min(text.len())..],
            _ => return,
        }
    }
}

/// A number's digits, without any memory but this.
fn decimal(mut number: u64, digits: &mut [u8; MOST_DIGITS]) -> &[u8] {
    let mut at = MOST_DIGITS;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::process::in_a_child;

    #[test]
    fn touching_new_memory_counts_as_faults() {
        let counters = ThreadCounters::open();
        let before = counters.read();
        let pages = vec![1_u8; 64 << 20];
        std::hint::black_box(&pages);
        assert!(counters.read().faults > before.faults);
    }

    #[test]
    fn a_counter_that_cannot_be_read_once_has_not_changed() {
        let usage = Reading { involuntary_switches: 7, faults: 90, ..Reading::default() };
        let first = Reading::default().then(Some(usage), Some(1_000), 3);
        assert_eq!(first, Reading { run_delay_ns: 1_000, cpu: 3, ..usage });
        assert_eq!(first.then(None, None, 2), Reading { cpu: 2, ..first });
        assert_eq!(first.then(None, Some(1_500), 3), Reading { run_delay_ns: 1_500, ..first });
    }

    #[test]
    fn what_was_used_is_counted_from_a_moment_on() {
        let before = Usage::so_far().unwrap();
        while Usage::so_far().unwrap().since(before).cpu_ns < 1_000_000 {}
        assert_eq!(before.since(Usage::so_far().unwrap()).cpu_ns, 0);
    }

    /// Returns the output of a child that never looks at its input, of which it is told this.
    fn said(sent: Option<&[u8]>) -> String {
        let (input, order) = rustix::pipe::pipe().unwrap();
        let (answer, output) = rustix::pipe::pipe().unwrap();
        let mut order = Some(order);
        if let Some(sent) = sent {
            rustix::io::write(order.as_ref().unwrap(), sent).unwrap();
        } else {
            order = None;
        }
        let ends = std::thread::spawn(move || {
            // Long enough for the child to be amid its loop.
            std::thread::sleep(std::time::Duration::from_millis(50));
            drop(order);
        });
        in_a_child(|| {
            // SAFETY: this process has one thread, and these descriptors are nobody else's in it.
            unsafe {
                libc::dup2(input.as_raw_fd(), libc::STDIN_FILENO);
                libc::dup2(output.as_raw_fd(), libc::STDOUT_FILENO);
            }
            // The other end of its input, of which it has a copy, would keep it open.
            for other in 3..256 {
                // SAFETY: none of them is used any more.
                unsafe { libc::close(other) };
            }
            end_with_input(["<", " ", " ", " ", ">"].map(|text| text.as_bytes().to_vec()))?;
            loop {
                std::hint::spin_loop();
            }
        });
        ends.join().unwrap();
        drop(output);
        let mut said = [0; 256];
        let length = rustix::io::read(&answer, &mut said).unwrap();
        String::from_utf8(said[..length].to_vec()).unwrap()
    }

    #[test]
    fn who_never_looks_ends_with_its_input_and_says_what_it_used() {
        let said = said(Some(b"more\n"));
        let numbers: Vec<u64> = said.trim_matches(['<', '>']).split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!(numbers.len(), NUMBERS, "{said}");
        assert!(numbers[0] > 1_000_000 && said.starts_with('<') && said.ends_with('>'), "{said}");
    }

    #[test]
    fn an_input_that_has_ended_before_is_noticed_at_once() {
        assert!(said(None).ends_with('>'));
    }
}
