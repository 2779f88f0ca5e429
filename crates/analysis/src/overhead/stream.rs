//! STREAM in several environments as it is usually told: of each kernel the best rate of all runs and the smallest mean time
//! of a run, in percent of the first environment, of as many runs and passes on every side.

use hostmark_model::imported::stream::PASSES;
use hostmark_model::{CaseRecord, Measured, Message, Text};
use hostmark_say::say;
use hostmark_stats::repetition::Deviation;
use hostmark_stats::{descriptive, extreme, halves};

use super::value::{self, no_difference};
use super::{Environment, Row, Table, TableGroup, environment, not_comparable, of};
use crate::bars::{BarGroup, Bars, Scale};
use crate::propagated::Propagated;
use crate::short_arrays::short_arrays;
use crate::stream_times::{KERNEL, KERNELS, best_rate_and_mean_time, best_rate_and_mean_time_of_rounds, passes};
use crate::typography::COMMA;
use crate::{difference, reasons, repetition};

/// Our own probe, and what STREAM itself printed.
const PROBES: [&str; 2] = ["memory.stream", "stream.best_rate"];
/// Parameters that must be equal on both sides, as a note or in the case's id.
const ALIKE: [(&str, Text); 2] = [("threads", term!("threads")), ("elements", term!("elements"))];

/// Tells whether `probe` is shown here.
pub(super) fn is_part(probe: &str) -> bool {
    PROBES.contains(&probe)
}

/// Best results of an environment's runs of one case.
struct Best {
    /// Rate of the best pass of each run that counts, units of 10^6 bytes a second, and the mean time of a pass, s.
    runs: Vec<(f64, f64)>,
    /// The same of up to twice as many runs, for halves of as many.
    for_halves: Vec<(f64, f64)>,
    /// Assumed deviation between runs.
    assumed: f64,
    /// Deviations between rounds of their best rates and their mean times.
    of_rounds: (f64, f64),
    alike: [Option<String>; 2],
    /// Remark that arrays were too short, where they were.
    short: Option<Message>,
    /// The loop that the host chose for its best rate, where it notes one.
    chosen: Option<String>,
}

/// Two tables for each set of axes but the kernel, rates and times, and their bars.
pub(super) fn part(environments: &[Environment], all: bool) -> TableGroup {
    let Some((first, others)) = environments.split_first() else { return TableGroup::default() };
    let mut groups: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for case in cases(first) {
        let rest: Vec<_> = case.params.0.iter().filter(|(axis, _)| axis != KERNEL).cloned().collect();
        if !groups.iter().any(|(probe, known)| *probe == case.probe && *known == rest) {
            groups.push((&case.probe, rest));
        }
    }
    let is_elsewhere = |probe: &str| others.iter().any(|other| cases(other).any(|case| case.probe == probe));
    groups.retain(|(probe, _)| is_elsewhere(probe));
    let mut part = TableGroup::default();
    for (probe, rest) in groups {
        let group = of_group(environments, (probe, &rest), all);
        part.tables.extend(group.tables);
        part.bars.extend(group.bars);
    }
    part
}

fn cases<'a>(environment: &Environment<'a>) -> impl Iterator<Item = &'a CaseRecord> {
    let runs: Vec<_> = environment.runs.clone();
    runs.into_iter().flat_map(|run| &run.cases).filter(|case| is_part(&case.probe))
}

