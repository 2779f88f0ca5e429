//! The kernel: its release and settings, its audit, how it treats this process, and what it is doing.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;

use hostmark_model::{Activity, Audit, KernelFacts, Pressure, ProcessFacts};
use hostmark_sys::call::errno;
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask_audit};
use rustix::io::Errno;
use rustix::system::{Uname, uname};

use crate::root::{Root, field};

const CLOCK_DIR: &str = "/sys/devices/system/clocksource/clocksource0";
const VULNERABILITY_DIR: &str = "/sys/devices/system/cpu/vulnerabilities";

pub(crate) fn read(root: &Root) -> KernelFacts {
    let (audit, audit_rules) = read_audit(root);
    KernelFacts {
        system: String::new(),
        release: name(root, "osrelease", Uname::release),
        version: name(root, "version", Uname::version),
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

/// Returns a name that the kernel has for itself; by uname(2) where /proc shows processes alone (`subset=pid`).
pub(crate) fn name(root: &Root, file: &str, of: fn(&Uname) -> &CStr) -> String {
    let told = || root.is_this_machine().then(|| of(&uname()).to_string_lossy().into_owned());
    root.text(&format!("/proc/sys/kernel/{file}")).or_else(told).unwrap_or_default()
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

/// AUDIT_GET and AUDIT_LIST_RULES of linux/audit.h.
const GET: u16 = 1000;
const LIST_RULES: u16 = 1013;
/// The words of an audit_status and of an audit_rule_data: what is valid, whether it is on; which list, what to do, how many
/// conditions.
const ENABLED: usize = 1;
const LIST: usize = 0;
const ACTION: usize = 1;
const CONDITIONS: usize = 2;
/// AUDIT_FILTER_TASK: the rules that decide for a new process.
const TASK: u32 = 1;
/// AUDIT_NEVER.
const NEVER: u32 = 0;

/// Reads whether the kernel audits, and how many rules there are; a captured tree does not tell.
fn read_audit(root: &Root) -> (Option<Audit>, Option<u64>) {
    if !root.is_this_machine() {
        return (None, None);
    }
    let mut is_on = None;
    let asked = ask_audit(GET, Scope::Lone, &mut |answer| is_on = word(&answer, ENABLED).map(|enabled| enabled != 0));
    if let Err(error) = asked {
        return (state(&error), None);
    }
    let mut rules: Vec<NetlinkAnswer> = Vec::new();
    let are_listed = ask_audit(LIST_RULES, Scope::All, &mut |answer| rules.push(answer)).is_ok();
    let rules = are_listed.then_some(rules);
    let audit = is_on.map(|is_on| match is_on {
        false => Audit::Off,
        true if rules.as_deref().is_some_and(exempts_all) => Audit::Exempt,
        true => Audit::On,
    });
    (audit, rules.map(|rules| rules.len() as u64))
}

fn state(error: &io::Error) -> Option<Audit> {
    match Errno::from_raw_os_error(errno(error)?) {
        // Not built in, or turned off when the machine was booted.
        Errno::PROTONOSUPPORT => Some(Audit::Off),
        // Namespaces of users have no audit.
        Errno::PERM | Errno::ACCESS | Errno::CONNREFUSED => Some(Audit::Untold),
        _ => None,
    }
}

/// Tells whether the first rule for new processes keeps all of them out.
fn exempts_all(rules: &[NetlinkAnswer]) -> bool {
    let first = rules.iter().find(|rule| word(rule, LIST) == Some(TASK));
    first.is_some_and(|rule| word(rule, ACTION) == Some(NEVER) && word(rule, CONDITIONS) == Some(0))
}

fn word(answer: &NetlinkAnswer, index: usize) -> Option<u32> {
    answer.body.get(4 * index..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// Scheduling policies by the kernel's numbers.
const POLICIES: [&str; 8] =
    ["SCHED_OTHER", "SCHED_FIFO", "SCHED_RR", "SCHED_BATCH", "", "SCHED_IDLE", "SCHED_DEADLINE", "SCHED_EXT"];
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

pub(crate) fn read_process(root: &Root) -> ProcessFacts {
    let stat = root.raw("/proc/self/stat").unwrap_or_default();
    let status = root.raw("/proc/self/status").unwrap_or_default();
    let sched = root.raw("/proc/self/sched").unwrap_or_default();
    // The name may hold anything, also blanks and brackets.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let of_stat = |number: usize| fields.get(number - FIRST_FIELD);
    let policy: Option<usize> = of_stat(POLICY).and_then(|text| text.parse().ok());
    let clamp = |name: &str| -> Option<u32> {
        let value = |key: &str| {
            sched.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim().parse().ok())
        };
        // What the process asks for, as its control group allows it.
        value(&format!("effective {name}")).or_else(|| value(name))
    };
    ProcessFacts {
        policy: policy.map(policy_name),
        nice: of_stat(NICE).and_then(|text| text.parse().ok()),
        priority: of_stat(PRIORITY).and_then(|text| text.parse().ok()),
        uclamp_min: clamp("uclamp.min"),
        uclamp_max: clamp("uclamp.max"),
        traced: field(&status, "TracerPid").map(|pid| pid != "0"),
        attributes: attributes(root, &status),
        no_new_privs: field(&status, "NoNewPrivs").map(|flag| flag != "0"),
        resource_limits: resource_limits(&root.raw("/proc/self/limits").unwrap_or_default()),
    }
}

/// Attributes of /proc/self/status that a process inherits, by their names here.
const OF_STATUS: [(&str, &str); 3] = [
    ("store_bypass", "Speculation_Store_Bypass"),
    ("indirect_branch", "SpeculationIndirectBranch"),
    ("memory_nodes", "Mems_allowed_list"),
];

fn attributes(root: &Root, status: &str) -> BTreeMap<String, String> {
    let has_autogroups = root.text("/proc/sys/kernel/sched_autogroup_enabled").as_deref() == Some("1");
    // `/autogroup-53 nice 0`
    let group = root.text("/proc/self/autogroup").filter(|_| has_autogroups);
    let nice = group.and_then(|text| text.rsplit_once(" nice ").map(|(_, nice)| nice.to_owned()));
    // `55d0c0a00000 interleave:0-1 file=…`
    let maps = root.raw_until("/proc/self/numa_maps", |so_far| so_far.contains(&b'\n'));
    let policy = maps.and_then(|text| text.split_whitespace().nth(1).map(str::to_owned));
    let found = [
        ("autogroup_nice", nice),
        ("memory_policy", policy),
        ("personality", root.text("/proc/self/personality")),
        ("timer_slack_ns", root.text("/proc/self/timerslack_ns")),
        ("tracer", tracer(root)),
    ];
    let of_status = OF_STATUS.map(|(name, key)| (name, field(status, key).map(str::to_owned)));
    found.into_iter().chain(of_status).filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the process that traces this one: `strace (4711)`; none where nobody does or none can be seen.
pub fn tracer(root: &Root) -> Option<String> {
    let status = root.one_read("/proc/self/status")?;
    let pid = field(&status, "TracerPid").filter(|pid| *pid != "0")?;
    let name = root.text(&format!("/proc/{pid}/comm")).unwrap_or_else(|| "?".to_owned());
    Some(format!("{name} ({pid})"))
}

fn policy_name(number: usize) -> String {
    let known = POLICIES.get(number).filter(|name| !name.is_empty());
    known.map_or_else(|| format!("policy {number}"), |name| (*name).to_owned())
}

/// The soft limits of lines such as `Max open files            1024                 1048576              files`.
fn resource_limits(text: &str) -> BTreeMap<String, String> {
    let soft = |label: &str| text.lines().find_map(|line| line.strip_prefix(label)?.split_whitespace().next());
    let known = RESOURCE_LIMITS.iter().filter_map(|(label, name)| Some((*name, soft(label)?)));
    known.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

pub(crate) fn read_activity(root: &Root) -> Activity {
    Activity {
        uptime_s: root.text("/proc/uptime").and_then(|text| finite_number(text.split_whitespace().next()?)),
        load: root.text("/proc/loadavg").as_deref().and_then(load),
        pressure: RESOURCES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), pressure(root, name)?)))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// `1.03 0.66 0.31 3/93 8824`.
pub(crate) fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(finite_number);
    Some([words.next()??, words.next()??, words.next()??])
}

/// `some avg10=1.27 avg60=0.68 …`, in percent; a second line for `full`.
fn pressure(root: &Root, resource: &str) -> Option<Pressure> {
    let text = root.text(&format!("/proc/pressure/{resource}"))?;
    let share = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        let percent = line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
        Some(finite_number(percent)? / 100.0)
    };
    Some(Pressure { some: share("some")?, full: share("full") })
}

/// A number that a run file can carry.
fn finite_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(words: [u32; 3]) -> NetlinkAnswer {
        NetlinkAnswer { kind: LIST_RULES, body: words.map(u32::to_ne_bytes).concat() }
    }

    #[test]
    fn the_first_rule_for_new_processes_decides() {
        const EXIT: u32 = 4;
        let (never, always, some) = (rule([TASK, NEVER, 0]), rule([TASK, 2, 0]), rule([TASK, NEVER, 1]));
        assert!(exempts_all(&[rule([EXIT, NEVER, 0]), never.clone(), always.clone()]));
        assert!(!exempts_all(&[always, never.clone()]) && !exempts_all(&[some, never]));
        assert!(!exempts_all(&[]) && !exempts_all(&[NetlinkAnswer { kind: LIST_RULES, body: vec![1, 0, 0] }]));
    }

    #[test]
    fn who_may_not_ask_does_not_know() {
        let of = |errno: Errno| state(&io::Error::from(errno));
        assert_eq!(of(Errno::PROTONOSUPPORT), Some(Audit::Off));
        assert_eq!([Errno::PERM, Errno::CONNREFUSED].map(of), [Some(Audit::Untold); 2]);
        assert_eq!([Errno::NOSYS, Errno::AGAIN].map(of), [None; 2]);
        assert_eq!(read_audit(&Root::at("/nowhere")), (None, None));
        // This kernel answers at once, whatever it is; an emulator may refuse in a way of its own.
        let (audit, rules) = read_audit(&Root::here());
        assert!(
            rules.is_none() || matches!(audit, Some(Audit::Off | Audit::Exempt | Audit::On)),
            "{audit:?}, {rules:?}"
        );
    }
}
