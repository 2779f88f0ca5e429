//! Writes what is usual for each kind of server, as references: quantiles of memory latency by level of the cache, from tables of many
//! machines. `cargo run -p hostmark-host --example usual -- SERVERS.csv LATENCIES.csv DIRECTORY`
//!
//! SERVERS has vendor, server, architecture, cpu_vendor, cpu_family, cpu_model, stepping, cpu_name, cpus, l1d, l2, l3 (bytes of all instances,
//! with their number); LATENCIES has vendor, server, size_kib, latency_ns (a random chain of one thread).

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use hostmark_host::Root;
use serde_json::{Value, json};

/// A kind of fewer servers has no usual range.
const LEAST_SERVERS: usize = 10;
/// Nine of ten servers are not below the first or not above the last of these; the middle one leads.
const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// The levels, as memory.hierarchy calls them. The second is left out: in base pages its latency at a size that the first does not hold in
/// part has misses of the first TLB in it, which ours has not (docs/accuracy.md).
const LEVELS: [&str; 3] = ["l1d", "l3", "dram"];
/// The first is left out too on Arm: its chain takes 6 to 7 cycles there, where the first cache answers in 4.
const LEVELS_OF_ARM: [&str; 2] = ["l3", "dram"];
/// Numbers of CPUs that are told apart: what a guest gets of the last cache depends on its share of the host.
const CLASSES: [(usize, Option<usize>); 4] = [(1, Some(2)), (3, Some(8)), (9, Some(31)), (32, None)];
/// The last cache is measured at no less: sizes below are in part in the second one, which is small on old designs.
const LEAST_OF_THIRD: u64 = 2 << 20;

/// Begin of names that a hypervisor gives to a processor of its own making: what is under it is that design or a later one.
const MADE_UP: [&str; 3] = ["AMD EPYC-", "Intel Core Processor (", "Intel Xeon Processor ("];
const MADE_UP_IN_FULL: &str = "AMD EPYC Processor";
/// The highest clock of any server processor of a design in GHz, by its maker's tables. A load takes 4 cycles at least.
const HIGHEST_GHZ: [(&str, f64); 4] =
    [("Zen 2, Rome", 3.9), ("Zen 3, Milan", 4.1), ("Zen 4, Genoa", 4.4), ("Zen 5, Turin", 5.0)];
const LEAST_CYCLES: f64 = 4.0;
/// A provider whose servers of one name are faster than that so often hides what they are.
const HIDDEN: f64 = 0.1;

/// What a design is known by.
const NUMBERS: [&str; 6] = ["architecture", "cpu_vendor", "cpu_family", "cpu_model", "stepping", "cpu_name"];

type Row = HashMap<String, String>;

struct Server {
    /// Who provides it, and as what.
    group: (String, String),
    cpus: usize,
    caches: [Option<u64>; 2],
    levels: [Option<f64>; LEVELS.len()],
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, latencies, directory] = &arguments[..] else { panic!("usual SERVERS.csv LATENCIES.csv DIRECTORY") };
    let mut by_server: HashMap<[String; 2], BTreeMap<u64, f64>> = HashMap::new();
    for row in rows(latencies) {
        let (Ok(kib), Ok(ns)) = (row["size_kib"].parse::<u64>(), row["latency_ns"].parse::<f64>()) else { continue };
        by_server.entry(["vendor", "server"].map(|key| row[key].clone())).or_default().insert(kib << 10, ns);
    }
    let mut kinds: BTreeMap<(String, String), Vec<Server>> = BTreeMap::new();
    let mut designs: HashMap<[String; NUMBERS.len()], Option<String>> = HashMap::new();
    for row in rows(servers) {
        let Some(curve) = by_server.get(&["vendor", "server"].map(|key| row[key].clone())) else { continue };
        let is_made_up = MADE_UP.iter().any(|begin| row["cpu_name"].starts_with(begin));
        if is_made_up || row["cpu_name"] == MADE_UP_IN_FULL {
            continue;
        }
        let numbers = NUMBERS.map(|column| row[column].clone());
        let Some(design) = designs.entry(numbers).or_insert_with(|| design(&row)).clone() else { continue };
        let [first, second, third] = ["l1d", "l2", "l3"].map(|level| of_one(&row[level]));
        kinds.entry((row["architecture"].clone(), design)).or_default().push(Server {
            group: (row["vendor"].clone(), row["cpu_name"].clone()),
            cpus: row["cpus"].parse().unwrap_or(0),
            caches: [first, second],
            levels: by_level([first, second, third], curve),
        });
    }
    for ((architecture, design), servers) in kinds {
        let servers = genuine(&design, servers);
        let is_arm = architecture == "aarch64";
        let levels: &[&str] = if is_arm { &LEVELS_OF_ARM } else { &LEVELS };
        let all: Vec<&Server> = servers.iter().collect();
        let Some(values) = usual(levels, &all) else { continue };
        let name = format!("usual-{}", design.to_lowercase().replace(", ", "-").replace(' ', "-"));
        // The generation, and what its server is called.
        let kind = design.split_once(", ").map_or(design.clone(), |(zen, name)| format!("{zen} ({name})"));
        let machine = |count: usize, en: &str, zh: &str| json!({ "en": format!("{count} {kind} cloud servers{en}"), "zh": format!("{count} 台{zh} {kind} 云服务器") });
        let class = |(from, to): (usize, Option<usize>)| {
            let of_class = |server: &&Server| server.cpus >= from && to.is_none_or(|to| server.cpus <= to);
            let servers: Vec<&Server> = servers.iter().filter(of_class).collect();
            let values = usual(levels, &servers)?;
            let (en, zh) = match to {
                Some(to) => (format!(" with {from} to {to} CPUs"), format!(" {from} 至 {to} 个 CPU 的")),
                None => (format!(" with {from} CPUs or more"), format!(" {from} 个 CPU 及以上的")),
            };
            let to = to.unwrap_or(usize::MAX >> 32);
            Some(json!({ "cpus": [from, to], "machine": machine(servers.len(), &en, &zh), "values": values }))
        };
        let classes: Vec<Value> = CLASSES.into_iter().filter_map(class).collect();
        let reference = json!({
            "schema": "hostmark.reference/1",
            "name": name,
            "machine": machine(servers.len(), "", ""),
            "architecture": architecture,
            "vendor": if is_arm { "Arm" } else if design.starts_with("Zen") { "AuthenticAMD" } else { "GenuineIntel" },
            "design": design,
            "guest": true,
            "address": "https://github.com/SpareCores/sc-inspector-data",
            "date": "2026-08-22",
            "by": "Spare Cores",
            "method": {
                "en": "sc-membench by Spare Cores (CC BY-SA 4.0): the median over the servers; the interval is from their 10th to their 90th percentile",
                "zh": "Spare Cores 的 sc-membench（CC BY-SA 4.0）：各服务器的中位数；区间为第 10 至第 90 百分位",
            },
            "values": values,
            "classes": classes,
        });
        let text = serde_json::to_string_pretty(&reference).expect("a reference") + "\n";
        std::fs::write(Path::new(directory).join(format!("{name}.json")), text).expect("a file in the directory");
    }
}