fn of_group(
    environments: &[Environment],
    (probe, rest): (&str, &[(String, String)]),
    with_intervals: bool,
) -> TableGroup {
    let points: Vec<String> = rest.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let (points, first) = (points.join(" "), environments[0].name);
    let counts: Vec<String> = environments.iter().map(|one| format!("{} × {}", one.runs.len(), one.name)).collect();
    let share = || say!("of {first}");
    let columns = environments.iter().enumerate().flat_map(|(index, environment)| {
        std::iter::once(Message::plain(environment.name)).chain((index > 0).then(share))
    });
    let is_controlled = value::has_control(&environments[0]);
    let columns: Vec<Message> = columns.chain(is_controlled.then(|| value::CONTROL_TITLE.into())).collect();
    let kernel = |(kernel, label, _): &(&str, &'static str, f64)| {
        let picked: Vec<_> = environments.iter().map(|one| picked(one, probe, kernel, rest)).collect();
        let sides: Vec<&[&CaseRecord]> =
            picked.iter().map(|side| side.as_ref().map_or(&[][..], Vec::as_slice)).collect();
        let numbers = Numbers::of(&sides);
        let dropped = numbers.remarks(environments, &sides);
        let best = |side: Result<Vec<&CaseRecord>, Message>| side.map(|cases| Best::of(&cases, numbers));
        let all: Vec<_> = picked.clone().into_iter().map(best).collect();
        let name = label.trim_end_matches(':');
        let remarks: Vec<Message> = remarks(environments, &all).into_iter().chain(dropped).collect();
        let is_shown = |best: &Result<Best, Message>| best.as_ref().err().is_none_or(|why| *why != NOT_MEASURED.into());
        all.iter().any(is_shown).then(|| {
            // What the case depends on, as the environments have it.
            let unlike = environments.iter().map(|other| unlike_memory(environments, other, probe)).collect();
            StreamKernel { name, remarks, best: all, is_controlled, with_intervals, unlike }
        })
    };
    let kernels: Vec<StreamKernel> = KERNELS.iter().filter_map(kernel).collect();
    let counts = Message::joined(counts, COMMA);
    let title = |name: Text| say!("{name}, {counts} runs: {probe} {points}");
    let pictures = [
        (title(term!("STREAM, best rate of all runs, MB/s")), Scale::Rate),
        (title(term!("STREAM, smallest average time of a run, s")), Scale::Time),
    ];
    let table = |(title, scale): &(Message, Scale)| {
        let mut table = Table { title: title.clone(), columns: columns.clone(), ..Table::default() };
        for kernel in &kernels {
            let label = Message::plain(kernel.name);
            // Behind the first a value and its share in turn.
            let whom = |cell: usize| environments.get(cell.div_ceil(2)).map(|one| one.name).unwrap_or_default();
            let cells = kernel.cells(*scale).into_iter().enumerate();
            let shown = |(index, cell): (usize, Result<_, _>)| {
                cell.unwrap_or_else(|why| table.lacking(why, whom(index), &label))
            };
            let cells = cells.map(shown).collect();
            for remark in &kernel.remarks {
                table.remark(remark.clone(), &label);
            }
            table.rows.push(Row { label, cells });
        }
        // The table of times follows that of rates, where the same is said.
        if *scale == Scale::Time {
            table.remarks.clear();
        }
        table
    };
    let bars = |(title, scale): &(Message, Scale)| Bars {
        title: title.clone(),
        names: environments.iter().map(|environment| environment.name.to_owned()).collect(),
        groups: (kernels.iter().map(|kernel| kernel.bars(*scale)))
            .filter(|group| group.bars.iter().any(Option::is_some))
            .collect(),
        scale: *scale,
    };
    TableGroup { title: None, tables: pictures.iter().map(table).collect(), bars: pictures.iter().map(bars).collect() }
}

/// Reason why an environment's memory makes its values incomparable with the first's.
fn unlike_memory(environments: &[Environment], other: &Environment, probe: &str) -> Option<Message> {
    let case = cases(other).find(|case| case.probe == probe)?;
    environment::unlike(environments.first()?, other, case)
}

struct StreamKernel {
    name: &'static str,
    /// Remarks that readers need.
    remarks: Vec<Message>,
    best: Vec<Result<Best, Message>>,
    /// True where the first environment is compared with itself.
    is_controlled: bool,
    with_intervals: bool,
    /// Reason why an environment's value says nothing about the first's.
    unlike: Vec<Option<Message>>,
}

