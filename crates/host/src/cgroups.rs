//! Limits of the process: its control groups (version 1, 2 or both), their tightest limits and throttling, and its user.

use std::collections::BTreeMap;

use hostmark_model::{GroupFact, LimitFacts, Resource, Sight, Throttling};

use crate::root::{Root, field, table};

/// The number of the machine's first namespace of control groups, a constant of the kernel (PROC_CGROUP_INIT_INO).
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// Mounted hierarchy, with this process's place in it.
struct Hierarchy {
    version: Version,
    /// Version 1: the controllers mounted here. Version 2: all that it has, so that this stays empty.
    controllers: Vec<String>,
    mount_point: String,
    /// Group of this process, relative to the mount point, without slashes at its ends; empty at the mount point.
    group: String,
    /// True where this process's group lies below the mount point: else `group` is the nearest one that can be seen.
    is_reached: bool,
    /// True where the mount begins at a group below the one at the top of what this process sees.
    is_part: bool,
}

/// The hierarchies that this process sees.
pub(crate) struct Groups {
    hierarchies: Vec<Hierarchy>,
    /// /proc/self/cgroup, where there is one.
    own: Option<String>,
    /// True where this process sees the groups from the machine's first one on.
    is_first_namespace: bool,
    /// True where the kernel is known to have no control groups at all.
    are_absent: bool,
}

impl Groups {
    pub(crate) fn read(root: &Root) -> Groups {
        let (own, mounts) = (root.raw("/proc/self/cgroup"), root.raw("/proc/self/mountinfo").unwrap_or_default());
        let of_line = |line: &str| hierarchy(line, own.as_deref().unwrap_or_default());
        let hierarchies: Vec<Hierarchy> = mounts.lines().filter_map(of_line).collect();
        // A kernel without control groups has no file of them, and does not name their file system.
        let supports = |text: String| text.lines().any(|line| line.split_whitespace().any(|word| word == "cgroup"));
        let are_absent = own.is_none()
            && hierarchies.is_empty()
            && root.raw("/proc/filesystems").is_some_and(|filesystems| !supports(filesystems));
        // Kernels without these namespaces have no such link.
        let is_first_namespace = root.link("/proc/self/ns/cgroup").is_none_or(|link| link == FIRST_NAMESPACE);
        Groups { hierarchies, own, is_first_namespace, are_absent }
    }

    /// Returns this process's group that can limit a resource, and how much of it and of those above can be seen.
    pub(crate) fn fact(&self, root: &Root, resource: Resource) -> GroupFact {
        let controller = resource_name(resource);
        let is_known = self.own.is_some() || self.are_absent;
        let Some((version, path)) = self.place(controller) else {
            return GroupFact { resource, path: None, sight: if is_known { Sight::Whole } else { Sight::Nothing } };
        };
        GroupFact { resource, path: Some(path.to_owned()), sight: self.sight(root, version, controller, path) }
    }

    /// This process's group for a controller, which is in one hierarchy: in one of version 1 that names it, else in that of version 2.
    fn place(&self, controller: &str) -> Option<(Version, &str)> {
        let own = self.own.as_deref()?;
        let of = |version| Some((version, lines(own).find(|(names, _)| is_of(version, names, controller))?.1));
        of(Version::V1).or_else(|| of(Version::V2))
    }

    fn sight(&self, root: &Root, version: Version, controller: &str, path: &str) -> Sight {
        // The machine's first group has no limits.
        if path == "/" && self.is_first_namespace {
            return Sight::Whole;
        }
        let is_it = |h: &&Hierarchy| h.version == version && (version == Version::V2 || h.has(controller));
        let seen = self.hierarchies.iter().filter(is_it).filter(|h| h.is_reached);
        let sights = seen.filter(|h| h.upwards().all(|group| is_seen(root, version, controller, &group)));
        let above = |h: &Hierarchy| match self.has_all_above(root, h, controller) {
            true => Sight::Whole,
            false => Sight::NotAbove,
        };
        sights.map(above).min().unwrap_or(Sight::Nothing)
    }