/// The servers that are what they claim: not faster than their design can be, with the caches of most others.
fn genuine(design: &str, mut servers: Vec<Server>) -> Vec<Server> {
    let highest = HIGHEST_GHZ.iter().find(|(name, _)| *name == design).map_or(f64::INFINITY, |(_, ghz)| *ghz);
    let is_too_fast = |server: &Server| server.levels[0].is_some_and(|ns| ns < LEAST_CYCLES / highest);
    let mut groups: HashMap<(String, String), [usize; 2]> = HashMap::new();
    for server in &servers {
        let [all, fast] = groups.entry(server.group.clone()).or_default();
        *all += 1;
        *fast += usize::from(is_too_fast(server));
    }
    servers.retain(|server| {
        let [all, fast] = groups[&server.group];
        (fast as f64) <= HIDDEN * all as f64
    });
    let mut counts: BTreeMap<[Option<u64>; 2], usize> = BTreeMap::new();
    for server in servers.iter().filter(|server| server.caches[0].is_some()) {
        *counts.entry(server.caches).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(caches, _)| caches);
    servers.retain(|server| most == Some(server.caches));
    servers
}

/// The rows of a table, each by the names of its columns.
fn rows(path: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    reader.deserialize().map(|row| row.expect("a row of as many columns")).collect()
}

/// What the design is called, by the facts of a host with these numbers. Arm's names are those of designs.
fn design(row: &Row) -> Option<String> {
    if row["architecture"] == "aarch64" {
        return row["cpu_name"].strip_prefix("Neoverse-").map(|name| format!("Neoverse {name}"));
    }
    let place = tempfile::tempdir().expect("a temporary directory");
    std::fs::create_dir_all(place.path().join("proc")).expect("a directory in it");
    let text = format!(
        "processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\nstepping\t: {}\nflags\t\t: fpu\n\n",
        row["cpu_vendor"], row["cpu_family"], row["cpu_model"], row["stepping"]
    );
    std::fs::write(place.path().join("proc/cpuinfo"), text).expect("a file in it");
    hostmark_host::read(&Root::at(place.path())).cpu.microarchitecture
}

/// The latency within each level: at the largest size that the first cache holds for certain; at four times the second cache if half of the
/// third holds that; and at four times the third, else at the largest of twice the third and more.
fn by_level([first, second, third]: [Option<u64>; 3], curve: &BTreeMap<u64, f64>) -> [Option<f64>; LEVELS.len()] {
    let among =
        |from: u64, to: u64| (from <= to).then(|| curve.range(from..=to).map(|(_, ns)| *ns)).into_iter().flatten();
    [
        first.and_then(|first| among(0, first / 4 * 3).last()),
        second.zip(third).and_then(|(second, third)| among((4 * second).max(LEAST_OF_THIRD), third / 2).next()),
        third.and_then(|third| {
            among((4 * third).max(64 << 20), u64::MAX).next().or_else(|| among(2 * third, u64::MAX).last())
        }),
    ]
}

/// Bytes of one instance: `131072 (4 instances)`.
fn of_one(text: &str) -> Option<u64> {
    let (bytes, rest) = text.split_once(' ').unwrap_or((text, "(1 instance)"));
    let instances: u64 = rest.trim_start_matches('(').split(' ').next()?.parse().ok()?;
    bytes.parse::<u64>().ok()?.checked_div(instances)
}

/// The values of these levels; none where one is known of too few servers.
fn usual(levels: &[&str], servers: &[&Server]) -> Option<Vec<Value>> {
    let of_level = |level: &&str| {
        let at = LEVELS.iter().position(|known| known == level)?;
        let mut values: Vec<f64> = servers.iter().filter_map(|server| server.levels[at]).collect();
        if values.len() < LEAST_SERVERS {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
        let [low, below, middle, above, high] = QUANTILES.map(at);
        let id = format!("memory.hierarchy@level={level}");
        Some(json!({ "id": id, "value": middle, "interval": [low, high], "half": [below, above] }))
    };
    levels.iter().map(of_level).collect()
}
