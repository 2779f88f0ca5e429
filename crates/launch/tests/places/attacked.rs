//! Another user of a machine to which a program is copied, who wants his own bytes to be executed in its place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hostmark_launch::supervise::Ending;
use hostmark_launch::transport::Transport;

use super::spot::Spot;
use super::{says, terms};
use crate::skip::skipped;

/// Set where this test's program is the attacker: the directory that it watches.
const ATTACKS: &str = "HOSTMARK_TEST_ATTACKS";
const NOBODY: u32 = 65534;
/// Programs that are copied beside each attacker.
const COPIED: usize = 20;
const OURS: &str = "hostmark-";

/// Whoever finds a name of ours in the directory puts a program of his own there: in the place of the file, or where that is not
/// allowed, of the whole directory. Ends with who started it.
fn attack(base: &Path) -> ! {
    let (work, parent) = (base.with_extension("work"), rustix::process::getppid());
    // What the victim writes at its begin leaves the rest.
    let text = format!("{}id -u >> {}\nexec sleep 9\n", "\n".repeat(64), base.with_extension("ran").display());
    // All but its name is made before.
    let made = |turn: usize| {
        let own = work.join(format!("own-{turn}"));
        fs::create_dir(&own).unwrap();
        fs::write(own.join("ready"), &text).unwrap();
        for path in [&own, &own.join("ready")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        own
    };
    let (mut own, mut taken) = (made(0), Vec::new());
    while rustix::process::getppid() == parent {
        let names = fs::read_dir(base).into_iter().flatten().flatten().map(|entry| entry.file_name());
        for name in names.filter(|name| name.to_string_lossy().starts_with(OURS)) {
            if taken.contains(&name) {
                continue;
            }
            let is_file_taken = fs::rename(own.join("ready"), base.join(&name)).is_ok();
            if !is_file_taken && fs::rename(own.join("ready"), own.join(&name)).is_ok() {
                let _ = fs::rename(base, base.with_extension(taken.len().to_string()));
                let _ = fs::rename(&own, base);
            }
            taken.push(name);
            own = made(taken.len());
        }
    }
    std::process::exit(0);
}

struct Attacker(Child);

impl Attacker {
    /// Watches a directory, in which there is a file that it is to take first.
    fn of(base: &Path) -> Attacker {
        let name = "attacked::who_may_rename_there_has_nothing_of_his_own_executed";
        let mut command = Command::new("/proc/self/exe");
        command.args([name, "--exact"]).env(ATTACKS, base).uid(NOBODY).gid(NOBODY);
        Attacker(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn made(path: PathBuf, mode: u32, owner: Option<u32>) -> PathBuf {
    fs::create_dir(&path).unwrap();
    chown(&path, owner, owner).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn who_may_rename_there_has_nothing_of_his_own_executed() {
    if let Some(base) = std::env::var_os(ATTACKS) {
        attack(base.as_ref());
    }
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can take the part of another user");
    }
    let all = tempfile::tempdir().unwrap();
    fs::set_permissions(all.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Whose they are and who writes to them: the directory itself, and the one above it.
    let (open, closed, theirs) = ((0o777, None), (0o755, None), (0o755, Some(NOBODY)));
    for (index, (base, above)) in
        [(open, closed), (theirs, closed), (closed, open), (closed, theirs), ((0o775, None), theirs)].iter().enumerate()
    {
        let above = made(all.path().join(index.to_string()), above.0, above.1);
        let base = made(above.join("base"), base.0, base.1);
        made(above.join("base.work"), 0o777, None);
        let mut spot = Spot::here();
        spot.place = Transport::Command(vec!["env".into(), format!("TMPDIR={}", base.display()).into()]);
        let bait = base.join(format!("{OURS}bait"));
        fs::write(&bait, "").unwrap();
        let attacker = Attacker::of(&base);
        let is_taken = || fs::read(&bait).is_ok_and(|bytes| !bytes.is_empty());
        let is_reached = (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_taken()
        });
        if !is_reached {
            return skipped("another user does not come to the directory for temporary files");
        }
        let ran = base.with_extension("ran");
        for turn in 0..COPIED {
            let started = spot.start_file(&spot.program("echo ours"), &[], terms(Ending::Killed));
            assert!(!ran.exists(), "{index} {turn}: the attacker's program was executed");
            says(&mut started.unwrap_or_else(|error| panic!("{error}")).process, "ours");
        }
        drop(attacker);
    }
}
