//! Reads the samples of PerfKitBenchmarker (`perfkitbenchmarker_results.json`): what a test measured, with its labels.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::BufRead;

use hostmark_model::AxisKind::Choice;
use hostmark_model::{Better, Message, Run, Text, Unit};
use hostmark_say::say;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::bounded::{Amount, Plain, Short, each_document};
use super::foreign::{Axis, Foreign, ImportedValue, UnitKind, known, quantity};
use super::{ImportError, ImportFormat, NOTHING};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "perfkit",
    tool: "PerfKitBenchmarker",
    what: WHAT,
    nothing: NOTHING,
    texts: crate::texts::perfkit::TEXTS,
    programs: &[
        quantity("perfkit.time", Unit::Nanoseconds, AXES),
        quantity("perfkit.rate", Unit::BytesPerSecond, AXES),
        quantity("perfkit.operations", Unit::OperationsPerSecond, AXES),
        quantity("perfkit.per_second", Unit::Count, AXES).with_direction(Better::Higher),
        quantity("perfkit.number", Unit::Count, AXES),
    ],
    read,
};

const AXES: &[Axis] = &[("test", Choice), ("metric", Choice), ("unit", Choice), ("setup", Choice), ("machine", Choice)];

const WHAT: Text = term!("perfkitbenchmarker_results.json of PerfKitBenchmarker");
/// Most labels of a sample: each virtual machine brings some thirty.
const MOST_LABELS: usize = 5000;

/// Most samples that are held.
const MOST_SAMPLES: usize = 20_000;

/// Samples that carry facts of a machine as labels and no value.
const FACTS: &str = "lscpu proccpu proccpu_mapping cpu_vuln gcc_version glibc_version ulimit metadata";

/// Largest distance of a number from its sample's seconds since 1970 to be such a date itself.
const DATES_S: f64 = 1e7;

/// Labels of a machine, and the same behind a name as in `sending_zone`: what tells machines apart, ...
const MACHINE: &str = "\
    aws_credit_specification boot_disk_size boot_disk_type cloud cpu_arch dedicated_host efa image \
    kernel_release machine_type mtu num_cpus numa_node_count os_info os_type placement_group_strategy \
    preemptible region threads_per_core zone";
/// ... and what only names one.
const NAMES: &str = "hostnames node_name project vm_count vm_ip_addresses vm_names";

/// Labels that are results, or only say which run it was.
const RESULTS: &str = "\
    buffer_size congestion_window congestion_window_scale end_time err_packet_count histogram jitter \
    lost_datagrams max mean median min netperf_retransmissions netpwr perfkitbenchmarker_version retry_packet_count rtt rtt_unit \
    run_number run_uri start_time stddev summary tcp_window_size total_datagrams_sent total_ticks total_time_sec \
    transfer_mbytes write_packet_count";

#[derive(Deserialize)]
struct Sample {
    metric: Short,
    value: Amount,
    unit: Option<Short>,
    test: Short,
    timestamp: Option<Amount>,
    #[serde(alias = "metadata")]
    labels: Option<Labels>,
}

/// Labels by their names: `|key:value|,|key:value|`, or an object.
#[derive(Default)]
struct Labels(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Labels;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Labels, E> {
                let text = text.strip_prefix('|').unwrap_or(text);
                let pairs = text.strip_suffix('|').unwrap_or(text).split("|,|").filter_map(|pair| pair.split_once(':'));
                checked(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).take(MOST_LABELS + 1).collect())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = BTreeMap::new();
                while let Some((key, Plain(value))) = map.next_entry::<String, Plain>()? {
                    labels.insert(key, value);
                    if labels.len() > MOST_LABELS {
                        break;
                    }
                }
                checked(labels)
            }
        }
        fn checked<E: Error>(labels: BTreeMap<String, String>) -> Result<Labels, E> {
            match labels.len() > MOST_LABELS {
                true => Err(E::custom(say!("a sample has too many labels"))),
                false => Ok(Labels(labels)),
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// True for a label that is one of `names`, or such a one behind another name.
fn is_one_of(names: &str, label: &str) -> bool {
    names.split(' ').any(|name| label.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('_')))
}

/// `key=value+key=value`.
fn joined<'a>(labels: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("+")
}

