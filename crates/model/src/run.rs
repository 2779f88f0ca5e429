//! The run file: everything measured by one command, readable without the program that made it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use hostmark_say::say;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::message::restored;
use crate::{
    Again, AxisKind, CaseId, CaseRecord, Guest, HostFacts, Inputs, LostRound, Message, Neighbours, NetworkPath, Params,
    ProbeInfo, RunTime, SeriesTurn, Text, Trust,
};

/// The schema that this version writes.
pub const SCHEMA: &str = "hostmark.run/1";

/// How much time a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// At most 10 seconds: what people ask for first.
    Glance,
    /// At most 60 seconds.
    #[default]
    Quick,
    /// At most 5 minutes.
    Standard,
    /// At most 30 minutes.
    Thorough,
}

impl Profile {
    /// The word for it, on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Glance => "glance",
            Profile::Quick => "quick",
            Profile::Standard => "standard",
            Profile::Thorough => "thorough",
        }
    }
}

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its version.
    pub version: String,
    /// The target it was built for.
    pub target: String,
    /// The C library it uses: glibc or musl, with its version where known.
    pub libc: String,
    /// Whether it is linked statically.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// SHA-256 of its file, hexadecimal: two builds of one version are two programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The clock of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockFacts {
    /// `tsc`, `cntvct` or `monotonic_raw`.
    pub source: String,
    /// Ticks a second.
    pub hz: f64,
    /// Why the CPU's counter is not used, when it is not.
    pub reason: Option<String>,
    /// The reason as other languages look it up; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::message::known")]
    pub message: Option<Message>,
    /// How far the rate at the end of the run was from the rate at its start, as a fraction; none when not checked.
    pub drift: Option<f64>,
}

impl ClockFacts {
    /// Returns the reason why the CPU's counter is not used, when it is not.
    pub fn why(&self) -> Option<Message> {
        self.reason.as_ref().map(|text| restored(text, self.message.as_ref()))
    }
}

/// What the run was asked to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Settings {
    /// The profile.
    pub profile: Profile,
    /// The seed of all sequences and samples.
    pub seed: u64,
    /// The filters as typed; empty means everything.
    pub filters: Vec<String>,
    /// The table whose cells were asked for, where one was named in the place of filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Rounds a case was to have.
    pub rounds: u32,
    /// The hard wall limit, seconds.
    pub limit_s: f64,
    /// The clock.
    pub clock: ClockFacts,
    /// The CPU of single-party cases.
    pub cpu: usize,
    /// Further settings that were not at their default, as text: axes as typed, and what `inputs` has.
    pub set: BTreeMap<String, String>,
    /// What the run was given to measure with.
    #[serde(default, skip_serializing_if = "Inputs::is_empty")]
    pub inputs: Inputs,
}

/// A conclusion drawn from a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// A stable name of the rule.
    pub id: String,
    /// What was found, in one line with its figures; empty where a file lacks it.
    #[serde(default)]
    pub short: Text<String>,
    /// What was concluded and from what.
    pub text: Text<String>,
    /// What to do about it, where something can be done.
    pub cure: Option<Text<String>>,
    /// The command that shows it: a run of the cases, a trial of the setting that cures it, or what explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The cases it stands on; none where it stands on the host's facts alone.
    pub cases: Vec<String>,
    /// What it costs: the share of its time, 0 to 1, that a program loses which does what the cases do; 0 where nothing is
    /// lost and only a shape is explained. Findings are ordered by it.
    #[serde(default)]
    pub cost: f64,
}

/// Where a run comes from that another tool measured. Its settings say nothing then, as nobody asked this program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Imported {
    /// The format that was read: `lmbench`.
    pub format: String,
    /// The name of the file.
    pub file: String,
    /// When it was measured, as the file writes it.
    pub date: Option<String>,
}

