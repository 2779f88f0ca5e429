//! Settings of the whole machine: which files they are here, what each side has in them, and a side's turn with them.

use crate::command::far::Target;
use std::path::Path;
use std::{fs, io};

use anyhow::{Result, anyhow};
use hostmark_analysis::words;
use hostmark_engine::Observer;
use hostmark_engine::sys::process::forbid_huge_pages;
use hostmark_engine::sys::setting::{Lock, PutBack, Setting, SettingChange};
use hostmark_launch::supervise::Supervised;
use hostmark_model::{HERE, Inputs, Run, Text};
use hostmark_say::say;

use crate::command::compare::interleave::TwoSides;
use crate::command::measure::{janitor, own_program};
use crate::command::processes::Work;
use crate::command::processes::janitor::{Janitor, ROOT, changed_by_others};
use crate::command::trial::{TakesTurns, Turn};
use crate::command::{lost, processes};
use crate::language::{refuse, said};
use crate::texts::tuning as texts;

/// A setting of the whole machine, whichever files it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineSetting {
    /// Huge pages for memory that did not ask for them.
    TransparentHugePages,
    /// Governor of CPU frequencies.
    Governor,
    IdleStates,
    IdleGovernor,
    /// Frequencies above the nominal one.
    Turbo,
    /// Pages and threads are moved between memory nodes.
    NumaBalancing,
    ReceiveBuffer,
}

/// A setting here, and what it is to be: without, and with.
pub type Turnable = (Setting, [String; 2]);

impl MachineSetting {
    /// Files of the setting on this machine, or the reason why it cannot be tried.
    pub fn here(self, root: &Path) -> Result<Vec<Turnable>, Text<String>> {
        let settings = self.settings(root);
        if settings.is_empty() {
            return Err(self.absent());
        }
        settings
            .into_iter()
            .map(|(setting, inverted)| {
                let words = self.words(setting, root)?;
                setting.read(root).map_err(|error| lack(setting, &error))?;
                setting.is_writable(root).map_err(|error| lack(setting, &error))?;
                let [without, with] = words;
                Ok((setting, if inverted { [with, without] } else { [without, with] }))
            })
            .collect()
    }

    /// Files of the setting here, and whether they say the opposite.
    fn settings(self, root: &Path) -> Vec<(Setting, bool)> {
        let there = |setting: Setting| root.join(setting.path().trim_start_matches('/')).exists();
        let all: Vec<(Setting, bool)> = match self {
            MachineSetting::TransparentHugePages => vec![(Setting::TransparentHugePages, false)],
            MachineSetting::Governor => cpus(root).map(|cpu| (Setting::FrequencyGovernor(cpu), false)).collect(),
            MachineSetting::IdleStates => {
                let states = |cpu| (1..MOST_STATES).map(move |state| Setting::IdleStateDisabled { cpu, state });
                cpus(root).flat_map(states).map(|setting| (setting, false)).collect()
            }
            MachineSetting::IdleGovernor => vec![(Setting::IdleGovernor, false)],
            MachineSetting::Turbo => vec![(Setting::NoTurbo, true), (Setting::Boost, false)],
            MachineSetting::NumaBalancing => vec![(Setting::NumaBalancing, false)],
            MachineSetting::ReceiveBuffer => vec![(Setting::ReceiveBuffer, false)],
        };
        let found = all.into_iter().filter(|(setting, _)| there(*setting));
        // One driver has one of the two.
        if self == MachineSetting::Turbo { found.take(1).collect() } else { found.collect() }
    }

