//! Where a round's files lie: a directory of its own, which is its working directory, on a disk or in memory.

use std::ffi::CString;
use std::path::PathBuf;

use hostmark_model::{Message, ReasonCode, Scratch};
use hostmark_say::say;
use rustix::fd::{AsFd, OwnedFd};

use super::Case;
use crate::round_error::{Result, RoundError};
use crate::sys::regular::filesystem_of;
use crate::sys::scratch::{Folder, open, remove_folder};

/// Which of the run's directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectoryKind {
    /// Where `--scratch` says.
    Named,
    /// In memory.
    Memory,
}

impl Case {
    /// A directory of this round's own, as a path; it is removed after the round, however that ends. The path is a relative
    /// one: the directory is the calling thread's working directory from now on, and that of the threads and processes that
    /// it starts, so that no change of the names above it leads anywhere else. A round has one such directory.
    pub fn scratch_dir(&mut self) -> Result<PathBuf> {
        let run = run_directory(&self.job.environment.scratch)?;
        self.enter(DirectoryKind::Named, run)
    }

    /// The same in memory: on a tmpfs. Skipped where there is none.
    pub fn memory_dir(&mut self) -> Result<PathBuf> {
        const TMPFS: &str = "tmpfs";
        let mut reasons = Vec::new();
        for scratch in [self.job.environment.memory_scratch.clone(), self.job.environment.scratch.clone()] {
            match run_directory(&scratch) {
                Ok(run) => match filesystem_of(&run) {
                    Ok(name) if name == TMPFS => return self.enter(DirectoryKind::Memory, run),
                    Ok(_) => reasons.push(say!("the scratch directory lies on a device")),
                    Err(error) => reasons.push(say!("the scratch directory does not say where it lies: {error}")),
                },
                Err(error) => reasons.push(Message::from(&error)),
            }
        }
        Err(RoundError::skipped(
            ReasonCode::Filesystem,
            say!("there is no tmpfs to write to: {reasons}", reasons = Message::joined(reasons, say!("; "))),
        ))
    }

    /// The working directory that this thread had before it entered its own; for a command that a person named.
    pub fn home_dir(&self) -> Option<&OwnedFd> {
        self.folder.as_ref().map(|(_, folder)| folder.before())
    }

    fn enter(&mut self, kind: DirectoryKind, run: OwnedFd) -> Result<PathBuf> {
        match &self.folder {
            Some((entered, _)) if *entered == kind => {}
            Some(_) => {
                return Err(RoundError::failed(
                    ReasonCode::Internal,
                    say!("a round has one directory, and the probe asks for two"),
                ));
            }
            None => {
                let folder = Folder::enter(run, &self.job.folder)
                    .map_err(|error| RoundError::lacking(say!("the round's directory cannot be made"), &error))?;
                self.folder = Some((kind, folder));
            }
        }
        Ok(PathBuf::from("."))
    }

    /// Removes these directories of the run's, where they are.
    pub(super) fn remove_folders(&self, folders: &[String]) {
        if folders.is_empty() {
            return;
        }
        for run in
            [&self.job.environment.scratch, &self.job.environment.memory_scratch].into_iter().flat_map(run_directory)
        {
            for folder in folders.iter().flat_map(|folder| CString::new(folder.as_str())) {
                // What is left is removed when the run ends.
                let _ = remove_folder(run.as_fd(), &folder);
            }
        }
    }
}

/// Opens one of the run's directories; Skipped where there is none.
fn run_directory(scratch: &Scratch) -> Result<OwnedFd> {
    match scratch {
        Scratch::Made { path, device, inode } => open(path, *device, *inode)
            .map_err(|error| RoundError::lacking(say!("the run's scratch directory cannot be used"), &error)),
        Scratch::Missing(reason) => Err(RoundError::Skipped(reason.clone())),
    }
}
