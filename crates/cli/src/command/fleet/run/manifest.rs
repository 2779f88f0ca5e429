//! Manifests for Kubernetes: the pod on a node, the Indexed Job of all, and both as text.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Result;
use hostmark_engine::sys::place;
use hostmark_engine::sys::place::Kind;
use hostmark_model::{FLEET_RUN_FILE, FLEET_RUN_SCHEMA, FleetHost, FleetPair, FleetRequest, FleetRun, HostState};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde_json::{Value, json};

use super::{Cluster, hosts};
use crate::command::unwritten;
use crate::language::{refuse, refused, said};
use crate::store;

/// The label by which the pods of a fleet are found.
pub const LABEL: &str = "app.kubernetes.io/instance";
/// The container's name.
pub const CONTAINER: &str = "hostmark";
/// Characters of a name in DNS at most, as a pod's host name is one.
const LONGEST_LABEL: usize = 63;

/// The pod that a node is measured through: it waits, and ends by itself when nobody has ended it.
pub fn pod(cluster: &Cluster, fleet: &str, index: usize, node: &str, request: &Value, lives_s: u64) -> Value {
    let wait = format!("trap 'exit 0' TERM; sleep {lives_s} & wait");
    let mut spec = pod_spec(&cluster.image, json!(["sh", "-c", wait]), request);
    spec["nodeName"] = json!(node);
    spec["hostname"] = json!(dns_label(node));
    spec["activeDeadlineSeconds"] = json!(lives_s);
    let name = format!("{fleet}-{index}");
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": labels(fleet) }, "spec": spec })
}

/// The Job that measures so many nodes at once, each by a pod of its own.
pub fn job(cluster: &Cluster, nodes: usize, command: &[String], request: &Value, lives_s: u64) -> Result<Value> {
    let fleet = "hostmark-fleet";
    let mut spec = pod_spec(&cluster.image, json!(command), request);
    let mut affinity = json!({
        "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "labelSelector": { "matchLabels": labels(fleet) }, "topologyKey": "kubernetes.io/hostname" }
        ] }
    });
    let chosen = expressions(&cluster.selector)?;
    if !chosen.is_empty() {
        affinity["nodeAffinity"] = json!({ "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchExpressions": chosen }]
        } });
    }
    spec["affinity"] = affinity;
    Ok(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": fleet, "labels": labels(fleet) },
        "spec": {
            "completionMode": "Indexed",
            "completions": nodes,
            "parallelism": nodes,
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": nodes,
            "activeDeadlineSeconds": lives_s,
            "template": { "metadata": { "labels": labels(fleet) }, "spec": spec }
        }
    }))
}

fn labels(fleet: &str) -> Value {
    json!({ "app.kubernetes.io/name": "hostmark", LABEL: fleet })
}

/// Requests and no limits: a limit would be a quota, and a quota would be measured.
fn pod_spec(image: &str, command: Value, request: &Value) -> Value {
    json!({
        "automountServiceAccountToken": false,
        "containers": [
            { "name": CONTAINER, "image": image, "command": command, "resources": { "requests": request } }
        ],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "tolerations": [{ "operator": "Exists" }]
    })
}

/// A node's name as a pod's host name, so that runs are named by their nodes.
fn dns_label(node: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let label: String = node.chars().map(keep).take(LONGEST_LABEL).collect();
    let label = label.trim_matches('-');
    if label.is_empty() { "node".into() } else { label.to_owned() }
}

/// Parses a pod's requests: `cpu=4,memory=8Gi`.
pub fn requested(typed: &str) -> Result<Value> {
    let mut request = serde_json::Map::new();
    let is_plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
    for part in typed.split(',') {
        match part.split_once('=') {
            Some((name, amount)) if is_plain(name) && is_plain(amount) => request.insert(name.into(), json!(amount)),
            _ => refuse!("--request '{typed}': '{part}' is no amount of a resource; write cpu=4,memory=8Gi"),
        };
    }
    Ok(Value::Object(request))
}

/// More than half of what a node has to give: no two pods that request so much are on one node.
pub fn more_than_half(allocatable: &Value) -> Value {
    let amount = |name: &str| allocatable[name].as_str().map(str::to_owned);
    let cpu = amount("cpu").and_then(|text| milli_cpus(&text)).unwrap_or(1000);
    let memory = amount("memory").and_then(|text| bytes(&text)).unwrap_or(1 << 30);
    json!({ "cpu": format!("{}m", cpu / 2 + 1), "memory": format!("{}", memory / 2 + 1) })
}