    /// Values for either side: the first that the kernel offers.
    fn words(self, setting: Setting, root: &Path) -> Result<[String; 2], Text<String>> {
        let sides: [&[&str]; 2] = match self {
            MachineSetting::TransparentHugePages => [&["never"], &["always"]],
            MachineSetting::Governor => [&["schedutil", "powersave", "ondemand", "conservative"], &["performance"]],
            MachineSetting::IdleGovernor => [&["menu", "teo", "ladder"], &["haltpoll"]],
            MachineSetting::IdleStates | MachineSetting::Turbo | MachineSetting::NumaBalancing => [&["0"], &["1"]],
            MachineSetting::ReceiveBuffer => [&["212992"], &["8388608"]],
        };
        let offered = setting.offered(root);
        let is_offered = |word: &str| offered.as_ref().is_none_or(|all| all.iter().any(|one| one == word));
        let chosen = sides.map(|words| words.iter().find(|word| is_offered(word)).ok_or(words));
        match chosen {
            [Ok(without), Ok(with)] => Ok([without, with].map(|word| (*word).to_owned())),
            [Err(missing), _] | [_, Err(missing)] => {
                let (path, missing) = (setting.path(), missing.join(", "));
                Err(words(say!("the kernel does not offer {words} in {path}", words = missing)))
            }
        }
    }

    /// Reason that this machine does not have it.
    fn absent(self) -> Text<String> {
        let what = match self {
            MachineSetting::Governor => term!("cpufreq (in a guest the host decides)"),
            MachineSetting::IdleStates => term!("idle states deeper than the lightest"),
            MachineSetting::Turbo => term!("a switch for turbo (in a guest the host decides)"),
            MachineSetting::NumaBalancing => term!("NUMA balancing in its kernel"),
            MachineSetting::TransparentHugePages => term!("transparent huge pages in its kernel"),
            MachineSetting::IdleGovernor => term!("idle states that the kernel chooses"),
            MachineSetting::ReceiveBuffer => term!("/proc/sys/net/core/rmem_default in this network namespace"),
        };
        words(say!("this machine lacks {what}"))
    }
}

const MOST_STATES: usize = 16;

/// The CPUs that the kernel lists.
fn cpus(root: &Path) -> impl Iterator<Item = usize> {
    let entries = fs::read_dir(root.join("sys/devices/system/cpu"));
    let names = entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<usize> = names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    ids.sort_unstable();
    ids.into_iter()
}

/// Reason why a file cannot be written or read.
fn lack(setting: Setting, error: &io::Error) -> Text<String> {
    let path = setting.path();
    match error.kind() {
        io::ErrorKind::PermissionDenied => words(say!("{path} may be changed by root alone; become root, as by sudo")),
        io::ErrorKind::ReadOnlyFilesystem => {
            words(say!("{path} is read-only here, as in a container; try it on the host"))
        }
        _ => words(say!("{path} cannot be changed ({error}); look at its permissions")),
    }
}

/// Conditions while a side measures.
#[derive(Debug, Clone)]
pub enum During {
    Usual,
    /// No process of it gets huge pages.
    WithoutHugePages,
    /// A process beside does this on these CPUs.
    Beside(Work, Vec<usize>),
    /// The machine's settings are these.
    Settings(Vec<(Setting, String)>),
}

pub struct TuningSide {
    /// Filters to measure; none for a command.
    pub filters: Vec<String>,
    /// Note of its runs on the trial.
    pub tried: String,
    pub during: During,
}

/// The machine without and with a setting. What was changed for a turn is put back: at its end, when this is dropped, or by the janitor.
pub struct TuningSides<'a> {
    asked: &'a TwoSides<'a>,
    sides: [TuningSide; 2],
    /// The CPUs that both keep to; none for all.
    cpus: Option<String>,
    janitor: Janitor,
    changes: Vec<SettingChange>,
    /// Settings that had the right value before.
    unchanged: Vec<(Setting, String)>,
    locks: Vec<Lock>,
    are_huge_pages_forbidden: bool,
    beside: Option<Supervised>,
}

