//! Ids of cases, and descriptions of probes.

use std::fmt;
use std::str::FromStr;

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Text;

/// The point of its axes at which a case stands: (axis, value) in declared order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Params(pub Vec<(String, String)>);

impl Params {
    /// The value of `axis`, when the case has that axis.
    pub fn get(&self, axis: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == axis).map(|(_, value)| value.as_str())
    }

    /// The same point with `axis` at `value`; an axis that is not there stays absent.
    pub fn with(&self, axis: &str, value: &str) -> Params {
        let set =
            |(name, old): &(String, String)| (name.clone(), if name == axis { value.to_owned() } else { old.clone() });
        Params(self.0.iter().map(set).collect())
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (axis, value) in &self.0 {
            map.serialize_entry(axis, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Params;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of axis values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
                let mut points = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    points.push(entry);
                }
                Ok(Params(points))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A probe at one point of its axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseId {
    /// `group.name`.
    pub probe: String,
    /// All axes of the probe, in declared order.
    pub params: Params,
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.probe)?;
        for (index, (axis, value)) in self.params.0.iter().enumerate() {
            write!(f, "{}{axis}={value}", if index == 0 { '@' } else { ',' })?;
        }
        Ok(())
    }
}

/// Placeholder of a value where a table asks for a case at each point of an axis. No case id has it.
pub const EACH_POINT: &str = "*";

/// Reason why a text is no case id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseIdError {
    /// The part before `@` is not `group.name`.
    Probe(String),
    /// A part behind `@` is not `axis=value`.
    Axis(String),
}

impl From<&CaseIdError> for Message {
    fn from(error: &CaseIdError) -> Message {
        match error {
            CaseIdError::Probe(value) => say!("'{value}' is not of the form group.probe"),
            CaseIdError::Axis(value) => {
                say!("'{value}' is not of the form axis=value, with a value of a-z 0-9 _ . + -")
            }
        }
    }
}

displays_its_message!(CaseIdError);

/// Tells whether `value` may stand in a case id: one or more of `a-z 0-9 _ . + -`.
pub fn is_axis_value(value: &str) -> bool {
    !value.is_empty()
        && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'+' | b'-'))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

impl FromStr for CaseId {
    type Err = CaseIdError;

    fn from_str(text: &str) -> Result<Self, CaseIdError> {
        let (probe, axes) = match text.split_once('@') {
            Some((probe, axes)) => (probe, Some(axes)),
            None => (text, None),
        };
        if !probe.split_once('.').is_some_and(|(group, name)| is_name(group) && is_name(name)) {
            return Err(CaseIdError::Probe(probe.to_owned()));
        }
        let mut params = Params::default();
        for part in axes.into_iter().flat_map(|axes| axes.split(',')) {
            match part.split_once('=') {
                Some((axis, value)) if is_name(axis) && is_axis_value(value) => {
                    params.0.push((axis.to_owned(), value.to_owned()));
                }
                _ => return Err(CaseIdError::Axis(part.to_owned())),
            }
        }
        Ok(CaseId { probe: probe.to_owned(), params })
    }
}

/// `bytes` as a person writes it: `32 KiB`, `1 MiB`, `1.5 GiB`; exact where a whole number of the unit.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            return if bytes.is_multiple_of(unit) {
                format!("{} {name}", bytes / unit)
            } else {
                format!("{:.1} {name}", bytes as f64 / unit as f64)
            };
        }
    }
    format!("{bytes} B")
}

/// How an axis' values are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// Bytes, as a plain integer; K M G (2^10 …) may be typed.
    Size,
    /// A plain integer.
    Count,
    /// A number of threads, each on a CPU of its own.
    Threads,
    /// A number of processes that do the same at once, each on a CPU of its own; the value is that of one of them.
    Copies,
    /// One of several names.
    Choice,
    /// Where two parties run: same_cpu, smt_sibling, same_cache, other_cache, same_package_other_node, other_node, free.
    Placement,
    /// The memory node of the CPUs and that of the memory, as `0-1`.
    Nodes,
}

/// A parameter that a probe sweeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AxisInfo {
    /// Its name in a case id.
    pub name: String,
    /// How its values are read.
    pub kind: AxisKind,
    /// The value that it has while another axis is swept.
    pub default: String,
}

/// A further quantity that the same measurement yields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuantityInfo {
    /// Its key in `also`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// What it is.
    pub title: Text<String>,
}

