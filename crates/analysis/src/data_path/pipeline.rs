//! Pipelines as they were measured, in the setting of their cases, and the process that limits each.

use hostmark_model::{CaseRecord, Estimate, FlagKind, Measured, Message, Params, Run, Text};

use crate::lmbench::remark;
use crate::neighbours::of_rounds;
use crate::propagated::{Propagated, joined, propagated_ratio};
use crate::reasons;

pub(super) const PROBE: &str = "net.data_path";
/// The axis that says what the bytes go through.
pub(super) const PATH: &str = "path";
/// The note that names the processes: `zero>pipe copy; pipe>socket copy; …`.
const STAGES: &str = "stages";
/// The note of what the kernel told of sends without a copy.
const ZERO_COPY: &str = "zero_copy";
/// Value of that note where the kernel copied nevertheless.
const COPIED: &str = "copied";
/// The note of the congestion control that the sockets had.
const CONGESTION: &str = "congestion_control";
pub(super) const NS_PER_S: f64 = 1e9;

/// A process: what it reads from and writes to, and what it took. Each number is none where the run does not have it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PipelineProcess {
    pub(super) from: String,
    pub(super) to: String,
    /// `copy` by read and write, or by which other calls it moves the bytes.
    pub(super) method: String,
    /// CPUs that it kept busy in user space.
    pub(super) user: Option<Propagated>,
    pub(super) kernel: Option<Propagated>,
    /// Copies of each byte between user and kernel.
    pub(super) copies: Option<Propagated>,
    /// Number of its calls that a byte went through.
    pub(super) crossings: Option<Propagated>,
    /// The share of the time in which it stood still in the call that reads.
    pub(super) read_wait: Option<Propagated>,
    /// The same in the call that writes.
    pub(super) write_wait: Option<Propagated>,
    /// The share of the time in which it could have run and had no CPU.
    pub(super) run_delay: Option<Propagated>,
    /// Context switches for each MiB.
    pub(super) switches: Option<Propagated>,
}

/// A measured case of the probe.
#[derive(Debug, Clone)]
pub(super) struct Pipeline<'a> {
    pub(super) id: &'a str,
    pub(super) path: &'a str,
    /// Bytes a second that arrive at the last process.
    pub(super) rate: Propagated,
    /// None where the run does not name them.
    pub(super) processes: Vec<PipelineProcess>,
    /// CPUs busy with all processes.
    pub(super) busy_cpus: Option<Propagated>,
    /// The share of its CPUs' time that others used, as far as no error of the counters explains it.
    pub(super) others: f64,
    /// True where the kernel copied data that was sent with zero copy.
    pub(super) copied_all_the_same: bool,
    /// The congestion control of its sockets, where the run notes it.
    pub(super) congestion: Option<&'a str>,
    pub(super) remark: Option<Message>,
    /// True where the rate may stand for anything else.
    pub(super) is_believed: bool,
}

impl PipelineProcess {
    /// Tells whether it moves the bytes by read and write.
    pub(super) fn is_copying(&self) -> bool {
        self.method == "copy" || self.polls()
    }

    /// Tells whether it polls before each of them, and moves less at once, as nc does.
    pub(super) fn polls(&self) -> bool {
        self.method == "poll"
    }

    pub(super) fn busy(&self) -> Option<Propagated> {
        sum(&[self.user?, self.kernel?])
    }

    /// CPU time of a byte, ns, in a pipeline of this rate.
    pub(super) fn time_per_byte_ns(&self, rate: Propagated) -> Option<Propagated> {
        time_per_byte_ns(&[self.user?, self.kernel?], rate)
    }
}

