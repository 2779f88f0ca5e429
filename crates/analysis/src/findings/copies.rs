//! Throughput of several copies beside that of one alone, by the source of the work; shared by the rules on scaling.

use hostmark_model::{CaseRecord, HostFacts, Run};
use hostmark_stats::scalability::Point;

use super::evidence::Proven;

pub(super) const SCALING: &str = "cpu.scaling";
/// The source that needs nothing but a core.
pub(crate) const PURE: &str = "cpu.sieve";
/// A copy must lose more than this share to be worth a word.
pub(crate) const NOTABLE: f64 = 0.10;

/// The most copies of a source that were measured at once.
pub(super) struct Together<'a> {
    pub(super) case: &'a CaseRecord,
    pub(super) source: &'a str,
    pub(super) copies: f64,
    /// Throughput together, in multiples of one alone.
    pub(super) times: Proven,
}

/// Largest number of copies of each source, in the order of the run.
pub(super) fn most_copies(run: &Run) -> Vec<Together<'_>> {
    let mut most: Vec<Together> = Vec::new();
    for case in run.cases.iter().filter(|case| case.probe == SCALING) {
        let Some(together) = together(case) else { continue };
        match most.iter_mut().find(|known| known.source == together.source) {
            Some(known) if known.copies < together.copies => *known = together,
            Some(_) => {}
            None => most.push(together),
        }
    }
    most
}

fn together(case: &CaseRecord) -> Option<Together<'_>> {
    let copies: f64 = case.params.get("copies")?.parse().ok()?;
    let source = case.params.get("source")?;
    (copies > 1.0).then_some(Together { case, source, copies, times: Proven::of_case(case)? })
}

/// Throughput of several copies of a source, in multiples of one alone: one point for each number of copies.
pub(crate) fn curve(run: &Run, source: &str) -> Vec<Point> {
    let all = run.cases.iter().filter(|case| case.probe == SCALING).filter_map(together);
    let of_source = all.filter(|together| together.source == source);
    let point = |together: Together| Point { parties: together.copies, throughput: together.times.value };
    std::iter::once(Point { parties: 1.0, throughput: 1.0 }).chain(of_source.map(point)).collect()
}

/// The sources that were measured with several copies, in the order of the run.
pub(crate) fn sources(run: &Run) -> Vec<&str> {
    let mut sources = Vec::new();
    for together in run.cases.iter().filter(|case| case.probe == SCALING).filter_map(together) {
        if !sources.contains(&together.source) {
            sources.push(together.source);
        }
    }
    sources
}

/// The cores among the usable CPUs, as the host tells its siblings; none where it has no CPU.
pub(crate) fn usable_cores(host: &HostFacts) -> Option<usize> {
    let usable = host.usable_cpus();
    let is_first = |id: &&usize| {
        let cpu = host.cpus.iter().find(|cpu| cpu.id == **id);
        cpu.is_none_or(|cpu| cpu.siblings.iter().all(|other| other >= *id || !usable.contains(other)))
    };
    let cores = usable.iter().filter(is_first).count();
    (cores > 0).then_some(cores)
}
