//! Machines as their files describe them, with what is read, concluded and chosen: cases in text files, of which each line is a step.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use hostmark_analysis::findings::host::host_findings;
use hostmark_host::{
    CpuSensors, Placement, SpareMemory, core_kinds, device_work, is_memory, node_pairs, of_node, pair, single, spread,
    storage_stack,
};
use hostmark_model::{Disturbed, HostFacts, Profile, Resource};
use serde_json::{Value, json};

use crate::machines::{self, Tree};

/// Facts of a tree, and beside them what follows from them.
fn found(tree: &Tree, memory: &SpareMemory) -> Value {
    let host = tree.facts();
    let mut all = serde_json::to_value(&host).unwrap();
    assert_eq!(serde_json::from_value::<HostFacts>(all.clone()).unwrap(), host, "a run file keeps every fact");
    let pair_of = |placement: Placement| match pair(&host, placement) {
        Ok(cpus) => (placement.to_string(), json!(cpus)),
        Err(reason) => (placement.to_string(), reason.to_string().into()),
    };
    let spare = |node: Option<usize>| memory.now(node).map(|spare| json!([spare.bytes, format!("{:?}", spare.holder)]));
    let node_pairs = [Profile::Quick, Profile::Standard, Profile::Thorough].map(|profile| node_pairs(&host, profile));
    let of_node = [0, 1, 2].map(|node| of_node(&host, node));
    let kinds: Vec<_> = core_kinds(&host).into_iter().map(|(kind, cpus)| (kind.name(), cpus)).collect();
    let last_cache: Vec<_> = host.cpus.iter().take(24).map(|cpu| host.last_level_cache(cpu.id)).collect();
    let pair: serde_json::Map<_, _> = Placement::ALL.map(pair_of).into_iter().collect();
    let sight = [Resource::Cpu, Resource::Memory].map(|resource| host.limits.sight(resource));
    let more = json!({
        "usable": host.usable_cpus(),
        "single": single(&host),
        "spread": spread(&host, usize::MAX),
        "pair": pair,
        "kinds": kinds,
        "node_pairs": node_pairs,
        "of_node": of_node,
        "last_cache": last_cache,
        "rules": rules(&host),
        "sight": sight,
        "unseen": host.limits.unseen_groups(),
        "fillable": host.fillable_bytes(),
        "spare": { "machine": spare(None), "node1": spare(Some(1)), "node7": spare(Some(7)) },
        "hottest": CpuSensors::find(&tree.root()).hottest_celsius(),
    });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

/// Names of the rules that speak of a machine at rest.
fn rules(host: &HostFacts) -> Vec<String> {
    let found = host_findings(host, &Disturbed::default()).into_iter();
    found.map(|finding| finding.id["host.".len()..].to_owned()).collect()
}

/// Content of a file as a line of a case has it.
fn bytes(escaped: &str) -> Vec<u8> {
    let text = escaped.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0");
    text.split("\\xff").map(str::as_bytes).collect::<Vec<_>>().join(&0xff)
}

fn machine(name: &str) -> Tree {
    match name {
        "small_guest" => machines::small_guest(),
        "two_sockets" => machines::two_sockets(),
        "chiplets" => machines::chiplets(),
        "arm_server" => machines::arm_server(),
        "arm_guest" => machines::arm_guest(),
        "small_container" => machines::small_container(),
        "one_cpu" => machines::one_cpu(),
        "large_server" => machines::large_server(),
        "hybrid" => machines::hybrid(),
        "nps4" => machines::nps4(),
        "no_l3" => machines::no_l3(),
        other => panic!("there is no machine {other}"),
    }
}

/// A case under way.
#[derive(Default)]
struct Case {
    tree: Option<Tree>,
    /// Kept from the first look on: later looks see what has changed in the groups.
    memory: OnceCell<SpareMemory>,
    now: OnceCell<Value>,
}

impl Case {
    /// Executes a step; tells the pointer that it looked at, and whether there was something.
    fn step(&mut self, mark: &str, rest: &str) -> Option<(String, bool)> {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        if mark == "@" {
            self.tree = Some(machine(rest));
            return None;
        }
        let tree = self.tree.get_or_insert_with(Tree::new);
        let layers = || more.split(" on ").map(str::to_owned).collect::<Vec<String>>();
        match mark {
            "+" => drop(tree.file(first, bytes(more))),
            "~" => drop(tree.link(first, more)),
            "-" => drop(tree.remove(first)),
            "node" => {
                let [cpus, kib, distances] = more.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{rest}") };
                tree.node(first.parse().unwrap(), cpus.trim_matches('-'), kib.parse().unwrap(), distances);
            }
            "status" => drop(tree.status(first, more.parse().unwrap())),
            "stack" => {
                assert_eq!(storage_stack(&tree.root(), first.as_ref()).join(" on "), more, "{first}");
            }
            "memory" => assert_eq!(is_memory(&layers()), first == "true", "{rest}"),
            "work" => {
                let work = device_work(&tree.root(), &layers());
                let counted = work.map(|work| format!("{},{},{}", work.read_bytes, work.written_bytes, work.writes));
                assert_eq!(counted.unwrap_or("none".into()), first, "{rest}");
            }
            "=" | "?" | "!" => {
                let memory = self.memory.get_or_init(|| SpareMemory::new(tree.root()));
                let now = self.now.get_or_init(|| found(tree, memory));
                let value = look(now, first);
                let wanted: Value = serde_json::from_str(more).unwrap_or_else(|error| panic!("{rest}: {error}"));
                let has = || match (&value, &wanted) {
                    (Value::String(text), Value::String(part)) => text.contains(part),
                    (list, one) => list.as_array().is_some_and(|list| list.contains(one)),
                };
                let is_so = match mark {
                    "=" => value == wanted,
                    "?" => has(),
                    _ => !has(),
                };
                assert!(is_so, "{mark} {first} {wanted}: {value}");
                return Some((first.to_owned(), !value.is_null()));
            }
            other => panic!("there is no step {other}"),
        }
        self.now.take();
        None
    }
}

/// The value at a pointer, whose last step may be `#` for the length of a list; null where there is none.
fn look(all: &Value, pointer: &str) -> Value {
    let at = |pointer| all.pointer(pointer).cloned().unwrap_or_default();
    match pointer.strip_suffix("/#") {
        Some(list) => at(list).as_array().map_or(Value::Null, |list| list.len().into()),
        None => at(pointer),
    }
}

#[test]
fn machines_are_read_and_judged_as_recorded() {
    let (mut told, mut untold) = (BTreeSet::new(), BTreeSet::new());
    let mut count = 0;
    for cases in [include_str!("environment.txt"), include_str!("topology.txt"), include_str!("placement.txt")] {
        for case in cases.split("\n# ").skip(1) {
            let (title, steps) = case.split_once('\n').unwrap();
            let mut case = Case::default();
            for line in steps.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
                let (mark, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{title}: {line}"));
                let step = std::panic::AssertUnwindSafe(|| case.step(mark, rest));
                let looked = std::panic::catch_unwind(step).unwrap_or_else(|_| panic!("in: {title}"));
                if let Some((pointer, is_there)) = looked {
                    if is_there {
                        told.insert(pointer)
                    } else {
                        untold.insert(pointer)
                    };
                }
            }
            count += 1;
        }
    }
    assert!(count > 90, "{count} cases");
    // What is absent in one case is there in another: else its name would prove nothing.
    let alike = |pointer: &String| pointer.replace(|c: char| c.is_ascii_digit(), "");
    let told: Vec<String> = told.iter().map(alike).collect();
    let is_nowhere = |pointer: &&String| !told.iter().any(|told| told.starts_with(&alike(pointer)));
    let nowhere: Vec<&String> = untold.iter().filter(is_nowhere).collect();
    assert!(nowhere.is_empty(), "{nowhere:?}");
}

/// Sets a value at a pointer, also one that is not there yet.
fn set(all: &mut Value, pointer: &str, value: Value) {
    let mut at = all;
    for step in pointer.split('/').skip(1) {
        at = match at {
            Value::Array(list) => {
                let index: usize = step.parse().unwrap();
                list.resize(list.len().max(index + 1), Value::Null);
                &mut list[index]
            }
            other => &mut other[step],
        };
    }
    *at = value;
}

/// A bare machine of two single-thread cores on which no rule has anything to say.
pub fn quiet() -> HostFacts {
    let tree = machines::small_guest();
    tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu\n\n")
        .remove("/sys/devices/system/cpu/vulnerabilities/mds");
    tree.facts()
}

#[test]
fn each_fact_calls_its_own_rule_and_what_is_harmless_none() {
    assert_eq!(rules(&quiet()), [""; 0]);
    let quiet = serde_json::to_value(quiet()).unwrap();
    // The rule that is to speak, and pointers with what they are set to.
    for row in include_str!("rules.tsv").lines() {
        let (rule, changes) = row.split_once('\t').unwrap();
        let (mut host, changes) = (quiet.clone(), changes.split('\t').collect::<Vec<_>>());
        for change in changes.chunks(2) {
            set(&mut host, change[0], serde_json::from_str(change[1]).unwrap());
        }
        let host = serde_json::from_value(host).unwrap_or_else(|error| panic!("{row}: {error}"));
        assert_eq!(rules(&host).join(" "), rule, "{row}");
    }
}
