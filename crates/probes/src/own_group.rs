//! Control groups that a probe makes for processes which it starts.

use std::path::Path;

use hostmark_engine::prelude::*;
use sys::control_group::{ControlGroup, GroupLimit};
use sys::ipc_cleanup::{Record, control_group_name, fresh_number};

/// A control group, or several of which each is in the one before; removed when dropped, and by the run where this process is killed.
pub(crate) struct OwnGroup {
    /// Groups, at least one, the outermost first.
    groups: Vec<ControlGroup>,
    record: Record,
}

impl OwnGroup {
    pub(crate) fn make(limit: &GroupLimit) -> Result<OwnGroup> {
        OwnGroup::of_levels(limit, |_| 1)
    }

    /// Makes `depth` levels of ordinary weight below the group that this process is in.
    pub(crate) fn nested(depth: usize) -> Result<OwnGroup> {
        // Else it is made beside this process's own, which is a level already.
        OwnGroup::of_levels(&GroupLimit::CpuWeight { quarters: 4 }, |base| depth + usize::from(!is_in(base)))
    }

    fn of_levels(limit: &GroupLimit, levels: impl Fn(&Path) -> usize) -> Result<OwnGroup> {
        let (needs, cannot) = match limit {
            GroupLimit::Memory(_) => {
                (say!("needs control groups that limit memory"), say!("cannot make a control group that limits memory"))
            }
            _ => (
                say!("needs control groups that weigh CPU time"),
                say!("cannot make a control group that weighs CPU time"),
            ),
        };
        let mut refused = RoundError::skipped(ReasonCode::MissingFile, needs);
        for base in nurseries(&Root::here(), limit.controller()) {
            let (base, number) = (Path::new(&base), fresh_number()?);
            let Some(record) = Record::of_control_group(base, number) else { continue };
            match made(base, &control_group_name(number), limit, levels(base)) {
                Ok(groups) => return Ok(OwnGroup { groups, record }),
                Err(error) => refused = RoundError::lacking(&cannot, &error),
            }
        }
        Err(refused)
    }

    pub(crate) fn group(&self) -> &ControlGroup {
        &self.groups[self.groups.len() - 1]
    }

    /// Moves a process to the innermost, which has to end before this is dropped.
    pub(crate) fn admit(&self, pid: u32) -> Result<()> {
        let admitted = self.group().admit(pid);
        admitted.or_lacking(|| say!("cannot move a process into a control group"))
    }
}

/// A group of this name and those in it, the outermost first; none where one of them cannot be made.
fn made(base: &Path, name: &str, limit: &GroupLimit, levels: usize) -> std::io::Result<Vec<ControlGroup>> {
    let mut groups = vec![ControlGroup::make(base, name, limit)?];
    for level in 1..levels {
        match groups[level - 1].make_inner(limit) {
            Ok(inner) => groups.push(inner),
            Err(error) => {
                let _ = groups[0].remove();
                return Err(error);
            }
        }
    }
    Ok(groups)
}

/// Tells whether this process is in the group of this directory.
fn is_in(group: &Path) -> bool {
    let own = std::process::id().to_string();
    std::fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|members| members.lines().any(|pid| pid == own))
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        // What cannot be removed now stays written down.
        if self.groups.first().is_some_and(|outermost| outermost.remove().is_err()) {
            std::mem::forget(std::mem::replace(&mut self.record, Record::none()));
        }
    }
}
