//! `hostmark neighbour`: a process beside a measurement that keeps CPUs from idling, or busy.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use hostmark_engine::sys::clock::monotonic_ns;
use hostmark_engine::sys::usage::cpu_ns_of_process;
use hostmark_engine::sys::{affinity, process};
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;

use super::janitor::Janitor;
use crate::language::said;

/// The word that starts it; no command for people.
pub const NAME: &str = "neighbour";
/// Size of the buffer that a busy neighbour reads again and again, bytes: more than the caches of a core.
const MEMORY_BYTES: usize = 64 << 20;
/// The shortest period of one that computes for a part of the time, ns.
const SHORTEST_PERIOD_NS: u64 = 5_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Spins, and yields to every other thread.
    Spin,
    Read,
    /// Computes for this percentage of the time.
    Duty(u8),
}

impl Work {
    fn word(self) -> String {
        match self {
            Work::Spin => "spin".into(),
            Work::Read => "read".into(),
            Work::Duty(percent) => format!("{percent}%"),
        }
    }

    fn of(word: &str) -> Option<Work> {
        let duty = || word.strip_suffix('%')?.parse().ok().filter(|percent| *percent <= 100).map(Work::Duty);
        [Work::Spin, Work::Read].into_iter().find(|work| work.word() == word).or_else(duty)
    }
}

/// Works until standard input ends: the words are the parent, the work and the CPUs.
pub fn serve(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let [parent, work, cpus @ ..] = words.as_slice() else { return ExitCode::FAILURE };
    let (Ok(parent), Some(work)) = (parent.parse(), Work::of(work)) else { return ExitCode::FAILURE };
    let Ok(cpus) = cpus.iter().map(|cpu| cpu.parse()).collect::<Result<Vec<usize>, _>>() else {
        return ExitCode::FAILURE;
    };
    let _ = rustix::thread::set_name(c"hm-neighbour");
    if !process::die_with_parent(parent) {
        return ExitCode::FAILURE;
    }
    let (ready, started) = std::sync::mpsc::channel();
    for &cpu in &cpus {
        let ready = ready.clone();
        let worker = std::thread::Builder::new().spawn(move || {
            let prepared = affinity::bind(&[cpu]).and_then(|()| match work {
                Work::Spin => process::yield_to_all(),
                Work::Read | Work::Duty(_) => Ok(()),
            });
            let is_prepared = prepared.is_ok();
            let _ = ready.send(is_prepared);
            if is_prepared {
                go_on(work);
            }
        });
        if worker.is_err() {
            return ExitCode::FAILURE;
        }
    }
    if !cpus.iter().all(|_| started.recv().unwrap_or(false)) {
        return ExitCode::FAILURE;
    }
    let mut out = io::stdout().lock();
    if out.write_all(b"\n").and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    // Nothing is said; the end is what is waited for.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}

/// Does it until the process ends.
fn go_on(work: Work) {
    match work {
        Work::Spin => loop {
            std::hint::spin_loop();
        },
        Work::Read => {
            let memory: Vec<u64> = (0..MEMORY_BYTES as u64 / 8).collect();
            loop {
                std::hint::black_box(
                    std::hint::black_box(&memory).iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)),
                );
            }
        }
        Work::Duty(percent) => compute_for(f64::from(percent) / 100.0),
    }
}

/// Uses this share of the CPU, in periods whose lengths vary so that the kernel's ticks see it by chance; the CPU time counts, so
/// that who competes for the CPU changes little.
fn compute_for(share: f64) {
    let mut due_ns = monotonic_ns();
    for turn in 0_u64.. {
        let period_ns = SHORTEST_PERIOD_NS + turn * 7 % 11 * 1_030_000;
        let until_ns = cpu_ns_of_process().unwrap_or(0) + (share * period_ns as f64) as u64;
        while cpu_ns_of_process().is_ok_and(|used_ns| used_ns < until_ns) {
            (0..1000).for_each(|_| std::hint::spin_loop());
        }
        due_ns += period_ns;
        std::thread::sleep(Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())));
    }
}

/// Starts one, which ends when it is dropped, and with this process.
pub fn start(program: &Path, work: Work, cpus: &[usize], janitor: &mut Janitor) -> Result<Supervised, String> {
    let mut command = command(program);
    command.args([NAME, &std::process::id().to_string(), &work.word()]).args(cpus.iter().map(usize::to_string));
    let terms =
        Terms { group: Membership::Own, has_input: true, errors: Errors::Dropped, ending: Ending::Killed, stop: None };
    let not_started =
        |why: &str| said!("the process on the neighbour CPU cannot be started ({why}); look at ulimit -a");
    let mut process = janitor.begin(command, terms).map_err(|error| not_started(&error.to_string()))?;
    match process.read_line_within(timing().start) {
        Ok(ReadOutcome::Line(_)) => Ok(process),
        Ok(_) => Err(not_started(&said!("it ended at once"))),
        Err(error) => Err(not_started(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_work_for_it_is_refused() {
        let served = |words: &[&str]| serve(words.iter().map(OsString::from));
        let refused = format!("{:?}", ExitCode::FAILURE);
        for words in [
            &[][..],
            &["1"],
            &["x", "spin", "0"],
            &["1", "sleep", "0"],
            &["1", "spin", "-1"],
            &["1", "spin", "a"],
            &["1", "101%", "0"],
        ] {
            assert_eq!(format!("{:?}", served(words)), refused, "{words:?}");
        }
    }
}