impl<'a> Pipeline<'a> {
    /// None of a case without a value above zero.
    pub(super) fn of(case: &'a CaseRecord) -> Option<Pipeline<'a>> {
        let measured = case.measured()?;
        let rate = number(&measured.estimate).filter(|rate| rate.value > 0.0)?;
        let stages = measured.notes.get(STAGES).and_then(|note| stages(note)).unwrap_or_default();
        let process = |(index, (from, to, method)): (usize, (String, String, String))| {
            let also = |name: &str| also(measured, &format!("stage{}_{name}", index + 1));
            PipelineProcess {
                from,
                to,
                method,
                user: also("user"),
                kernel: also("kernel"),
                copies: also("copies"),
                crossings: also("crossings"),
                read_wait: also("read_wait"),
                write_wait: also("write_wait"),
                run_delay: also("run_delay"),
                switches: also("switches"),
            }
        };
        let is_doubted = |kind: FlagKind| matches!(kind, FlagKind::Implausible | FlagKind::UnderResolution);
        Some(Pipeline {
            id: &case.id,
            path: case.params.get(PATH)?,
            rate,
            processes: stages.into_iter().enumerate().map(process).collect(),
            busy_cpus: also(measured, "busy_cpus"),
            others: of_rounds(&measured.rounds).unwrap_or(0.0),
            copied_all_the_same: measured.notes.get(ZERO_COPY).is_some_and(|note| note == COPIED),
            congestion: measured.notes.get(CONGESTION).map(String::as_str),
            remark: remark(measured).or_else(|| disturbed(measured)),
            is_believed: measured.flags.iter().all(|flag| !is_doubted(flag.kind)),
        })
    }

    /// CPUs of the setting that nobody used; none where the pipeline does not say what it used.
    pub(super) fn idle_cpus(&self, cpus: f64) -> Option<f64> {
        self.busy_cpus.map(|busy| cpus - busy.value - self.outside(cpus))
    }

    /// CPUs of the setting that programs outside provably had: by the counters, and on one CPU by a process's wait beyond the others' work.
    pub(super) fn outside(&self, cpus: f64) -> f64 {
        let beyond = |process: &PipelineProcess| {
            let (waited, own) = (process.run_delay?.value, process.busy()?.value);
            Some(waited - (self.busy_cpus?.value - own))
        };
        let waited = self.processes.iter().filter(|_| cpus <= 1.0).filter_map(beyond);
        // Medians of rounds do not add up to the CPUs.
        let most = cpus - self.busy_cpus.map_or(0.0, |busy| busy.value);
        waited.fold(self.others * cpus, f64::max).min(most).max(0.0)
    }

    /// Media between the processes: pipes, sockets.
    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        let between = self.processes.len().saturating_sub(1);
        self.processes.iter().take(between).map(|process| process.to.as_str())
    }

    /// Source and sink of the bytes.
    pub(super) fn ends(&self) -> Option<(&str, &str)> {
        Some((self.processes.first()?.from.as_str(), self.processes.last()?.to.as_str()))
    }

    /// Tells whether each process moves the bytes by read and write.
    pub(super) fn is_copying(&self) -> bool {
        self.processes.iter().all(PipelineProcess::is_copying)
    }

    /// Tells whether one of them polls before it reads or writes.
    pub(super) fn polls(&self) -> bool {
        self.processes.iter().any(PipelineProcess::polls)
    }

    /// Copies of each byte, or crossings, of all processes.
    pub(super) fn total(&self, of: impl Fn(&PipelineProcess) -> Option<Propagated>) -> Option<Propagated> {
        let all: Vec<Propagated> = self.processes.iter().map(of).collect::<Option<_>>()?;
        if all.is_empty() { None } else { sum(&all) }
    }

    /// CPU time of a byte in all processes, ns.
    pub(super) fn time_per_byte_ns(&self) -> Option<Propagated> {
        time_per_byte_ns(&[self.busy_cpus?], self.rate)
    }
}

/// The estimate of a value, where it is a number.
pub(super) fn number(estimate: &Estimate) -> Option<Propagated> {
    let stated = estimate.stated();
    stated.value.is_finite().then_some(Propagated { value: stated.value, interval: stated.of_this_run })
}

fn also(measured: &Measured, name: &str) -> Option<Propagated> {
    number(&measured.also.get(name)?.estimate)
}

/// CPUs busy over bytes a second.
fn time_per_byte_ns(busy: &[Propagated], rate: Propagated) -> Option<Propagated> {
    propagated_ratio(&[busy, &[rate]].concat(), |values| {
        let (rate, busy) = values.split_last()?;
        (*rate > 0.0).then(|| busy.iter().sum::<f64>() * NS_PER_S / rate)
    })
}

