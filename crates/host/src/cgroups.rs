//! Where this process's control groups are: version 1, version 2, or both side by side (hybrid).

use crate::root::Root;

/// The two interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// One mounted hierarchy, with this process's place in it.
struct Hierarchy {
    version: Version,
    /// Version 1: the controllers mounted here. Version 2: all that it has, so that this stays empty.
    controllers: Vec<String>,
    mount_point: String,
    /// This process's group, relative to the mount point, without slashes at its ends; empty at the mount point.
    group: String,
}

/// The hierarchies that this process sees.
pub(crate) struct Groups {
    hierarchies: Vec<Hierarchy>,
    are_known: bool,
}

impl Groups {
    pub(crate) fn read(root: &Root) -> Groups {
        let (own, mounts) = (root.raw("/proc/self/cgroup"), root.raw("/proc/self/mountinfo"));
        // A kernel without control groups has the second file and not the first: then there is no limit to be known.
        let are_known = mounts.is_some();
        let (own, mounts) = (own.unwrap_or_default(), mounts.unwrap_or_default());
        Groups { hierarchies: mounts.lines().filter_map(|line| hierarchy(line, &own)).collect(), are_known }
    }

    /// Whether the files were there that tell of them.
    pub(crate) fn are_known(&self) -> bool {
        self.are_known
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

impl Hierarchy {
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
    let path = own_path(own, &controllers).unwrap_or_default();
    Some(Hierarchy { version, controllers, mount_point, group: below(&mounted, path) })
}

/// This process's path in the hierarchy of `controllers` (none: version 2), from /proc/self/cgroup's
/// `id:controllers:path`.
fn own_path<'a>(own: &'a str, controllers: &[String]) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        let is_it = match controllers {
            [] => names.is_empty(),
            // The mount's options hold more than the controllers (rw, xattr, name=…).
            _ => !names.is_empty() && names.split(',').all(|name| controllers.iter().any(|known| known == name)),
        };
        is_it.then_some(path)
    })
}

/// The part of `path` below the directory that is mounted. A path outside it (`/..` seen from a namespace) cannot be
/// reached through this mount: the mount point itself is the nearest group then.
fn below(mounted: &str, path: &str) -> String {
    let rest = match mounted {
        "/" => path,
        _ => match path.strip_prefix(mounted) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ => "",
        },
    };
    let rest = rest.trim_matches('/');
    if rest.split('/').any(|part| part == "..") { String::new() } else { rest.to_owned() }
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
            Groups { hierarchies, are_known: true }.nurseries("memory")
        };
        assert_eq!(groups(&[older], own), ["/sys/fs/cgroup/memory/a/b"]);
        assert_eq!(groups(&[newer], own), ["/sys/fs/cgroup/user"]);
        assert_eq!(groups(&[newer, older], own), ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/user"]);
        assert_eq!(groups(&[newer], "0::/\n"), ["/sys/fs/cgroup"]);
        assert!(groups(&[], own).is_empty());
    }

    #[test]
    fn a_path_outside_the_mount_ends_at_the_mount_point() {
        assert_eq!(below("/", "/a/b"), "a/b");
        assert_eq!(below("/", "/"), "");
        assert_eq!(below("/docker/ab", "/docker/abc"), "");
        assert_eq!(below("/docker/ab", "/docker/ab"), "");
        assert_eq!(below("/", "/../other"), "");
    }

    #[test]
    fn lines_that_are_no_control_group_are_passed_over() {
        for line in ["", "x", "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw", "1 2 3 - cgroup2", "a - cgroup"] {
            assert!(hierarchy(line, "0::/\n").is_none(), "{line}");
        }
    }
}
