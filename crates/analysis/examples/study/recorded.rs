//! Recorded runs, and what is kept of them: what the estimators make of each case, in a table of a line a case and run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hostmark_model::{Better, CaseId, CaseRecord, DisturbanceFlags, load_run};
use hostmark_stats::descriptive;

use crate::estimators::{ALL, Estimate};

/// The table of a directory, where run files were made one.
const TABLE: &str = "runs.tsv";
/// Which value leads, as a table has it at the end of a line.
const QUIET: &str = "quiet";
const TYPICAL: &str = "typical";
/// So many quantiles stand for the samples of a round.
const QUANTILES: usize = 11;
/// Digits that are kept of values.
const DIGITS: usize = 5;
/// Estimates are kept as what they are beside the case's value, in such parts of it.
const PARTS: f64 = 1e7;
/// So much of the time the held clock was there or more.
const SUSTAINED_QUANTILE: f64 = 0.1;

/// A run as the comparison has it.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The file's name without its ending.
    pub name: String,
    /// The grade that the run was given, and within what fraction it promised nine of ten values.
    pub trust: Option<(String, f64)>,
    pub cases: Vec<Case>,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub id: String,
    /// Whether it is of the kind for which the core alone counts: cpu, clock, syscall, and memory up to 2 MiB by one thread.
    pub is_core: bool,
    /// Whether the quiet value stood for it; not known of tables that were kept before that was told.
    pub leads_quiet: Option<bool>,
    /// The value that stood for it: of core-bound ones of run files in cycles of their clock.
    pub value: f64,
    /// The ends of this run's interval.
    pub ends: Option<(f64, f64)>,
    /// The interval of repetition, and how many runs told it.
    pub repetition: Option<(f64, f64, u32)>,
    /// What each of the estimators makes of its rounds.
    pub estimates: Vec<Option<f64>>,
    /// What the first of them makes of the third of rounds with the least marks; none of fewer than three.
    pub quietest: Option<f64>,
}

#[derive(Debug, Clone)]
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

/// Every run of a directory, by the names of the files: of the table that is kept there, else of run files.
pub fn of_directory(directory: &Path) -> Result<Vec<Recorded>, String> {
    let table = directory.join(TABLE);
    if table.is_file() {
        return of_table(&text(&table)?).ok_or_else(|| format!("{} is no table of runs", table.display()));
    }
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|path| run_file(path)).collect()
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The table of runs: a line `run` each, then of each case its id, and a line for each run that has it, with the run's number from 0.
pub fn table(runs: &[Recorded]) -> String {
    let mut out = String::new();
    for Recorded { name, trust, .. } in runs {
        let (grade, within) = trust.as_ref().map_or(("-", None), |(grade, within)| (grade, Some(*within)));
        let _ = writeln!(out, "run\t{name}\t{grade}\t{}", cell(within));
    }
    let mut by_id: BTreeMap<&str, Vec<(usize, &Case)>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        run.cases.iter().for_each(|case| by_id.entry(&case.id).or_default().push((number, case)));
    }
    for (id, cases) in by_id {
        let _ = writeln!(out, "case\t{id}");
        for (number, case) in cases {
            let Case { value, ends, repetition, .. } = case;
            let (low, high) = ends.unzip();
            let expected = repetition.map(|(low, high, _)| (low, high)).unzip();
            let _ = write!(out, "{number}");
            let stored = repetition.map(|(.., runs)| f64::from(runs));
            for number in [Some(*value), low, high, expected.0, expected.1, stored] {
                let _ = write!(out, "\t{}", cell(number));
            }
            // Zero has no sign.
            let beside = |it: f64| ((it / unit(*value) - 1.0) * PARTS).round() + 0.0;
            for estimate in [&case.quietest].into_iter().chain(&case.estimates) {
                let _ = write!(out, "\t{}", cell(estimate.map(beside)));
            }
            let leading = case.leads_quiet.map_or("-", |is_quiet| if is_quiet { QUIET } else { TYPICAL });
            let _ = writeln!(out, "\t{leading}");
        }
    }
    out
}

/// What the estimates of a case are told in.
fn unit(value: f64) -> f64 {
    if value > 0.0 { value } else { 1.0 }
}

fn cell(number: Option<f64>) -> String {
    let Some(number) = number else { return "-".to_owned() };
    let (plain, short) = (format!("{number}"), format!("{number:e}"));
    if short.len() < plain.len() { short } else { plain }
}

/// The runs of a table; none where it is something else.
fn of_table(text: &str) -> Option<Vec<Recorded>> {
    let mut runs: Vec<Recorded> = Vec::new();
    let mut id = "";
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["run", name, grade, within] => {
                let trust = within.parse().ok().map(|within| (grade.to_owned(), within));
                runs.push(Recorded { name: name.to_owned(), trust, cases: Vec::new() });
            }
            ["case", case] => id = case,
            [number, ref cells @ ..] if cells.len() >= 7 => {
                let of = |index: usize| cells.get(index)?.parse::<f64>().ok();
                let value = of(0)?;
                let estimate = |index: usize| of(6 + index).map(|parts| unit(value) * (1.0 + parts / PARTS));
                let case = Case {
                    id: id.to_owned(),
                    is_core: is_core(&id.parse().ok()?),
                    leads_quiet: match cells.last() {
                        Some(&QUIET) => Some(true),
                        Some(&TYPICAL) => Some(false),
                        _ => None,
                    },
                    value,
                    ends: of(1).zip(of(2)),
                    repetition: of(3)
                        .zip(of(4))
                        .zip(cells[5].parse().ok())
                        .map(|((low, high), runs)| (low, high, runs)),
                    quietest: estimate(0),
                    estimates: (1..=ALL.len()).map(estimate).collect(),
                };
                runs.get_mut(number.parse::<usize>().ok()?)?.cases.push(case);
            }
            _ => return None,
        }
    }
    Some(runs)
}