fn sum(parts: &[Propagated]) -> Option<Propagated> {
    joined(parts, |values| Some(values.iter().sum()))
}

/// Remark on disturbances by others or a quota, which [`remark`] leaves to the marks of the console.
fn disturbed(measured: &Measured) -> Option<Message> {
    let flag = measured.flags.iter().find(|flag| matches!(flag.kind, FlagKind::Contended | FlagKind::Throttled))?;
    let what: Text = match flag.kind {
        FlagKind::Throttled => term!("stopped by a CPU quota"),
        _ => term!("other programs used its CPUs"),
    };
    Some(reasons::because(what, flag.sentence()))
}

/// The processes of a note: from, to and method of each; none of another note, or where one does not begin at the end of the last.
fn stages(note: &str) -> Option<Vec<(String, String, String)>> {
    let stage = |text: &str| {
        let (way, method) = text.trim().split_once(' ')?;
        let (from, to) = way.split_once('>')?;
        Some((from.to_owned(), to.to_owned(), method.trim().to_owned()))
    };
    let all: Vec<(String, String, String)> = note.split(';').map(stage).collect::<Option<_>>()?;
    all.windows(2).all(|pair| pair[0].1 == pair[1].0).then_some(all)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slowest {
    /// Position in the pipeline, from 0.
    pub(super) index: usize,
    /// The share of the time in which it waits for its neighbours.
    pub(super) waits: f64,
    /// The next one and its share, where the two lie too close to be told apart.
    pub(super) tied_with: Option<(usize, f64)>,
    pub(super) because: Because,
}

/// Main use of the slowest process' time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Because {
    /// Works in the kernel for this share of the time.
    Kernel(f64),
    User(f64),
    NoCpu(f64),
    /// Waits for its source, which is no process: a disk.
    Source(f64),
}

/// Shares closer than this are not told apart.
const TIE: f64 = 0.05;

/// None where there is one process alone, or the run does not say where they waited.
pub(super) fn slowest(pipeline: &Pipeline) -> Option<Slowest> {
    let last = pipeline.processes.len().checked_sub(1).filter(|last| *last > 0)?;
    let mut all: Vec<(usize, f64)> = Vec::new();
    for (index, process) in pipeline.processes.iter().enumerate() {
        let (read, write, delay) = (process.read_wait?.value, process.write_wait?.value, process.run_delay?.value);
        // Before the first and behind the last stands no process that it could wait for.
        let of_neighbours = if index > 0 { read } else { 0.0 } + if index < last { write } else { 0.0 };
        // The time without a CPU is among the waits.
        all.push((index, (of_neighbours - delay).clamp(0.0, 1.0)));
    }
    all.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (&(index, waits), &next) = (all.first()?, all.get(1)?);
    let process = &pipeline.processes[index];
    let at_source = if index == 0 { process.read_wait?.value - process.run_delay?.value } else { 0.0 };
    let candidates = [
        Because::Kernel(process.kernel?.value),
        Because::User(process.user?.value),
        Because::NoCpu(process.run_delay?.value),
        Because::Source(at_source),
    ];
    let because = candidates.into_iter().max_by(|one, other| one.share().total_cmp(&other.share()))?;
    Some(Slowest { index, waits, tied_with: Some(next).filter(|(_, share)| share - waits < TIE), because })
}

impl Because {
    pub(super) fn share(self) -> f64 {
        match self {
            Because::Kernel(share) | Because::User(share) | Because::NoCpu(share) | Because::Source(share) => share,
        }
    }
}

/// The axis of CPUs that the processes may use.
pub(super) const CPUS: &str = "cpus";

/// The paths of one place or of one process, of which forecasts are made.
pub(super) const ZERO: &str = "zero_null";
pub(super) const FILE: &str = "file_null";
pub(super) const COLD_FILE: &str = "cold_file_null";
pub(super) const PIPE: &str = "memory_pipe_memory";
pub(super) const SOCKET: &str = "memory_socket_memory";
/// The same where the receiver takes each block at once.
pub(super) const SOCKET_CLOSE: &str = "memory_socket_memory_close";
/// The same where several blocks lie between the two at any time.
pub(super) const SOCKET_BEHIND: &str = "memory_socket_memory_behind";