/// A further machine that took part in a run: far ends served there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peer {
    /// What the run calls it: the value of the axis `to` of its cases.
    pub name: String,
    /// The machine.
    pub host: HostFacts,
    /// The command that led to it, as a person typed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The address at which it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The way from the machine that measured to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<NetworkPath>,
    /// The way back, as it tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_back: Option<NetworkPath>,
}

/// What was measured between two peers of a run: each of them by its name there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairRun {
    /// The peer that measured.
    pub from: String,
    /// The peer at the other end.
    pub to: String,
    /// The turn of the tournament, from 0: pairs of one turn were measured at the same time.
    #[serde(default)]
    pub turn: u32,
    /// The cases.
    pub cases: Vec<CaseRecord>,
    /// Why there are none, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Everything that one command measured: the content of a run file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "hostmark run file"))]
pub struct Run {
    /// The schema and its major version: [`SCHEMA`].
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// A unique id: a UUID, version 7.
    #[cfg_attr(test, schemars(extend("format" = "uuid")))]
    pub id: String,
    /// A name for people: the file's stem.
    pub name: String,
    /// What a person wrote of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of which series it is a turn; none of a run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesTurn>,
    /// When it started, RFC 3339, UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub started: String,
    /// When it finished, RFC 3339, UTC; none while it has not.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub finished: Option<String>,
    /// Why it ended before its plan did, when it did: a signal, a lost resource.
    pub interrupted: Option<String>,
    /// Where it comes from, when another tool measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What measured.
    pub tool: Tool,
    /// The command that led to the machine, as a person typed it; none where the run was measured where it was ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The virtual machine that it was measured in, where its parent started that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<Guest>>,
    /// What was asked.
    pub settings: Settings,
    /// The machine.
    pub host: HostFacts,
    /// The other machines that took part; empty where all was measured on one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// What was measured between the peers themselves; empty where there are fewer than two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairRun>,
    /// What took the machine's time while it ran.
    pub disturbances: Vec<Text<String>>,
    /// What others of the same physical machine took meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// The share of the time of its CPUs that other programs used, 0 to 1; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_share: Option<f64>,
    /// The hottest that its processors were when a round had ended, degrees Celsius; absent where no sensor tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hottest_celsius: Option<f64>,
    /// How far its values can be trusted to repeat; absent in those of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The probes that were selected, in catalogue order.
    pub probes: Vec<ProbeInfo>,
    /// Their cases, in catalogue order, a probe's default case first.
    pub cases: Vec<CaseRecord>,
    /// Rounds that are in no case's samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_rounds: Vec<LostRound>,
    /// Where its time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<RunTime>,
    /// What follows from it.
    pub findings: Vec<Finding>,
    /// Where its estimates were made again: by what, and what could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
}

impl Run {
    /// Every machine that took part, the one that measured first.
    pub fn hosts(&self) -> impl Iterator<Item = &HostFacts> {
        std::iter::once(&self.host).chain(self.peers.iter().map(|peer| &peer.host))
    }
}

/// Reason why a text is not a run this version can read. Fragments that fit after a file name.
#[derive(Debug)]
pub enum LoadError {
    /// Written by a later major schema: the one found.
    Newer(String),
    /// Run without something that this version reads.
    Lacking(String),
    /// JSON, but no run.
    NotARun(String),
    /// Run that ends in the middle: its last line.
    Truncated(usize),
}

