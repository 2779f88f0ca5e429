//! Environment that a probe may use: axes, CPUs, binding, memory, directories, time, and the caches that the host reports.

use std::ffi::CString;
use std::path::PathBuf;
use std::str::FromStr;

use hostmark_model::{FarEnd, HostFacts, Inputs, Message, Params, Reason, ReasonCode, Scratch};
use hostmark_say::say;
use rustix::fd::{AsFd, OwnedFd};

use super::{Case, Cpu};
use crate::case::allotment::{Allotment, Buffer, Filling};
use crate::clock::{Clock, Ticks};
use crate::round_error::{OrSkipped, Result, RoundError, huge_pages_forbidden};
use crate::sampling::threads;
use crate::sys::memory::{self, Node, Pages};
use crate::sys::regular::filesystem_of;
use crate::sys::scratch::{Folder, open, remove_folder};

impl Case {
    pub fn param<T: FromStr>(&self, axis: &str) -> Result<T> {
        let value = self.id.params.get(axis).ok_or_else(|| RoundError::internal(say!("there is no axis '{axis}'")))?;
        value.parse().map_err(|_| RoundError::internal(say!("'{value}' is no value of the axis '{axis}'")))
    }

    /// The CPUs of this case; the first is the one that the round already runs on.
    pub fn cpus<const N: usize>(&self) -> Result<[Cpu; N]> {
        let cpus: Vec<Cpu> = self.job.cpus.iter().take(N).map(|&id| Cpu(id)).collect();
        cpus.try_into().map_err(|_| RoundError::skipped(ReasonCode::TooFewCpus, say!("needs {N} CPUs")))
    }

    /// The CPUs of this case's threads, as many as these. One unbound thread may use all of the case's, and has the first here.
    pub fn thread_cpus(&self) -> Vec<Cpu> {
        let is_unbound = Bind::of_case(&self.id.params) == Some(Bind::Free);
        let threads = if is_unbound { 1 } else { self.job.cpus.len() };
        self.job.cpus.iter().take(threads).map(|&id| Cpu(id)).collect()
    }

    /// The other halves of what is measured: as many as the case has copies, or threads that each need one.
    pub fn far_ends(&self) -> &[FarEnd] {
        &self.own.far
    }

    /// The first of them, or the only one.
    pub fn far_end(&self) -> Result<&FarEnd> {
        self.own.far.first().ok_or_else(|| RoundError::internal(say!("no far end was started")))
    }

    /// A CPU for a kernel thread that works for this case: the nearest one that the case does not use, if the run has one.
    pub fn other_cpu(&self) -> Option<Cpu> {
        self.job.other_cpu.map(Cpu)
    }

    /// Inputs that the person gave the run; all that the probe needs of them is there.
    pub fn inputs(&self) -> &Inputs {
        &self.job.environment.inputs
    }

    /// Binds the calling thread to one CPU.
    pub fn pin(&mut self, cpu: Cpu) -> Result<()> {
        threads::bind(cpu)
    }

    /// Checks that so much memory may be filled now; Skipped where it is over half of what machine, groups and run can spare.
    pub fn may_fill(&self, bytes: u64) -> Result<()> {
        self.memory.ask(bytes, None)
    }

    /// The same for a file, or memory that the probe fills by itself: it tells [`Filling`] how far it is.
    pub fn filling(&self, bytes: u64) -> Result<Filling> {
        self.memory.ask(bytes, None)?;
        Ok(self.memory.filling(bytes))
    }