fn milli_cpus(text: &str) -> Option<u64> {
    match text.strip_suffix('m') {
        Some(milli) => milli.parse().ok(),
        None => text.parse::<f64>().ok().filter(|cpus| (0.0..1e6).contains(cpus)).map(|cpus| (cpus * 1000.0) as u64),
    }
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match &text[digits..] {
        "" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(factor)
}

/// A label selector as the affinity of a Job has it.
fn expressions(selector: &str) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut rest = selector.trim();
    while !rest.is_empty() {
        // A comma within parentheses belongs to its list.
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        let (part, further) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        match expression(part.trim()) {
            Some(expression) => found.push(expression),
            None => refuse!(
                "'{part}' is no part of a label selector; write key=value, key!=value, key, !key, or key in (a,b)"
            ),
        }
        rest = further.trim();
    }
    Ok(found)
}

fn expression(part: &str) -> Option<Value> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
    let of = |key: &str, operator: &str, values: Vec<&str>| {
        let (key, values): (&str, Vec<&str>) = (key.trim(), values.into_iter().map(str::trim).collect());
        let is_sound = !key.is_empty() && is_plain(key) && values.iter().all(|value| is_plain(value));
        let mut expression = json!({ "key": key, "operator": operator });
        if !values.is_empty() {
            expression["values"] = json!(values);
        }
        is_sound.then_some(expression)
    };
    if let Some(list) = part.strip_suffix(')') {
        let (head, values) = list.split_once('(')?;
        let values = values.split(',').collect();
        return match head.trim_end().rsplit_once(char::is_whitespace)? {
            (key, "in") => of(key, "In", values),
            (key, "notin") => of(key, "NotIn", values),
            _ => None,
        };
    }
    if let Some(key) = part.strip_prefix('!') {
        return of(key, "DoesNotExist", vec![]);
    }
    match (part.split_once("!="), part.split_once('=')) {
        (Some((key, value)), _) => of(key, "NotIn", vec![value]),
        (None, Some((key, value))) => of(key, "In", vec![value.trim_start_matches('=')]),
        (None, None) => of(part, "Exists", vec![]),
    }
}

/// Formats as YAML: maps and lists in blocks, every text in double quotes as JSON has it.
pub fn yaml(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let _ = write!(text, "{indent}{key}:");
                below(value, depth, text);
            }
        }
        Value::Array(list) => {
            for value in list {
                let mut item = String::new();
                block(value, depth + 1, &mut item);
                // The first line of an item stands behind its dash.
                let _ = match value {
                    Value::Object(_) | Value::Array(_) => write!(text, "{indent}- {}", item.trim_start()),
                    _ => writeln!(text, "{indent}- {value}"),
                };
            }
        }
        _ => {
            let _ = writeln!(text, "{indent}{value}");
        }
    }
}

fn below(value: &Value, depth: usize, text: &mut String) {
    let is_empty =
        value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty => {
            text.push('\n');
            block(value, depth + 1, text);
        }
        _ => {
            let _ = writeln!(text, " {value}");
        }
    }
}

/// Directory of unfinished runs. Hidden, so that nothing takes them for whole ones.
const UNDER_WAY: &str = ".under-way";
/// Held by the hostmark that measures into the directory.
const LOCK: &str = "lock";

/// A directory that this process measures into; no other does meanwhile.
pub struct Directory {
    path: PathBuf,
    held: place::Directory,
    under_way: place::Directory,
    fleet: FleetRun,
    _lock: File,
}

