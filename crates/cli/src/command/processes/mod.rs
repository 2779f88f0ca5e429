//! The processes that a run starts on this machine: workers and far ends, all in the janitor's charge.

pub mod janitor;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::sys::call::spawned;
use hostmark_engine::sys::clock::{monotonic_ns, sleep};
use hostmark_engine::sys::control_group::{ControlGroup, GroupLimit};
use hostmark_engine::sys::scratch::fresh_name;
use hostmark_engine::sys::usage::cpu_ns_of_process;
use hostmark_engine::sys::{affinity, descendants, process};
use hostmark_engine::worker;
use hostmark_host::{Root, nurseries};
use hostmark_launch::local::{LocalService, LocalWorker, Warden};
use hostmark_launch::program::command;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_launch::{ServiceLink, WorkerLink};
use hostmark_model::{Exit, Job, JsonLine, PathBytes, ServiceJob, Text};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;
use janitor::Janitor;
use rustix::fd::OwnedFd;

use crate::language::said;

/// Time for cleaning up after a killed worker.
const GRACE: Duration = Duration::from_secs(1);

/// Registry of the run's workers and far ends: the janitor, and this process, which inherits their orphans.
struct Charges {
    janitor: RefCell<Janitor>,
    /// True where every child of this process was started by this run.
    has_adopted: bool,
    /// Process groups that are alive, or not yet waited for.
    groups: RefCell<Vec<u32>>,
}

impl Warden for Charges {
    fn takes(&self, group: u32) {
        self.groups.borrow_mut().push(group);
        self.janitor.borrow_mut().record(&CleanupEntry::Group(group));
    }

    fn releases(&self, group: u32) {
        let mut known = self.groups.borrow_mut();
        known.retain(|&other| other != group);
        if self.has_adopted {
            // Who cleans up after a worker that was killed is this process' child by now, and so is whoever a killed worker's
            // command has left. One that cannot be ended is another user's, and the worker has told of it.
            let spared: Vec<u32> = known.iter().copied().chain([self.janitor.borrow().id()]).collect();
            let _ = descendants::end_all(&spared, GRACE, timing().end);
        }
        self.janitor.borrow_mut().record(&CleanupEntry::Reaped(group));
    }
}

/// Nobody, where a worker leaves nothing behind and ends with this process.
struct Nobody;

impl Warden for Nobody {
    fn takes(&self, _: u32) {}
    fn releases(&self, _: u32) {}
}

/// A fresh worker with a job that starts no process and makes no file, before there is a janitor.
pub fn alone(program: &Path, job: &Job) -> io::Result<Box<dyn WorkerLink>> {
    let line = job.to_line()?;
    let worker = LocalWorker::start(program, &[WORKER], (line.trim_end(), false), None, Rc::new(Nobody));
    Ok(Box::new(worker.map_err(spawned)?))
}

pub struct Processes {
    program: PathBuf,
    stop: Option<Rc<OwnedFd>>,
    charges: Rc<Charges>,
}

impl Processes {
    /// Adopts from now on the orphans of this process' children, unless another process does. `stop` becomes readable when the person asks
    /// to stop.
    pub fn of(program: &Path, janitor: Janitor, stop: Option<Rc<OwnedFd>>) -> Processes {
        // Where it does not, workers still end what they have started.
        let has_adopted = descendants::adopt_if_all_are_own(&[janitor.id()]).unwrap_or(false);
        let charges = Charges { janitor: RefCell::new(janitor), has_adopted, groups: RefCell::default() };
        Processes { program: program.to_owned(), stop, charges: Rc::new(charges) }
    }

    pub fn worker(&self, job: &Job) -> io::Result<Box<dyn WorkerLink>> {
        let (line, stop) = (job.to_line()?, self.stop.clone());
        let (words, warden) = ([WORKER], self.charges.clone());
        let lines = (line.trim_end(), job.is_followed);
        let worker = LocalWorker::start(&self.program, &words, lines, stop, warden).map_err(spawned)?;
        Ok(Box::new(worker))
    }

    /// A far end that has been given the job.
    pub fn service(&self, job: &ServiceJob) -> io::Result<Box<dyn ServiceLink>> {
        let (line, stop) = (job.to_line()?, self.stop.clone());
        let (words, warden) = ([SERVICE], self.charges.clone());
        let service = LocalService::start(&self.program, &words, line.trim_end(), stop, warden).map_err(spawned)?;
        Ok(Box::new(service))
    }
}

/// Goes into a control group and becomes what stands behind it. What the group is called is an argument, never a part of this.
const ENTER: &str = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;

/// A group with this limit in the first place where one can be made; else why there is none.
pub fn limited(limit: &GroupLimit, janitor: &mut Janitor) -> Result<ControlGroup, String> {
    let mut why = say!("no control groups are mounted").to_string();
    for base in nurseries(&Root::here(), limit.controller()) {
        match made(Path::new(&base), limit, janitor) {
            Ok(group) => return Ok(group),
            Err(error) => why = format!("{base}: {error}"),
        }
    }
    Err(why)
}

fn made(base: &Path, limit: &GroupLimit, janitor: &mut Janitor) -> io::Result<ControlGroup> {
    let name = fresh_name()?;
    // Before there is one: whoever kills this process leaves none.
    let above = PathBytes(base.as_os_str().as_bytes().to_vec());
    janitor.record(&CleanupEntry::ControlGroup { base: above, name: name.clone() });
    ControlGroup::make(base, &name, limit)
}

/// The words behind which a program is in the group.
pub fn words(group: &ControlGroup) -> Vec<OsString> {
    ["sh", "-c", ENTER].map(OsString::from).into_iter().chain([group.path().into()]).collect()
}

/// The words that start them; no commands for people.
pub const WORKER: &str = "worker";
pub const SERVICE: &str = "service";

/// Does one job from standard input.
pub fn serve_worker() -> ExitCode {
    ended(term!("a worker"), worker::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// Serves the job from standard input, until that ends.
pub fn serve_far_end() -> ExitCode {
    ended(term!("a service"), worker::far::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// The exit code of one: an error says that a person started it.
fn ended(process: Text, served: io::Result<()>) -> ExitCode {
    let Err(error) = served else { return ExitCode::SUCCESS };
    crate::output::complain(&said!("{process} is started by a run, not by hand ({error}); use hostmark run"));
    ExitCode::from(Exit::BadInput.code())
}

/// The word that starts it; no command for people.
pub const NEIGHBOUR: &str = "neighbour";
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
pub fn serve_neighbour(words: impl Iterator<Item = OsString>) -> ExitCode {
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
        sleep(Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())));
    }
}

/// Starts one, which ends when it is dropped, and with this process.
pub fn start(program: &Path, work: Work, cpus: &[usize], janitor: &mut Janitor) -> Result<Supervised, String> {
    let mut command = command(program);
    command.args([NEIGHBOUR, &std::process::id().to_string(), &work.word()]).args(cpus.iter().map(usize::to_string));
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
    fn a_neighbour_reads_the_word_of_its_work_and_no_other() {
        for work in [Work::Spin, Work::Read, Work::Duty(30)] {
            assert_eq!(Work::of(&work.word()), Some(work));
        }
        assert_eq!(["sleep", "101%", "%"].map(Work::of), [None; 3]);
    }
}
