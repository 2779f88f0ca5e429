//! Contents of run files, one file after the other, kept as numbers: names and facts are kept once, however many hosts share them; a file is
//! read without its samples, and its values are held against what is usual.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use hostmark_model::{
    Also, Better, CaseId, Estimate, Flag, HostFacts, Imported, Leading, LoadError, Measured, Message, Neighbours,
    Noise, Run, Settings, Text, Tool, Unit, load_form, size_text,
};
use hostmark_say::say;
use serde::{Deserialize, Serialize};

use super::HostClass;
use super::between::BetweenHosts;
use crate::compare::facts::facts;
use crate::neighbours::SHARED;
use crate::references::{Counterpart, Reference, ReferenceValue, Standing, usual};
use crate::typography::cut;
use crate::{constants, words};

/// No fact is kept longer, in characters: a file may hold anything.
const LONGEST: usize = 300;

/// A file that tells nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Unread {
    pub file: String,
    /// Reason, a fragment that fits behind the name.
    pub reason: Text<String>,
}

#[derive(Debug, Default)]
pub(super) struct Interner {
    numbers: HashMap<String, u32>,
    all: Vec<String>,
}

impl Interner {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        // No memory holds so many names that they would not fit.
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_owned(), number);
        self.all.push(name.to_owned());
        number
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.all.get(number as usize).map_or("", String::as_str)
    }
}

#[derive(Debug, Clone)]
pub(super) struct CaseInfo {
    pub(super) id: String,
    pub(super) probe: String,
    pub(super) title: Text<String>,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) estimator: Leading,
}

/// Case of the fleet, which no run has.
pub(super) struct FleetCase {
    pub(super) id: &'static str,
    pub(super) probe: &'static str,
    pub(super) title: Text,
    pub(super) unit: Unit,
    pub(super) better: Better,
}

/// A value of a run: its case by number, its logarithm as filed, how far rounds let it be off, and the other estimator's.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunValue {
    pub(super) case: u32,
    pub(super) logarithm: f64,
    pub(super) error: f32,
    /// The logarithm of what the other estimator says over this; not a number where there is none.
    pub(super) other: f32,
}

#[derive(Debug)]
pub(super) struct RunRow {
    pub(super) file: String,
    pub(super) hostname: String,
    pub(super) boot: Option<String>,
    pub(super) started: String,
    pub(super) finished: String,
    pub(super) kind: HostClass,
    pub(super) values: Vec<RunValue>,
    /// Position of values in what is usual for the host's design.
    pub(super) usual: Vec<BesideUsual>,
    /// Cases that should have worked and did not.
    pub(super) failed: u32,
    /// Facts by the number of their name and that of their value.
    pub(super) facts: Vec<(u32, u32)>,
}

/// Runs that were read, and files that tell nothing.
#[derive(Debug, Default)]
pub struct Gathering {
    pub(super) runs: Vec<RunRow>,
    pub(super) cases: Vec<CaseInfo>,
    numbers: HashMap<(String, u32, Leading), u32>,
    /// Labels of facts, by their number.
    pub(super) labels: Vec<Text<String>>,
    keys: Interner,
    pub(super) texts: Interner,
    pub(super) unread: Vec<Unread>,
    ids: HashMap<String, usize>,
    filters: Vec<String>,
    pub(super) between: BetweenHosts,
}

impl Gathering {
    /// Gathers nothing yet. Cases of later runs count if a filter names them: a group, a probe or a case; all where there is none.
    pub fn new(filters: &[String]) -> Gathering {
        Gathering { filters: filters.to_vec(), ..Gathering::default() }
    }

    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Tells whether any run has a requested case.
    pub fn has_cases(&self) -> bool {
        !self.cases.is_empty()
    }

    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// Notes a file that cannot be read.
    pub fn refuse(&mut self, file: &str, reason: Text<String>) {
        self.unread.push(Unread { file: file.to_owned(), reason });
    }