impl LoadError {
    /// Message for the person.
    pub fn message(&self) -> Message {
        match self {
            LoadError::Newer(found) => say!(
                "was written by a newer hostmark (schema {found}, this one reads up to /1); update hostmark to read it"
            ),
            LoadError::Lacking(what) => say!(
                "lacks what this version reads ({what}): another version of hostmark wrote it, or it was changed; measure again"
            ),
            LoadError::NotARun(what) => say!("is not a hostmark run ({what}); give a file that `hostmark run` wrote"),
            LoadError::Truncated(line) => {
                say!("is truncated (it ends at line {line}); restore it, or measure again")
            }
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(to)
    }
}

impl std::error::Error for LoadError {}

/// Reads a run from the text of its file; unknown fields are ignored, a newer major schema is refused.
pub fn load_run(text: &str) -> Result<Run, LoadError> {
    let run = load_form(text, |run: &Run| Some(run.schema.clone()))?;
    match run.cases.len() {
        ..=MOST_CASES => Ok(run),
        count => Err(LoadError::NotARun(format!("it has {count} cases, and a run at most {MOST_CASES}"))),
    }
}

/// Most cases of a run, and of a plan: more than the longest profile measures, few enough for every view.
pub const MOST_CASES: usize = 20_000;

/// Bytes of a text in a run file at most: a command's word has as many. A longer one would be laid out for every view.
const LONGEST_TEXT: usize = 128 << 10;

/// Most characters of a file in an error.
const LONGEST_QUOTED: usize = 60;

/// Tells whether a text in a JSON file is longer than any of a run.
fn has_endless_text(json: &str) -> bool {
    let (mut length, mut is_text, mut is_escaped) = (0, false, false);
    json.bytes().any(|byte| {
        length = if is_text { length + 1 } else { 0 };
        is_text ^= byte == b'"' && !is_escaped;
        is_escaped = is_text && byte == b'\\' && !is_escaped;
        length > LONGEST_TEXT + 1
    })
}

/// Fault of a JSON text and its place, for a person: serde names types of this program.
pub fn json_fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let field = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let what = match (error.is_syntax(), field) {
        (true, _) => "this is no JSON".to_owned(),
        (_, Some(field)) => format!("the object that ends here has no {field}"),
        _ => "a value of another kind should stand here".to_owned(),
    };
    format!("line {}, column {}: {what}", error.line(), error.column())
}

/// The same in a form that leaves out what its reader does not need, and which says what schema it was.
pub fn load_form<Form: DeserializeOwned>(
    text: &str,
    schema: impl Fn(&Form) -> Option<String>,
) -> Result<Form, LoadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
        cases: Option<IgnoredAny>,
    }
    let explain = |error: serde_json::Error| match error.is_eof() {
        true => LoadError::Truncated(error.line()),
        false => LoadError::NotARun(json_fault(&error)),
    };
    if has_endless_text(text) {
        return Err(LoadError::NotARun(format!("a text in it has over {} KiB", LONGEST_TEXT >> 10)));
    }
    let form = serde_json::from_str::<Form>(text);
    // What is of another schema need not fit: that is told before what does not.
    let (schema, has_cases) = match &form {
        Ok(form) => (schema(form), true),
        Err(_) => {
            let head: Head = serde_json::from_str(text).map_err(explain)?;
            (head.schema, head.cases.is_some())
        }
    };
    let Some(schema) = schema.map(|schema| schema.chars().take(LONGEST_QUOTED).collect::<String>()) else {
        return Err(LoadError::NotARun("it names no schema".into()));
    };
    match schema.strip_prefix("hostmark.run/").and_then(|version| version.parse::<u32>().ok()) {
        Some(1) => form.map_err(|error| match has_cases && error.to_string().starts_with("missing field") {
            true => LoadError::Lacking(json_fault(&error)),
            false => explain(error),
        }),
        Some(_) => Err(LoadError::Newer(schema)),
        None => Err(LoadError::NotARun(format!("its schema is '{schema}'"))),
    }
}

/// Bytes as `--set` and filters take them: in the largest of K, M and G (2^10 …) that divides them.
pub fn typed_size(bytes: u64) -> String {
    const UNITS: [(u64, char); 3] = [(1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, letter)| format!("{}{letter}", bytes / unit))
}

/// A value of an axis as people type it.
pub fn typed_value(kind: AxisKind, value: &str) -> String {
    match (kind, value.parse()) {
        (AxisKind::Size, Ok(bytes)) => typed_size(bytes),
        _ => value.to_owned(),
    }
}

