//! What this process has used so far, and the end of its input, at which it says that and ends: at any moment, also amid a
//! loop that never looks.

use std::io;
use std::sync::OnceLock;

use super::call::{Call, named};
use super::counters::usage_of;
use super::cpu_time;

/// What a process has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// How often it slept, and was woken later.
    pub voluntary_switches: u64,
    /// How often another process took its place.
    pub involuntary_switches: u64,
    /// Page faults.
    pub faults: u64,
}

impl Usage {
    /// That of this process so far.
    pub fn so_far() -> io::Result<Usage> {
        let usage = usage_of(libc::RUSAGE_SELF)?;
        Ok(Usage {
            cpu_ns: cpu_time::of_process()?,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        })
    }

    /// What was used since `before`.
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

/// What is said at the end: the texts before, between and behind the numbers of a usage, in the order of its fields.
pub type Account = [Vec<u8>; NUMBERS + 1];

/// What is said at the end, and from when on is counted.
static ACCOUNT: OnceLock<(Account, Usage)> = OnceLock::new();

/// From now on this process ends with status 0 as soon as its standard input does, at whatever it is: it first writes what
/// it has used since this call to standard output. What it reads there meanwhile is lost. Nothing that it has made is
/// removed: that is for who outlives it.
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
    if asked != 0 {
        return Err(named("fcntl", io::Error::last_os_error()));
    }
    // It may have ended before.
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::IO).call("kill")
}

/// From now on this process speaks for itself, and does not end with its input.
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
    match unsafe { libc::sigaction(libc::SIGIO, &raw const new, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(named("sigaction", io::Error::last_os_error())),
    }
}

/// There is something to read, or the input has ended.
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

/// Nobody to listen is no error of who ends.
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
    fn numbers_are_written_as_they_are_read() {
        for number in [0, 7, 10, 4_096, u64::MAX] {
            assert_eq!(decimal(number, &mut [0; MOST_DIGITS]), number.to_string().as_bytes());
        }
    }

    #[test]
    fn what_was_used_is_counted_from_a_moment_on() {
        let before = Usage::so_far().unwrap();
        while Usage::so_far().unwrap().since(before).cpu_ns < 1_000_000 {}
        assert_eq!(before.since(Usage::so_far().unwrap()).cpu_ns, 0);
    }

    /// What a child says that never looks at its input, of which it is told this.
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
