//! What the process may use: the tightest control group between its own and the root, and its user.

use hostmark_model::{LimitFacts, Resource, Sight};

use crate::cgroups::{Groups, Version};
use crate::root::{Root, field};

/// Version 1 has no word for "no limit": it writes the largest page-aligned number, which depends on the page size.
/// No machine has 2^62 bytes.
const NO_LIMIT_BYTES: u64 = 1 << 62;

pub(crate) fn read(root: &Root) -> LimitFacts {
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
    }
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

/// This machine's kernel tells it without any file; else the second number of `Uid: real effective saved filesystem`.
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
    /// What the group can still be charged.
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
    // Page cache that nobody has touched lately gives way at once, unless it has to be written to a device before: it is
    // charged, but not in the way.
    let busy: u64 = busy.into_iter().filter_map(field).sum();
    let reclaimable = field(cache).unwrap_or(0).saturating_sub(busy);
    let used_bytes = bytes(used_name).map(|used| used.saturating_sub(reclaimable));
    Some(MemoryLimit { limit_bytes, used_bytes })
}