impl TakesTurns for TuningSides<'_> {
    type Run = Run;

    fn prepare(&mut self, turn: &Turn) -> Result<()> {
        match self.sides[turn.side].during.clone() {
            During::Usual => {}
            During::WithoutHugePages => {
                forbid_huge_pages(true).map_err(|error| {
                    lost(said!("huge pages cannot be forbidden ({error}); Linux has it since 3.15"))
                })?;
                self.are_huge_pages_forbidden = true;
            }
            During::Beside(work, cpus) => {
                self.beside = Some(processes::start(&own_program()?, work, &cpus, &mut self.janitor).map_err(lost)?);
            }
            During::Settings(settings) => {
                for (setting, word) in settings {
                    self.set(setting, &word)?;
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, Run)>> {
        let TuningSide { filters, tried, .. } = &self.sides[turn.side];
        let inputs = Inputs { cpus: self.cpus.clone(), tried: Some(tried.clone()), ..Inputs::default() };
        let here = Target::of(vec![HERE.into()], HERE.to_owned(), None);
        self.asked.measured_at(&here, filters, inputs, turn, observer)
    }

    /// Puts everything back; an error where somebody else has changed it meanwhile, and it is left so.
    fn put_back(&mut self) -> Result<()> {
        let root = Path::new(ROOT);
        let mut first: Option<anyhow::Error> = None;
        let mut say = |sentence: String| {
            first.get_or_insert_with(|| anyhow!("{sentence}"));
        };
        if let Some(mut beside) = self.beside.take() {
            let _ = self.janitor.end(&mut beside);
        }
        if std::mem::take(&mut self.are_huge_pages_forbidden)
            && let Err(error) = forbid_huge_pages(false)
        {
            say(said!("huge pages cannot be allowed again ({error}); start hostmark anew"));
        }
        for change in self.changes.drain(..).rev() {
            let (setting, path) = (change.setting, change.setting.path());
            match change.put_back(root) {
                Ok(PutBack::Done) => self.janitor.was_put_back(setting),
                Ok(PutBack::ChangedByOthers(now)) => {
                    self.janitor.was_put_back(setting);
                    say(changed_by_others(&path, &now));
                }
                // The janitor goes on to try.
                Err(error) => {
                    say(said!("{path} cannot be put back ({error}); write {before} to it", before = change.before))
                }
            }
        }
        for (setting, word) in self.unchanged.drain(..) {
            if let Ok(now) = setting.read(root)
                && now != word
            {
                say(changed_by_others(&setting.path(), &now));
            }
        }
        self.locks.clear();
        first.map_or(Ok(()), |error| Err(lost(error.to_string())))
    }
}

impl TuningSides<'_> {
    pub fn new<'a>(asked: &'a TwoSides, sides: [TuningSide; 2], cpus: Option<String>) -> Result<TuningSides<'a>> {
        let (janitor, changes, unchanged, locks) = (janitor()?, Vec::new(), Vec::new(), Vec::new());
        let (are_huge_pages_forbidden, beside) = (false, None);
        Ok(TuningSides { asked, sides, cpus, janitor, changes, unchanged, locks, are_huge_pages_forbidden, beside })
    }

    fn set(&mut self, setting: Setting, word: &str) -> Result<()> {
        let (root, path) = (Path::new(ROOT), setting.path());
        let failed =
            |error: std::io::Error| lost(said!("{path} cannot be set to {word} ({error}); it is left as it was"));
        let Some(lock) = Lock::of(setting, root).map_err(failed)? else {
            refuse!("another hostmark tries {path} now; wait for its end")
        };
        self.locks.push(lock);
        let before = setting.read(root).map_err(failed)?;
        if before == word {
            self.unchanged.push((setting, before));
            return Ok(());
        }
        let change = SettingChange { setting, before, during: word.to_owned() };
        // Before it is made: whoever kills this process leaves the machine as it was.
        self.janitor.takes_charge(&change).map_err(failed)?;
        self.changes.push(change.clone());
        change.make(root).map_err(failed)
    }
}

impl Drop for TuningSides<'_> {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}