impl Labels {
    /// The setup of the test: labels that neither describe a machine nor are results.
    fn setup(&self) -> String {
        let is_setting = |key: &str| {
            let is_machine = is_one_of(MACHINE, key)
                || is_one_of(NAMES, key)
                || key.starts_with("vm_")
                || key.contains("data_disk_")
                || key.contains("/dev/");
            let is_percentile = key.strip_prefix('p').is_some_and(|share| share.parse::<f64>().is_ok());
            let is_result = is_percentile
                || RESULTS.split(' ').any(|name| name == key)
                || key.starts_with("bw_")
                || key.ends_with("_list");
            !is_machine && !is_result
        };
        joined(self.0.iter().filter(|(key, _)| is_setting(key)))
    }

    /// Labels that tell its machines from others.
    fn machine(&self) -> BTreeMap<String, String> {
        let of_machine = self.0.iter().filter(|(key, _)| is_one_of(MACHINE, key));
        of_machine.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// The value of a machine's label, if the test had one kind of machine.
    fn of_machine(&self, name: &str) -> Option<&str> {
        let is_of = |key: &str| key == name || (key.ends_with(name) && key.starts_with("vm_"));
        let mut values = self.0.iter().filter(|(key, _)| is_of(key)).map(|(_, value)| value.as_str());
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }
}

/// Contents of a file, gathered before the first value is kept: whether samples are of several machines is told by all of them.
#[derive(Default)]
struct PerfKitFile {
    version: String,
    samples: Vec<GatheredSample>,
    /// By what tells them apart, in the order in which they were met.
    machines: BTreeMap<BTreeMap<String, String>, usize>,
    names: BTreeSet<String>,
    models: BTreeSet<String>,
    architectures: BTreeSet<String>,
    kernels: BTreeSet<String>,
    started: Option<Amount>,
}

struct GatheredSample {
    program: &'static str,
    number: f64,
    /// Test, metric, unit and setup.
    of: [String; 4],
    machine: usize,
    machine_type: String,
    zone: String,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut found = PerfKitFile::default();
    let (line, rest) = each_document(input, WHAT, |sample: Sample| found.add_sample(sample))?;
    let mut run = Foreign::of(&FORMAT);
    run.rest = rest;
    found.make_cases(&mut run).map_err(|what| ImportError { line, what })?;
    run.finish(line)
}

impl PerfKitFile {
    fn add_sample(&mut self, sample: Sample) -> Result<(), Message> {
        let Sample { metric: Short(metric), value: Amount(value), test: Short(test), .. } = sample;
        let Short(unit) = sample.unit.unwrap_or_default();
        let labels = sample.labels.unwrap_or_default();
        let timestamp = sample.timestamp.unwrap_or_default().0;
        if let Some(version) = labels.0.get("perfkitbenchmarker_version") {
            self.version = version.chars().take(60).collect();
        }
        if timestamp > 0.0 {
            self.started = Some(Amount(self.started.map_or(timestamp, |started| started.0.min(timestamp))));
        }
        self.kernels.extend(labels.of_machine("kernel_release").map(str::to_owned));
        for (found, name) in [
            (&mut self.names, "node_name"),
            (&mut self.models, "Model name"),
            (&mut self.architectures, "Architecture"),
        ] {
            found.extend(labels.0.get(name).map(|value| value.chars().take(100).collect()));
        }
        // When something began or ended is a sample, too.
        let is_date = timestamp > 0.0 && (value - timestamp).abs() < DATES_S;
        if (FACTS.split(' ').any(|name| name == metric) && value == 0.0) || is_date {
            return Ok(());
        }
        if self.samples.len() == MOST_SAMPLES {
            return Err(say!("there are more than {MOST_SAMPLES} samples; give one result of PerfKitBenchmarker"));
        }
        let (program, one) = program_of(&test, &metric, &unit);
        let next = self.machines.len();
        let machine = *self.machines.entry(labels.machine()).or_insert(next);
        let of_machine = |name: &str| labels.of_machine(name).unwrap_or_default().to_owned();
        let of = [test, metric, unit, labels.setup()];
        let (machine_type, zone) = (of_machine("machine_type"), of_machine("zone"));
        self.samples.push(GatheredSample { program, number: value * one, of, machine, machine_type, zone });
        Ok(())
    }