    /// Reads a run file. What is none, or was cut off, is noted with its reason.
    pub fn read(&mut self, file: &str, bytes: &[u8]) {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // It ends inside a character: it is cut off there, which is told below.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return self.refuse(file, no_run(&term!("it is not text").into())),
        };
        if text.trim().is_empty() {
            return self.refuse(file, term!("is empty; measure again").to_owned_text());
        }
        match SlimRun::read(text.trim_end_matches(['-', '+', '.', 'e', 'E'])) {
            Ok(run) => self.add(file, run),
            Err(error) => self.refuse(file, reason(&error)),
        }
    }

    fn add(&mut self, file: &str, slim: SlimRun) {
        let (run, probes, cases) = slim.parts();
        if let Some(known) = self.ids.get(&run.id).filter(|_| !run.id.is_empty()) {
            let known = &self.runs[*known].file;
            let reason = words(say!("is the same run as {known}"));
            return self.refuse(file, reason);
        }
        self.ids.insert(run.id.clone(), self.runs.len());
        let mut facts = self.facts_of(&run);
        let mut row = RunRow {
            file: file.to_owned(),
            hostname: short(&run.host.hostname),
            boot: run.host.boot_id.as_deref().map(short),
            started: short(&run.started),
            finished: short(run.finished.as_deref().unwrap_or(&run.started)),
            kind: HostClass::of(&run),
            values: Vec::with_capacity(cases.len()),
            usual: beside_usual(&run, &probes, &cases),
            failed: 0,
            facts: Vec::new(),
        };
        let by_id: HashMap<&str, &SlimProbe> = probes.iter().map(|probe| (probe.id.as_str(), probe)).collect();
        let (mut steal, mut throttled) = (None, None);
        for case in &cases {
            match &case.outcome {
                SlimOutcome::Measured(measured) => {
                    steal = steal.or(measured.noise.steal_ns.map(|_| false)).map(|any| any | stolen(measured));
                    let rounds = measured.noise.throttled_rounds;
                    throttled = throttled.or(rounds.map(|_| false)).map(|any| any | (rounds > Some(0)));
                    let Some(probe) = by_id.get(case.probe.as_str()).filter(|_| self.is_wanted(case)) else { continue };
                    if measured.estimate.agreement.is_some() {
                        // What rounds vote on is a property of the machine, as its cache sizes: hosts have it or not.
                        let value =
                            crate::format::value(measured.estimate.value(), probe.unit, hostmark_model::Lang::En);
                        let key = format!("case.{}", case.id);
                        facts.push(self.fact(&key, &probe.title, &value));
                    } else if let Some(value) = self.value(case, probe, measured) {
                        row.values.push(value);
                    }
                }
                SlimOutcome::Failed {} => row.failed += 1,
                SlimOutcome::Skipped {} => {}
            }
        }
        for (key, label, is_so) in [
            ("noise.steal", term!("CPU time stolen by the hypervisor"), steal),
            ("noise.throttled", term!("stopped by a CPU quota", "fact"), throttled),
        ] {
            if let Some(is_so) = is_so {
                facts.push(self.fact(key, &label.to_owned_text(), yes_no(is_so)));
            }
        }
        facts.sort_unstable();
        facts.dedup_by_key(|(key, _)| *key);
        row.facts = facts;
        self.runs.push(row);
    }

    fn is_wanted(&self, case: &SlimCase) -> bool {
        let group = case.probe.split('.').next().unwrap_or_default();
        self.is_asked_for(&[group, case.probe.as_str(), case.id.as_str()])
    }

    /// Tells whether a filter is one of these names, or there is none.
    pub(super) fn is_asked_for(&self, names: &[&str]) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| names.contains(&filter.as_str()))
    }

    pub(super) fn number_of(&mut self, named: &FleetCase) -> Option<u32> {
        let (id, unit, better, estimator) = (named.id.to_owned(), named.unit, named.better, Leading::Typical);
        let (probe, title) = (named.probe.to_owned(), named.title.to_owned_text());
        self.case_number((id.clone(), 0, estimator), || CaseInfo { id, probe, title, unit, better, estimator })
    }

    /// The number of a case by its id, its probe's revision and the estimator; it gets one where it has none.
    fn case_number(&mut self, key: (String, u32, Leading), info: impl FnOnce() -> CaseInfo) -> Option<u32> {
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let number = u32::try_from(self.cases.len()).ok()?;
        self.cases.push(info());
        self.numbers.insert(key, number);
        Some(number)
    }

    fn value(&mut self, case: &SlimCase, probe: &SlimProbe, measured: &SlimMeasured) -> Option<RunValue> {
        let value = measured.estimate.value();
        if probe.better == Better::Neither || !value.is_finite() || value <= 0.0 {
            return None;
        }
        // Values of two estimators are no values of one case.
        let estimator = measured.estimate.estimator();
        let number = self.case_number((case.id.clone(), probe.revision, estimator), || CaseInfo {
            id: short(&case.id),
            probe: short(&case.probe),
            title: Text { en: short(&probe.title.en), zh: short(&probe.title.zh) },
            unit: probe.unit,
            better: probe.better,
            estimator,
        })?;
        let ends = measured.estimate.of_this_run().filter(|(low, high)| *low > 0.0 && high.is_finite() && low <= high);
        // An interval of 95 % reaches two standard errors to both sides.
        let error = ends.map_or(f32::NAN, |(low, high)| ((high / low).ln() / 4.0) as f32);
        let other = measured.estimate.by(estimator.other()).map_or(f32::NAN, |other| (other.value / value).ln() as f32);
        Some(RunValue { case: number, logarithm: value.ln(), error, other })
    }

    fn facts_of(&mut self, run: &Run) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for fact in facts(run).into_iter().filter(|fact| !NAMES_ONE.contains(&fact.key.as_str())) {
            let Some(value) = fact.value else { continue };
            // Of a list of words, as kernel arguments and CPU features are, each is a fact.
            match fact.is_words {
                true => {
                    for word in value.split_whitespace() {
                        let (name, value) = word.split_once('=').unwrap_or((word, "yes"));
                        let label = Text {
                            en: format!("{} {}", fact.label.en, short(name)),
                            zh: format!("{} {}", fact.label.zh, short(name)),
                        };
                        found.push(self.fact(&format!("{}.{name}", fact.key), &label, value));
                    }
                }
                false => found.push(self.fact(&fact.key, &fact.label, &value)),
            }
        }
        for (key, label, value) in further(&run.host, run.neighbours.as_ref(), !run.disturbances.is_empty()) {
            found.push(self.fact(key, &label.to_owned_text(), &value));
        }
        found
    }

    fn fact(&mut self, key: &str, label: &Text<String>, value: &str) -> (u32, u32) {
        let number = self.keys.number(&short(key));
        if number as usize == self.labels.len() {
            self.labels.push(Text { en: short(&label.en), zh: short(&label.zh) });
        }
        (number, self.texts.number(&short(value)))
    }

    /// The place in a run file of a fact.
    pub(super) fn key(&self, number: u32) -> &str {
        self.keys.name(number)
    }
}