/// A setting that can be tried.
#[derive(Debug)]
pub struct Tuning {
    pub name: &'static str,
    /// The texts of its page, `<name>.md`.
    pub texts: TuningTexts,
    /// The rules of findings whose cure it is.
    pub findings: &'static [&'static str],
    /// Concerned cases, the most important first.
    pub cases: &'static [Concerned],
    pub turn: Mechanism,
}

#[derive(Debug)]
pub struct TuningTexts {
    pub what: Text,
    /// Cause of a change: the start of a sentence that goes on with the value, and its negation.
    pub makes: [Text; 2],
    /// Names of the two sides: without it, and with it.
    pub sides: [Text; 2],
    /// Instructions to make it permanent.
    pub permanent: Text,
}

/// A case that a setting concerns.
#[derive(Debug)]
pub struct Concerned {
    /// The filter that selects it; `NEAR` stands for the nearest placement on two CPUs that the machine has.
    pub filter: &'static str,
    /// Name of the cases, within a sentence.
    pub name: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Setting of the measuring processes: prctl(PR_SET_THP_DISABLE).
    HugePages,
    /// Axis of the probe: the first of these that it has, with its values without and with.
    Axis(&'static [[&'static str; 3]]),
    /// Process of hostmark beside the measuring one.
    Neighbour(Neighbour),
    /// Setting of the whole machine, until it is put back.
    Machine(MachineSetting),
}

/// Work of a process beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Keeps all CPUs from idling, and yields to all others.
    Idle,
    /// Reads memory without pause on the nearest other CPU.
    Busy,
}

const fn case(filter: &'static str, name: Text) -> Concerned {
    Concerned { filter, name }
}

/// Stands for the nearest placement on two CPUs.
pub const NEAR: &str = "NEAR";

const PIPE_ACROSS: Concerned = case("ipc.round_trip@by=pipe,cpus=NEAR", term!("a pipe round trip across CPUs"));
const WAKEUP: Concerned = case("sched.wakeup@by=futex,rate=1000,cpus=NEAR", term!("waking another CPU"));
const TCP_ACROSS: Concerned =
    case("net.round_trip@protocol=tcp,cpus=NEAR", term!("a TCP round trip across CPUs over loopback"));
const FREQUENCY: Concerned = case("cpu.frequency@load=scalar,threads=1", term!("the frequency of one busy core"));
const DRAM: Concerned = case("memory.latency@size=268435456,pattern=random,page=pmd", term!("DRAM latency"));
const NULL_CALL: Concerned = case("syscall.null", term!("a null system call"));

