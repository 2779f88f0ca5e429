//! Block devices, and what the directories that a run writes to lie on.

use std::path::{Path, PathBuf};

use hostmark_model::{BlockDevice, DirectoryFact, Purpose, StorageFacts};
use rustix::fs::Access;

use crate::memory::chosen;
use crate::root::Root;
use crate::storage_stack::{Mount, holding, mounts, stack_of};

const BLOCK_DIR: &str = "/sys/block";
/// A storage server has hundreds; a read must stay short.
const MOST_DEVICES: usize = 64;
/// The unit of a block device's size, whatever its own sectors.
const SECTOR_BYTES: u64 = 512;
/// File systems on the other side of a network, which may not answer when they are asked for their room.
const REMOTE: [&str; 10] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "lustre", "afs", "autofs"];

pub(crate) fn read(root: &Root, scratch: Option<&Path>) -> StorageFacts {
    let mounts = mounts(root);
    let directories =
        directories(root, scratch).into_iter().map(|(purpose, path)| directory(root, &mounts, purpose, path));
    let directories = directories.filter(|found| root.is_this_machine() || found.mount_point.is_some());
    StorageFacts { devices: devices(root), directories: directories.collect() }
}

fn devices(root: &Root) -> Vec<BlockDevice> {
    let names = root.names(BLOCK_DIR);
    let is_whole = |name: &&String| !["loop", "ram", "nbd"].iter().any(|kind| name.starts_with(kind));
    names.iter().filter(is_whole).filter_map(|name| device(root, name)).take(MOST_DEVICES).collect()
}

fn device(root: &Root, name: &str) -> Option<BlockDevice> {
    let dir = format!("{BLOCK_DIR}/{name}");
    let sectors = root.number::<u64>(&format!("{dir}/size")).filter(|sectors| *sectors > 0)?;
    let scheduler = root.text(&format!("{dir}/queue/scheduler"));
    Some(BlockDevice {
        name: name.to_owned(),
        model: root.text(&format!("{dir}/device/model")),
        size_bytes: sectors.saturating_mul(SECTOR_BYTES),
        rotational: root.number::<u8>(&format!("{dir}/queue/rotational")).map(|flag| flag != 0),
        // A device with one scheduler names it without brackets.
        scheduler: scheduler.map(|text| chosen(&text).unwrap_or(&text).to_owned()),
    })
}

/// The scratch directory and that of the runs, as `hostmark run` chooses them; a captured tree has the usual ones.
fn directories(root: &Root, scratch: Option<&Path>) -> Vec<(Purpose, PathBuf)> {
    if !root.is_this_machine() {
        return vec![(Purpose::Scratch, "/tmp".into()), (Purpose::Data, "/var/lib/hostmark/runs".into())];
    }
    let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
    let scratch = std::path::absolute(scratch).unwrap_or_else(|_| "/tmp".into());
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = named("XDG_DATA_HOME").or_else(|| Some(named("HOME")?.join(".local/share")));
    let mut all = vec![(Purpose::Scratch, scratch)];
    all.extend(data.map(|data| (Purpose::Data, data.join("hostmark/runs"))));
    all
}

fn directory(root: &Root, mounts: &[Mount], purpose: Purpose, path: PathBuf) -> DirectoryFact {
    // The directory may not exist yet: where it will lie depends on what there is of its path, links followed.
    let present =
        if root.is_this_machine() { path.ancestors().find_map(|part| part.canonicalize().ok()) } else { None };
    let seen = present.clone().unwrap_or_else(|| path.clone());
    let mount = holding(mounts, &seen);
    let is_local = mount.is_some_and(|m| !REMOTE.contains(&m.filesystem.as_str()) && !m.filesystem.starts_with("fuse"));
    let present = present.filter(|_| is_local);
    let room = present.as_ref().and_then(|present| rustix::fs::statvfs(present).ok());
    let may_write = |present: PathBuf| rustix::fs::access(&present, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    DirectoryFact {
        purpose,
        path: path.display().to_string(),
        filesystem: mount.map(|mount| mount.filesystem.clone()),
        device: mount.map(|mount| mount.source.clone()),
        stack: stack_of(root, mounts, &seen),
        mount_point: mount.map(|mount| mount.point.clone()),
        options: mount.map(|mount| mount.options.clone()).unwrap_or_default(),
        total_bytes: room.as_ref().map(|room| room.f_blocks.saturating_mul(room.f_frsize)),
        available_bytes: room.as_ref().map(|room| room.f_bavail.saturating_mul(room.f_frsize)),
        writable: present.map(may_write),
    }
}
