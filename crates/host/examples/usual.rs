//! Writes what is usual for each kind of server, as references: quantiles of memory latency by level of the cache, from tables of many
//! machines. `cargo run -p hostmark-host --example usual -- SERVERS.csv LATENCIES.csv DIRECTORY`
//!
//! SERVERS has vendor, server, cpu_vendor, cpu_family, cpu_model, stepping, l1d, l2, l3 (bytes of all instances, with their number);
//! LATENCIES has vendor, server, size_kib, latency_ns (a random chain of one thread).

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use hostmark_host::Root;
use serde_json::json;

/// A kind of fewer servers has no usual range.
const LEAST_SERVERS: usize = 10;
/// Nine of ten servers are not below the first or not above the last of these; the middle one leads.
const QUANTILES: [f64; 3] = [0.1, 0.5, 0.9];
/// The levels, as memory.hierarchy calls them. The second is left out: in base pages its latency at a size that the first does not hold in
/// part has misses of the first TLB in it, which ours has not (docs/accuracy.md).
const LEVELS: [&str; 3] = ["l1d", "l3", "dram"];

/// What a design is known by.
const NUMBERS: [&str; 4] = ["cpu_vendor", "cpu_family", "cpu_model", "stepping"];

/// Vendor and server.
type Server = (String, String);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, latencies, directory] = &arguments[..] else { panic!("usual SERVERS.csv LATENCIES.csv DIRECTORY") };
    let mut by_server: HashMap<Server, BTreeMap<u64, f64>> = HashMap::new();
    for row in rows(latencies) {
        let (Ok(kib), Ok(ns)) = (row["size_kib"].parse::<u64>(), row["latency_ns"].parse::<f64>()) else { continue };
        by_server.entry((row["vendor"].clone(), row["server"].clone())).or_default().insert(kib << 10, ns);
    }
    let mut kinds: BTreeMap<(String, String), [Vec<f64>; LEVELS.len()]> = BTreeMap::new();
    let mut designs: HashMap<[String; NUMBERS.len()], Option<String>> = HashMap::new();
    for row in rows(servers) {
        let Some(curve) = by_server.get(&(row["vendor"].clone(), row["server"].clone())) else { continue };
        let numbers = NUMBERS.map(|column| row[column].clone());
        let Some(design) = designs.entry(numbers).or_insert_with(|| design(&row)).clone() else { continue };
        let levels = kinds.entry((row["cpu_vendor"].clone(), design)).or_default();
        for (values, value) in levels.iter_mut().zip(by_level(&row, curve)) {
            values.extend(value);
        }
    }
    for ((vendor, design), levels) in kinds {
        let count = levels.iter().map(Vec::len).max().unwrap_or_default();
        let values: Vec<_> = LEVELS.iter().zip(levels).filter_map(|(level, values)| usual(level, values)).collect();
        if values.len() < LEVELS.len() {
            continue;
        }
        let name = format!("usual-{}", design.to_lowercase().replace(", ", "-").replace(' ', "-"));
        let reference = json!({
            "schema": "hostmark.reference/1",
            "name": name,
            "machine": {
                "en": format!("{count} cloud servers with {design}"),
                "zh": format!("{count} 台 {design} 云服务器"),
            },
            "architecture": "x86_64",
            "vendor": vendor,
            "design": design,
            "guest": true,
            "address": "https://github.com/SpareCores/sc-inspector-data",
            "date": "2026-08-22",
            "method": {
                "en": "sc-membench by Spare Cores (CC BY-SA 4.0): the median over the servers; the interval is from their 10th to their 90th percentile",
                "zh": "Spare Cores 的 sc-membench（CC BY-SA 4.0）：各服务器的中位数；区间为第 10 至第 90 百分位",
            },
            "values": values,
        });
        let text = serde_json::to_string_pretty(&reference).expect("a reference") + "\n";
        std::fs::write(Path::new(directory).join(format!("{name}.json")), text).expect("a file in the directory");
    }
}

/// The rows of a table, each by the names of its columns.
fn rows(path: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    reader.deserialize().map(|row| row.expect("a row of as many columns")).collect()
}

/// What the design is called, by the facts of a host with these numbers.
fn design(row: &HashMap<String, String>) -> Option<String> {
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
fn by_level(row: &HashMap<String, String>, curve: &BTreeMap<u64, f64>) -> [Option<f64>; LEVELS.len()] {
    let [first, second, third] = ["l1d", "l2", "l3"].map(|level| of_one(&row[level]));
    let among =
        |from: u64, to: u64| (from <= to).then(|| curve.range(from..=to).map(|(_, ns)| *ns)).into_iter().flatten();
    [
        first.and_then(|first| among(0, first / 4 * 3).last()),
        second.zip(third).and_then(|(second, third)| among(4 * second, third / 2).next()),
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

/// A value of the reference; none of too few servers.
fn usual(level: &str, mut values: Vec<f64>) -> Option<serde_json::Value> {
    if values.len() < LEAST_SERVERS {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
    let [low, middle, high] = QUANTILES.map(at);
    Some(json!({ "id": format!("memory.hierarchy@level={level}"), "value": middle, "interval": [low, high] }))
}