impl Directory {
    /// A new one, or an empty or foreign one that a person named.
    pub fn make(named: Option<&Path>, request: FleetRequest, engine: &str) -> Result<Directory> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => store::fresh_directory("fleet")?,
        };
        let shown = path.display();
        let held = place::Directory::make(&path)
            .map_err(|error| unwritten(&error, &said!("{shown} cannot be made"), &another_directory()))?;
        if held.entry(FLEET_RUN_FILE.as_ref()).is_ok_and(|entry| entry.kind() != Kind::Nothing) {
            refuse!("{shown} holds a fleet already; go on with it by --resume, or give another directory");
        }
        let (under_way, lock) = locked(&held, &path)?;
        let started = store::now().to_string();
        let (schema, engine, hosts, pairs) = (FLEET_RUN_SCHEMA.to_owned(), engine.to_owned(), Vec::new(), Vec::new());
        let fleet = FleetRun { schema, engine, started, request, hosts, pairs };
        Ok(Directory { path, held, under_way, fleet, _lock: lock })
    }

    /// One that was measured into before, by the same request.
    pub fn open(path: &Path, request: &FleetRequest, engine: &str) -> Result<Directory> {
        let shown = path.display();
        let text = store::text(&path.join(FLEET_RUN_FILE)).map_err(|error| {
            refused!("{shown} holds no fleet to go on with ({error}); give the directory of a fleet run")
        })?;
        let Some(mut fleet) = FleetRun::load(&text).filter(is_sound) else {
            refuse!("{shown}/{FLEET_RUN_FILE} is not what fleet run writes; measure anew into another directory")
        };
        if fleet.request != *request || fleet.engine != engine {
            refuse!(
                "{shown} was measured with other filters, options or another engine; give the same, or measure anew by --out"
            );
        }
        let held = place::Directory::open(path).map_err(|error| cannot_be_written(path, error))?;
        let (under_way, lock) = locked(&held, path)?;
        for host in &mut fleet.hosts {
            if host.state == HostState::Measured && !is_whole(&path.join(&host.file)) {
                host.state = HostState::Waiting;
            }
        }
        Ok(Directory { path: path.to_owned(), held, under_way, fleet, _lock: lock })
    }

    /// The rows of these hosts, which are added where they are new.
    pub fn rows_of(&mut self, names: &[String]) -> Vec<usize> {
        let mut taken: HashSet<String> = self.fleet.hosts.iter().map(|host| host.file.to_ascii_lowercase()).collect();
        taken.insert(FLEET_RUN_FILE.to_owned());
        if self.fleet.hosts.is_empty() {
            // What a person has lying there stays.
            let listed = fs::read_dir(&self.path).into_iter().flatten().flatten();
            taken.extend(listed.map(|entry| entry.file_name().to_string_lossy().to_ascii_lowercase()));
        }
        let mut rows = Vec::new();
        for host in names {
            let known = self.fleet.hosts.iter().position(|row| row.host == *host);
            rows.push(known.unwrap_or_else(|| {
                let file = hosts::file_of(host, &mut taken);
                let (state, reason, elapsed_s) = (HostState::Waiting, None, None);
                self.fleet.hosts.push(FleetHost { host: host.clone(), state, reason, elapsed_s, file });
                self.fleet.hosts.len() - 1
            }));
        }
        rows
    }

    pub fn row(&mut self, row: usize, state: HostState, reason: Option<String>, elapsed_s: Option<f64>) {
        let host = &mut self.fleet.hosts[row];
        (host.state, host.reason, host.elapsed_s) = (state, reason, elapsed_s);
    }

    /// Creates an empty place in which a host's run is written while it goes on.
    pub fn begin(&self, row: usize) -> io::Result<PathBuf> {
        let name = &self.fleet.hosts[row].file;
        let journal = store::journal_of(Path::new(name));
        for left in [OsStr::new(name), journal.as_os_str()] {
            let left = self.under_way.entry(left)?;
            if left.kind() != Kind::Nothing {
                left.remove()?;
            }
        }
        Ok(self.path.join(UNDER_WAY).join(name))
    }

    /// Gives a host the run that lies there, if it is whole: the number of its cases that failed.
    pub fn take(&mut self, row: usize, file: &Path) -> Result<usize> {
        let run = store::load(file)?;
        if let Some(why) = &run.interrupted {
            refuse!("the run did not come to its end ({why})");
        }
        let name = OsStr::new(&self.fleet.hosts[row].file);
        let renamed = self.held.entry(name).and_then(|whole| self.under_way.entry(name)?.rename_to(&whole));
        renamed.map_err(|error| cannot_be_written(&self.path.join(name), error))?;
        Ok(run.cases.iter().filter(|case| matches!(case.outcome, hostmark_model::Outcome::Failed { .. })).count())
    }

    /// Writes down what became of every host.
    pub fn save(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.fleet)? + "\n";
        let written = self.held.entry(FLEET_RUN_FILE.as_ref()).and_then(|entry| entry.write(text.as_bytes(), true));
        written.map_err(|error| cannot_be_written(&self.path.join(FLEET_RUN_FILE), error))
    }

    /// Tells whether there is a measurement between two hosts, from the first.
    pub fn has_pair(&self, from: &str, to: &str) -> bool {
        self.pairs().iter().any(|pair| pair.failed.is_none() && pair.from == from && pair.to == to)
    }

    /// Adds a pair, in the place of an earlier try.
    pub fn add_pair(&mut self, pair: FleetPair) {
        self.fleet.pairs.retain(|known| known.from != pair.from || known.to != pair.to);
        self.fleet.pairs.push(pair);
    }

    pub fn pairs(&self) -> &[FleetPair] {
        &self.fleet.pairs
    }

    /// Tells whether all measured hosts met each other.
    pub fn has_all_pairs(&self) -> bool {
        let hosts = self.fleet.hosts.iter().filter(|host| host.state == HostState::Measured).count();
        self.pairs().iter().filter(|pair| pair.failed.is_none()).count() >= hosts * hosts.saturating_sub(1)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn hosts(&self) -> &[FleetHost] {
        &self.fleet.hosts
    }

    pub fn request(&self) -> &FleetRequest {
        &self.fleet.request
    }

    pub fn is_measured(&self, row: usize) -> bool {
        self.fleet.hosts[row].state == HostState::Measured
    }

    pub fn is_whole(&self) -> bool {
        self.missing().is_empty()
    }

    pub fn missing(&self) -> Vec<String> {
        let missing = self.fleet.hosts.iter().filter(|host| host.state != HostState::Measured);
        missing.map(|host| host.host.clone()).collect()
    }
}

