//! A control group of one run, which limits its members: made under an unforeseeable name, removed when it is empty.

use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::call::Call;
use super::names::plain;
use super::process;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupLimit {
    Memory(u64),
    /// Largest CPU time, per cent of one CPU's.
    CpuPercent(u8),
    /// Share of CPU time, in quarters of an ordinary group's weight.
    CpuWeight {
        quarters: u32,
    },
    Reads {
        /// Number of the disk, major and minor.
        disk: (u32, u32),
        a_second: u32,
    },
}

impl GroupLimit {
    /// The controller that limits it, as version 1 of control groups calls it.
    pub fn controller(&self) -> &'static str {
        match self {
            GroupLimit::Memory(_) => "memory",
            GroupLimit::CpuPercent(_) | GroupLimit::CpuWeight { .. } => "cpu",
            GroupLimit::Reads { .. } => "blkio",
        }
    }

    /// The files of version 2 and of version 1, and what they are to hold.
    fn files(&self) -> [(&'static CStr, String); 2] {
        match self {
            GroupLimit::Memory(bytes) => {
                [c"memory.max", c"memory.limit_in_bytes"].map(|name| (name, bytes.to_string()))
            }
            // Of a period of 100 ms, which a new group of version 1 has.
            GroupLimit::CpuPercent(percent) => {
                let quota_us = u32::from(*percent) * 1000;
                [(c"cpu.max", format!("{quota_us} 100000")), (c"cpu.cfs_quota_us", quota_us.to_string())]
            }
            // An ordinary group has 100 and 1024.
            GroupLimit::CpuWeight { quarters } => {
                [(c"cpu.weight", (quarters * 25).to_string()), (c"cpu.shares", (quarters * 256).to_string())]
            }
            GroupLimit::Reads { disk: (major, minor), a_second } => [
                (c"io.max", format!("{major}:{minor} riops={a_second}")),
                (c"blkio.throttle.read_iops_device", format!("{major}:{minor} {a_second}")),
            ],
        }
    }
}

/// Files that keep what is over the limit from swap, and their content. A kernel without swap accounting has none of them.
const SWAPLESS: [&CStr; 2] = [c"memory.swap.max", c"memory.swappiness"];
/// Files that hold a group's memory use, with version 2 and version 1.
const MEMORY_HELD: [&CStr; 2] = [c"memory.current", c"memory.usage_in_bytes"];
/// Number of looks, over half a second, whether the group is empty: a killed process with gigabytes takes its time.
const MOST_LOOKS: usize = 20;
/// The name of a group in one that was made here.
const INNER: &CStr = c"inner";

/// A group that this process made.
#[derive(Debug)]
pub struct ControlGroup {
    place: GroupPlace,
    path: PathBuf,
}

impl ControlGroup {
    /// Makes one in the group whose directory is `base`, which limits this. On an error there is none.
    pub fn make(base: &Path, name: &str, limit: &GroupLimit) -> io::Result<ControlGroup> {
        let place = GroupPlace::of(base, name)?;
        rustix::fs::mkdirat(&place.above, &place.name, Mode::RWXU).call("mkdirat")?;
        let group = ControlGroup { path: base.join(OsStr::from_bytes(place.name.to_bytes())), place };
        match group.limit(limit) {
            Ok(()) => Ok(group),
            Err(error) => {
                let _ = group.place.remove();
                Err(error)
            }
        }
    }

    /// Makes one in this, limited alike, which is removed along with it. Version 2 lets no process into a group that has one.
    pub fn make_inner(&self, limit: &GroupLimit) -> io::Result<ControlGroup> {
        // Version 2 passes a controller on by this file, which version 1 does not have. Without the controller the limit is an error.
        let controller = format!("+{}", limit.controller());
        let _ = set(&self.directory()?, c"cgroup.subtree_control", &controller);
        ControlGroup::make(&self.path, &INNER.to_string_lossy(), limit)
    }

    fn limit(&self, limit: &GroupLimit) -> io::Result<()> {
        let is_limited = self.change(limit);
        if let (GroupLimit::Memory(_), Ok(directory)) = (limit, self.directory()) {
            SWAPLESS.iter().for_each(|name| drop(set(&directory, name, "0")));
        }
        is_limited
    }

    /// Gives it another limit. Its memory beyond that is reclaimed before this returns.
    pub fn change(&self, limit: &GroupLimit) -> io::Result<()> {
        let directory = self.directory()?;
        let limited = limit.files().into_iter().map(|(name, text)| set(&directory, name, &text));
        limited.reduce(|one, other| one.or(other)).unwrap_or(Ok(()))
    }

