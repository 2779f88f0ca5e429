//! Recorded runs, and what is kept of them: per round some quantiles of its undisturbed samples, in ns and in cycles.

use std::fs;
use std::path::{Path, PathBuf};

use hostmark_model::{Better, CaseRecord, Run, Taint, load_run};
use hostmark_stats::descriptive;
use serde::{Deserialize, Serialize};

/// The end of a slimmed file's name.
const SLIM: &str = ".slim.json";
/// So many quantiles stand for the samples of a round.
const QUANTILES: usize = 11;
/// Digits that are kept.
const DIGITS: usize = 5;

/// A run as the comparison has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorded {
    /// The profile.
    pub profile: String,
    /// The grade that the run was given, and within what fraction it promised nine of ten values.
    pub trust: Option<(String, f64)>,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// A case of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// Its id.
    pub id: String,
    /// Whether a higher value is better.
    pub is_rate: bool,
    /// Whether it is of the kind for which the core alone counts: cpu, clock, syscall, and memory up to 2 MiB by one thread.
    pub is_core: bool,
    /// The value that stood for it, and the ends of this run's interval.
    pub value: f64,
    /// Those ends.
    pub ends: Option<(f64, f64)>,
    /// The interval of repetition, and how many runs told it.
    pub repetition: Option<(f64, f64, u32)>,
    /// Its rounds.
    pub rounds: Vec<Round>,
}

/// A round of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Round {
    /// The median of the samples that count.
    pub median: f64,
    /// The core's frequency beside them, hertz.
    pub core_hz: Option<f64>,
    /// The share of samples with a mark.
    pub marked: f64,
    /// Quantiles of the undisturbed samples, ascending.
    pub values: Vec<f64>,
    /// The same of what they come to at 1 GHz, where the clock beside each is known.
    pub cycles: Vec<f64>,
}

/// Writes what is needed of a run file beside it.
pub fn slim(path: &Path) -> Result<(), String> {
    let run = run_file(path)?;
    let text = serde_json::to_string(&run).map_err(|error| error.to_string())?;
    let to = path.with_extension("").with_extension("slim.json");
    fs::write(&to, text).map_err(|error| format!("{}: {error}", to.display()))
}

/// Every run of a directory, by the names of the files: slimmed ones, or run files.
pub fn of_directory(directory: &Path) -> Result<Vec<Recorded>, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|path| if is_slim(path) { slimmed(path) } else { run_file(path) }).collect()
}

fn is_slim(path: &Path) -> bool {
    path.to_string_lossy().ends_with(SLIM)
}

fn slimmed(path: &Path) -> Result<Recorded, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn run_file(path: &Path) -> Result<Recorded, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let run = load_run(&text).map_err(|error| format!("{} {error}", path.display()))?;
    let better = |case: &CaseRecord| run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.better);
    let cases = run.cases.iter().filter_map(|case| of_case(case, better(case)?)).collect();
    let trust = run.trust.as_ref().map(|trust| (trust.grade.letter().to_owned(), trust.within));
    Ok(Recorded { profile: profile(&run), trust, cases })
}

fn profile(run: &Run) -> String {
    format!("{:?}", run.settings.profile).to_lowercase()
}

fn of_case(case: &CaseRecord, better: Better) -> Option<Case> {
    let measured = case.measured().filter(|measured| measured.estimate.agreement.is_none())?;
    let is_rate = match better {
        Better::Lower => false,
        Better::Higher => true,
        Better::Neither => return None,
    };
    let rounds = measured.rounds.iter().zip(&measured.samples).filter_map(|(record, samples)| {
        let rows = record.raw.as_ref().map(|raw| raw.core_khz.as_slice()).unwrap_or_default();
        let all: Vec<f64> = rows.iter().flat_map(|[count, khz]| vec![*khz as f64 / 1e6; *count as usize]).collect();
        let ghz = |index: usize| all.get(index).copied().or(record.core_hz.map(|hz| hz / 1e9)).filter(|ghz| *ghz > 0.0);
        let is_quiet = |index: &usize| record.taints.get(*index).is_none_or(|taint| Taint(*taint).is_quiet());
        let mut kept: Vec<usize> = (0..samples.len()).filter(is_quiet).collect();
        if kept.len() < 3 {
            kept = (0..samples.len()).collect();
        }
        let marked = 1.0 - kept.len() as f64 / samples.len().max(1) as f64;
        let values: Vec<f64> = kept.iter().map(|&index| samples[index]).collect();
        let in_cycles =
            |&index: &usize| Some(if is_rate { samples[index] / ghz(index)? } else { samples[index] * ghz(index)? });
        // Of what is more than the core's nobody asks.
        let cycles: Vec<f64> = kept.iter().filter(|_| is_core(case)).filter_map(in_cycles).collect();
        let thin = |all: &[f64]| -> Vec<f64> {
            let at = |step: usize| descriptive::quantile(all, step as f64 / (QUANTILES - 1) as f64).map(rounded);
            (0..QUANTILES).filter_map(at).collect()
        };
        (!samples.is_empty()).then(|| Round {
            median: rounded(record.median),
            core_hz: record.core_hz.map(rounded),
            marked: rounded(marked),
            values: thin(&values),
            cycles: thin(&cycles),
        })
    });
    let estimate = &measured.estimate;
    Some(Case {
        id: case.id.clone(),
        is_rate,
        is_core: is_core(case),
        value: rounded(estimate.value()),
        ends: estimate.of_this_run().map(|(low, high)| (rounded(low), rounded(high))),
        repetition: estimate.repetition.map(|known| (rounded(known.low), rounded(known.high), known.runs)),
        rounds: rounds.collect(),
    })
}

/// Whether the core alone counts.
fn is_core(case: &CaseRecord) -> bool {
    let group = case.probe.split('.').next().unwrap_or("");
    let is_one = |axis: &str| case.params.get(axis).is_none_or(|number| number == "1");
    let size = case.params.get("size").and_then(|size| size.parse::<u64>().ok());
    let is_small = size.is_some_and(|size| size <= 2 << 20) && is_one("threads") && is_one("copies");
    matches!(group, "cpu" | "clock" | "syscall") || group == "memory" && is_small
}

/// To a few digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.0$e}", DIGITS - 1).parse().unwrap_or(0.0)
}