/// Paths of which forecasts are made: no pipeline that is forecast is among them.
pub(super) const SINGLE_STAGES: [&str; 7] = [ZERO, FILE, COLD_FILE, PIPE, SOCKET, SOCKET_CLOSE, SOCKET_BEHIND];

/// Tells whether the processes of a path share one CPU in turn, as several CPUs do not.
pub fn is_of_one_cpu(path: &str) -> bool {
    [SOCKET_CLOSE, SOCKET_BEHIND].contains(&path)
}

/// Cases that differ in their path alone.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    /// Position on all axes but the path.
    pub(super) point: Params,
    pub(super) cpus: f64,
    pub(super) pipelines: Vec<Pipeline<'a>>,
    pub(super) unmeasured: Vec<&'a CaseRecord>,
}

impl<'a> Setting<'a> {
    pub(super) fn named(&self, path: &str) -> Option<&Pipeline<'a>> {
        self.pipelines.iter().find(|pipeline| pipeline.path == path)
    }

    /// The single stages that were measured, in the order of the list.
    pub(super) fn single_stages(&self) -> impl Iterator<Item = &Pipeline<'a>> {
        SINGLE_STAGES.iter().filter_map(|path| self.named(path))
    }

    /// The pipelines that are forecast, or that forego a copy.
    pub(super) fn composed(&self) -> impl Iterator<Item = &Pipeline<'a>> {
        self.pipelines.iter().filter(|pipeline| !SINGLE_STAGES.contains(&pipeline.path))
    }

    /// Tells whether the other one differs on this axis alone.
    pub(super) fn differs_in(&self, axis: &str, other: &Setting) -> bool {
        without(&self.point, axis) == without(&other.point, axis) && self.point != other.point
    }
}

/// All settings of a run, of the fewest CPUs first, then in the order of the run.
pub(super) fn settings(run: &Run) -> Vec<Setting<'_>> {
    let mut all: Vec<Setting> = Vec::new();
    for case in run.cases.iter().filter(|case| case.probe == PROBE && case.params.get(PATH).is_some()) {
        let point = without(&case.params, PATH);
        let index = all.iter().position(|setting| setting.point == point).unwrap_or_else(|| {
            let cpus = cpus(run, case);
            all.push(Setting { point, cpus, pipelines: Vec::new(), unmeasured: Vec::new() });
            all.len() - 1
        });
        let setting = &mut all[index];
        match Pipeline::of(case) {
            Some(pipeline) => setting.pipelines.push(pipeline),
            None => setting.unmeasured.push(case),
        }
    }
    all.sort_by(|one, other| one.cpus.total_cmp(&other.cpus));
    all
}

fn without(params: &Params, axis: &str) -> Params {
    Params(params.0.iter().filter(|(name, _)| name != axis).cloned().collect())
}

/// Number of CPUs on the axis; if it says "all" or nothing, of the host's usable ones.
fn cpus(run: &Run, case: &CaseRecord) -> f64 {
    let cpus_given = case.params.get(CPUS).and_then(|cpus| cpus.parse::<u32>().ok()).filter(|cpus| *cpus > 0);
    let usable = run.host.cpus.iter().filter(|cpu| cpu.allowed && cpu.online).count().max(1);
    cpus_given.map_or(usable as f64, f64::from)
}

pub(super) fn reason(case: &CaseRecord) -> Message {
    let no_rate = || term!("its value is no rate").into();
    reasons::of_outcome(&case.outcome).unwrap_or_else(no_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_is_none_of_a_pipeline_names_no_process() {
        let all = stages("zero>pipe copy; pipe>socket splice; socket>null copy").unwrap();
        assert_eq!((all.len(), all[1].2.as_str(), all[2].1.as_str()), (3, "splice", "null"));
        for note in ["", "zero>pipe", "zero pipe copy", "zero>pipe copy; socket>null copy", "zero>pipe copy;"] {
            assert_eq!(stages(note), None, "{note}");
        }
    }
}
