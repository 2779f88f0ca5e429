//! Settings of the kernel's that this program changes for a while and puts back: a fixed list, each in a file of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hostmark_say::say;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::call::Call;

/// Bytes of a file that are read: each holds a word, or a line of words to choose from.
const MOST_BYTES: u64 = 4096;
const LONGEST_WORD: usize = 64;

/// Setting of the kernel. No other is ever written to, whatever a person types or a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// Huge pages for memory that did not ask for them.
    TransparentHugePages,
    /// Governor of this CPU's frequency.
    FrequencyGovernor(usize),
    /// Switch that forbids this idle state of this CPU.
    IdleStateDisabled {
        cpu: usize,
        /// The state, of which 0 is the lightest.
        state: usize,
    },
    IdleGovernor,
    /// Switch that forbids frequencies above the nominal one, of the driver intel_pstate.
    NoTurbo,
    /// Switch that allows frequencies above the nominal one, of other drivers.
    Boost,
    /// Switch for the kernel's moving of pages and threads between memory nodes.
    NumaBalancing,
    /// Bytes of a socket's receive buffer where its program asks for none.
    ReceiveBuffer,
}

impl Setting {
    pub fn path(self) -> String {
        const CPUS: &str = "/sys/devices/system/cpu";
        match self {
            Setting::TransparentHugePages => "/sys/kernel/mm/transparent_hugepage/enabled".into(),
            Setting::FrequencyGovernor(cpu) => format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor"),
            Setting::IdleStateDisabled { cpu, state } => format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/disable"),
            Setting::IdleGovernor => format!("{CPUS}/cpuidle/current_governor"),
            Setting::NoTurbo => format!("{CPUS}/intel_pstate/no_turbo"),
            Setting::Boost => format!("{CPUS}/cpufreq/boost"),
            Setting::NumaBalancing => "/proc/sys/kernel/numa_balancing".into(),
            Setting::ReceiveBuffer => "/proc/sys/net/core/rmem_default".into(),
        }
    }

    /// The file that names what it may be, where that is another one.
    fn choices(self) -> Option<String> {
        const CPUS: &str = "/sys/devices/system/cpu";
        match self {
            Setting::FrequencyGovernor(cpu) => Some(format!("{CPUS}/cpu{cpu}/cpufreq/scaling_available_governors")),
            Setting::IdleGovernor => Some(format!("{CPUS}/cpuidle/available_governors")),
            _ => None,
        }
    }

    /// Reads its value, below `root`, which is `/` but in tests.
    pub fn read(self, root: &Path) -> io::Result<String> {
        let text = text_of(&below(root, &self.path()))?;
        let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        let word = chosen.unwrap_or(text.trim());
        match is_word(word) {
            true => Ok(word.to_owned()),
            false => Err(io::Error::other(say!("it holds no single word"))),
        }
    }

    /// Returns its possible values, where the kernel lists them.
    pub fn offered(self, root: &Path) -> Option<Vec<String>> {
        let text = text_of(&below(root, &self.choices().unwrap_or_else(|| self.path()))).ok()?;
        let is_list = self.choices().is_some() || text.contains('[');
        let words = text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned());
        is_list.then(|| words.collect())
    }

    /// Checks that this process may change it: asked of the file itself, which a mount or a security module may protect.
    pub fn is_writable(self, root: &Path) -> io::Result<()> {
        OpenOptions::new().write(true).open(below(root, &self.path())).map(drop)
    }

    fn write(self, root: &Path, word: &str) -> io::Result<()> {
        // Never made, and emptied first as a shell does it: the file may be a plain one that somebody has put in its place.
        let mut file = OpenOptions::new().write(true).truncate(true).open(below(root, &self.path()))?;
        file.write_all(format!("{word}\n").as_bytes()).call("write")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    pub setting: Setting,
    pub before: String,
    pub during: String,
}

/// Result of putting a setting back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutBack {
    /// Setting that has its old value.
    Done,
    /// Setting that somebody else has changed to this meanwhile; it is left so.
    ChangedByOthers(String),
}

impl SettingChange {
    /// Makes it: the setting is what it is to be, or an error, with which it is what it was.
    pub fn make(&self, root: &Path) -> io::Result<()> {
        let made = self.setting.write(root, &self.during).and_then(|()| self.setting.read(root));
        match made {
            Ok(now) if now == self.during => Ok(()),
            Ok(now) => {
                self.setting.write(root, &self.before)?;
                Err(io::Error::other(say!("the kernel made '{now}' of '{during}'", during = self.during)))
            }
            Err(error) => Err(error),
        }
    }

