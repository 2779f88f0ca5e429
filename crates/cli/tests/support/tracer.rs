//! A tree of processes under trace: a system call of it can be made to fail, and no signal leaves it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, c_long};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// What of the program a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The command that a person starts.
    Run,
    /// Who removes what a run leaves.
    Janitor,
    /// A worker, and all that it starts.
    Worker,
    /// The far end of a measurement.
    Service,
}

/// A failure: of all calls of this number that processes of this part make, the one after `before` others.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub part: Part,
    pub number: c_long,
    pub before: usize,
    pub error: i32,
}

#[derive(Debug, Default)]
pub struct Seen {
    /// Every call, by the part that made it, and whether the first process did.
    pub calls: Vec<(Part, c_long, bool)>,
    /// Whether the fault came to pass.
    pub is_injected: bool,
    /// Whether it did before the program's own first step, in the loader or the language's start.
    pub is_early: bool,
    /// Whether it did in another program, which the tree had started.
    pub is_foreign: bool,
    /// Signals and the like for processes that are not of the tree: they were kept from being sent.
    pub strays: Vec<String>,
    /// How the first process ended: its code, or the negated number of a signal.
    pub ended: i32,
    /// Whether it had to be ended, as it went on for too long.
    pub is_hung: bool,
    /// What was alive long after the first process had ended, by its command line.
    pub left: Vec<String>,
}

/// How long processes may outlive the first one, which they end with.
const AFTERWARDS: Duration = Duration::from_secs(5);
/// How often the guard looks at the time.
const TURN: Duration = Duration::from_millis(5);

/// What the tracer shares with who watches the time.
#[derive(Default)]
struct Watched {
    alive: BTreeSet<i32>,
    /// What is left of the time, by turns of the guard: on a busy machine each takes longer than it counts.
    time: Duration,
    has_ended: bool,
    is_hung: bool,
    left: Vec<String>,
}

/// Kills all that is alive when the time is over, so that the tracer's wait ends.
fn watch(watched: Arc<Mutex<Watched>>, is_over: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(TURN);
            let mut watched = watched.lock().unwrap();
            watched.time = watched.time.saturating_sub(TURN);
            if !watched.time.is_zero() {
                continue;
            }
            let alive: Vec<i32> = watched.alive.iter().copied().collect();
            if watched.has_ended {
                watched.left.extend(alive.iter().map(|pid| command_line(*pid)));
            } else {
                watched.is_hung = true;
            }
            watched.time = AFTERWARDS;
            for pid in alive {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    })
}

fn command_line(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&words).replace('\0', " ").trim_end())
}

/// A field of /proc/PID/status.
fn status_field(pid: i32, name: &str) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
}

/// The processes of a group, dead ones that nobody has waited for included.
fn members(group: i32) -> Vec<i32> {
    let in_group = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let own: i32 = stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()?;
        (own == group).then_some(pid)
    };
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| in_group(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

struct Tracer<'a> {
    fault: Option<&'a Fault>,
    first: i32,
    /// Every process and thread that was ever of the tree.
    parts: BTreeMap<i32, Part>,
    /// Processes that execute this program and have come to their input, which is the first that it does itself.
    begun: BTreeSet<i32>,
    /// Processes that execute another program.
    foreign: BTreeSet<i32>,
    program: Option<PathBuf>,
    /// How many calls of the fault's kind there were.
    counted: usize,
    seen: Seen,
    watched: Arc<Mutex<Watched>>,
}

/// The words before those of a command that is to be traced: it starts when a line has come by its standard input.
pub const WAITS: [&str; 3] = ["sh", "-c", "read go && exec \"$0\" \"$@\""];