fn run_file(path: &Path) -> Result<Recorded, String> {
    let run = load_run(&text(path)?).map_err(|error| format!("{} {error}", path.display()))?;
    let better = |case: &CaseRecord| run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.better);
    let cases: Vec<(Case, Vec<Round>, Unit)> =
        run.cases.iter().filter_map(|case| of_case(case, better(case)?)).collect();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let trust = run.trust.as_ref().and_then(|trust| Some((trust.grade.letter().to_owned(), trust.within?)));
    Ok(Recorded { name, trust, cases: estimated(cases) })
}

/// The cases of a run with what the estimators make of their rounds.
fn estimated(cases: Vec<(Case, Vec<Round>, Unit)>) -> Vec<Case> {
    let clocks: Vec<f64> = cases.iter().flat_map(|(_, rounds, _)| rounds).filter_map(|round| round.core_hz).collect();
    let sustained_hz = descriptive::quantile(&clocks, SUSTAINED_QUANTILE).unwrap_or(1e9);
    let estimated = |(mut case, mut rounds, Unit { is_rate, scale }): (Case, Vec<Round>, Unit)| {
        let estimate = |rounds: &[Round], estimator: Estimate| {
            estimator(rounds, is_rate, sustained_hz).map(|estimate| estimate * scale)
        };
        case.estimates = ALL.iter().map(|(_, estimator)| estimate(&rounds, *estimator)).collect();
        rounds.sort_by(|one, other| one.marked.total_cmp(&other.marked));
        let third = &rounds[..rounds.len().div_ceil(3)];
        case.quietest = (rounds.len() >= 3).then(|| estimate(third, ALL[0].1)).flatten();
        case
    };
    cases.into_iter().map(estimated).collect()
}

/// Kind of a case's values.
struct Unit {
    /// A higher value is better.
    is_rate: bool,
    /// Factor that makes them cycles, or the work of one.
    scale: f64,
}

/// A case of a run file, with its rounds. A core-bound one whose clock is not known is none.
fn of_case(case: &CaseRecord, better: Better) -> Option<(Case, Vec<Round>, Unit)> {
    let measured = case.measured().filter(|measured| measured.estimate.agreement.is_none())?;
    let is_rate = match better {
        Better::Lower => false,
        Better::Higher => true,
        Better::Neither => return None,
    };
    let id = CaseId { probe: case.probe.clone(), params: case.params.clone() };
    let is_core = is_core(&id);
    let rounds = measured.rounds.iter().zip(&measured.samples).filter_map(|(record, samples)| {
        let rows = record.raw.as_ref().map(|raw| raw.core_khz.as_slice()).unwrap_or_default();
        let all: Vec<f64> = rows.iter().flat_map(|[count, khz]| vec![*khz as f64 / 1e6; *count as usize]).collect();
        let ghz = |index: usize| all.get(index).copied().or(record.core_hz.map(|hz| hz / 1e9)).filter(|ghz| *ghz > 0.0);
        let is_quiet = |index: &usize| {
            record.disturbance_flags.get(*index).is_none_or(|flags| DisturbanceFlags(*flags).is_quiet())
        };
        let mut kept: Vec<usize> = (0..samples.len()).filter(is_quiet).collect();
        if kept.len() < 3 {
            kept = (0..samples.len()).collect();
        }
        let marked = 1.0 - kept.len() as f64 / samples.len().max(1) as f64;
        let values: Vec<f64> = kept.iter().map(|&index| samples[index]).collect();
        let in_cycles =
            |&index: &usize| Some(if is_rate { samples[index] / ghz(index)? } else { samples[index] * ghz(index)? });
        // Of what is more than the core's nobody asks.
        let cycles: Vec<f64> = kept.iter().filter(|_| is_core).filter_map(in_cycles).collect();
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
    let rounds = rounds.collect();
    let estimate = &measured.estimate;
    let ghz = estimate.leading_quiet().filter(|_| is_core).map(|quiet| quiet.at_hz.map(|hz| hz / 1e9));
    let scale = match ghz {
        None => 1.0,
        Some(ghz) if is_rate => ghz?.recip(),
        Some(ghz) => measured.in_cycles().and(ghz)?,
    };
    let rounded = |value: f64| rounded(value * scale);
    let stored = Case {
        id: case.id.clone(),
        is_core,
        leads_quiet: Some(estimate.leading_quiet().is_some()),
        value: rounded(estimate.value()),
        ends: estimate.of_this_run().map(|(low, high)| (rounded(low), rounded(high))),
        repetition: estimate.repetition.map(|known| (rounded(known.low), rounded(known.high), known.runs)),
        estimates: Vec::new(),
        quietest: None,
    };
    Some((stored, rounds, Unit { is_rate, scale }))
}

/// Whether the core alone counts.
fn is_core(case: &CaseId) -> bool {
    let group = case.probe.split('.').next().unwrap_or("");
    let is_one = |axis: &str| case.params.get(axis).is_none_or(|number| number == "1");
    let size = case.params.get("size").and_then(|size| size.parse::<u64>().ok());
    let is_small = size.is_some_and(|size| size <= 2 << 20) && is_one("threads") && is_one("copies");
    matches!(group, "cpu" | "clock" | "syscall") || group == "memory" && is_small
}

fn rounded(value: f64) -> f64 {
    format!("{value:.0$e}", DIGITS - 1).parse().unwrap_or(0.0)
}