    /// Puts it back, where it is still what this change made of it.
    pub fn put_back(&self, root: &Path) -> io::Result<PutBack> {
        if !is_word(&self.before) {
            return Err(io::Error::other(say!("it was no single word")));
        }
        match self.setting.read(root)? {
            now if now == self.before => Ok(PutBack::Done),
            now if now == self.during => self.setting.write(root, &self.before).map(|()| PutBack::Done),
            now => Ok(PutBack::ChangedByOthers(now)),
        }
    }
}

/// Keeps other processes of this program from changing a setting, until it is dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock ends with the file")] File);

impl Lock {
    /// Locks the setting; `None` where another one holds it.
    pub fn of(setting: Setting, root: &Path) -> io::Result<Option<Lock>> {
        let file = File::open(below(root, &setting.path())).call("open")?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error).call("flock"),
        }
    }
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path).call("open")?.take(MOST_BYTES).read_to_string(&mut text).call("read")?;
    Ok(text)
}

/// Tells whether it is a value that such a file holds: a word or a number.
fn is_word(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte);
    !word.is_empty() && word.len() <= LONGEST_WORD && word.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn root_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = below(root.path(), path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn buffer(before: &str, during: &str) -> SettingChange {
        SettingChange { setting: Setting::ReceiveBuffer, before: before.into(), during: during.into() }
    }

    #[test]
    fn what_is_chosen_stands_in_brackets_or_alone() {
        let governors = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_available_governors";
        let root = root_with(&[
            (&Setting::TransparentHugePages.path(), "always [madvise] never\n"),
            (&Setting::FrequencyGovernor(3).path(), "powersave\n"),
            (governors, "performance powersave\n"),
            (&Setting::ReceiveBuffer.path(), "212992\n"),
            (&Setting::NumaBalancing.path(), "0 1\n"),
            (&Setting::IdleGovernor.path(), "\n"),
        ]);
        let root = root.path();
        assert_eq!(Setting::TransparentHugePages.read(root).unwrap(), "madvise");
        assert_eq!(Setting::TransparentHugePages.offered(root).unwrap(), ["always", "madvise", "never"]);
        assert_eq!(Setting::FrequencyGovernor(3).read(root).unwrap(), "powersave");
        assert_eq!(Setting::FrequencyGovernor(3).offered(root).unwrap(), ["performance", "powersave"]);
        assert_eq!(Setting::ReceiveBuffer.read(root).unwrap(), "212992");
        assert_eq!(Setting::ReceiveBuffer.offered(root), None);
        for setting in [Setting::NumaBalancing, Setting::IdleGovernor, Setting::Boost] {
            assert!(setting.read(root).is_err(), "{setting:?}");
        }
    }

    #[test]
    fn a_change_is_made_and_put_back_whatever_the_lengths() {
        let root = root_with(&[(&Setting::ReceiveBuffer.path(), "212992\n")]);
        let change = buffer("212992", "8388608");
        change.make(root.path()).unwrap();
        assert_eq!(Setting::ReceiveBuffer.read(root.path()).unwrap(), "8388608");
        assert_eq!(change.put_back(root.path()).unwrap(), PutBack::Done);
        assert_eq!(fs::read_to_string(below(root.path(), &Setting::ReceiveBuffer.path())).unwrap(), "212992\n");
        assert_eq!(change.put_back(root.path()).unwrap(), PutBack::Done, "once more changes nothing");
    }

    #[test]
    fn what_somebody_else_has_changed_meanwhile_stays() {
        let root = root_with(&[(&Setting::ReceiveBuffer.path(), "1000\n")]);
        let left = buffer("212992", "8388608").put_back(root.path()).unwrap();
        assert_eq!(left, PutBack::ChangedByOthers("1000".into()));
        assert_eq!(Setting::ReceiveBuffer.read(root.path()).unwrap(), "1000");
    }

    #[test]
    fn what_is_not_there_is_not_made() {
        let root = root_with(&[]);
        assert!(buffer("1", "2").make(root.path()).is_err());
        assert!(buffer("1", "2").put_back(root.path()).is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_at_a_time_holds_a_setting() {
        let root = root_with(&[(&Setting::Boost.path(), "1\n")]);
        let first = Lock::of(Setting::Boost, root.path()).unwrap();
        assert!(first.is_some());
        assert!(Lock::of(Setting::Boost, root.path()).unwrap().is_none());
        drop(first);
        assert!(Lock::of(Setting::Boost, root.path()).unwrap().is_some());
    }
}