/// Runs what a command of [`WAITS`] starts under trace; `input` is what it reads. When the first process has ended, its
/// group is killed where `ends_group`, as a run does with its workers.
pub fn trace(mut command: Command, input: &str, fault: Option<&Fault>, ends_group: bool, limit: Duration) -> Seen {
    let program = command.get_args().nth(WAITS.len() - 1).and_then(|program| fs::canonicalize(program).ok());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let first = Pid::from_raw(child.id() as i32);
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(first, options).unwrap();
    ptrace::interrupt(first).unwrap();
    let watched = Arc::new(Mutex::new(Watched { time: limit, ..Watched::default() }));
    let is_over = Arc::new(AtomicBool::new(false));
    let watcher = watch(Arc::clone(&watched), Arc::clone(&is_over));
    let mut tracer = Tracer {
        fault,
        first: first.as_raw(),
        parts: BTreeMap::new(),
        begun: BTreeSet::new(),
        foreign: BTreeSet::new(),
        program,
        counted: 0,
        seen: Seen::default(),
        watched: Arc::clone(&watched),
    };
    tracer.add(first.as_raw());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("go\n{input}").as_bytes()).unwrap();
    drop(stdin);
    tracer.follow(ends_group);
    // The tracer has waited for it.
    let _ = child.wait();
    is_over.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    let mut watched = watched.lock().unwrap();
    Seen { is_hung: watched.is_hung, left: std::mem::take(&mut watched.left), ..tracer.seen }
}