/// All of them: first those that concern hostmark's own processes alone, then those of the whole machine.
pub static TUNINGS: &[Tuning] = &[
    Tuning {
        name: "huge-pages",
        texts: texts::HUGE_PAGES,
        findings: &["memory.huge_pages_off"],
        cases: &[DRAM, case("memory.random_access@op=read,size=268435456,page=pmd", term!("random reads of memory"))],
        turn: Mechanism::HugePages,
    },
    Tuning {
        name: "binding",
        texts: texts::BINDING,
        findings: &["ipc.across_cpus"],
        cases: &[
            case("ipc.round_trip@by=pipe", term!("a pipe round trip")),
            case("net.round_trip@protocol=tcp", term!("a TCP round trip over loopback")),
            case("memory.random_access", term!("random reads of memory")),
        ],
        turn: Mechanism::Axis(&[["bind", "none", "cpu"], ["cpus", "free", "same_cpu"]]),
    },
    Tuning {
        name: "pipe-size",
        texts: texts::PIPE_SIZE,
        findings: &["ipc.pipe_capacity"],
        cases: &[
            case(
                "ipc.bandwidth@by=pipe,message=1048576,cpus=same_cpu",
                term!("the pipe bandwidth of 1 MiB messages on one CPU"),
            ),
            case(
                "ipc.bandwidth@by=pipe,message=1048576,cpus=NEAR",
                term!("the pipe bandwidth of 1 MiB messages across CPUs"),
            ),
            case(
                "ipc.bandwidth@by=pipe,message=65536,cpus=NEAR",
                term!("the pipe bandwidth of 64 KiB messages across CPUs"),
            ),
        ],
        turn: Mechanism::Axis(&[["capacity", "default", "1m"]]),
    },
    Tuning {
        name: "zerocopy",
        texts: texts::ZEROCOPY,
        findings: &["net.tcp_loopback"],
        cases: &[
            case(
                "net.tcp_bandwidth@message=65536,cpus=same_cpu",
                term!("the TCP rate of 64 KiB messages over loopback"),
            ),
            case(
                "net.tcp_bandwidth@message=1048576,cpus=same_cpu",
                term!("the TCP rate of 1 MiB messages over loopback"),
            ),
        ],
        turn: Mechanism::Axis(&[["method", "write", "zero_copy"]]),
    },
    Tuning {
        name: "idle-poll",
        texts: texts::IDLE_POLL,
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Neighbour(Neighbour::Idle),
    },
    Tuning {
        name: "busy-neighbour",
        texts: texts::BUSY_NEIGHBOUR,
        findings: &["run.neighbours", "cpu.shared_cores"],
        cases: &[
            DRAM,
            case("memory.read@size=67108864,kernel=best", term!("the read bandwidth of memory")),
            FREQUENCY,
            NULL_CALL,
        ],
        turn: Mechanism::Neighbour(Neighbour::Busy),
    },
    Tuning {
        name: "thp",
        texts: texts::THP,
        findings: &["memory.huge_pages_off"],
        cases: &[case(
            "paging.mmap@size=67108864,touch=tenth,backing=anonymous",
            term!("mapping and first touching memory"),
        )],
        turn: Mechanism::Machine(MachineSetting::TransparentHugePages),
    },
    Tuning {
        name: "governor",
        texts: texts::GOVERNOR,
        findings: &["cpu.governor", "host.governor"],
        cases: &[WAKEUP, FREQUENCY, NULL_CALL, PIPE_ACROSS],
        turn: Mechanism::Machine(MachineSetting::Governor),
    },
    Tuning {
        name: "idle-states",
        texts: texts::IDLE_STATES,
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Machine(MachineSetting::IdleStates),
    },
    Tuning {
        name: "haltpoll",
        texts: texts::HALTPOLL,
        findings: &["ipc.across_cpus"],
        cases: &[PIPE_ACROSS, WAKEUP, TCP_ACROSS],
        turn: Mechanism::Machine(MachineSetting::IdleGovernor),
    },
    Tuning {
        name: "turbo",
        texts: texts::TURBO,
        findings: &["host.turbo"],
        cases: &[FREQUENCY, NULL_CALL, DRAM],
        turn: Mechanism::Machine(MachineSetting::Turbo),
    },
    Tuning {
        name: "numa-balancing",
        texts: texts::NUMA_BALANCING,
        findings: &["host.numa_balancing"],
        cases: &[
            case("memory.random_access@size=268435456,bind=none", term!("random reads of memory by an unbound thread")),
            case("memory.read@size=67108864,kernel=best", term!("the read bandwidth of memory")),
        ],
        turn: Mechanism::Machine(MachineSetting::NumaBalancing),
    },
    Tuning {
        name: "udp-buffer",
        texts: texts::UDP_BUFFER,
        findings: &["net.udp_loss"],
        cases: &[
            case(
                "net.udp_bandwidth@datagram=1472,cpus=same_cpu",
                term!("the UDP rate received over loopback on one CPU"),
            ),
            case("net.udp_bandwidth@datagram=1472,cpus=NEAR", term!("the UDP rate received over loopback across CPUs")),
        ],
        turn: Mechanism::Machine(MachineSetting::ReceiveBuffer),
    },
];