impl Best {
    /// Collects the measured cases, as many of them and of their passes as count.
    fn of(cases: &[&CaseRecord], numbers: Numbers) -> Best {
        let number = |case: &&CaseRecord| best_rate_and_mean_time(case, numbers.passes);
        let for_halves: Vec<(f64, f64)> = cases.iter().take(2 * numbers.runs).filter_map(number).collect();
        let counted = &cases[..cases.len().min(numbers.runs)];
        let rate = |case: &&&CaseRecord| number(case).map_or(0.0, |(rate, _)| rate);
        let fastest = counted.iter().rev().max_by(|one, other| rate(one).total_cmp(&rate(other)));
        Best {
            runs: for_halves[..for_halves.len().min(numbers.runs)].to_vec(),
            for_halves,
            assumed: counted.first().map_or(0.0, |case| repetition::assumed_deviation(case, false)),
            of_rounds: of_rounds(counted),
            alike: ALIKE.map(|(name, _)| counted.iter().find_map(|case| noted(case, name))),
            short: counted.iter().find_map(|case| short_arrays(case.measured()?)),
            chosen: fastest.and_then(|case| case.measured()?.notes.get(KERNEL).cloned()),
        }
    }

    fn number(&self, scale: Scale) -> f64 {
        descriptive::max(&turned(&self.runs, scale)).map_or(0.0, |best| scale.turned(best))
    }

    fn text(&self, scale: Scale) -> String {
        match scale {
            Scale::Rate => format!("{:.1}", self.number(scale)),
            Scale::Time => format!("{:.6}", self.number(scale)),
        }
    }
}

/// Standard deviations between rounds of best rates and mean times, on logarithms: where a side has one run, runs differ by as much.
fn of_rounds(cases: &[&CaseRecord]) -> (f64, f64) {
    let apart = |logarithms: Vec<f64>| descriptive::robust_stddev(&logarithms).unwrap_or(0.0);
    let of_run = |case: &&CaseRecord| {
        let rounds = best_rate_and_mean_time_of_rounds(case);
        let (rates, times) = rounds.into_iter().map(|(rate, time)| (rate.ln(), time.ln())).unzip();
        (apart(rates), apart(times))
    };
    let most = |(one, other): (f64, f64), (rate, time): (f64, f64)| (one.max(rate), other.max(time));
    cases.iter().map(of_run).fold((0.0, 0.0), most)
}

impl Scale {
    /// Rate or time that is shown.
    fn of(self, (rate, time): (f64, f64)) -> f64 {
        match self {
            Scale::Rate => rate,
            Scale::Time => time,
        }
    }

    /// Number whose greatest is the best: a rate as it is, a time as its inverse; and back.
    fn turned(self, number: f64) -> f64 {
        match self {
            Scale::Rate => number,
            Scale::Time => number.recip(),
        }
    }
}

/// Values of all runs, turned so that the greatest is the best.
fn turned(runs: &[(f64, f64)], scale: Scale) -> Vec<f64> {
    runs.iter().map(|run| scale.turned(scale.of(*run))).collect()
}

impl StreamKernel {
    /// The share of the first that an environment has, with its interval; or why there is none.
    fn share(&self, index: usize, scale: Scale) -> Result<Propagated, Message> {
        let (Ok(base), Ok(value)) = (&self.best[0], &self.best[index]) else { return Err(Message::plain("–")) };
        if let Some(why) = unlike(base, value).or_else(|| self.unlike[index].clone()) {
            return Err(why);
        }
        let (before, after) = (turned(&base.runs, scale), turned(&value.runs, scale));
        let assumed = base.assumed.max(value.assumed);
        let alone = || Deviation::assumed(assumed.max(scale.of(base.of_rounds)).max(scale.of(value.of_rounds)));
        let deviation =
            difference::estimated_deviation(&[&before, &after], Deviation::assumed(assumed)).unwrap_or_else(alone);
        let (ratio, (low, high)) =
            extreme::ratio_of_greatest(&before, &after, &deviation).ok_or_else(|| Message::plain("–"))?;
        Ok(match scale {
            Scale::Rate => Propagated { value: ratio, interval: Some((low, high)) },
            Scale::Time => Propagated { value: ratio.recip(), interval: Some((high.recip(), low.recip())) },
        })
    }

