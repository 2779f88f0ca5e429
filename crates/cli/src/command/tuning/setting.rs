//! Settings of the whole machine: which files they are here, and what each side has in them.

use std::fs;
use std::io;
use std::path::Path;

use hostmark_analysis::words;
use hostmark_engine::sys::setting::Setting;
use hostmark_model::Text;
use hostmark_say::say;

/// A setting of the whole machine, whichever files it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineSetting {
    /// Huge pages for memory that did not ask for them.
    TransparentHugePages,
    /// What chooses frequencies.
    Governor,
    /// Which idle states there are.
    IdleStates,
    /// What chooses idle states.
    IdleGovernor,
    /// Frequencies above the nominal one.
    Turbo,
    /// Pages and threads are moved between memory nodes.
    NumaBalancing,
    /// Receive buffers of sockets.
    ReceiveBuffer,
}

/// A setting here, and what it is to be: without, and with.
pub type Turnable = (Setting, [String; 2]);

impl MachineSetting {
    /// What it comes to on this machine, or why it cannot be tried.
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

    /// Its files here, and whether they say the opposite.
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

    /// What it may be on either side: the first that the kernel offers.
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

    /// That this machine does not have it.
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

/// Idle states of a CPU at most.
const MOST_STATES: usize = 16;

/// The CPUs that the kernel lists.
fn cpus(root: &Path) -> impl Iterator<Item = usize> {
    let entries = fs::read_dir(root.join("sys/devices/system/cpu"));
    let names = entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<usize> = names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    ids.sort_unstable();
    ids.into_iter()
}

/// Why a file cannot be written or read.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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