/// Facts that name one host or one boot, and so tell nothing of a group of them; and the modules one by one, which are counted here.
const NAMES_ONE: [&str; 3] = ["host.hostname", "host.boot_id", "host.firmware.memory_modules"];

/// Facts that a comparison of two hosts ignores, but that explain an outlier among many.
fn further(host: &HostFacts, neighbours: Option<&Neighbours>, is_disturbed: bool) -> Vec<(&'static str, Text, String)> {
    let mut found = vec![("disturbances", term!("other programs disturbed the run"), yes_no(is_disturbed).to_owned())];
    if let Some(shared) = neighbours.and_then(|neighbours| neighbours.core_shared) {
        let text = term!("others ran on the same cores");
        found.push(("neighbours.core_shared", text, yes_no(shared >= SHARED).to_owned()));
    }
    if let Some(date) = &host.firmware.bios_date {
        found.push(("host.firmware.bios_date", term!("firmware date"), date.clone()));
    }
    let mut modules: BTreeMap<String, usize> = BTreeMap::new();
    for module in &host.firmware.memory_modules {
        let rate = module.transfers_per_s.map(|rate| format!(" {} MT/s", rate / 1_000_000)).unwrap_or_default();
        let kind = module.kind.as_deref().unwrap_or("?");
        *modules.entry(format!("{kind} {}{rate}", size_text(module.size_bytes))).or_default() += 1;
    }
    if !modules.is_empty() {
        let population: Vec<String> = modules.iter().map(|(module, count)| format!("{count} × {module}")).collect();
        let text = term!("DIMMs");
        found.push(("host.firmware.memory_modules", text, population.join(", ")));
    }
    found
}

