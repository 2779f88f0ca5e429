//! Reads the results of the Phoronix Test Suite (`composite.xml`): every run of a test is a sample.

use std::collections::BTreeSet;
use std::io::BufRead;

use hostmark_model::AxisKind::Choice;
use hostmark_model::{Better, Message, Run, Text, Unit};
use hostmark_say::say;
use serde_json::Value;

use super::bounded::amount;
use super::foreign::{Axis, Foreign, ImportedValue, UnitKind, known, quantity, read_elements};
use super::table::Fields;
use super::{ImportError, ImportFormat, NOTHING};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "phoronix",
    tool: "Phoronix Test Suite",
    what: WHAT,
    nothing: NOTHING,
    texts: crate::texts::phoronix::TEXTS,
    programs: &[
        quantity("phoronix.time", Unit::Nanoseconds, AXES),
        quantity("phoronix.rate", Unit::BytesPerSecond, AXES),
        quantity("phoronix.operations", Unit::OperationsPerSecond, AXES),
        quantity("phoronix.more", Unit::Count, AXES).with_direction(Better::Higher),
        quantity("phoronix.less", Unit::Count, AXES).with_direction(Better::Lower),
        quantity("phoronix.number", Unit::Count, AXES),
    ],
    read,
};

const AXES: &[Axis] = &[
    ("system", Choice),
    ("test", Choice),
    ("version", Choice),
    ("options", Choice),
    ("arguments", Choice),
    ("unit", Choice),
];

const WHAT: Text = term!("composite.xml of the Phoronix Test Suite");
/// Largest distance of the mean of the runs from the value that the suite made of them.
const SAME: f64 = 0.02;
/// Most systems and values that are held.
const MOST: usize = 20_000;

/// Elements that are read: where in their JSON a text stands, and the field that it becomes.
const ELEMENTS: &[(&str, &str, &str)] = &[
    ("Generated/TestClient", "", "client"),
    ("Generated/LastModified", "", "modified"),
    ("System/Identifier", "", "system"),
    ("System/Hardware", "", "hardware"),
    ("System/Software", "", "software"),
    ("System/JSON", "/environment-variables", "environment"),
    ("System/JSON", "/cpu-scaling-governor", "governor"),
    ("Result/Identifier", "", "id"),
    ("Result/Title", "", "title"),
    ("Result/AppVersion", "", "version"),
    ("Result/Arguments", "", "arguments"),
    ("Result/Description", "", "options"),
    ("Result/Scale", "", "unit"),
    ("Result/Proportion", "", "proportion"),
    ("Result/DisplayFormat", "", "display"),
    ("Result/Data/Entry/Identifier", "", "system"),
    ("Result/Data/Entry/Value", "", "value"),
    ("Result/Data/Entry/RawString", "", "raw"),
    ("Result/Data/Entry/JSON", "/compiler-options/compiler", "compiler"),
    ("Result/Data/Entry/JSON", "/compiler-options/compiler-options", "compiler_options"),
];
/// Fields of an entry of a result.
const ENTRY: &[&str] = &["system", "value", "raw", "compiler", "compiler_options"];

/// Contents of a file, gathered before the first value is kept: how many systems there are is told by all of it.
#[derive(Default)]
struct PhoronixFile {
    generated: Fields,
    systems: Vec<Fields>,
    /// Results with their entries.
    results: Vec<(Fields, Vec<Fields>)>,
    held: usize,
    now: Fields,
    entries: Vec<Fields>,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut file = PhoronixFile::default();
    read_elements(&FORMAT, input, |run, element| match element {
        Some((path, text)) => file.element(path, text),
        None => std::mem::take(&mut file).make_cases(run),
    })
}

impl PhoronixFile {
    fn element(&mut self, path: &str, text: &str) -> Result<(), Message> {
        const LONGEST: usize = 300;
        let Some(path) = path.strip_prefix("PhoronixTestSuite/") else { return Ok(()) };
        for (_, pointer, name) in ELEMENTS.iter().filter(|(known, ..)| *known == path) {
            let json = (!pointer.is_empty()).then(|| serde_json::from_str::<Value>(text).unwrap_or_default());
            let text = match json.as_ref().map(|json| json.pointer(pointer)) {
                None => text,
                Some(value) => value.and_then(Value::as_str).unwrap_or_default(),
            };
            let most = if *name == "raw" { usize::MAX } else { LONGEST };
            self.now.set(name, &text.chars().take(most).collect::<String>());
        }
        match path {
            "Generated" => self.generated = std::mem::take(&mut self.now),
            "System" => self.systems.push(std::mem::take(&mut self.now)),
            "Result/Data/Entry" => self.entries.push(self.now.split_off(ENTRY)),
            "Result" => self.results.push((std::mem::take(&mut self.now), std::mem::take(&mut self.entries))),
            _ => return Ok(()),
        }
        self.held += 1 + self.entries.last().map_or(0, |entry| entry.text("raw").matches(':').count());
        if self.held > MOST { Err(say!("it has more than {MOST} systems and values; give {WHAT}")) } else { Ok(()) }
    }

