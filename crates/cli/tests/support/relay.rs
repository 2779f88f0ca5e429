//! A far end on this machine, and the link to it: a command that stands for ssh, and a relay of the test that stands for sshd,
//! which pauses, cuts or harms what it carries.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::prelude::*;

/// Two pipes with names in the place of a network.
const SSH: &str = "exec 3<&0\ncat <&3 >\"$0.up\" 3<&- &\nexec cat \"$0.down\" 3<&-\n";
/// The time between two looks at what the test wants.
const TURN: Duration = Duration::from_millis(10);

/// Where the link ends, and how it is reached.
pub struct Link {
    spot: TempDir,
    /// The home of what is there.
    pub far: Home,
}

/// What carries one connection.
pub struct Relay(Arc<Shared>);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    Open,
    /// Nothing goes through, and neither end is told.
    Held,
    /// So many bytes a second from there to here.
    Slow(usize),
    /// Both ends are told that the other is gone.
    Closed,
}

/// What becomes of the byte behind so many of what is said there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Harm {
    Changed(usize),
    /// It and all that follow are lost, and the link ends.
    Last(usize),
}

struct Shared {
    gate: Mutex<Gate>,
    harm: Mutex<Option<Harm>>,
    /// What was said there and has been passed on.
    said: Mutex<Vec<u8>>,
    program: Mutex<Option<Child>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub fn to(far: Home) -> Link {
        let spot = tempfile::tempdir().unwrap();
        fs::write(spot.path().join("ssh"), SSH).unwrap();
        for end in ["ssh.up", "ssh.down"] {
            mkfifoat(CWD, spot.path().join(end), Mode::RUSR | Mode::WUSR).unwrap();
        }
        Link { spot, far }
    }

    /// What `--on` is given.
    pub fn command(&self) -> String {
        format!("sh {}", self.path("ssh").display())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.spot.path().join(name)
    }

    /// Carries the next connection.
    pub fn carries(&self, harm: Option<Harm>) -> Relay {
        let shared = Arc::new(Shared {
            gate: Mutex::new(Gate::Open),
            harm: Mutex::new(harm),
            said: Mutex::default(),
            program: Mutex::default(),
        });
        let (up, down, there) = (self.path("ssh.up"), self.path("ssh.down"), Arc::clone(&shared));
        let mut shell = self.far.start("sh");
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        std::thread::spawn(move || {
            // Each waits for the other end.
            let up = File::open(&up).unwrap();
            let down = OpenOptions::new().write(true).open(&down).unwrap();
            let mut program = shell.spawn().unwrap();
            let (input, output) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
            *locked(&there.program) = Some(program);
            let of_up = Arc::clone(&there);
            std::thread::spawn(move || carry(up.into(), OwnedFd::from(input).into(), &of_up, false));
            carry(OwnedFd::from(output), down, &there, true);
            // What has ended there has ended here.
            *locked(&there.gate) = Gate::Closed;
        });
        Relay(shared)
    }
}

fn carry(from: OwnedFd, mut to: File, shared: &Shared, is_down: bool) {
    let mut from = File::from(from);
    loop {
        let most = match *locked(&shared.gate) {
            Gate::Closed => return,
            Gate::Held => 0,
            Gate::Slow(a_second) if is_down => (a_second / 100).max(1),
            _ => 1 << 16,
        };
        let turn = Timespec::try_from(TURN).unwrap();
        if most == 0 || most < 1 << 16 {
            std::thread::sleep(TURN);
        }
        let is_ready =
            || poll(&mut [PollFd::new(&from.as_fd(), PollFlags::IN)], Some(&turn)).is_ok_and(|ready| ready > 0);
        if most == 0 || !is_ready() {
            continue;
        }
        let mut part = vec![0; most];
        let Ok(length @ 1..) = from.read(&mut part) else { return };
        let mut part = &mut part[..length];
        let mut is_last = false;
        if is_down {
            let mut said = locked(&shared.said);
            match *locked(&shared.harm) {
                Some(Harm::Changed(at)) if (said.len()..said.len() + length).contains(&at) => {
                    part[at - said.len()] ^= 0x15
                }
                Some(Harm::Last(at)) if at < said.len() + length => {
                    part = &mut part[..at - said.len()];
                    is_last = true;
                }
                _ => {}
            }
            said.extend_from_slice(part);
        }
        if to.write_all(part).is_err() || is_last {
            return;
        }
    }
}

impl Relay {
    pub fn set(&self, gate: Gate) {
        *locked(&self.0.gate) = gate;
    }

    /// From now on, of the bytes that are said.
    pub fn harm(&self, harm: impl FnOnce(usize) -> Harm) {
        let said = locked(&self.0.said).len();
        *locked(&self.0.harm) = Some(harm(said));
    }

    pub fn kill(&self) {
        if let Some(program) = &mut *locked(&self.0.program) {
            program.kill().unwrap();
        }
    }

    /// The whole lines that it has said unharmed and that begin so.
    pub fn lines(&self, start: &str) -> usize {
        let said = locked(&self.0.said);
        let unharmed = match *locked(&self.0.harm) {
            Some(Harm::Changed(at) | Harm::Last(at)) => at.min(said.len()),
            None => said.len(),
        };
        let said = &said[..unharmed];
        let whole = said.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        said[..whole].split(|&byte| byte == b'\n').filter(|line| line.starts_with(start.as_bytes())).count()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.set(Gate::Closed);
        if let Some(program) = &mut *locked(&self.0.program) {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// What lies in a directory.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}