    /// Tells whether no group above a mount point can have a limit that is not seen.
    fn has_all_above(&self, root: &Root, h: &Hierarchy, controller: &str) -> bool {
        let top = &h.mount_point;
        match h.version {
            // Only the machine's first group has no type.
            Version::V2 => !h.is_part && !root.exists(&format!("{top}/cgroup.type")),
            // It tells the tightest memory limit on the way up, whatever is hidden of it.
            Version::V1 if controller == "memory" => {
                let stat = h.upwards().next().and_then(|group| root.raw(&format!("{group}/memory.stat")));
                let has_all = stat.is_some_and(|stat| stat.contains("hierarchical_memory_limit "));
                has_all || (!h.is_part && self.is_first_namespace)
            }
            Version::V1 => !h.is_part && self.is_first_namespace,
        }
    }

    /// 1 as soon as a limit of CPU or memory would come from version 1, as in a hybrid system.
    pub(crate) fn version(&self) -> Option<u8> {
        let limits = |name: &String| name == "cpu" || name == "memory";
        let any = |wanted: &dyn Fn(&Hierarchy) -> bool| self.hierarchies.iter().any(wanted);
        if any(&|h| h.controllers.iter().any(limits)) {
            Some(1)
        } else if any(&|h| h.version == Version::V2) {
            Some(2)
        } else {
            any(&|h| h.version == Version::V1).then_some(1)
        }
    }

    /// The directories of the groups in which one may be made that limits `controller` for a child of this process. Version 2
    /// lets no group have processes and limited groups at once: there it is a sibling of this process's own.
    pub(crate) fn nurseries(&self, controller: &str) -> Vec<String> {
        let chains = self.hierarchies.iter().filter(|h| h.controllers.iter().any(|name| name == controller));
        let older = chains.filter_map(|h| h.upwards().next());
        let newer = self.hierarchies.iter().filter(|h| h.version == Version::V2);
        older.chain(newer.filter_map(|h| h.upwards().nth(1).or_else(|| h.upwards().next()))).collect()
    }

    /// The directories that can limit `controller`, from this process's group up to the mount point.
    pub(crate) fn chain(&self, controller: &str) -> impl Iterator<Item = (Version, String)> {
        self.hierarchies
            .iter()
            .filter(move |h| h.version == Version::V2 || h.controllers.iter().any(|name| name == controller))
            .flat_map(|h| h.upwards().map(move |dir| (h.version, dir)))
    }
}

/// The file of a group in which its limit of a controller stands.
fn limit_file(version: Version, controller: &str) -> &'static str {
    match (version, controller) {
        (Version::V1, "memory") => "memory.limit_in_bytes",
        (Version::V1, _) => "cpu.cfs_quota_us",
        (Version::V2, "memory") => "memory.max",
        (Version::V2, _) => "cpu.max",
    }
}

/// Tells whether a directory is that of a group, whose limit can be read or is not there since none can be set.
fn is_seen(root: &Root, version: Version, controller: &str, group: &str) -> bool {
    let limit = format!("{group}/{}", limit_file(version, controller));
    match root.exists(&limit) {
        true => root.text(&limit).is_some(),
        // Something else may be mounted over it: every group has this file.
        false => root.exists(&format!("{group}/cgroup.procs")),
    }
}

/// The lines of /proc/self/cgroup, `id:controllers:path`: the controllers and the path.
fn lines(own: &str) -> impl Iterator<Item = (&str, &str)> {
    own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    })
}

/// Tells whether a line with these controllers is that of a version's hierarchy with this one.
fn is_of(version: Version, names: &str, controller: &str) -> bool {
    match version {
        Version::V1 => names.split(',').any(|name| name == controller),
        Version::V2 => names.is_empty(),
    }
}

