//! How the kernel treats this process: its scheduling, its resource limits, and who stands between it and the kernel.

use std::collections::BTreeMap;

use hostmark_model::ProcessFacts;

use crate::root::{Root, field};

/// The kernel's numbers of scheduling policies.
const POLICIES: [(u32, &str); 7] = [
    (0, "SCHED_OTHER"),
    (1, "SCHED_FIFO"),
    (2, "SCHED_RR"),
    (3, "SCHED_BATCH"),
    (5, "SCHED_IDLE"),
    (6, "SCHED_DEADLINE"),
    (7, "SCHED_EXT"),
];
/// Fields of /proc/self/stat as proc(5) counts them; the first behind the name is the third.
const FIRST_FIELD: usize = 3;
const NICE: usize = 19;
const PRIORITY: usize = 40;
const POLICY: usize = 41;
/// The resource limits that decide what can be measured, as /proc/self/limits names them, and here.
const RESOURCE_LIMITS: [(&str, &str); 9] = [
    ("Max cpu time", "cpu_time_s"),
    ("Max file size", "file_bytes"),
    ("Max data size", "data_bytes"),
    ("Max stack size", "stack_bytes"),
    ("Max processes", "processes"),
    ("Max open files", "open_files"),
    ("Max locked memory", "locked_bytes"),
    ("Max address space", "address_space_bytes"),
    ("Max realtime priority", "realtime_priority"),
];

pub(crate) fn read(root: &Root) -> ProcessFacts {
    let stat = root.raw("/proc/self/stat").unwrap_or_default();
    let status = root.raw("/proc/self/status").unwrap_or_default();
    let sched = root.raw("/proc/self/sched").unwrap_or_default();
    // The name may hold anything, also blanks and brackets.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let of_stat = |number: usize| fields.get(number - FIRST_FIELD);
    let policy: Option<u32> = of_stat(POLICY).and_then(|text| text.parse().ok());
    let clamp = |name: &str| -> Option<u32> {
        sched.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim().parse().ok())
    };
    ProcessFacts {
        policy: policy.map(policy_name),
        nice: of_stat(NICE).and_then(|text| text.parse().ok()),
        priority: of_stat(PRIORITY).and_then(|text| text.parse().ok()),
        uclamp_min: clamp("uclamp.min"),
        uclamp_max: clamp("uclamp.max"),
        traced: field(&status, "TracerPid").map(|pid| pid != "0"),
        no_new_privs: field(&status, "NoNewPrivs").map(|flag| flag != "0"),
        resource_limits: resource_limits(&root.raw("/proc/self/limits").unwrap_or_default()),
    }
}

fn policy_name(number: u32) -> String {
    let known = POLICIES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("policy {number}"), |(_, name)| (*name).to_owned())
}

/// The soft limits of lines such as `Max open files            1024                 1048576              files`.
fn resource_limits(text: &str) -> BTreeMap<String, String> {
    let soft = |label: &str| text.lines().find_map(|line| line.strip_prefix(label)?.split_whitespace().next());
    let known = RESOURCE_LIMITS.iter().filter_map(|(label, name)| Some((*name, soft(label)?)));
    known.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
