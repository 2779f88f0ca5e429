//! Block devices, what directories lie on, and what the devices below have done.

use std::path::{Path, PathBuf};

use hostmark_model::{BlockDevice, DirectoryFact, Purpose, StorageFacts};
use rustix::fs::Access;

use crate::cgroups::unescaped;
use crate::memory::chosen;
use crate::root::Root;

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

/// Limit on layers: more are a ring, or nobody's storage.
const MOST_LAYERS: usize = 16;
/// The name of what nobody tells.
const UNKNOWN: &str = "unknown";

/// Line of /proc/self/mountinfo.
pub(crate) struct Mount {
    /// `major:minor` of the filesystem.
    device: String,
    pub(crate) point: String,
    pub(crate) filesystem: String,
    pub(crate) source: String,
    /// Options of the mount, and then of the filesystem.
    pub(crate) options: Vec<String>,
}

/// All of them, in their order.
pub(crate) fn mounts(root: &Root) -> Vec<Mount> {
    root.raw("/proc/self/mountinfo").unwrap_or_default().lines().filter_map(mount).collect()
}

/// Reads a line such as `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard`.
fn mount(line: &str) -> Option<Mount> {
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let device = place.next()?.to_owned();
    let (point, own) = (unescaped(place.nth(1)?), place.next()?);
    let mut what = what.split(' ');
    let (filesystem, source) = (what.next()?.to_owned(), unescaped(what.next()?));
    let mut options: Vec<String> = Vec::new();
    for option in own.split(',').chain(what.next().unwrap_or_default().split(',')) {
        // The file system may be writable where this mount of it is not: the mount's word stands first, and holds.
        let is_other_word = matches!(option, "ro" | "rw") && !options.is_empty();
        if !option.is_empty() && !is_other_word && !options.iter().any(|known| known == option) {
            options.push(option.to_owned());
        }
    }
    Some(Mount { device, point, filesystem, source, options })
}

/// The mount that holds a path without links; of several at one place the last one hides the others.
fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| path.starts_with(Path::new(&mount.point));
    mounts.iter().filter(holds).max_by_key(|mount| Path::new(&mount.point).components().count())
}

/// Returns the layers below the file or directory at `path`, from its filesystem down: `ext4`, `loop0`, `/x/image`, `ext4`,
/// `vda`. The last is `unknown` where the kernel does not tell what comes next; empty where it tells nothing.
pub fn storage_stack(root: &Root, path: &Path) -> Vec<String> {
    let path =
        if root.is_this_machine() { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.into() };
    stack_of(root, &mounts(root), &path)
}

/// Tells whether such a stack lies in memory: on a filesystem or a device of it.
pub fn is_memory(stack: &[String]) -> bool {
    stack.last().is_some_and(|last| {
        let device =
            |kind: &str| last.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        matches!(last.as_str(), "tmpfs" | "ramfs" | "rootfs") || device("zram") || device("ram")
    })
}

/// The same by mounts that have been read, of a path without links.
fn stack_of(root: &Root, mounts: &[Mount], path: &Path) -> Vec<String> {
    let mut layers = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next.take()
        && layers.len() < MOST_LAYERS
    {
        let Some(mount) = holding(mounts, &path) else {
            if !layers.is_empty() {
                layers.push(UNKNOWN.to_owned());
            }
            break;
        };
        layers.push(mount.filesystem.clone());
        next = match mount.filesystem.as_str() {
            "tmpfs" | "ramfs" | "rootfs" => None,
            "overlay" => upper_directory(root, mount, &mut layers),
            _ => below_mount(root, mount, &mut layers),
        };
    }
    layers
}

/// Returns the directory that holds an overlay's written files.
fn upper_directory(root: &Root, mount: &Mount, layers: &mut Vec<String>) -> Option<PathBuf> {
    let option = |name: &str| {
        let option = mount.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        option.map(|path| PathBuf::from(unescaped(path)))
    };
    let Some(upper) = option("upperdir") else {
        // Read-only: what is read lies in one of many.
        layers.push(UNKNOWN.to_owned());
        return None;
    };
    let is_there = |path: &Path| path.to_str().is_some_and(|path| root.exists(path));
    // A relative path began at the directory of who mounted it: one above the mount point, as a rule.
    let from: Vec<PathBuf> = match upper.is_absolute() {
        true => vec![PathBuf::from("/")],
        false => Path::new(&mount.point).ancestors().skip(1).map(Path::to_owned).collect(),
    };
    let work = option("workdir").unwrap_or_else(|| upper.clone());
    let found = from.iter().find(|from| is_there(&from.join(&upper)) && is_there(&from.join(&work)));
    match found {
        Some(from) => Some(from.join(upper)),
        // In a container these are the host's paths.
        None => {
            layers.push(UNKNOWN.to_owned());
            None
        }
    }
}