fn resource_name(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "cpu",
        Resource::Memory => "memory",
    }
}

impl Hierarchy {
    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }

    fn upwards(&self) -> impl Iterator<Item = String> {
        let whole = match self.group.as_str() {
            "" => self.mount_point.clone(),
            group => format!("{}/{group}", self.mount_point),
        };
        let floor = self.mount_point.len();
        std::iter::successors(Some(whole), move |dir| {
            let parent = dir.rfind('/')?;
            (parent >= floor && dir.len() > floor).then(|| dir[..parent].to_owned())
        })
    }
}

/// Reads a line such as `32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu`.
fn hierarchy(line: &str, own: &str) -> Option<Hierarchy> {
    let (mount, source) = line.split_once(" - ")?;
    let mut source = source.split(' ');
    let version = match source.next()? {
        "cgroup" => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let controllers: Vec<String> = match version {
        Version::V1 => source.nth(1)?.split(',').map(str::to_owned).collect(),
        Version::V2 => Vec::new(),
    };
    let mut mount = mount.split(' ').skip(3);
    let (mounted, mount_point) = (unescaped(mount.next()?), unescaped(mount.next()?));
    let group = own_path(own, &controllers).and_then(|path| below(&mounted, path));
    let (is_reached, is_part) = (group.is_some(), mounted != "/");
    Some(Hierarchy { version, controllers, mount_point, group: group.unwrap_or_default(), is_reached, is_part })
}

/// Returns this process's path in the hierarchy of `controllers` (none: version 2), from /proc/self/cgroup.
fn own_path<'a>(own: &'a str, controllers: &[String]) -> Option<&'a str> {
    let is_it = |names: &str| match controllers {
        [] => names.is_empty(),
        // The mount's options hold more than the controllers (rw, xattr, name=…).
        _ => !names.is_empty() && names.split(',').all(|name| controllers.iter().any(|known| known == name)),
    };
    lines(own).find(|(names, _)| is_it(names)).map(|(_, path)| path)
}

/// The part of `path` below the mounted directory; none outside it (`/..` from a namespace), which this mount cannot reach.
fn below(mounted: &str, path: &str) -> Option<String> {
    let rest = match mounted {
        "/" => path,
        _ => path.strip_prefix(mounted).filter(|rest| rest.is_empty() || rest.starts_with('/'))?,
    };
    let rest = rest.trim_matches('/');
    (!rest.split('/').any(|part| part == "..")).then(|| rest.to_owned())
}

/// mountinfo writes space, tab, newline and backslash as `\040` and so on.
pub(crate) fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Version 1 has no word for "no limit": it writes the largest page-aligned number. No machine has 2^62 bytes.
const NO_LIMIT_BYTES: u64 = 1 << 62;

pub(crate) fn read_limits(root: &Root) -> LimitFacts {
    let groups = Groups::read(root);
    let memory = tightest_memory(root, &groups);
    let of_resources = [Resource::Cpu, Resource::Memory].map(|resource| groups.fact(root, resource));
    LimitFacts {
        cgroup_version: groups.version(),
        cpu_quota: tightest_quota(root, &groups),
        memory_limit_bytes: memory.map(|memory| memory.limit_bytes),
        memory_used_bytes: memory.and_then(|memory| memory.used_bytes),
        is_root: effective_user(root).map(|user| user == 0),
        unknown: of_resources.iter().all(|group| group.sight == Sight::Nothing),
        groups: of_resources.to_vec(),
        seccomp: seccomp(root),
        group_settings: settings(root, &groups),
    }
}

