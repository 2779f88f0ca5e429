//! Manifests for Kubernetes: the pod on a node, the Indexed Job of all, and both as text.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::Cluster;
use crate::language::refuse;

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