fn yes_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// Tells whether the hypervisor gave time of the case's CPUs to others: it is reported in ticks of 10 ms.
fn stolen(measured: &SlimMeasured) -> bool {
    measured.noise.steal_ns.is_some_and(|ns| ns > 0.0)
}

fn short(text: &str) -> String {
    cut(text, LONGEST)
}

fn no_run(why: &Message) -> Text<String> {
    words(say!("is not a hostmark run ({why})"))
}

fn reason(error: &hostmark_model::LoadError) -> Text<String> {
    let text = words(error.message());
    Text { en: short(&text.en), zh: short(&text.zh) }
}

/// A run without what takes its room. Whatever is not named here is skipped.
#[derive(Debug, Deserialize)]
pub(super) struct SlimRun {
    schema: Option<String>,
    id: String,
    name: String,
    started: String,
    finished: Option<String>,
    interrupted: Option<String>,
    imported: Option<Imported>,
    tool: Tool,
    guest: Option<Box<hostmark_model::Guest>>,
    settings: Settings,
    host: HostFacts,
    disturbances: Vec<Text<String>>,
    neighbours: Option<Neighbours>,
    pub(super) probes: Vec<SlimProbe>,
    pub(super) cases: Vec<SlimCase>,
}

/// Part of a probe that a fleet needs.
#[derive(Debug, Deserialize)]
pub(super) struct SlimProbe {
    pub(super) id: String,
    pub(super) title: Text<String>,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) revision: u32,
}

/// Part of a case that a fleet needs.
#[derive(Debug, Deserialize)]
pub(super) struct SlimCase {
    pub(super) id: String,
    pub(super) probe: String,
    pub(super) outcome: SlimOutcome,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SlimOutcome {
    Measured(Box<SlimMeasured>),
    /// Case that could not be measured there.
    Skipped {},
    Failed {},
}

#[derive(Debug, Deserialize)]
pub(super) struct SlimMeasured {
    pub(super) estimate: Estimate,
    pub(super) noise: Noise,
    #[serde(default)]
    pub(super) flags: Vec<Flag>,
    #[serde(default)]
    also: SlimAlso,
}

/// Companion by which a core is judged.
#[derive(Debug, Default, Deserialize)]
struct SlimAlso {
    cycles: Option<Also>,
}

impl SlimMeasured {
    /// Value, or that in cycles of the core; none where these are not known.
    pub(super) fn quantity(&self, name: &str) -> Option<Cow<'_, Estimate>> {
        if name == Measured::CYCLES {
            let cycles = &self.also.cycles.as_ref()?.estimate;
            return Some(Measured::companion_of(&self.estimate, name, cycles));
        }
        Some(Cow::Borrowed(&self.estimate)).filter(|_| name.is_empty())
    }
}

impl SlimRun {
    pub(super) fn read(text: &str) -> Result<SlimRun, LoadError> {
        load_form(text, |run: &SlimRun| run.schema.clone())
    }

    /// The run without probes and cases, and these.
    pub(super) fn parts(self) -> (Run, Vec<SlimProbe>, Vec<SlimCase>) {
        let run = Run {
            schema: self.schema.unwrap_or_default(),
            id: self.id,
            name: self.name,
            started: self.started,
            finished: self.finished,
            interrupted: self.interrupted,
            imported: self.imported,
            tool: self.tool,
            guest: self.guest,
            settings: self.settings,
            host: self.host,
            disturbances: self.disturbances,
            neighbours: self.neighbours,
            ..Run::default()
        };
        (run, self.probes, self.cases)
    }
}

/// Position of a host's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideUsual {
    pub id: String,
    pub standing: Standing,
    /// Delivered rate over the near end of the usual range: below 1 is worse; 1 within it, and where it is not known.
    pub over: f64,
    #[serde(skip)]
    known: UsualRange,
    #[serde(skip)]
    words: Message,
}

#[derive(Debug, Clone, PartialEq)]
struct UsualRange {
    name: Message,
    range: Message,
    machine: Message,
}