    /// Distance of the best of halves of the first environment's runs, on logarithms.
    fn control(&self, scale: Scale) -> Option<f64> {
        let base = self.best[0].as_ref().ok()?;
        halves::apart(&turned(&base.for_halves, scale), descriptive::max)
    }

    /// A value for each environment, behind all but the first its share of the first, and at the end the control.
    fn cells(&self, scale: Scale) -> Vec<Result<Message, Message>> {
        let mut cells = Vec::new();
        for (index, value) in self.best.iter().enumerate() {
            cells.push(value.as_ref().map(|value| Message::plain(value.text(scale))).map_err(Clone::clone));
            if index > 0 {
                cells.push(self.share(index, scale).map(|share| self.beside(&share, scale)));
            }
        }
        cells.extend(self.is_controlled.then(|| Ok(value::control_cell(self.control(scale)))));
        cells
    }

    /// A share, and whether it says nothing: its interval holds 100 %, or halves of the first differ as much.
    fn beside(&self, share: &Propagated, scale: Scale) -> Message {
        let shown = Message::plain(share.text(self.with_intervals, of));
        let may_equal = share.interval.is_none_or(|(low, high)| low <= 1.0 && high >= 1.0);
        match may_equal || value::is_within(share.value, self.control(scale)) {
            true => no_difference(&shown),
            false => shown,
        }
    }

    fn bars(&self, scale: Scale) -> BarGroup {
        let bar = |(index, best): (usize, &Result<Best, Message>)| {
            let best = best.as_ref().ok()?;
            let text = Message::plain(best.text(scale));
            let share = (index > 0).then(|| self.share(index, scale).ok()).flatten();
            let share = share.map(|share| self.beside(&share, scale));
            Some((best.number(scale), Message::joined([text].into_iter().chain(share).collect::<Vec<_>>(), COMMA)))
        };
        BarGroup { label: Message::plain(self.name), bars: self.best.iter().enumerate().map(bar).collect() }
    }
}

/// Remarks on arrays under the rule's size, and on loops that environments chose differently: then a share is no cost of one loop.
fn remarks(environments: &[Environment], best: &[Result<Best, Message>]) -> Vec<Message> {
    let found = || best.iter().filter_map(|one| one.as_ref().ok());
    let each = environments.iter().zip(best);
    let chosen: Vec<(&str, &str)> =
        each.filter_map(|(one, best)| Some((one.name, best.as_ref().ok()?.chosen.as_deref()?))).collect();
    let differ = chosen.windows(2).any(|pair| pair[0].1 != pair[1].1).then(|| {
        let names = chosen.iter().map(|(name, chosen)| format!("{name} {chosen}")).collect::<Vec<String>>().join(", ");
        say!("kernel differs: {names}")
    });
    found().find_map(|one| one.short.clone()).into_iter().chain(differ).collect()
}

/// Reason why two environments' values say nothing of each other.
fn unlike(base: &Best, value: &Best) -> Option<Message> {
    let mut pairs = ALIKE.iter().zip(base.alike.iter().zip(&value.alike));
    let ((_, name), (one, other)) = pairs.find(|(_, (one, other))| one.is_some() && other.is_some() && one != other)?;
    let (one, other) = (one.as_deref().unwrap_or_default(), other.as_deref().unwrap_or_default());
    Some(not_comparable(say!("{one} and {other} {name}")))
}