pub fn named(name: &str) -> Option<&'static Tuning> {
    let name = if name == "idle-neighbour" { "idle-poll" } else { name };
    TUNINGS.iter().find(|tuning| tuning.name == name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn root_with(files: &[(String, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn pair(without: &str, with: &str) -> [String; 2] {
        [without, with].map(str::to_owned)
    }

    #[test]
    fn every_cpu_has_its_own_governor_and_the_first_that_is_offered_is_taken() {
        let governors = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_available_governors");
        let root = root_with(&[
            (Setting::FrequencyGovernor(10).path(), "powersave\n"),
            (governors(10), "performance powersave\n"),
            (Setting::FrequencyGovernor(2).path(), "schedutil\n"),
            (governors(2), "ondemand performance schedutil\n"),
        ]);
        let expected = vec![
            (Setting::FrequencyGovernor(2), pair("schedutil", "performance")),
            (Setting::FrequencyGovernor(10), pair("powersave", "performance")),
        ];
        assert_eq!(MachineSetting::Governor.here(root.path()), Ok(expected));
    }

    #[test]
    fn no_turbo_says_the_opposite_and_one_driver_has_one_switch() {
        let root = root_with(&[(Setting::NoTurbo.path(), "0\n"), (Setting::Boost.path(), "1\n")]);
        assert_eq!(MachineSetting::Turbo.here(root.path()), Ok(vec![(Setting::NoTurbo, pair("1", "0"))]));
        let root = root_with(&[(Setting::Boost.path(), "1\n")]);
        assert_eq!(MachineSetting::Turbo.here(root.path()), Ok(vec![(Setting::Boost, pair("0", "1"))]));
    }

    #[test]
    fn the_lightest_idle_state_stays() {
        let at = |cpu, state| Setting::IdleStateDisabled { cpu, state };
        let root = root_with(&[(at(0, 0).path(), "0\n"), (at(0, 1).path(), "0\n"), (at(1, 2).path(), "1\n")]);
        let expected = [at(0, 1), at(1, 2)].map(|setting| (setting, pair("0", "1")));
        assert_eq!(MachineSetting::IdleStates.here(root.path()), Ok(expected.to_vec()));
    }

    #[test]
    fn what_cannot_be_tried_is_reported_in_a_sentence() {
        let empty = root_with(&[]);
        for machine in
            [MachineSetting::Governor, MachineSetting::IdleStates, MachineSetting::Turbo, MachineSetting::NumaBalancing]
        {
            let why = machine.here(empty.path()).unwrap_err();
            assert!(why.en.starts_with("this machine lacks ") && why.zh.starts_with("本机没有"), "{why:?}");
        }
        let root = root_with(&[(Setting::IdleGovernor.path(), "menu\n")]);
        let offered = root.path().join("sys/devices/system/cpu/cpuidle/available_governors");
        fs::write(offered, "ladder menu\n").unwrap();
        let why = MachineSetting::IdleGovernor.here(root.path()).unwrap_err();
        assert!(why.en.contains("does not offer haltpoll"), "{why:?}");
    }

    #[test]
    fn errors_of_the_system_say_what_to_do() {
        let of = |kind: io::ErrorKind| lack(Setting::Boost, &kind.into()).en;
        assert!(of(io::ErrorKind::PermissionDenied).ends_with("become root, as by sudo"));
        assert!(of(io::ErrorKind::ReadOnlyFilesystem).ends_with("try it on the host"));
        assert!(of(io::ErrorKind::Other).contains("cannot be changed"));
        // Root is refused nothing by a mode.
        let root = root_with(&[(Setting::NumaBalancing.path(), "0\n")]);
        let file = root.path().join("proc/sys/kernel/numa_balancing");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        if let Err(why) = MachineSetting::NumaBalancing.here(root.path()) {
            assert!(why.en.ends_with("become root, as by sudo"), "{why:?}");
        }
    }
}