/// The texts that teach a probe: its page of the handbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(bound = "S: schemars::JsonSchema + Default + Serialize"))]
pub struct Explain<S = &'static str> {
    /// What is executed.
    pub what: Text<S>,
    /// Why it matters.
    pub why: Text<S>,
    /// How to read the value: what it is made of, how it moves along the axes, what to set it beside.
    pub reading: Text<S>,
    /// Typical figures, each with where it was published or on what class of machine it was measured.
    #[serde(default)]
    pub typical: Text<S>,
    /// The usual causes of a bad value, and how to tell them apart.
    #[serde(default)]
    pub causes: Text<S>,
}

/// Everything a reader needs to know of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbeInfo {
    /// `group.name`.
    pub id: String,
    /// A short title.
    pub title: Text<String>,
    /// The unit of its value.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Further quantities of the same measurement.
    pub also: Vec<QuantityInfo>,
    /// Raised whenever the meaning of the number changes; runs of different revisions are not compared.
    pub revision: u32,
    /// The texts that teach it.
    pub explain: Explain<String>,
    /// The section of a report that shows it.
    pub section: Text<String>,
    /// Ids of the probes to read beside it.
    #[serde(default)]
    pub related: Vec<String>,
    /// The lmbench programs whose place it takes.
    pub replaces: Vec<String>,
    /// How its method differs from theirs; of probes that take the place of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Text<String>>,
    /// Its axes, in the order of a case id.
    pub axes: Vec<AxisInfo>,
    /// What it needs of its host, as `cpus>=2`, `kernel>=6.1`, `root`; without it its cases are skipped.
    pub needs: Vec<String>,
    /// The selected probes that are computed from it, where it was not selected itself: only those of its cases were
    /// measured that they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought_by: Vec<String>,
}

/// The unit in which a value is stored: always a base unit, never scaled, never rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Cycles of the core's own clock, which changes with its frequency.
    CoreCycles,
    /// Cycles of the constant-rate counter (TSC, CNTVCT).
    ReferenceCycles,
    /// Bytes a second; MB = 10^6, MiB = 2^20 when shown.
    BytesPerSecond,
    /// Operations a second.
    OperationsPerSecond,
    /// Bytes.
    Bytes,
    /// Hertz.
    Hertz,
    /// Joules.
    Joules,
    /// A number of things.
    Count,
    /// A quotient of two values of the same kind, or of two units that the title names.
    Ratio,
}

impl Unit {
    /// Tells whether no value of it lies below zero: a time, or a rate.
    pub fn is_time_or_rate(self) -> bool {
        use Unit::{BytesPerSecond, CoreCycles, Hertz, Nanoseconds, OperationsPerSecond, ReferenceCycles};
        matches!(self, Nanoseconds | CoreCycles | ReferenceCycles | BytesPerSecond | OperationsPerSecond | Hertz)
    }
}

/// Which direction of a value is good for who uses the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better: latencies, costs.
    Lower,
    /// More is better: rates, bandwidths, capacities.
    Higher,
    /// A fact about the machine, neither good nor bad.
    Neither,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_id_reads_back_as_written() {
        for text in
            ["syscall.null", "memory.read@size=32768,threads=1", "ipc.pipe_bandwidth@message=4096,cpus=same_cpu"]
        {
            let id: CaseId = text.parse().unwrap();
            assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_case_id_is_refused() {
        for text in
            ["memory", "memory.", ".read", "Memory.read", "memory.read@", "memory.read@size", "a.b@size=3 K", "a.b@x=A"]
        {
            assert!(text.parse::<CaseId>().is_err(), "{text}");
        }
    }

    #[test]
    fn params_keep_their_order_through_json() {
        let params = Params(vec![("size".into(), "32768".into()), ("kernel".into(), "avx2".into())]);
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(json, r#"{"size":"32768","kernel":"avx2"}"#);
        assert_eq!(serde_json::from_str::<Params>(&json).unwrap(), params);
    }

    #[test]
    fn sizes_are_written_exactly_or_with_one_digit() {
        assert_eq!(size_text(512), "512 B");
        assert_eq!(size_text(32 << 10), "32 KiB");
        assert_eq!(size_text((3 << 20) + (1 << 19)), "3.5 MiB");
        assert_eq!(size_text(1 << 30), "1 GiB");
    }
}