/// The cases of an environment at a point, or at the other numbers of threads or elements that it has; or why there are none.
fn picked<'a>(
    environment: &Environment<'a>,
    probe: &str,
    kernel: &str,
    rest: &[(String, String)],
) -> Result<Vec<&'a CaseRecord>, Message> {
    let of_kernel = |case: &&CaseRecord| case.probe == probe && case.params.get(KERNEL) == Some(kernel);
    let is_free = |axis: &str| ALIKE.iter().any(|(name, _)| *name == axis);
    let has = |case: &CaseRecord, but_free: bool| {
        let mut rest = rest.iter().filter(|(axis, _)| !(but_free && is_free(axis)));
        rest.all(|(axis, value)| case.params.get(axis) == Some(value))
    };
    let pick = |but_free: bool| -> Vec<&'a CaseRecord> {
        cases(environment).filter(of_kernel).filter(|case| has(case, but_free)).collect()
    };
    let mut picked = pick(false);
    if picked.is_empty() {
        picked = pick(true);
        // Of one other size, not a mixture of several.
        let id = picked.first().map(|case| case.id.clone());
        picked.retain(|case| Some(&case.id) == id.as_ref());
    }
    let found: Vec<&CaseRecord> =
        picked.iter().copied().filter(|case| best_rate_and_mean_time(case, None).is_some()).collect();
    if found.is_empty() { Err(reason(&picked)) } else { Ok(found) }
}

/// A number that a case notes, or has in its id.
fn noted(case: &CaseRecord, name: &str) -> Option<String> {
    let is_number = |text: &&str| text.parse::<f64>().is_ok();
    let in_notes = case.measured().and_then(|measured: &Measured| measured.notes.get(name)).map(String::as_str);
    in_notes.or_else(|| case.params.get(name)).filter(is_number).map(str::to_owned)
}

/// Mark of a kernel that an environment lacks.
const NOT_MEASURED: Text = term!("not measured");

fn reason(picked: &[&CaseRecord]) -> Message {
    let no_time = || term!("no time: elements are unknown").into();
    let Some(case) = picked.first() else { return NOT_MEASURED.into() };
    reasons::of_outcome(&case.outcome).unwrap_or_else(no_time)
}

/// Number of runs of each side that count, and of passes of each run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    pub(super) runs: usize,
    /// None where a run does not tell its passes.
    pub(super) passes: Option<usize>,
}

impl Numbers {
    /// Numbers that every side has of a case, by each one's measured cases; sides without any do not count.
    pub(super) fn of(sides: &[&[&CaseRecord]]) -> Numbers {
        let sides = || sides.iter().filter(|side| !side.is_empty());
        let runs = sides().map(|side| side.len()).min().unwrap_or(0);
        let all: Option<Vec<usize>> =
            sides().flat_map(|side| side.iter()).map(|case| passes(case.measured()?)).collect();
        Numbers { runs, passes: all.and_then(|all| all.into_iter().min()) }
    }

    /// Remarks on runs and passes that do not count.
    pub(super) fn remarks(self, environments: &[Environment], sides: &[&[&CaseRecord]]) -> Vec<Message> {
        let surplus = environments.iter().zip(sides).filter(|(_, side)| side.len() > self.runs).map(|(one, side)| {
            let (name, runs, all) = (one.name, self.runs, side.len());
            match runs {
                1 => say!(
                    "{name}: the first of {all} runs counts, as many as every side has: the best of more is higher"
                ),
                _ => say!(
                    "{name}: the first {runs} of {all} runs counts, as many as every side has: the best of more is higher"
                ),
            }
        });
        let measured = || sides.iter().flat_map(|side| side.iter()).filter_map(|case| case.measured());
        let most = measured().filter_map(passes).max();
        let passes = self.passes.zip(most).filter(|(count, most)| count < most).map(|(count, most)| {
            say!("the first {count} passes of each run count, of up to {most}: as many as every run has")
        });
        surplus.chain(passes).chain(unequal(measured().filter_map(|one| one.notes.get(PASSES)))).collect()
    }
}

/// Outputs of STREAM have the best pass alone: of other numbers of passes nothing can be left out.
fn unequal<'a>(noted: impl Iterator<Item = &'a String>) -> Option<Message> {
    let mut all: Vec<&str> = noted.map(String::as_str).filter(|passes| !passes.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    (all.len() > 1).then(|| {
        let passes = Message::joined(all, say!(" and "));
        say!("STREAM made {passes} passes: the best of more is higher")
    })
}