    /// Checks room for `count` mapped buffers of `bytes` each: whole pages of their kind, and the node's free memory where bound.
    pub fn allot(&self, count: u64, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Allotment> {
        // The only node needs no binding, and what was filled without is there already.
        let node = node.filter(|_| self.job.nodes != 1);
        self.memory.allot(count, bytes, pages, node)
    }

    /// Checks that this process may have huge pages; Skipped where it may not, unless a trial forbids them: then they are what is measured.
    pub fn may_have_huge_pages(&self) -> Result<()> {
        let are_forbidden = self.inputs().tried.is_none() && crate::sys::process::huge_pages_forbidden();
        if are_forbidden { Err(RoundError::skipped(ReasonCode::HugePages, huge_pages_forbidden())) } else { Ok(()) }
    }

    /// Memory, touched by this thread and filled with varying non-zero data. The pages really obtained are noted.
    pub fn buffer(&mut self, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
        let buffer = self.allot(1, bytes, pages, node)?.map()?;
        Ok(self.noted(buffer, node))
    }

    /// The same for who writes all of it, or to whom it is the same what it holds: it is touched by this thread.
    pub fn touched(&mut self, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
        let buffer = self.allot(1, bytes, pages, node)?.touch()?;
        Ok(self.noted(buffer, node))
    }

    /// The same, of which so many first bytes are filled and the rest holds anything.
    pub fn filled_first(&mut self, filled: usize, bytes: u64, pages: Pages) -> Result<Buffer> {
        let buffer = self.allot(1, bytes, pages, None)?.map_first(filled)?;
        Ok(self.noted(buffer, None))
    }

    fn noted(&mut self, buffer: Buffer, node: Option<Node>) -> Buffer {
        if node.is_some() {
            self.note("node", memory::shares(&buffer.nodes()));
        }
        self.note("pages", buffer.obtained());
        buffer
    }

    /// Time when the round's samples have to end, for probes that observe.
    pub fn deadline(&self) -> Ticks {
        Ticks(self.begun.0 + self.clock.ticks(self.job.budget_ns as f64).0)
    }

    /// Clock that times the samples.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// The round's time for samples, ns.
    pub fn grant_ns(&self) -> f64 {
        self.job.budget_ns as f64
    }

    /// Size of the first-level data cache in bytes, 0 when the host does not tell.
    pub fn l1d_bytes(&self) -> u64 {
        self.job.l1d_bytes
    }

    /// Size of the last-level cache in bytes, 0 when the host does not tell.
    pub fn llc_bytes(&self) -> u64 {
        self.job.llc_bytes
    }

    /// Sizes of all the different last-level caches of the case's CPUs together in bytes, 0 when the host does not tell.
    pub fn llc_sum_bytes(&self) -> u64 {
        self.job.llc_sum_bytes
    }

    /// Memory that this case may fill, bytes.
    pub fn fillable_bytes(&self) -> u64 {
        self.job.memory_bytes
    }

    /// A cache line in bytes, as the host tells it, else 64.
    pub fn line_bytes(&self) -> u64 {
        self.job.line_bytes
    }

    /// Nanoseconds a tick of the CPU's counter; Skipped where the run's clock is another one.
    pub fn counter_ns_per_tick(&self) -> Result<f64> {
        match self.clock {
            Clock::Counter { ns_per_tick } => Ok(ns_per_tick),
            _ => Err(RoundError::skipped(
                ReasonCode::Hardware,
                say!("the counter's rate is not known here, so that its ticks are no time"),
            )),
        }
    }

    /// Seed of everything random in this round.
    pub fn seed(&self) -> u64 {
        self.own.seed
    }

    /// Records how it was measured: what was obtained, which kernel was chosen.
    pub fn note(&mut self, key: &str, value: impl ToString) {
        self.yielded.notes.push((key.to_owned(), value.to_string()));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectoryKind {
    /// Directory given by `--scratch`.
    Named,
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
                return Err(RoundError::internal(say!("a round has one directory, and the probe asks for two")));
            }
            None => {
                let folder =
                    Folder::enter(run, &self.job.folder).or_lacking(|| say!("the round's directory cannot be made"))?;
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
        Scratch::Made { path, device, inode } => {
            open(path, *device, *inode).or_lacking(|| say!("the run's scratch directory cannot be used"))
        }
        Scratch::Missing(reason) => Err(RoundError::Skipped(reason.clone())),
    }
}

/// The axis' name in a case id.
pub(crate) const BIND: &str = "bind";
/// Bound to the CPU of the plan, as the cases of all probes without this axis.
pub(crate) const CPU: &str = "cpu";
pub(crate) const NONE: &str = "none";
/// Bound to the last usable CPU.
pub(crate) const LAST: &str = "last";

/// Binding of a case's thread to a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bind {
    Planned,
    /// Nowhere: the scheduler decides.
    Free,
    /// Usable CPU with the greatest id.
    Last,
    Cpu(usize),
}

impl Bind {
    /// Returns the binding of a case whose probe has the axis.
    pub(crate) fn of_case(params: &Params) -> Option<Bind> {
        params.get(BIND).and_then(Bind::of)
    }

    /// A value of the axis; none where it is no such.
    pub(crate) fn of(value: &str) -> Option<Bind> {
        match value {
            CPU => Some(Bind::Planned),
            NONE => Some(Bind::Free),
            LAST => Some(Bind::Last),
            number => {
                let id: usize = number.parse().ok()?;
                (id.to_string() == number).then_some(Bind::Cpu(id))
            }
        }
    }

    /// The CPUs that the thread may use, its own first; or why there are none such. `planned`: the CPU of the plan.
    pub(crate) fn cpus(self, host: &HostFacts, planned: usize) -> Result<Vec<usize>, Reason> {
        let usable = host.usable_cpus();
        match self {
            Bind::Planned => Ok(vec![planned]),
            Bind::Free => Ok(usable),
            Bind::Last => Ok(usable.last().map_or(vec![planned], |&last| vec![last])),
            Bind::Cpu(id) if usable.contains(&id) => Ok(vec![id]),
            Bind::Cpu(id) => Err(unusable(id)),
        }
    }
}

/// Reason to skip a case on this CPU.
pub(crate) fn unusable(cpu: usize) -> Reason {
    ReasonCode::CpuUnavailable.because(say!("CPU {cpu} cannot be used here"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::host_with;

    #[test]
    fn a_value_names_cpus_or_reports_why_there_are_none() {
        let host = host_with(&[1, 2, 3]);
        let cpus = |value: &str| Bind::of(value).unwrap().cpus(&host, 2);
        assert_eq!(cpus("cpu"), Ok(vec![2]));
        assert_eq!(cpus("none"), Ok(vec![1, 2, 3]));
        assert_eq!(cpus("last"), Ok(vec![3]));
        assert_eq!(cpus("1"), Ok(vec![1]));
        assert_eq!(cpus("0"), Err(unusable(0)));
        for value in ["", "all", "-1", "01", "+1", "1-2"] {
            assert_eq!(Bind::of(value), None, "{value}");
        }
    }
}
