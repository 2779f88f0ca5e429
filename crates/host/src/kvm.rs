//! What this machine tells of guests that run on it: the settings that matter to them, and what one took and how it left guest
//! mode.

use std::collections::BTreeMap;

use crate::root::Root;

/// Settings that matter to a guest, by name, and the file of each.
const SETTINGS: [(&str, &str); 10] = [
    ("nested_paging", "/sys/module/kvm_intel/parameters/ept"),
    ("nested_paging", "/sys/module/kvm_amd/parameters/npt"),
    ("nested_guests", "/sys/module/kvm_intel/parameters/nested"),
    ("nested_guests", "/sys/module/kvm_amd/parameters/nested"),
    ("tdp_mmu", "/sys/module/kvm/parameters/tdp_mmu"),
    ("nx_huge_pages", "/sys/module/kvm/parameters/nx_huge_pages"),
    ("halt_poll_ns", "/sys/module/kvm/parameters/halt_poll_ns"),
    ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("same_page_merging", "/sys/kernel/mm/ksm/run"),
];

/// What of this machine matters to a guest, by name.
pub fn guest_settings(root: &Root) -> BTreeMap<String, String> {
    let settings = SETTINGS.iter().filter_map(|(name, file)| Some(((*name).to_owned(), chosen(&root.text(file)?))));
    settings.collect()
}

/// Of `always [madvise] never` the word in brackets.
fn chosen(text: &str) -> String {
    let word = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    word.map_or(text, |(word, _)| word).to_owned()
}

/// Where KVM counts, for each guest: a directory of its process's number and of a descriptor.
const STATISTICS: &str = "/sys/kernel/debug/kvm";
/// What it counts beside what ends in `exits`.
const COUNTED: [&str; 6] =
    ["halt_wakeup", "halt_successful_poll", "hypercalls", "insn_emulation", "pf_taken", "tlb_flush"];

/// How often the guests of a process have left guest mode, by reason, and what else KVM counts of them; nothing where that may
/// not be read.
pub fn exits(root: &Root, process: u32) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let prefix = format!("{process}-");
    for guest in root.names(STATISTICS).iter().filter(|name| name.starts_with(&prefix)) {
        for name in root.names(&format!("{STATISTICS}/{guest}")) {
            if (name.ends_with("exits") || COUNTED.contains(&name.as_str()))
                && let Some(count) = root.number::<u64>(&format!("{STATISTICS}/{guest}/{name}"))
            {
                *counts.entry(name).or_default() += count;
            }
        }
    }
    counts
}

/// The kernel tells times of processes in hundredths of a second, whatever its own tick is.
const TICK_NS: u64 = 10_000_000;

/// The CPU time of a process and all its threads, ns; none where there is no such process.
pub fn cpu_time_ns(root: &Root, process: u32) -> Option<u64> {
    let stat = root.raw(&format!("/proc/{process}/stat"))?;
    // The name before it may have spaces and brackets of its own.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut ticks = || times.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) * TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn settings_are_reported_by_name_and_what_is_not_there_is_not_reported() {
        let at = tempfile::tempdir().unwrap();
        assert!(guest_settings(&Root::at(at.path())).is_empty());
        write(at.path(), "sys/module/kvm_amd/parameters/npt", "1\n");
        write(at.path(), "sys/module/kvm/parameters/halt_poll_ns", "200000\n");
        write(at.path(), "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        let settings = guest_settings(&Root::at(at.path()));
        let pairs: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("halt_poll_ns", "200000"), ("nested_paging", "1"), ("transparent_huge_pages", "madvise")]);
    }

    #[test]
    fn exits_are_those_of_this_process_alone() {
        let at = tempfile::tempdir().unwrap();
        for (file, count) in [
            ("12-9/io_exits", "7\n"),
            ("12-9/exits", "11\n"),
            ("12-9/guest_mode", "1\n"),
            ("12-14/io_exits", "3\n"),
            ("12-9/irq_exits", "no number"),
            ("123-9/io_exits", "100\n"),
        ] {
            write(at.path(), &format!("sys/kernel/debug/kvm/{file}"), count);
        }
        let counts = exits(&Root::at(at.path()), 12);
        assert_eq!(counts, BTreeMap::from([("exits".to_owned(), 11), ("io_exits".to_owned(), 10)]));
    }

    #[test]
    fn the_time_of_a_process_is_read_behind_its_name_whatever_that_is() {
        let at = tempfile::tempdir().unwrap();
        let line = "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 9 9 20 0 1 0 5 1 1";
        write(at.path(), "proc/7/stat", line);
        assert_eq!(cpu_time_ns(&Root::at(at.path()), 7), Some(3_000_000_000));
        assert_eq!(cpu_time_ns(&Root::at(at.path()), 8), None);
        write(at.path(), "proc/9/stat", "9 (a) R 1");
        assert_eq!(cpu_time_ns(&Root::at(at.path()), 9), None);
        assert!(cpu_time_ns(&Root::here(), std::process::id()).is_some());
    }
}
