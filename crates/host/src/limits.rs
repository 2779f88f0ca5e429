//! What the process may use: the tightest control group between its own and the root, and its user.

use hostmark_model::LimitFacts;

use crate::cgroups::{Groups, Version};
use crate::root::{Root, field};

/// Version 1 has no word for "no limit": it writes the largest page-aligned number, which depends on the page size.
/// No machine has 2^62 bytes.
const NO_LIMIT_BYTES: u64 = 1 << 62;

pub(crate) fn read(root: &Root) -> LimitFacts {
    let groups = Groups::read(root);
    let memory = tightest_memory(root, &groups);
    LimitFacts {
        cgroup_version: groups.version(),
        cpu_quota: tightest_quota(root, &groups),
        memory_limit_bytes: memory.map(|memory| memory.limit_bytes),
        memory_used_bytes: memory.and_then(|memory| memory.used_bytes),
        is_root: effective_user(root) == Some(0),
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

/// The second number of `Uid: real effective saved filesystem`.
fn effective_user(root: &Root) -> Option<u32> {
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

#[derive(Clone, Copy)]
struct MemoryLimit {
    limit_bytes: u64,
    used_bytes: Option<u64>,
}

/// The group with the least room: a large group that is nearly full binds before a small empty one.
fn tightest_memory(root: &Root, groups: &Groups) -> Option<MemoryLimit> {
    let room = |memory: &MemoryLimit| memory.limit_bytes.saturating_sub(memory.used_bytes.unwrap_or(0));
    groups.chain("memory").filter_map(|(version, dir)| memory_limit(root, version, &dir)).min_by_key(room)
}

fn memory_limit(root: &Root, version: Version, dir: &str) -> Option<MemoryLimit> {
    let bytes = |name: &str| root.number::<u64>(&format!("{dir}/{name}"));
    let (limit_bytes, used_name, cache_key) = match version {
        // Above memory.high the kernel slows the group down until it shrinks: no place to measure in.
        Version::V2 => {
            let limit = [bytes("memory.max"), bytes("memory.high")].into_iter().flatten().min()?;
            (limit, "memory.current", "inactive_file")
        }
        Version::V1 => (bytes("memory.limit_in_bytes")?, "memory.usage_in_bytes", "total_inactive_file"),
    };
    if limit_bytes >= NO_LIMIT_BYTES {
        return None;
    }
    // Page cache that nobody has touched lately gives way at once; it is charged, but not in the way.
    let stat = root.raw(&format!("{dir}/memory.stat")).unwrap_or_default();
    let reclaimable = stat.lines().find_map(|line| line.strip_prefix(cache_key)?.trim().parse::<u64>().ok());
    let used_bytes = bytes(used_name).map(|used| used.saturating_sub(reclaimable.unwrap_or(0)));
    Some(MemoryLimit { limit_bytes, used_bytes })
}
