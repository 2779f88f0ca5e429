//! Reads the results of the Phoronix Test Suite (`composite.xml`): every run of a test is a sample.

use std::collections::BTreeSet;
use std::io::BufRead;

use hostmark_model::{AxisKind, Better, Run, Unit};
use serde::Deserialize;

use super::bounded::{Short, amount, each_element, or_default};
use super::foreign::{Foreign, ForeignQuantity, ImportedValue, Source, UnitKind, known, no_result};
use super::{ImportError, ImportFormat};
use crate::texts::phoronix as texts;

/// The Phoronix Test Suite's XML.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "phoronix", description: texts::DESCRIPTION, read };

const AXES: &[(&str, AxisKind)] = &[
    ("system", AxisKind::Choice),
    ("test", AxisKind::Choice),
    ("version", AxisKind::Choice),
    ("options", AxisKind::Choice),
    ("arguments", AxisKind::Choice),
    ("unit", AxisKind::Choice),
];

static SOURCE: Source = Source {
    format: "phoronix",
    tool: "Phoronix Test Suite",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity::plain("phoronix.time", texts::TIME_TITLE, Unit::Nanoseconds, AXES, texts::TIME),
        ForeignQuantity::plain("phoronix.rate", texts::RATE_TITLE, Unit::BytesPerSecond, AXES, texts::RATE),
        ForeignQuantity::plain(
            "phoronix.operations",
            texts::OPERATIONS_TITLE,
            Unit::OperationsPerSecond,
            AXES,
            texts::OPERATIONS,
        ),
        ForeignQuantity::plain("phoronix.more", texts::MORE_TITLE, Unit::Count, AXES, texts::MORE),
        ForeignQuantity::plain("phoronix.less", texts::LESS_TITLE, Unit::Count, AXES, texts::LESS),
        ForeignQuantity::plain("phoronix.number", texts::NUMBER_TITLE, Unit::Count, AXES, texts::NUMBER),
    ],
};

const WHAT: &str = "composite.xml of the Phoronix Test Suite";
/// How far the mean of the runs may be off the value that the suite made of them.
const SAME: f64 = 0.02;
/// Most systems and values that are held.
const MOST: usize = 20_000;

/// What a file holds, gathered before the first value is kept: how many systems there are is told by all of it.
#[derive(Default)]
struct PhoronixFile {
    client: String,
    modified: String,
    systems: Vec<System>,
    results: Vec<PhoronixTest>,
    entries: usize,
    system: System,
    test: PhoronixTest,
    entry: PhoronixEntry,
}

#[derive(Default, Clone)]
struct System {
    name: String,
    hardware: String,
    software: String,
    facts: Facts,
}

/// Of the JSON of a system, what decides values.
#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case")]
struct Facts {
    #[serde(deserialize_with = "or_default")]
    environment_variables: Short,
    #[serde(deserialize_with = "or_default")]
    cpu_scaling_governor: Short,
}

#[derive(Default)]
struct PhoronixTest {
    id: String,
    title: String,
    version: String,
    arguments: String,
    description: String,
    scale: String,
    proportion: String,
    display: String,
    entries: Vec<PhoronixEntry>,
}

#[derive(Default)]
struct PhoronixEntry {
    system: String,
    value: String,
    raw: String,
    compiler: String,
}

/// Of the JSON of an entry, how its program was compiled.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct Built {
    #[serde(deserialize_with = "or_default")]
    compiler_options: Compiler,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct Compiler {
    #[serde(deserialize_with = "or_default")]
    compiler: Short,
    #[serde(deserialize_with = "or_default")]
    compiler_options: Short,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut file = PhoronixFile::default();
    let line = each_element(input, WHAT, |path, text| file.element(path, text))?;
    let mut run = Foreign::of(&SOURCE);
    run.directions = &[("phoronix.more", Better::Higher), ("phoronix.less", Better::Lower)];
    file.make_cases(&mut run).map_err(|what| ImportError { line, what })?;
    run.finish(line, || no_result(WHAT))
}

impl PhoronixFile {
    fn element(&mut self, path: &str, text: &str) -> Result<(), String> {
        const LONGEST: usize = 300;
        let short = || text.chars().take(LONGEST).collect::<String>();
        let Some(path) = path.strip_prefix("PhoronixTestSuite/") else { return Ok(()) };
        match path {
            "Generated/TestClient" => self.client = short(),
            "Generated/LastModified" => self.modified = short(),
            "System/Identifier" => self.system.name = short(),
            "System/Hardware" => self.system.hardware = short(),
            "System/Software" => self.system.software = short(),
            "System/JSON" => self.system.facts = serde_json::from_str(text).unwrap_or_default(),
            "System" => self.systems.push(std::mem::take(&mut self.system)),
            "Result/Identifier" => self.test.id = short(),
            "Result/Title" => self.test.title = short(),
            "Result/AppVersion" => self.test.version = short(),
            "Result/Arguments" => self.test.arguments = short(),
            "Result/Description" => self.test.description = short(),
            "Result/Scale" => self.test.scale = short(),
            "Result/Proportion" => self.test.proportion = short(),
            "Result/DisplayFormat" => self.test.display = short(),
            "Result/Data/Entry/Identifier" => self.entry.system = short(),
            "Result/Data/Entry/Value" => self.entry.value = short(),
            "Result/Data/Entry/RawString" => text.clone_into(&mut self.entry.raw),
            "Result/Data/Entry/JSON" => {
                let Compiler { compiler, compiler_options } =
                    serde_json::from_str::<Built>(text).unwrap_or_default().compiler_options;
                self.entry.compiler = format!("{} {}", compiler.0, compiler_options.0).trim().to_owned();
            }
            "Result/Data/Entry" => {
                self.entries += 1 + self.entry.raw.matches(':').count();
                self.test.entries.push(std::mem::take(&mut self.entry));
            }
            "Result" => self.results.push(std::mem::take(&mut self.test)),
            _ => {}
        }
        match self.systems.len() + self.results.len() + self.entries > MOST {
            true => Err(format!("it has more than {MOST} systems and values; give {WHAT}")),
            false => Ok(()),
        }
    }