/// The id of a case as people type it, where `kind` tells of which kind the axes of its probe are; what is no id stays as it is.
pub fn typed_id(id: &str, kind: impl Fn(&str) -> Option<AxisKind>) -> String {
    let Ok(CaseId { probe, params }) = id.parse() else { return id.to_owned() };
    let typed = |(axis, value): (String, String)| {
        let value = kind(&axis).map_or(value.clone(), |kind| typed_value(kind, &value));
        (axis, value)
    };
    CaseId { probe, params: Params(params.0.into_iter().map(typed).collect()) }.to_string()
}

impl ProbeInfo {
    /// The id of one of its cases as people type it.
    pub fn typed_id(&self, id: &str) -> String {
        typed_id(id, |name| Some(self.axes.iter().find(|axis| axis.name == name)?.kind))
    }
}

impl Run {
    /// The id of one of its cases as people type it; as it is where the run does not describe its probe.
    pub fn typed_id(&self, id: &str) -> String {
        let name = id.split_once('@').map_or(id, |(probe, _)| probe);
        self.probes.iter().find(|probe| probe.id == name).map_or_else(|| id.to_owned(), |probe| probe.typed_id(id))
    }

    /// A sentence with the ids in it as people type them.
    pub fn typed_text(&self, text: &str) -> String {
        let typed = |word: &str| {
            let id = word.trim_end_matches([',', ';', ':', '.', ')']);
            match id.contains('@') {
                true => self.typed_id(id) + &word[id.len()..],
                false => word.to_owned(),
            }
        };
        text.split(' ').map(typed).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_longer_than_any_of_a_run_is_found_wherever_it_ends() {
        let of = |length: usize| "x".repeat(length);
        let quoted = |text: &str| format!("{{\"a\": \"\", \"b\": \"{text}\", \"c\": [1]}}");
        assert!(!has_endless_text(&quoted(&of(LONGEST_TEXT))));
        assert!(has_endless_text(&quoted(&of(LONGEST_TEXT + 1))));
        // A quotation mark that is part of it does not end it; one behind two backslashes does.
        let half = of(LONGEST_TEXT / 2 + 1);
        assert!(has_endless_text(&quoted(&format!("{half}\\\"{half}"))));
        assert!(!has_endless_text(&quoted(&format!("{half}\\\\\", \"d\": \"{half}"))));
        assert!(has_endless_text(&format!("[\"{half}{half}")));
        assert!(!has_endless_text(&format!("[{}]", "\"short\",".repeat(LONGEST_TEXT))));
        assert!(has_endless_text(&format!("[\"{}\"]", "\\\"".repeat(LONGEST_TEXT))));
    }

    #[test]
    fn a_size_has_the_largest_letter_that_divides_it() {
        for (bytes, typed) in [
            (0, "0"),
            (512, "512"),
            (1 << 10, "1K"),
            (1536, "1536"),
            (48 << 10, "48K"),
            (3 << 19, "1536K"),
            (64 << 20, "64M"),
            (3 << 30, "3G"),
            (1 << 40, "1024G"),
            (u64::MAX, "18446744073709551615"),
        ] {
            assert_eq!(typed_size(bytes), typed);
        }
    }

    #[test]
    fn only_sizes_change_and_what_is_no_id_stays() {
        let kind = |axis: &str| match axis {
            "size" => Some(AxisKind::Size),
            "threads" => Some(AxisKind::Threads),
            _ => None,
        };
        let typed = |id: &str| typed_id(id, kind);
        assert_eq!(typed("memory.read@size=67108864,threads=1024,x=4096"), "memory.read@size=64M,threads=1024,x=4096");
        assert_eq!(typed("memory.read@size=auto"), "memory.read@size=auto");
        assert_eq!(typed("syscall.null"), "syscall.null");
        assert_eq!(typed("no id@size=4096"), "no id@size=4096");
        assert_eq!(typed("\u{1b}[31m"), "\u{1b}[31m");
    }
}