impl Tracer<'_> {
    /// A process or thread that belongs to the tree from now on.
    fn add(&mut self, pid: i32) {
        if !self.parts.contains_key(&pid) {
            let leader = status_field(pid, "Tgid").filter(|&leader| leader != pid);
            let parent = leader.or_else(|| status_field(pid, "PPid")).unwrap_or_default();
            let part = self.parts.get(&parent).copied().unwrap_or(Part::Run);
            self.parts.insert(pid, part);
            for set in [&mut self.begun, &mut self.foreign] {
                if set.contains(&parent) {
                    set.insert(pid);
                }
            }
            self.watched.lock().unwrap().alive.insert(pid);
        }
    }

    /// The part that a process has become by the program that it executes now.
    fn execute(&mut self, pid: i32) {
        let executed = fs::read_link(format!("/proc/{pid}/exe")).ok();
        self.begun.remove(&pid);
        self.foreign.remove(&pid);
        if executed != self.program {
            self.foreign.insert(pid);
        }
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let word = words.split(|&byte| byte == 0).nth(1).unwrap_or_default();
        match word {
            b"worker" => drop(self.parts.insert(pid, Part::Worker)),
            b"service" => drop(self.parts.insert(pid, Part::Service)),
            b"janitor" => drop(self.parts.insert(pid, Part::Janitor)),
            _ => {}
        }
    }

    /// Until nothing of the tree is left.
    fn follow(&mut self, ends_group: bool) {
        let mut has_begun = false;
        while !self.watched.lock().unwrap().alive.is_empty() {
            let status = match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Ok(status) => status,
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            match status {
                WaitStatus::Exited(pid, code) => self.end(pid.as_raw(), code, ends_group),
                WaitStatus::Signaled(pid, signal, _) => self.end(pid.as_raw(), -(signal as i32), ends_group),
                WaitStatus::PtraceEvent(pid, _, event) => {
                    self.add(pid.as_raw());
                    match event {
                        libc::PTRACE_EVENT_EXEC => {
                            has_begun = true;
                            self.execute(pid.as_raw());
                        }
                        libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                            if let Ok(child) = ptrace::getevent(pid) {
                                self.add(child as i32);
                            }
                        }
                        _ => {}
                    }
                    let _ = ptrace::syscall(pid, None);
                }
                WaitStatus::PtraceSyscall(pid) => {
                    // The kernel knows on which side of a call it stands: to take a return for an entry would hide what was
                    // done.
                    let is_entry =
                        ptrace::syscall_info(pid).is_ok_and(|info| info.op == libc::PTRACE_SYSCALL_INFO_ENTRY);
                    if is_entry && has_begun {
                        self.enter(pid);
                    }
                    let _ = ptrace::syscall(pid, None);
                }
                WaitStatus::Stopped(pid, signal) => {
                    let _ = ptrace::syscall(pid, signal);
                }
                _ => {}
            }
        }
    }

    fn end(&mut self, pid: i32, how: i32, ends_group: bool) {
        let mut watched = self.watched.lock().unwrap();
        watched.alive.remove(&pid);
        if pid == self.first {
            self.seen.ended = how;
            if ends_group {
                let _ = killpg(Pid::from_raw(self.first), Signal::SIGKILL);
            }
            if !watched.is_hung {
                watched.has_ended = true;
                watched.time = AFTERWARDS;
            }
        }
    }

    /// A thread stands before a system call.
    fn enter(&mut self, pid: Pid) {
        let Ok(mut registers) = ptrace::getregs(pid) else { return };
        let number = registers.orig_rax as c_long;
        if number < 0 {
            return;
        }
        let part = self.parts[&pid.as_raw()];
        self.seen.calls.push((part, number, pid.as_raw() == self.first));
        let arguments = [registers.rdi, registers.rsi, registers.rdx];
        // The call of the order's line itself is the program's own.
        if number == libc::SYS_read && arguments[0] == 0 {
            self.begun.insert(pid.as_raw());
        }
        let mut answer = self.stray(pid.as_raw(), number, arguments).map(|stray| {
            self.seen.strays.push(stray);
            libc::EPERM
        });
        if let Some(fault) = self.fault.filter(|fault| (fault.part, fault.number) == (part, number)) {
            if self.counted == fault.before {
                self.seen.is_injected = true;
                self.seen.is_early = !self.begun.contains(&pid.as_raw());
                self.seen.is_foreign = self.foreign.contains(&pid.as_raw());
                answer = Some(fault.error);
            }
            self.counted += 1;
        }
        if let Some(error) = answer {
            // The kernel passes over a call of this number, and leaves the answer as it is.
            registers.orig_rax = u64::MAX;
            registers.rax = -i64::from(error) as u64;
            let _ = ptrace::setregs(pid, registers);
        }
    }

    /// Whom a call would reach that is none of the tree's, where it names a process.
    fn stray(&self, caller: i32, number: c_long, arguments: [u64; 3]) -> Option<String> {
        let [first, second, third] = arguments.map(|argument| argument as i32);
        let (target, signal) = match number {
            libc::SYS_kill | libc::SYS_tkill => (first, second),
            libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo => (first, third),
            libc::SYS_rt_sigqueueinfo => (first, second),
            libc::SYS_pidfd_send_signal => {
                let info = fs::read_to_string(format!("/proc/{caller}/fdinfo/{first}")).unwrap_or_default();
                match info.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok()) {
                    // Who had it was waited for: by its descriptor nobody else is ever reached.
                    Some(-1) => return None,
                    pid => (pid.unwrap_or(i32::MAX), second),
                }
            }
            libc::SYS_setpgid
            | libc::SYS_sched_setaffinity
            | libc::SYS_sched_setscheduler
            | libc::SYS_prlimit64
            | libc::SYS_sched_setattr
            | libc::SYS_move_pages => match first {
                0 => return None,
                _ => (first, 0),
            },
            _ => return None,
        };
        // An answer for a process that has ended is the kernel's to give: but its number may be another's by then.
        let reached = match target {
            0 => members(status_field(caller, "NSpgid").unwrap_or_default()),
            -1 => vec![-1],
            ..-1 => members(-target),
            _ if fs::exists(format!("/proc/{target}")).unwrap_or(false) => vec![target],
            _ => Vec::new(),
        };
        let foreign: Vec<i32> = reached.iter().copied().filter(|pid| !self.parts.contains_key(pid)).collect();
        let name = crate::faults::call(number).map_or("call", |call| call.name);
        let is_stray = reached.is_empty() || !foreign.is_empty();
        is_stray.then(|| match foreign.as_slice() {
            [] => format!("{name}({first}, {second}, {third}): signal {signal} to a number that nobody has any more"),
            _ => format!("{name}({first}, {second}, {third}): signal {signal} to {foreign:?}"),
        })
    }
}
