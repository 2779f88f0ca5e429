//! What lies below a filesystem: devices, files that stand for devices, and the filesystems of those, down to the last one.

use std::path::{Path, PathBuf};

use crate::cgroups::unescaped;
use crate::root::Root;

/// More layers are a ring, or nobody's storage.
const MOST_LAYERS: usize = 16;
/// The name of what nobody tells.
const UNKNOWN: &str = "unknown";

/// One line of /proc/self/mountinfo.
pub(crate) struct Mount {
    /// `major:minor` of the filesystem.
    device: String,
    pub(crate) point: String,
    pub(crate) filesystem: String,
    pub(crate) source: String,
    /// Of the mount, and then of the filesystem.
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
pub(crate) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| path.starts_with(Path::new(&mount.point));
    mounts.iter().filter(holds).max_by_key(|mount| Path::new(&mount.point).components().count())
}

/// What the file or directory at `path` lies on, from its filesystem down: `ext4`, `loop0`, `/x/image`, `ext4`, `vda`. The last
/// is `unknown` where the kernel does not tell what comes next; empty where it tells nothing.
pub fn storage_stack(root: &Root, path: &Path) -> Vec<String> {
    let path =
        if root.is_this_machine() { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.into() };
    stack_of(root, &mounts(root), &path)
}

/// Whether what lies on such a stack lies in memory: on a filesystem or a device of it.
pub fn is_memory(stack: &[String]) -> bool {
    stack.last().is_some_and(|last| {
        let device =
            |kind: &str| last.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        matches!(last.as_str(), "tmpfs" | "ramfs" | "rootfs") || device("zram") || device("ram")
    })
}

/// The same by mounts that have been read, of a path without links.
pub(crate) fn stack_of(root: &Root, mounts: &[Mount], path: &Path) -> Vec<String> {
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

/// Where an overlay keeps what is written to it.
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
