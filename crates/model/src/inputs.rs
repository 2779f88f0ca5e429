//! Inputs of a run that a person gives it beside the axes of its probes, and what of a command is its value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{PathBytes, Unit};

/// The inputs of a run. It goes whole from the command line into the plan, to every worker, and into the run file.
///
/// A new input is a field here with its line in [`Inputs::given`], an option of `hostmark run`, and, where probes need it, a
/// `Need`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Inputs {
    /// The CPUs to keep to, as typed (`0-3,8`). Null: all that this process may use.
    pub cpus: Option<String>,
    /// The directory below which measured files lie. Null: `$TMPDIR` or `/tmp`.
    pub scratch: Option<PathBytes>,
    /// The words of a command to measure. Empty: none.
    pub command: Vec<String>,
    /// What of the command is its value. Null: how long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// The layers of a container within which the run measured, as `namespaces` and `seccomp`. Empty: none, it measured
    /// natively.
    #[serde(default)]
    pub isolate: Vec<String>,
    /// What the other machines are called at which far ends serve, as values of the axis `to`. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// The run's hard limit of time, seconds, where it has less than its profile allows. Null: the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_s: Option<u64>,
    /// Whether counters of the processor, of the kernel and of energy are read beside the values.
    #[serde(default, skip_serializing_if = "is_false")]
    pub counters: bool,
    /// The setting that is tried and which side of the trial the run is, as `huge-pages=on`. It says what was so, and changes
    /// nothing. Null: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to what it may skip")]
fn is_false(it: &bool) -> bool {
    !it
}

impl Inputs {
    /// Returns the given inputs, by the name of their option, as text for people.
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let Inputs { cpus, scratch, command, sampled, isolate, peers, limit_s, counters, tried } = self;
        let scratch = scratch.as_ref().map(|path| String::from_utf8_lossy(&path.0).into_owned());
        let command =
            (!command.is_empty()).then(|| command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        let (bytes, value, unit) = match sampled {
            None => (None, None, None),
            Some(Sampled::Bytes(bytes)) => (Some(bytes.to_string()), None, None),
            Some(Sampled::Printed { pattern, unit }) => (None, Some(quoted(pattern)), Some(unit.clone())),
        };
        let isolate = (!isolate.is_empty()).then(|| isolate.join(","));
        let peers = (!peers.is_empty()).then(|| peers.join(","));
        let limit = limit_s.map(|limit| format!("{limit} s"));
        let all = [
            (CPUS, cpus.clone()),
            (SCRATCH, scratch),
            (COMMAND, command),
            (BYTES, bytes),
            (VALUE, value),
            (UNIT, unit),
            (ISOLATE, isolate),
            (PEER, peers),
            (LIMIT, limit),
            (COUNTERS, counters.then(|| "on".into())),
            (TRIED, tried.clone()),
        ];
        all.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
    }

    /// Tells whether nothing was given.
    pub fn is_empty(&self) -> bool {
        *self == Inputs::default()
    }

    /// The entries of a run file's `settings.set` that are axes: [`Inputs::given`] stands there too.
    pub fn axes(set: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
        let is_axis = |key: &&String| {
            ![CPUS, SCRATCH, COMMAND, BYTES, VALUE, UNIT, ISOLATE, PEER, LIMIT, COUNTERS, TRIED].contains(&key.as_str())
        };
        set.iter().filter(move |(key, _)| is_axis(key)).map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

const CPUS: &str = "cpu";
const SCRATCH: &str = "scratch";
const COMMAND: &str = "command";
const BYTES: &str = "bytes";
const VALUE: &str = "value";
const UNIT: &str = "unit";
/// The option, and the setting of a run, that name the layers of a container in which it measures.
pub const ISOLATE: &str = "isolate";
const PEER: &str = "peer";
/// The option that reads counters beside the values.
const COUNTERS: &str = "counters";
/// No option of a run: who orders several runs gives each its share.
const LIMIT: &str = "limit";
/// Name of what `hostmark try` sets, which no option does.
const TRIED: &str = "try";

/// A word as a shell would read it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./=:,+@%-".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What of a command is its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sampled {
    /// A rate: so many bytes over the time that it takes.
    Bytes(u64),
    /// A number that it prints.
    Printed {
        /// The regular expression that finds it.
        pattern: String,
        /// The number's unit, by a name of [`PrintedUnit::ALL`].
        unit: String,
    },
}

impl Sampled {
    /// The unit in which the value is stored; none where the printed number's is not known.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Sampled::Bytes(_) => Some(Unit::BytesPerSecond),
            Sampled::Printed { unit, .. } => PrintedUnit::of_name(unit).map(|unit| unit.stored),
        }
    }
}

