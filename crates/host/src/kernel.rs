//! The kernel: its release and settings, its audit, how it treats this process, and what it is doing.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;

use hostmark_model::{Activity, Audit, KernelFacts, Pressure, ProcessFacts};
use hostmark_sys::call::errno;
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask_audit};
use hostmark_sys::process::attributes as attributes_of_kernel;
use rustix::io::Errno;
use rustix::system::{Uname, uname};

use crate::noise::{event_tracer, load};
use crate::root::{Root, field, finite_number, table};

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
        sysctls: root.sysctls("kernel"),
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

/// Three numbers: time on CPU, run delay, time slices. A kernel that does not account writes zeros; a reader has had a slice.
fn has_run_delay(root: &Root) -> bool {
    let text = root.text("/proc/self/schedstat").unwrap_or_default();
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.len() == 3 && numbers[2] > 0)
}

/// AUDIT_GET and AUDIT_LIST_RULES of linux/audit.h.
const GET: u16 = 1000;
const LIST_RULES: u16 = 1013;
/// The words of an audit_status and an audit_rule_data: what is valid, whether it is on; list, action, number of conditions.
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
pub(crate) fn read_process(root: &Root) -> ProcessFacts {
    let stat = root.raw("/proc/self/stat").unwrap_or_default();
    let status = root.raw("/proc/self/status").unwrap_or_default();
    let sched = root.raw("/proc/self/sched").unwrap_or_default();
    // The name may hold anything, also blanks and brackets.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let of_stat = |number: usize| fields.get(number - FIRST_FIELD);
    let policy: Option<usize> = of_stat(POLICY).and_then(|text| text.parse().ok());
    let tracer = tracer(root).or_else(|| event_tracer(root));
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
        traced: field(&status, "TracerPid").map(|pid| pid != "0" || tracer.is_some()),
        attributes: attributes(root, &status, tracer),
        no_new_privs: field(&status, "NoNewPrivs").map(|flag| flag != "0"),
        resource_limits: resource_limits(&root.raw("/proc/self/limits").unwrap_or_default()),
    }
}

/// Classes of ioprio_get(2), as ionice(1) names them.
const IO_CLASSES: [&str; 4] = ["none", "realtime", "best-effort", "idle"];
/// Variables by which the dynamic loader and malloc take other ways; names that begin so, for those that end with `_`.
const VARIABLES: [&str; 4] = ["GLIBC_TUNABLES", "LD_BIND_NOW", "LD_PRELOAD", "MALLOC_"];
/// Characters that a variable's value has at most here.
const MOST_CHARS: usize = 200;

/// Returns what the environment of this process sets of [`VARIABLES`], libraries by their names alone: `MALLOC_ARENA_MAX=1`, or `none`.
fn environment(root: &Root) -> Option<String> {
    let text = root.raw("/proc/self/environ")?;
    let is_one = |name: &str| VARIABLES.iter().any(|one| name == *one || (one.ends_with('_') && name.starts_with(one)));
    let of = |(name, value): (&str, &str)| {
        let files = value.split(' ').map(|word| word.rsplit('/').next().unwrap_or_default());
        let value = if name == "LD_PRELOAD" { files.collect::<Vec<_>>().join(" ") } else { value.to_owned() };
        format!("{name}={}", value.chars().take(MOST_CHARS).collect::<String>())
    };
    let mut set: Vec<String> =
        text.split('\0').filter_map(|line| line.split_once('=')).filter(|(name, _)| is_one(name)).map(of).collect();
    set.sort_unstable();
    Some(if set.is_empty() { "none".to_owned() } else { set.join("; ") })
}

/// Returns the I/O priority of this process: `none`, `best-effort 7`, `idle`.
fn io_priority() -> Option<String> {
    let (class, level) = hostmark_sys::process::io_priority()?;
    let name = IO_CLASSES.get(class)?;
    Some(if ["realtime", "best-effort"].contains(name) { format!("{name} {level}") } else { (*name).to_owned() })
}

fn attributes(root: &Root, status: &str, tracer: Option<String>) -> BTreeMap<String, String> {
    let has_autogroups = root.text("/proc/sys/kernel/sched_autogroup_enabled").as_deref() == Some("1");
    // `/autogroup-53 nice 0`
    let group = root.text("/proc/self/autogroup").filter(|_| has_autogroups);
    let nice = group.and_then(|text| text.rsplit_once(" nice ").map(|(_, nice)| nice.to_owned()));
    // `55d0c0a00000 interleave:0-1 file=…`
    let maps = root.raw_until("/proc/self/numa_maps", |so_far| so_far.contains(&b'\n'));
    let policy = maps.and_then(|text| text.split_whitespace().nth(1).map(str::to_owned));
    let is_here = root.is_this_machine();
    let found = [
        ("autogroup_nice", nice),
        ("environment", environment(root)),
        ("io_priority", is_here.then(io_priority).flatten()),
        ("memory_policy", policy),
        ("personality", root.text("/proc/self/personality")),
        ("timer_slack_ns", root.text("/proc/self/timerslack_ns")),
        ("tracer", tracer),
    ];
    let of_status = table("status").map(|[name, key, _]| (name, field(status, key).map(str::to_owned)));
    let of_kernel =
        is_here.then(attributes_of_kernel).into_iter().flatten().map(|(name, state)| (name, Some(state.to_owned())));
    let all = found.into_iter().chain(of_status).chain(of_kernel);
    all.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
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
    let known = table("limit").filter_map(|[name, label, _]| Some((name, soft(label)?)));
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