/// A case of a kind of hosts beside what is usual.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBesideUsual {
    pub name: Message,
    /// `87.7 … 119 ns`.
    pub range: Message,
    pub machine: Message,
    pub better: usize,
    pub within: usize,
    /// Hosts that deliver less, and by which factor, the worst first.
    pub worse: Vec<(String, f64)>,
    /// Hosts without a verdict, and the reason.
    pub unknown: Vec<(String, Message)>,
}

impl CaseBesideUsual {
    /// Hosts of which it is known.
    pub fn judged(&self) -> usize {
        self.better + self.within + self.worse.len()
    }

    /// Tells whether most of the hosts with a verdict deliver less than is usual.
    pub fn is_slow_as_a_whole(&self) -> bool {
        2 * self.worse.len() > self.judged()
    }
}

/// Positions of a run's values.
pub(super) fn beside_usual(run: &Run, probes: &[SlimProbe], cases: &[SlimCase]) -> Vec<BesideUsual> {
    // What another tool measured has cases of its own.
    let Some(reference) = usual(&run.host).filter(|_| run.imported.is_none()) else { return Vec::new() };
    let of_value = |value: &ReferenceValue| of_value(reference, run, value, probes, cases);
    reference.values_for(&run.host).iter().filter_map(of_value).collect()
}

fn of_value(
    reference: &Reference,
    run: &Run,
    value: &ReferenceValue,
    probes: &[SlimProbe],
    cases: &[SlimCase],
) -> Option<BesideUsual> {
    let id: CaseId = value.id.parse().ok()?;
    // Without its probe nobody asked for it.
    let probe = probes.iter().find(|probe| probe.id == id.probe)?;
    let measured = cases.iter().find(|case| case.id == value.id).and_then(|case| match &case.outcome {
        SlimOutcome::Measured(measured) => Some(measured),
        _ => None,
    });
    let unit = value.unit_beside(probe.unit);
    let better = if unit == probe.unit { probe.better } else { Better::Lower };
    let found = measured.and_then(|measured| {
        Some(Counterpart { estimate: measured.quantity(&value.quantity)?, flags: &measured.flags, unit, better })
    });
    let (standing, over, words) = match (found, measured) {
        (Some(found), _) => {
            let verdict = value.verdict(&found, true);
            let why = verdict.standing.why_none().map(Message::from);
            (verdict.standing, if why.is_some() { 1.0 } else { verdict.better }, why.unwrap_or(verdict.words.into()))
        }
        (None, measured) => {
            let standing = if measured.is_some() { Standing::NoCycles } else { Standing::NotMeasured };
            (standing, 1.0, standing.why_none().unwrap_or_default().into())
        }
    };
    let name = constants::name_of(&value.id).map_or_else(|| Message::plain(&value.id), Message::from);
    let range = value.range(unit).unwrap_or_default();
    let machine = reference.machine_and_source(reference.machine_for(&run.host));
    let known = UsualRange { name, range, machine };
    Some(BesideUsual { id: value.id.clone(), standing, over, known, words })
}

/// The same of all hosts of a kind, case by case.
pub(super) fn of_kind<'a>(hosts: impl Iterator<Item = (&'a str, &'a [BesideUsual])>) -> Vec<CaseBesideUsual> {
    let mut cases: Vec<CaseBesideUsual> = Vec::new();
    for (host, usual) in hosts {
        for beside in usual {
            let known = &beside.known;
            let is_it = |case: &CaseBesideUsual| (&case.name, &case.range) == (&known.name, &known.range);
            let place = cases.iter().position(is_it).unwrap_or_else(|| {
                let UsualRange { name, range, machine } = known.clone();
                let (worse, unknown) = (Vec::new(), Vec::new());
                cases.push(CaseBesideUsual { name, range, machine, better: 0, within: 0, worse, unknown });
                cases.len() - 1
            });
            let case = &mut cases[place];
            match beside.standing {
                Standing::Better => case.better += 1,
                Standing::Worse => case.worse.push((host.to_owned(), beside.over.recip())),
                Standing::Within | Standing::PerhapsBetter => case.within += 1,
                _ => case.unknown.push((host.to_owned(), beside.words.clone())),
            }
        }
    }
    cases.iter_mut().for_each(|case| case.worse.sort_by(|one, other| other.1.total_cmp(&one.1)));
    cases
}