/// Returns each kind of further settings that shape a run as the nearest group has it that does not have the kernel's default; of
/// those that a group does not have from the ones above it (`own group`), this process's own.
fn settings(root: &Root, groups: &Groups) -> BTreeMap<String, String> {
    let of = |most, [kind, controller, files]: [&str; 3]| {
        let directories: Vec<String> = groups.chain(controller).map(|(_, directory)| directory).take(most).collect();
        // The machine's first group has no such files, and no such limits.
        let is_first = groups.is_first_namespace && groups.place(controller).is_some_and(|(_, path)| path == "/");
        let (mut set, mut is_known) = (Vec::new(), is_first);
        for (file, usual) in files.split('|').filter_map(|file| file.split_once('=')) {
            let texts = directories.iter().filter_map(|directory| root.raw(&format!("{directory}/{file}")));
            let texts: Vec<String> = texts.collect();
            let has_no_limit = |text: &str| text.parse::<u64>().is_ok_and(|bytes| bytes >= NO_LIMIT_BYTES);
            let other = texts.iter().map(|text| text.trim()).map(|text| if has_no_limit(text) { "max" } else { text });
            let other = other.into_iter().find(|text| *text != usual);
            set.extend(other.map(|text| format!("{file} {}", text.lines().collect::<Vec<_>>().join(", "))));
            is_known |= !texts.is_empty();
        }
        is_known.then(|| (kind.to_owned(), if set.is_empty() { "default".to_owned() } else { set.join("; ") }))
    };
    let inherited = table("group").filter_map(|row| of(usize::MAX, row));
    inherited.chain(table("own group").filter_map(|row| of(1, row))).collect()
}

/// Absent in a kernel without seccomp.
fn seccomp(root: &Root) -> Option<String> {
    let status = root.raw("/proc/self/status")?;
    let mode = match field(&status, "Seccomp")? {
        "0" => "off",
        "1" => "strict",
        "2" => "filter",
        other => other,
    };
    Some(mode.to_owned())
}

/// Returns the effective user by a system call on this machine; else the second number of `Uid: real effective saved filesystem`.
fn effective_user(root: &Root) -> Option<u32> {
    if root.is_this_machine() {
        return Some(rustix::process::geteuid().as_raw());
    }
    field(&root.raw("/proc/self/status")?, "Uid")?.split_whitespace().nth(1)?.parse().ok()
}

fn tightest_quota(root: &Root, groups: &Groups) -> Option<f64> {
    groups
        .chain("cpu")
        .filter_map(|(version, dir)| match version {
            Version::V2 => quota_v2(&root.text(&format!("{dir}/cpu.max"))?),
            Version::V1 => {
                let quota_us: i64 = root.number(&format!("{dir}/cpu.cfs_quota_us"))?;
                let period_us: i64 = root.number(&format!("{dir}/cpu.cfs_period_us"))?;
                (quota_us > 0 && period_us > 0).then(|| quota_us as f64 / period_us as f64)
            }
        })
        .min_by(f64::total_cmp)
}

/// `50000 100000` is half a CPU; `max 100000` is no limit.
fn quota_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota_us, period_us): (u64, u64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

/// The limit of one control group, and what of it is in use.
#[derive(Clone, Copy)]
pub(crate) struct MemoryLimit {
    limit_bytes: u64,
    used_bytes: Option<u64>,
}

impl MemoryLimit {
    /// Returns how many more bytes the group can be charged.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes.unwrap_or(0))
    }
}

/// The group with the least room: a large group that is nearly full binds before a small empty one.
fn tightest_memory(root: &Root, groups: &Groups) -> Option<MemoryLimit> {
    let limits = groups.chain("memory").filter_map(|(version, dir)| memory_limit(root, version, &dir));
    limits.min_by_key(MemoryLimit::room_bytes)
}