    fn make_cases(self, run: &mut Foreign) -> Result<(), String> {
        if !self.client.is_empty() {
            run.version = self.client;
        }
        run.date = Some(self.modified).filter(|date| !date.is_empty());
        let entries = self.results.iter().flat_map(|test| &test.entries).map(|entry| entry.system.as_str());
        let names: BTreeSet<&str> = self.systems.iter().map(|system| system.name.as_str()).chain(entries).collect();
        let is_one = names.len() < 2;
        if let (true, Some(system)) = (is_one, self.systems.first()) {
            take_host(run, system);
        }
        // The graph of a sensor, an image and a mark of a check are no value.
        let is_value = |test: &&PhoronixTest| matches!(test.display.as_str(), "" | "BAR_GRAPH");
        for test in self.results.iter().filter(is_value) {
            for entry in &test.entries {
                let system = self.systems.iter().find(|system| system.name == entry.system);
                let name = if is_one { "only".to_owned() } else { run.distinct(&entry.system) };
                let value = value(run, test, entry, &name, system)?;
                run.keep(value)?;
            }
        }
        Ok(())
    }
}

fn value(
    run: &mut Foreign,
    test: &PhoronixTest,
    entry: &PhoronixEntry,
    name: &str,
    system: Option<&System>,
) -> Result<ImportedValue, String> {
    let PhoronixTest { id, title, version, arguments, description, scale, proportion, .. } = test;
    let (kind, one) = known(scale).map_or((None, 1.0), |(kind, one)| (Some(kind), one));
    // A time of which more is better, as that of a battery, is no cost.
    let (probe, one) = match (kind, proportion.as_str()) {
        (Some(UnitKind::Time), "LIB") => ("phoronix.time", one),
        (Some(UnitKind::Rate), "HIB") => ("phoronix.rate", one),
        (Some(UnitKind::Operations), "HIB") => ("phoronix.operations", one),
        (_, "HIB") => ("phoronix.more", 1.0),
        (_, "LIB") => ("phoronix.less", 1.0),
        _ => ("phoronix.number", 1.0),
    };
    let unit = if scale.is_empty() { "none" } else { scale };
    let mut named = |name: &str, absent: &str| run.distinct(if name.is_empty() { absent } else { name });
    let mut value = ImportedValue::new(probe, samples(entry)?.into_iter().map(|sample| sample * one).collect())
        .at("system", name)
        .at("test", named(if id.is_empty() { title } else { id }, "unknown"))
        .at("version", named(version, "unknown"))
        .at("options", named(description, "none"))
        .at("arguments", named(arguments, "none"))
        .at("unit", named(unit, "none"));
    for (key, text) in
        [("title", title), ("options", description), ("arguments", arguments), ("compiler", &entry.compiler)]
    {
        value = value.note(key, text);
    }
    if let Some(System { name, facts, .. }) = system {
        value = value.note("system", name).note("environment", &facts.environment_variables.0);
        value = value.note("governor", &facts.cpu_scaling_governor.0);
    }
    value.failed = entry.value.is_empty().then(|| "the test ended without a value".to_owned());
    Ok(value)
}

/// The values of all runs of a test; that of the suite where they are not told, or it made something else of them than a mean.
fn samples(entry: &PhoronixEntry) -> Result<Vec<f64>, String> {
    if entry.value.is_empty() {
        return Ok(Vec::new());
    }
    let value = amount(&entry.value, "the value of a test")?;
    let raw: Vec<f64> = entry.raw.split(':').map_while(|raw| amount(raw, "").ok()).collect();
    let mean = raw.iter().sum::<f64>() / raw.len() as f64;
    let is_mean = raw.len() == entry.raw.split(':').count() && (mean - value).abs() <= value * SAME;
    Ok(if is_mean { raw } else { vec![value] })
}

/// What a file tells of its only system.
fn take_host(run: &mut Foreign, System { hardware, software, .. }: &System) {
    /// `Kernel` of `OS: CentOS Stream 9, Kernel: 5.14.0 (x86_64), Compiler: GCC 11`.
    fn part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
        let of = |part: &'a str| part.trim_start().strip_prefix(name)?.strip_prefix(": ");
        text.split(", ").find_map(of)
    }
    run.host.cpu.model = part(hardware, "Processor").map(str::to_owned);
    let system = part(software, "OS").and_then(|name| name.split(' ').next()).unwrap_or_default();
    if let Some(kernel) = part(software, "Kernel") {
        let (release, machine) = kernel.split_once(" (").unwrap_or((kernel, ""));
        release.clone_into(&mut run.host.kernel.release);
        machine.trim_end_matches(')').clone_into(&mut run.host.cpu.architecture);
        // The names of distributions are those of Linux.
        if ["FreeBSD", "OpenBSD", "NetBSD", "DragonFlyBSD", "macOS"].contains(&system) {
            run.host.kernel.system_is(system);
        }
    }
}