    fn make_cases(self, run: &mut Foreign) -> Result<(), Message> {
        run.version_is(&self.version);
        let only = |found: BTreeSet<String>| found.into_iter().reduce(|_, _| String::new()).unwrap_or_default();
        run.host.hostname = only(self.names);
        run.host.cpu.architecture = only(self.architectures);
        run.host.cpu.model = Some(only(self.models)).filter(|model| !model.is_empty());
        run.host.kernel.release = only(self.kernels);
        run.begun_at(self.started);
        let mut machines: Vec<(usize, BTreeMap<String, String>)> =
            self.machines.into_iter().map(|(machine, number)| (number, machine)).collect();
        machines.sort_by_key(|(number, _)| *number);
        let mut of_case: HashMap<&[String; 4], BTreeSet<usize>> = HashMap::new();
        for held in &self.samples {
            of_case.entry(&held.of).or_default().insert(held.machine);
        }
        let apart: HashMap<&[String; 4], Vec<String>> = of_case
            .into_iter()
            .map(|(of, those)| (of, differing(those.into_iter().map(|number| &machines[number].1))))
            .collect();
        for held in &self.samples {
            let [test, metric, unit, setup] = &held.of;
            let labels = machines[held.machine].1.iter().filter(|(key, _)| apart[&held.of].contains(key));
            let machine = if apart[&held.of].is_empty() { "only".to_owned() } else { joined(labels) };
            let mut named = |name: &str| run.distinct(if name.is_empty() { "none" } else { name });
            let value = ImportedValue::new(held.program, vec![held.number])
                .at("test", named(test))
                .at("metric", named(metric))
                .at("unit", named(unit))
                .at("setup", named(setup))
                .at("machine", named(&machine))
                .note("metric", metric)
                .note("setup", setup)
                .note("machine_type", &held.machine_type)
                .note("zone", &held.zone);
            run.keep(value)?;
        }
        Ok(())
    }
}

/// The labels in which machines differ.
fn differing<'a>(mut machines: impl Iterator<Item = &'a BTreeMap<String, String>>) -> Vec<String> {
    let first = machines.next().cloned().unwrap_or_default();
    let mut differ = BTreeSet::new();
    for machine in machines {
        let keys = first.keys().chain(machine.keys()).filter(|key| first.get(*key) != machine.get(*key));
        differ.extend(keys.cloned());
    }
    differ.into_iter().collect()
}

/// The program that a sample's unit belongs to, and what one is in its unit.
fn program_of(test: &str, metric: &str, unit: &str) -> (&'static str, f64) {
    match known(unit) {
        Some((UnitKind::Time, one)) => ("perfkit.time", one),
        Some((UnitKind::Rate, one)) => ("perfkit.rate", one),
        Some((UnitKind::Operations, one)) => ("perfkit.operations", one),
        // What fio calls KB is 1024 bytes; its operations have no unit here.
        None if test == "fio" && unit == "KB/s" => ("perfkit.rate", 1024.0),
        None if test == "fio" && unit.is_empty() && metric.ends_with(":iops") => ("perfkit.operations", 1.0),
        None if ["/s", "/sec", "per second"].iter().any(|end| unit.ends_with(end)) => ("perfkit.per_second", 1.0),
        None => ("perfkit.number", 1.0),
    }
}
