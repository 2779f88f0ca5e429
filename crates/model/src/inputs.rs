//! Inputs of a run that a person gives it beside the axes of its probes, and far ends: how they are started, reached, asked and accounted for.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{HostReport, NetworkPath, Params, Reason, Unit};

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

/// Secret of those who may use a far end: 128 random bits, for one round.
#[derive(Clone, Copy)]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// Bytes of one.
    pub const BYTES: usize = 16;

    /// The one of these bytes.
    pub const fn of(bytes: [u8; Nonce::BYTES]) -> Nonce {
        Nonce(bytes)
    }

    /// Returns the bytes to send to the other end.
    pub fn told(&self) -> &[u8; Nonce::BYTES] {
        &self.0
    }

    /// Tells whether `told` is this nonce, in a time that does not depend on how much of it was right.
    #[inline]
    pub fn is(&self, told: &[u8]) -> bool {
        told.len() == self.0.len() && black_box(self.0.iter().zip(told).fold(0, |all, (a, b)| all | (a ^ b))) == 0
    }
}

impl PartialEq for Nonce {
    fn eq(&self, other: &Nonce) -> bool {
        self.is(&other.0)
    }
}

impl Eq for Nonce {}

impl Debug for Nonce {
    /// A secret is in no message.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce")
    }
}

impl Serialize for Nonce {
    /// Writes 32 hexadecimal digits.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Nonce {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Nonce, D::Error> {
        let text = String::deserialize(from)?;
        let is_whole = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| is_whole);
        let number = number.ok_or_else(|| serde::de::Error::custom("a nonce has 32 hexadecimal digits"))?;
        Ok(Nonce(number.to_be_bytes()))
    }
}

/// A far end as its client reaches it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarEnd {
    /// Address on which it listens.
    pub address: SocketAddr,
    /// Nonce that it has to be sent first.
    pub nonce: Nonce,
}

/// Job of a far end's process, as a line of JSON: one service, until its input ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceJob {
    /// [`PROTOCOL`](crate::PROTOCOL).
    pub protocol: u32,
    /// Process id of who started it: one whose parent is another ends at once.
    pub parent: u32,
    /// The service's name.
    pub service: String,
    /// The point of the case that it serves.
    pub params: Params,
    /// Addresses of the machine that it is on, of which it listens at the first that can be had.
    pub at: Vec<IpAddr>,
    /// Nonce that its clients have to present.
    pub nonce: Nonce,
    /// The CPUs that it may use; none: as the scheduler decides.
    pub cpus: Vec<usize>,
    /// Memory that it may fill, bytes.
    pub memory_bytes: u64,
    /// Number of its kind that serve the same case.
    pub copies: u64,
    /// Longest set-up, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// The run's directory for files.
    pub scratch: Scratch,
    /// Name of its own directory in that one; who started it removes it afterwards.
    pub folder: String,
}

/// What a far end has used from the moment at which it listened until its end, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FarUsage {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// How often it slept, and was woken later.
    pub voluntary_switches: u64,
    /// How often another process took its place.
    pub involuntary_switches: u64,
    /// Page faults.
    pub faults: u64,
}

/// Request to a peer. One round is served at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerRequest {
    /// Addresses by which it may be reached. Answer: [`PeerAnswer::Addresses`].
    Addresses,
    /// Facts of the machine. Answer: [`PeerAnswer::Facts`].
    Facts,
    /// The way to an address. Answer: [`PeerAnswer::Path`].
    Path {
        /// The address.
        to: IpAddr,
    },
    /// Start far ends, and tell when all listen. Answer: [`PeerAnswer::Serving`] or [`PeerAnswer::Unserved`].
    Serve(ServeRequest),
    /// End them. Answer: [`PeerAnswer::Served`].
    Enough,
}

/// Far ends that a round needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServeRequest {
    /// The service's name.
    pub service: String,
    /// The point of the case.
    pub params: Params,
    /// Own addresses of the peer, of which they listen at the first that can be had.
    pub at: Vec<IpAddr>,
    /// Nonces that the clients have to present: one for each far end. The connecting side chooses, so that an impostor of the
    /// peer cannot choose what a connection begins with.
    pub nonces: Vec<Nonce>,
    /// True where each keeps to a CPU of its own; else the scheduler places them.
    pub is_bound: bool,
    /// Memory that they may fill together, bytes.
    pub memory_bytes: u64,
    /// Longest set-up, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// Longest silence once they serve, milliseconds: after that they are ended.
    pub silent_ms: u64,
}

/// Answer of a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerAnswer {
    /// Addresses by which it may be reached, the best known first.
    Addresses(Vec<IpAddr>),
    /// Facts of the machine.
    Facts(Box<HostReport>),
    /// The way.
    Path(Box<NetworkPath>),
    /// All far ends listen.
    Serving {
        /// Addresses on which they listen, in order.
        at: Vec<SocketAddr>,
    },
    /// Refusal to serve.
    Unserved {
        /// True where the machine lacks something; else something went wrong.
        is_skipped: bool,
        /// Reason of the refusal.
        #[serde(flatten)]
        reason: Reason,
    },
    /// Report of far ends that were ended.
    Served {
        /// Notes that they recorded: key and value.
        notes: Vec<(String, String)>,
        /// Usage of each, where it reported it, or the reason of its failure.
        said: Vec<Result<Option<FarUsage>, Reason>>,
    },
}

/// A path as the kernel takes it: bytes, which need not be UTF-8 and may hold a newline. In JSON an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PathBytes(pub Vec<u8>);

/// Directory of a run's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scratch {
    /// A directory that this run made, which belongs to its user and which no other may enter.
    Made {
        /// Path when it was made. Writers of the directory above can move it: the path counts only when it is on
        /// this device and has this inode.
        path: PathBytes,
        /// The device that it lies on.
        device: u64,
        /// Inode on that device.
        inode: u64,
    },
    /// Reason why there is none: a sentence that ends with what to do.
    Missing(Reason),
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

    #[test]
    fn a_nonce_is_read_back_as_it_was_written_and_nothing_else_is_one() {
        let nonce = Nonce::of([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        let written = serde_json::to_string(&nonce).unwrap();
        assert_eq!(written, "\"000102030405060708090a0b0c0d0eff\"");
        assert_eq!(serde_json::from_str::<Nonce>(&written).unwrap(), nonce);
        for other in
            ["\"\"", "\"12\"", "\"+00102030405060708090a0b0c0d0eff\"", "5", "\"g00102030405060708090a0b0c0d0eff\""]
        {
            assert!(serde_json::from_str::<Nonce>(other).is_err(), "{other}");
        }
        assert_eq!(format!("{nonce:?}"), "Nonce");
    }
}