    fn make_cases(self, run: &mut Foreign) -> Result<(), Message> {
        if self.generated.has("client") {
            run.version = self.generated.text("client").to_owned();
        }
        run.date_is(self.generated.text("modified"));
        let entries = self.results.iter().flat_map(|(_, entries)| entries);
        let names: BTreeSet<&str> = self.systems.iter().chain(entries).map(|fields| fields.text("system")).collect();
        let is_one = names.len() < 2;
        if let (true, Some(system)) = (is_one, self.systems.first()) {
            take_host(run, system);
        }
        // The graph of a sensor, an image and a mark of a check are no value.
        let is_value = |(test, _): &&(Fields, Vec<Fields>)| matches!(test.text("display"), "" | "BAR_GRAPH");
        for (test, entries) in self.results.iter().filter(is_value) {
            for entry in entries {
                let of = entry.text("system");
                let system = self.systems.iter().find(|system| system.text("system") == of);
                let name = if is_one { "only".to_owned() } else { run.distinct(of) };
                let value = value(run, test, entry, &name, system)?;
                run.keep(value)?;
            }
        }
        Ok(())
    }
}

fn value(
    run: &mut Foreign,
    test: &Fields,
    entry: &Fields,
    name: &str,
    system: Option<&Fields>,
) -> Result<ImportedValue, Message> {
    let (kind, one) = known(test.text("unit")).map_or((None, 1.0), |(kind, one)| (Some(kind), one));
    // A time of which more is better, as that of a battery, is no cost.
    let (probe, one) = match (kind, test.text("proportion")) {
        (Some(UnitKind::Time), "LIB") => ("phoronix.time", one),
        (Some(UnitKind::Rate), "HIB") => ("phoronix.rate", one),
        (Some(UnitKind::Operations), "HIB") => ("phoronix.operations", one),
        (_, "HIB") => ("phoronix.more", 1.0),
        (_, "LIB") => ("phoronix.less", 1.0),
        _ => ("phoronix.number", 1.0),
    };
    let id = if test.text("id").is_empty() { test.text("title") } else { test.text("id") };
    let mut value = ImportedValue::new(probe, samples(entry)?.into_iter().map(|sample| sample * one).collect());
    value = value.at("system", name);
    for (axis, text, absent) in [
        ("test", id, "unknown"),
        ("version", test.text("version"), "unknown"),
        ("options", test.text("options"), "none"),
        ("arguments", test.text("arguments"), "none"),
        ("unit", test.text("unit"), "none"),
    ] {
        value = value.at(axis, run.distinct(if text.is_empty() { absent } else { text }));
    }
    for key in ["title", "options", "arguments"] {
        value = value.note(key, test.text(key));
    }
    let compiler = format!("{} {}", entry.text("compiler"), entry.text("compiler_options"));
    value = value.note("compiler", compiler.trim());
    for key in ["system", "environment", "governor"] {
        value = value.note(key, system.map_or("", |system| system.text(key)));
    }
    value.failed = entry.text("value").is_empty().then(|| say!("the test ended without a value"));
    Ok(value)
}

/// The values of all runs of a test; that of the suite where they are not told, or it made something else of them than a mean.
fn samples(entry: &Fields) -> Result<Vec<f64>, Message> {
    let (value, raw) = (entry.text("value"), entry.text("raw"));
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let value = amount(value, say!("the value of a test"))?;
    let runs: Vec<f64> = raw.split(':').map_while(|run| amount(run, "").ok()).collect();
    let mean = runs.iter().sum::<f64>() / runs.len() as f64;
    let is_mean = runs.len() == raw.split(':').count() && (mean - value).abs() <= value * SAME;
    Ok(if is_mean { runs } else { vec![value] })
}

/// Takes the facts of a file's only system.
fn take_host(run: &mut Foreign, system: &Fields) {
    /// `Kernel` of `OS: CentOS Stream 9, Kernel: 5.14.0 (x86_64), Compiler: GCC 11`.
    fn part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
        let of = |part: &'a str| part.trim_start().strip_prefix(name)?.strip_prefix(": ");
        text.split(", ").find_map(of)
    }
    run.host.cpu.model = part(system.text("hardware"), "Processor").map(str::to_owned);
    let software = system.text("software");
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
