//! What holds native runs to the size of the guest: its number of CPUs, and its memory.

use std::ffi::OsString;

use hostmark_engine::plan::cpu_list;
use hostmark_engine::sys::control_group::{ControlGroup, GroupLimit};
use hostmark_model::{HostFacts, counted, size_text};

use crate::command::processes::control_group;
use crate::command::processes::janitor::Janitor;

/// How large a guest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// Its CPUs.
    pub cpus: usize,
    /// The host's CPUs that they are pinned to; empty where they are not.
    pub pinned: Vec<usize>,
    /// Bytes of its memory.
    pub memory: u64,
}

impl Size {
    /// Of a machine that measures.
    pub fn of(host: &HostFacts) -> Size {
        Size { cpus: host.usable_cpus().len(), pinned: Vec::new(), memory: memory_of(host) }
    }
}

/// What a run may use of a machine's memory.
fn memory_of(host: &HostFacts) -> u64 {
    host.limits.memory_limit_bytes.map_or(host.memory.total_bytes, |limit| limit.min(host.memory.total_bytes))
}

/// What native runs are held to.
pub struct ResourceCap {
    /// The CPUs, as a list; none where this machine has no more than the guest.
    pub cpus: Option<String>,
    group: Option<ControlGroup>,
    /// What could not be held, each in a sentence.
    pub lacks: Vec<String>,
}

impl ResourceCap {
    /// Holds the native runs of this host to that size, as far as it can be.
    pub fn to(size: &Size, host: &HostFacts, janitor: &mut Janitor) -> ResourceCap {
        let mut held = ResourceCap { cpus: None, group: None, lacks: Vec::new() };
        held.keep_to_cpus(size, host);
        if size.memory < memory_of(host) {
            match control_group::limited(&GroupLimit::Memory(size.memory), janitor) {
                Ok(group) => held.group = Some(group),
                Err(why) => held.lacks.push(format!(
                    "native runs cannot be held to {} ({why}), so that cases which depend on memory are not comparable; become \
                     root, or start hostmark in a control group of that size",
                    size_text(size.memory)
                )),
            }
        }
        held
    }

    fn keep_to_cpus(&mut self, size: &Size, host: &HostFacts) {
        let usable = host.usable_cpus();
        if size.cpus > usable.len() {
            self.lacks.push(format!(
                "the guest has {} and this machine {}, so that cases of more than one CPU are not comparable; give the \
                 guest fewer by --smp",
                counted(size.cpus, "CPU"),
                usable.len()
            ));
        }
        let mut cpus = match size.pinned.is_empty() {
            true => usable.iter().copied().take(size.cpus).collect(),
            false => size.pinned.clone(),
        };
        cpus.sort_unstable();
        cpus.dedup();
        self.cpus = (cpus != usable).then(|| cpu_list(&cpus));
    }

    /// Whether free runs would be others than those that are held.
    pub fn holds(&self) -> bool {
        self.cpus.is_some() || self.group.is_some()
    }

    /// The words behind which a program is held to the memory.
    pub fn words(&self) -> Vec<OsString> {
        match &self.group {
            Some(group) => control_group::words(group),
            None => free(),
        }
    }
}

/// The words behind which a program is on this machine, and held to nothing.
pub fn free() -> Vec<OsString> {
    vec!["env".into()]
}

impl Drop for ResourceCap {
    fn drop(&mut self) {
        // One that cannot be removed yet stays in the janitor's charge.
        let _ = self.group.as_ref().map(ControlGroup::remove);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostmark_model::CpuFact;

    fn host(cpus: usize) -> HostFacts {
        let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
        HostFacts { cpus: (0..cpus).map(cpu).collect(), ..HostFacts::default() }
    }

    fn to_cpus(size: Size, host: &HostFacts) -> (Option<String>, usize) {
        let mut held = ResourceCap { cpus: None, group: None, lacks: Vec::new() };
        held.keep_to_cpus(&size, host);
        (held.cpus.clone(), held.lacks.len())
    }

    #[test]
    fn native_runs_have_as_many_cpus_as_the_guest_and_those_that_it_is_pinned_to() {
        let size = |cpus, pinned: &[usize]| Size { cpus, pinned: pinned.to_vec(), memory: 1 << 30 };
        assert_eq!(to_cpus(size(2, &[]), &host(8)), (Some("0-1".into()), 0));
        assert_eq!(to_cpus(size(2, &[5, 4]), &host(8)), (Some("4-5".into()), 0));
        assert_eq!(to_cpus(size(8, &[]), &host(8)), (None, 0));
        assert_eq!(to_cpus(size(4, &[]), &host(2)), (None, 1), "as many as there are, and it is told");
    }

    #[test]
    fn memory_is_what_a_limit_leaves() {
        let mut host = host(2);
        host.memory.total_bytes = 8 << 30;
        assert_eq!(Size::of(&host), Size { cpus: 2, pinned: Vec::new(), memory: 8 << 30 });
        host.limits.memory_limit_bytes = Some(1 << 30);
        assert_eq!(Size::of(&host).memory, 1 << 30);
    }
}