/// The limit of the group at `dir`; none where it has none.
pub(crate) fn memory_limit(root: &Root, version: Version, dir: &str) -> Option<MemoryLimit> {
    let bytes = |name: &str| root.number::<u64>(&format!("{dir}/{name}"));
    let stat = root.raw(&format!("{dir}/memory.stat")).unwrap_or_default();
    let field = |key: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
    };
    let (limit_bytes, used_name, cache, busy) = match version {
        // Above memory.high the kernel slows the group down until it shrinks: no place to measure in.
        Version::V2 => {
            let limit = [bytes("memory.max"), bytes("memory.high")].into_iter().flatten().min()?;
            (limit, "memory.current", "inactive_file", ["file_dirty", "file_writeback"])
        }
        Version::V1 => {
            // The second holds for ancestors too that a container does not see.
            let limits = [bytes("memory.limit_in_bytes"), field("hierarchical_memory_limit")];
            let busy = ["total_dirty", "total_writeback"];
            (limits.into_iter().flatten().min()?, "memory.usage_in_bytes", "total_inactive_file", busy)
        }
    };
    if limit_bytes >= NO_LIMIT_BYTES {
        return None;
    }
    // Untouched page cache gives way at once, unless it has to be written first: it is charged, but not in the way.
    let busy: u64 = busy.into_iter().filter_map(field).sum();
    let reclaimable = field(cache).unwrap_or(0).saturating_sub(busy);
    let used_bytes = bytes(used_name).map(|used| used.saturating_sub(reclaimable));
    Some(MemoryLimit { limit_bytes, used_bytes })
}

/// Returns the throttling since these groups were made, summed: each may have a quota. `None` where no group's is counted.
pub(crate) fn throttling_of(root: &Root, groups: &[(Version, String)]) -> Option<Throttling> {
    let of_group = |(version, directory): &(Version, String)| {
        counted_throttling(*version, &root.raw(&format!("{directory}/cpu.stat"))?)
    };
    groups.iter().filter_map(of_group).reduce(|sum, of_group| Throttling {
        periods: sum.periods.saturating_add(of_group.periods),
        ns: sum.ns + of_group.ns,
    })
}

/// Parses a group's cpu.stat; the root group of version 2 has no quota, and counts none.
fn counted_throttling(version: Version, stat: &str) -> Option<Throttling> {
    let counter = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let ns = match version {
        Version::V1 => counter("throttled_time ")? as f64,
        Version::V2 => counter("throttled_usec ")? as f64 * 1e3,
    };
    Some(Throttling { periods: counter("nr_throttled ")?, ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_walked_up_to_the_mount_point() {
        let line = "32 31 0:29 /docker/ab /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory";
        let found = hierarchy(line, "3:memory:/docker/ab/c/d\n").unwrap();
        let dirs: Vec<String> = found.upwards().collect();
        assert_eq!(dirs, ["/sys/fs/cgroup/mem ory/c/d", "/sys/fs/cgroup/mem ory/c", "/sys/fs/cgroup/mem ory"]);
    }

    #[test]
    fn a_group_is_made_below_the_own_one_or_beside_it_where_the_own_one_may_have_none() {
        let older = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        let newer = "33 31 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let own = "4:memory:/a/b\n0::/user/shell.scope\n";
        let groups = |lines: &[&str], own: &str| {
            let hierarchies = lines.iter().filter_map(|line| hierarchy(line, own)).collect();
            Groups { hierarchies, own: None, is_first_namespace: true, are_absent: false }.nurseries("memory")
        };
        assert_eq!(groups(&[older], own), ["/sys/fs/cgroup/memory/a/b"]);
        assert_eq!(groups(&[newer], own), ["/sys/fs/cgroup/user"]);
        assert_eq!(groups(&[newer, older], own), ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/user"]);
        assert_eq!(groups(&[newer], "0::/\n"), ["/sys/fs/cgroup"]);
        assert!(groups(&[], own).is_empty());
    }

    #[test]
    fn lines_that_are_no_control_group_are_passed_over() {
        for line in ["", "x", "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw", "1 2 3 - cgroup2", "a - cgroup"] {
            assert!(hierarchy(line, "0::/\n").is_none(), "{line}");
        }
    }
}
