//! Record locks of one file as a way to take turns.

use std::io;
use std::path::Path;

use rustix::fd::{AsRawFd, OwnedFd};

use crate::workloads::call::Call;
use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use crate::workloads::handover::sysv::until_done;

/// Bytes of the file that are locked: one more than processes.
const BYTES: i64 = 3;

/// A place among the file's bytes, the lock of which is held.
#[derive(Debug)]
struct LockedByte {
    file: OwnedFd,
    byte: i64,
}

impl LockedByte {
    /// Opens `path` and locks its byte number `byte`.
    fn take(path: &Path, byte: i64) -> io::Result<LockedByte> {
        let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.call("openat")?.into();
        lock(&file, byte)?;
        Ok(LockedByte { file, byte })
    }

    /// Goes on to the next byte, waiting until it is free, and frees this one.
    #[inline(always)]
    fn advance(&mut self) -> io::Result<()> {
        let next = (self.byte + 1) % BYTES;
        lock(&self.file, next)?;
        unlock(&self.file, self.byte)?;
        self.byte = next;
        Ok(())
    }
}

#[inline(always)]
fn lock(file: &OwnedFd, byte: i64) -> io::Result<()> {
    set(file, libc::F_SETLKW, libc::F_WRLCK, byte)
}

#[inline(always)]
fn unlock(file: &OwnedFd, byte: i64) -> io::Result<()> {
    set(file, libc::F_SETLK, libc::F_UNLCK, byte)
}

#[inline(always)]
fn set(file: &OwnedFd, command: i32, kind: i32, byte: i64) -> io::Result<()> {
    let lock = libc::flock { l_type: kind as i16, l_whence: libc::SEEK_SET as i16, l_start: byte, l_len: 1, l_pid: 0 };
    let arguments = [file.as_raw_fd() as usize, command as usize, &raw const lock as usize, 0, 0, 0];
    // SAFETY: a lock, which these commands only read.
    unsafe { until_done("fcntl", libc::SYS_fcntl, arguments) }.map(drop)
}

/// Turns by the locks of three bytes of a file in `directory`. Each process holds one byte and goes on to the next, which
/// it must wait for while the other is there; with one byte free, each step of one allows one step of the other, so that
/// none can go twice. A turn of each is two hand-overs.
pub fn by_file_locks(cpus: &[usize], directory: &Path) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let path = directory.join("locked");
    let mut near = LockedByte::take(&path, 0)?;
    let exchange = Exchange::start(
        cpus,
        move || near.advance(),
        move || {
            // Locks belong to a process: the child takes its own, and this one does not begin before it has it.
            let mut far = LockedByte::take(&path, 1)?;
            Ok(move || far.advance())
        },
    )?;
    // The free byte lies before the other: it has the first turn, and this process waits for that.
    Ok(exchange.ahead_by(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::handover::exchange::tests::{check, end};
    use crate::workloads::process::in_a_child;

    #[test]
    fn processes_go_round_the_locks() {
        let directory = tempfile::tempdir().unwrap();
        check(|cpus| by_file_locks(cpus, directory.path()));
    }

    #[test]
    #[ignore = "takes long"]
    fn turns_without_the_other_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        in_a_child(|| {
            let mut exchange = by_file_locks(&affinity::allowed()?, directory.path())?;
            exchange.there_and_back()?;
            end(&exchange)?;
            // With its locks gone nothing stops this process.
            (0..100).try_for_each(|_| exchange.there_and_back())?;
            assert!(exchange.check().unwrap_err().to_string().contains("not every one happened"));
            Ok(())
        });
    }
}
