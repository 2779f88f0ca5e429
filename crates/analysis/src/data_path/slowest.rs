//! Bottleneck of a pipeline: the process that waits least for its neighbours, since it works or lacks a CPU meanwhile.

use super::pipeline::Pipeline;

/// The slowest process of a pipeline.
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