/// Removes the unfinished runs.
impl Drop for Directory {
    fn drop(&mut self) {
        let _ = self.held.remove_below(UNDER_WAY);
    }
}

/// Tells whether all names and files are valid: the file may be anybody's.
fn is_sound(fleet: &FleetRun) -> bool {
    let mut files = HashSet::from([FLEET_RUN_FILE.to_owned()]);
    let mut hosts = HashSet::new();
    fleet.hosts.iter().all(|host| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_file = host.file.ends_with(".json") && host.file.chars().all(is_plain) && !host.file.starts_with('.');
        let is_new = hosts.insert(host.host.clone()) && files.insert(host.file.to_ascii_lowercase());
        hosts::refused(&host.host).is_none() && is_file && is_new
    })
}

/// Tells whether a host's run is complete.
fn is_whole(file: &Path) -> bool {
    store::load(file).is_ok_and(|run| run.interrupted.is_none())
}

fn another_directory() -> String {
    said!("give another directory by --out")
}

fn cannot_be_written(path: &Path, error: io::Error) -> anyhow::Error {
    unwritten(&error, &said!("{display} cannot be written", display = path.display()), &another_directory())
}

/// The directory below for runs under way, and the lock in it, which ends with this process.
fn locked(held: &place::Directory, path: &Path) -> Result<(place::Directory, File)> {
    let (below, shown) = (path.join(UNDER_WAY), path.display());
    let under_way = held.make_below(UNDER_WAY).map_err(|error| match error.kind() {
        // A link in its place would lead elsewhere.
        io::ErrorKind::NotADirectory => {
            refused!("{below} is no directory; remove it, or give another directory by --out", below = below.display())
        }
        _ => cannot_be_written(path, error),
    })?;
    let lock = under_way.entry(LOCK.as_ref()).and_then(|lock| lock.open(OFlags::WRONLY | OFlags::CREATE));
    let lock = lock.map_err(|error| cannot_be_written(path, error))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            refuse!("another hostmark measures into {shown}; wait for its end, or give another directory")
        }
        // A filesystem without locks is taken at its user's word.
        _ => Ok((under_way, lock)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_becomes_the_affinity_that_chooses_the_same() {
        let found = expressions("pool=bench, zone!=a,gpu,!spot,disk in (ssd, nvme),arch notin (arm64)").unwrap();
        let lines: Vec<String> = found
            .iter()
            .map(|one| {
                format!("{} {} {}", one["key"].as_str().unwrap(), one["operator"].as_str().unwrap(), one["values"])
            })
            .collect();
        assert_eq!(
            lines,
            [
                "pool In [\"bench\"]",
                "zone NotIn [\"a\"]",
                "gpu Exists null",
                "spot DoesNotExist null",
                "disk In [\"ssd\",\"nvme\"]",
                "arch NotIn [\"arm64\"]"
            ]
        );
        assert!(expressions("").unwrap().is_empty());
        for bad in ["a b", "=", "a in b", "a in (b", "a=\"x\"", "a,,b"] {
            assert!(expressions(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn two_pods_never_fit_on_one_node() {
        for (cpu, memory, wanted) in [
            ("4", "8Gi", ("2001m", 4_294_967_297_u64)),
            ("3920m", "1000k", ("1961m", 500_001)),
            ("0.5", "7", ("251m", 4)),
        ] {
            let request = more_than_half(&json!({ "cpu": cpu, "memory": memory }));
            assert_eq!(request, json!({ "cpu": wanted.0, "memory": wanted.1.to_string() }));
        }
        assert_eq!(requested("cpu=4,memory=8Gi").unwrap(), json!({ "cpu": "4", "memory": "8Gi" }));
        assert!(requested("cpu").is_err() && requested("cpu=\u{1b}").is_err() && requested("").is_err());
    }

    #[test]
    fn yaml_has_the_structure_of_the_value() {
        let value = json!({ "a": [{ "b": 1, "c": ["x: y", "z"] }, 2], "d": { "e": {} }, "f": true });
        let wanted = "a:\n  - b: 1\n    c:\n      - \"x: y\"\n      - \"z\"\n  - 2\nd:\n  e: {}\nf: true\n";
        assert_eq!(yaml(&value), wanted);
        assert_eq!(dns_label("Node_7.example.org"), "node-7-example-org");
    }
}