/// The device of a mount and what lies below it: the path of a file that stands for a device, if there is one.
fn below_mount(root: &Root, mount: &Mount, layers: &mut Vec<String>) -> Option<PathBuf> {
    let by_number = root.link(&format!("/sys/dev/block/{}", mount.device));
    let by_number = by_number.as_deref().and_then(last_name);
    // Filesystems of several devices have a number of their own, and name the first.
    let of_source = || {
        let source = mount.source.strip_prefix("/dev/").map(|_| PathBuf::from(&mount.source))?;
        let real = if root.is_this_machine() { source.canonicalize().unwrap_or(source) } else { source };
        real.file_name()?.to_str().map(str::to_owned)
    };
    match by_number.or_else(of_source) {
        Some(name) => below_device(root, &name, layers),
        None => {
            layers.push(mount.source.clone());
            None
        }
    }
}

fn last_name(link: &str) -> Option<String> {
    Some(link.rsplit('/').next()?.to_owned()).filter(|name| !name.is_empty())
}

/// A block device and those below it, down to the last, or to the file that stands for one.
fn below_device(root: &Root, name: &str, layers: &mut Vec<String>) -> Option<PathBuf> {
    let mut name = name.to_owned();
    let mut is_part = false;
    while layers.len() < MOST_LAYERS {
        let dir = format!("/sys/class/block/{name}");
        if !is_part {
            layers.push(described(root, &dir, &name));
        }
        if let Some(file) = root.text(&format!("{dir}/loop/backing_file")) {
            layers.push(file.clone());
            return Some(PathBuf::from(file.trim_end_matches(" (deleted)")));
        }
        let slaves = root.names(&format!("{dir}/slaves"));
        // A partition is named by its own name, and is as its disk is.
        let whole = || {
            let is_partition = root.exists(&format!("{dir}/partition"));
            let link = is_partition.then(|| root.link(&dir)).flatten()?;
            last_name(link.rsplit_once('/')?.0)
        };
        is_part = false;
        name = match (slaves.as_slice(), whole()) {
            ([], None) => return None,
            ([], Some(disk)) => {
                is_part = true;
                disk
            }
            ([only], _) => only.clone(),
            // Of several the first stands for all.
            ([first, ..], _) => {
                layers.push(slaves.join("+"));
                is_part = true;
                first.clone()
            }
        };
    }
    None
}

/// A device with what it is made of, where its name does not tell.
fn described(root: &Root, dir: &str, name: &str) -> String {
    let kind = root
        .text(&format!("{dir}/dm/uuid"))
        .and_then(|uuid| Some(uuid.split_once('-')?.0.to_lowercase()))
        .or_else(|| root.text(&format!("{dir}/md/level")))
        .or_else(|| (root.text(&format!("{dir}/loop/dio")).as_deref() == Some("1")).then(|| "direct I/O".to_owned()));
    kind.map_or_else(|| name.to_owned(), |kind| format!("{name} ({kind})"))
}

/// Work of one device since it is there, or of several together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceWork {
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Requests to write, and to flush.
    pub writes: u64,
}

/// Returns the work of the lowest devices of a stack. None where it ends in no device, or names only the first of several.
pub fn device_work(root: &Root, stack: &[String]) -> Option<DeviceWork> {
    let (lowest, above) = stack.split_last()?;
    if above.iter().any(|layer| layer == "btrfs" || layer == "bcachefs" || layer.contains('+')) {
        return None;
    }
    let mut all = DeviceWork::default();
    for device in lowest.split_once(' ').map_or(lowest.as_str(), |(name, _)| name).split('+') {
        let counts = root.text(&format!("/sys/class/block/{device}/stat"))?;
        // Documentation/block/stat.rst: reads, merged ones, sectors, ms; the same of writes; from Linux 5.5 on flushes.
        let counts: Vec<u64> = counts.split_whitespace().map_while(|count| count.parse().ok()).collect();
        let count = |at: usize| counts.get(at).copied();
        all.read_bytes += count(2)?.saturating_mul(SECTOR_BYTES);
        all.written_bytes += count(6)?.saturating_mul(SECTOR_BYTES);
        all.writes += count(4)?.saturating_add(count(5)?).saturating_add(count(15).unwrap_or(0));
    }
    Some(all)
}