    pub fn memory_bytes(&self) -> io::Result<u64> {
        let directory = self.directory()?;
        let held = MEMORY_HELD.into_iter().map(|name| get(&directory, name));
        let held = held.reduce(|one, other| one.or(other)).ok_or(io::ErrorKind::NotFound)??;
        held.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn directory(&self) -> io::Result<OwnedFd> {
        self.place.directory()
    }

    pub fn admit(&self, pid: u32) -> io::Result<()> {
        set(&self.directory()?, c"cgroup.procs", &pid.to_string())
    }

    /// Returns the directory of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it and those in it as soon as nobody is in them.
    pub fn remove(&self) -> io::Result<()> {
        self.place.remove_when_empty()
    }
}

/// Writes to a file of a group, which is never made: a directory that is no control group has no such file.
fn set(directory: &OwnedFd, name: &CStr, text: &str) -> io::Result<()> {
    opened(directory, name, OFlags::WRONLY)?.write_all(text.as_bytes()).call("write")
}

fn get(directory: &OwnedFd, name: &CStr) -> io::Result<String> {
    io::read_to_string(opened(directory, name, OFlags::RDONLY)?)
}

fn opened(directory: &OwnedFd, name: &CStr, access: OFlags) -> io::Result<std::fs::File> {
    let file = rustix::fs::openat(directory, name, access | OFlags::CLOEXEC, Mode::empty());
    Ok(file.call("openat")?.into())
}

/// Place of a group that exists or will be made, so that another process can remove it.
#[derive(Debug)]
pub struct GroupPlace {
    above: OwnedFd,
    name: CString,
}

impl GroupPlace {
    /// The group of this name in the one whose directory is `base`.
    pub fn of(base: &Path, name: &str) -> io::Result<GroupPlace> {
        let name = CString::new(name)?;
        plain(&name)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(GroupPlace { above: rustix::fs::open(base, flags, Mode::empty()).call("open")?, name })
    }

    fn directory(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.above, &self.name, flags, Mode::empty()).call("openat")
    }

    /// Removes the group, and before it the one that [`ControlGroup::make_inner`] made in it, as soon as nobody is in them; one that is not there
    /// is removed. The kernel removes no other.
    pub fn remove_when_empty(&self) -> io::Result<()> {
        if let Ok(above) = self.directory() {
            GroupPlace { above, name: INNER.into() }.remove_when_empty()?;
        }
        for _ in 0..MOST_LOOKS {
            let mut removed = Ok(());
            // What is in use may be free soon; any other error stays.
            let is_done = process::retry_until(|| {
                removed = self.remove();
                !matches!(removed, Err(Errno::BUSY))
            });
            if is_done {
                return removed.call("unlinkat");
            }
        }
        Err(Errno::BUSY).call("unlinkat")
    }

    fn remove(&self) -> Result<(), Errno> {
        match rustix::fs::unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_group_can_be_nothing_is_made() {
        let base = tempfile::tempdir().unwrap();
        assert!(ControlGroup::make(base.path(), "hostmark-1", &GroupLimit::Memory(1 << 30)).is_err());
        assert!(ControlGroup::make(base.path(), "hostmark-1", &GroupLimit::CpuWeight { quarters: 1 }).is_err());
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
        for name in ["", ".", "..", "a/b", "a\0b"] {
            assert!(GroupPlace::of(base.path(), name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_removed_and_what_is_no_group_stays() {
        let base = tempfile::tempdir().unwrap();
        GroupPlace::of(base.path(), "away").unwrap().remove_when_empty().unwrap();
        std::fs::write(base.path().join("file"), "").unwrap();
        assert!(GroupPlace::of(base.path(), "file").unwrap().remove_when_empty().is_err());
        std::fs::create_dir(base.path().join("full")).unwrap();
        std::fs::write(base.path().join("full/file"), "").unwrap();
        assert!(GroupPlace::of(base.path(), "full").unwrap().remove_when_empty().is_err());
        assert!(base.path().join("file").exists() && base.path().join("full/file").exists());
    }

    #[test]
    fn groups_in_a_group_are_removed_before_it_and_nothing_else_is() {
        let base = tempfile::tempdir().unwrap();
        let place = GroupPlace::of(base.path(), "ours").unwrap();
        std::fs::create_dir_all(base.path().join("ours/inner/inner")).unwrap();
        place.remove_when_empty().unwrap();
        assert!(!base.path().join("ours").exists());
        std::fs::create_dir_all(base.path().join("ours/other")).unwrap();
        assert!(place.remove_when_empty().is_err());
        std::fs::create_dir_all(base.path().join("ours/inner/other")).unwrap();
        assert!(place.remove_when_empty().is_err());
        assert!(base.path().join("ours/other").exists() && base.path().join("ours/inner/other").exists());
    }
}
