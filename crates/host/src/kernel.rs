//! The kernel: release, clock sources, command line, mitigations, and whether it tells run delay.

use std::collections::BTreeMap;

use hostmark_model::KernelFacts;

use crate::root::Root;

const CLOCK_DIR: &str = "/sys/devices/system/clocksource/clocksource0";
const VULNERABILITY_DIR: &str = "/sys/devices/system/cpu/vulnerabilities";

pub(crate) fn read(root: &Root) -> KernelFacts {
    let (audit, audit_rules) = crate::audit::read(root);
    KernelFacts {
        system: String::new(),
        release: root.text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        version: root.text("/proc/sys/kernel/version").unwrap_or_default(),
        command_line: root.text("/proc/cmdline"),
        clock_source: root.text(&format!("{CLOCK_DIR}/current_clocksource")),
        clock_sources: root
            .text(&format!("{CLOCK_DIR}/available_clocksource"))
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        vulnerabilities: vulnerabilities(root),
        has_run_delay: has_run_delay(root),
        perf_event_paranoid: root.number("/proc/sys/kernel/perf_event_paranoid"),
        io_uring_disabled: root.number("/proc/sys/kernel/io_uring_disabled"),
        audit,
        audit_rules,
        module_version: root.text("/sys/module/hostmark/version"),
    }
}

fn vulnerabilities(root: &Root) -> BTreeMap<String, String> {
    let vulnerability = |name: String| Some((root.text(&format!("{VULNERABILITY_DIR}/{name}"))?, name));
    root.names(VULNERABILITY_DIR).into_iter().filter_map(vulnerability).map(|(status, name)| (name, status)).collect()
}

/// Three numbers: time on CPU, run delay, time slices. A kernel that does not account writes `0 0 0`, and whoever reads
/// this has had a time slice.
fn has_run_delay(root: &Root) -> bool {
    let text = root.text("/proc/self/schedstat").unwrap_or_default();
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.len() == 3 && numbers[2] > 0)
}