/// A unit in which programs print numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintedUnit {
    /// Name as it is typed.
    pub name: &'static str,
    /// The base unit in which such a number is stored.
    pub stored: Unit,
    /// Factor to that base unit.
    pub factor: f64,
}

const fn unit(name: &'static str, stored: Unit, factor: f64) -> PrintedUnit {
    PrintedUnit { name, stored, factor }
}

impl PrintedUnit {
    /// All of them.
    pub const ALL: &[PrintedUnit] = &[
        unit("ns", Unit::Nanoseconds, 1.0),
        unit("us", Unit::Nanoseconds, 1e3),
        unit("ms", Unit::Nanoseconds, 1e6),
        unit("s", Unit::Nanoseconds, 1e9),
        unit("min", Unit::Nanoseconds, 60e9),
        unit("B/s", Unit::BytesPerSecond, 1.0),
        unit("kB/s", Unit::BytesPerSecond, 1e3),
        unit("MB/s", Unit::BytesPerSecond, 1e6),
        unit("GB/s", Unit::BytesPerSecond, 1e9),
        unit("KiB/s", Unit::BytesPerSecond, 1024.0),
        unit("MiB/s", Unit::BytesPerSecond, 1_048_576.0),
        unit("GiB/s", Unit::BytesPerSecond, 1_073_741_824.0),
        unit("kbit/s", Unit::BytesPerSecond, 125.0),
        unit("Mbit/s", Unit::BytesPerSecond, 125e3),
        unit("Gbit/s", Unit::BytesPerSecond, 125e6),
        unit("ops/s", Unit::OperationsPerSecond, 1.0),
        unit("kops/s", Unit::OperationsPerSecond, 1e3),
        unit("Mops/s", Unit::OperationsPerSecond, 1e6),
        unit("count", Unit::Count, 1.0),
    ];

    /// The unit of this name. `µs` is `us`.
    pub fn of_name(name: &str) -> Option<PrintedUnit> {
        let name = if ["µs", "μs"].contains(&name) { "us" } else { name };
        PrintedUnit::ALL.iter().find(|unit| unit.name == name).copied()
    }

    /// Returns their names, for people.
    pub fn names() -> String {
        PrintedUnit::ALL.iter().map(|unit| unit.name).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_reported_by_its_option_and_is_no_axis() {
        assert_eq!(Inputs::default().given(), []);
        let inputs = Inputs {
            cpus: Some("0-3".into()),
            scratch: Some(PathBytes(b"/mnt/d".to_vec())),
            command: ["sh", "-c", "echo 'a b'", ""].map(str::to_owned).to_vec(),
            sampled: Some(Sampled::Printed { pattern: "took ([0-9.]+)".into(), unit: "us".into() }),
            isolate: ["namespaces", "seccomp"].map(str::to_owned).to_vec(),
            peers: ["db-17", "db-18"].map(str::to_owned).to_vec(),
            limit_s: Some(12),
            counters: true,
            tried: Some("huge-pages=on".into()),
        };
        let command = ("command", r"sh -c 'echo '\''a b'\''' ''");
        let (isolate, peer, limit) = (("isolate", "namespaces,seccomp"), ("peer", "db-17,db-18"), ("limit", "12 s"));
        let given = [
            ("cpu", "0-3"),
            ("scratch", "/mnt/d"),
            command,
            ("value", "'took ([0-9.]+)'"),
            ("unit", "us"),
            isolate,
            peer,
            limit,
            ("counters", "on"),
            ("try", "huge-pages=on"),
        ];
        assert_eq!(inputs.given(), given.map(|(name, text)| (name, text.to_owned())));
        let axis = ("memory.read:size".to_owned(), "4K".to_owned());
        let set = inputs.given().into_iter().map(|(name, text)| (name.to_owned(), text)).chain([axis]).collect();
        assert_eq!(Inputs::axes(&set).collect::<Vec<_>>(), [("memory.read:size", "4K")]);
    }

    #[test]
    fn a_unit_is_found_by_its_name_alone() {
        let of = |name| PrintedUnit::of_name(name).map(|unit| (unit.stored, unit.factor));
        assert_eq!(of("us"), Some((Unit::Nanoseconds, 1e3)));
        assert_eq!(of("µs"), of("us"));
        assert_eq!(of("MiB/s"), Some((Unit::BytesPerSecond, 1_048_576.0)));
        assert_eq!(of("Gbit/s"), Some((Unit::BytesPerSecond, 1e9 / 8.0)));
        // m is no minute, and nobody's milli.
        for wrong in ["", "m", "US", "mb/s", "MB", "ns ", "b/s"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(Sampled::Bytes(1).unit(), Some(Unit::BytesPerSecond));
    }
}
