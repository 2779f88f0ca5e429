//! Tables that people know from elsewhere, by name: which cases each asks for, and how it is printed.

mod bandwidth;
mod conclusion;
mod layout;
mod row;
mod section;
mod size_stride;

use hostmark_analysis::constants;
use hostmark_analysis::data_path;
use hostmark_analysis::lmbench;
use hostmark_analysis::overhead;
use hostmark_analysis::stream_times;
use hostmark_model::{CaseId, CaseRecord, EACH_POINT, HostFacts, Params, Run};

pub(crate) use bandwidth::{MEMORY_BANDWIDTH, PIPE};
use layout::Layout;
pub(crate) use size_stride::SIZE_STRIDE;

/// A table that can be measured by its name; the format of that name prints it.
#[derive(Debug)]
pub struct NamedTable {
    /// Name for `--table` and `--format`.
    pub name: &'static str,
    cells: fn(&HostFacts, usize) -> Vec<CaseId>,
}

impl NamedTable {
    /// The cases that it shows, by the axes on which they are not at their probe's default; [`EACH_POINT`] stands for every
    /// point of an axis. The sizes of some follow from the caches of the host that measures on `cpu`.
    pub fn cells(&self, host: &HostFacts, cpu: usize) -> Vec<CaseId> {
        (self.cells)(host, cpu)
    }
}

impl NamedTable {
    /// Tells whether any of its cells was measured in any of the runs.
    pub fn is_in(&self, runs: &[Run]) -> bool {
        let is_at = |case: &CaseRecord, cell: &CaseId| {
            let same = |(axis, value): (&String, &String)| value == EACH_POINT || case.params.get(axis) == Some(value);
            case.probe == cell.probe && cell.params.0.iter().all(|(axis, value)| same((axis, value)))
        };
        runs.iter().any(|run| {
            let cells = self.cells(&run.host, run.settings.cpu);
            let mut measured = run.cases.iter().filter(|case| case.measured().is_some());
            measured.any(|case| cells.iter().any(|cell| is_at(case, cell)))
        })
    }
}

/// The table of the constants, which the first screen shows.
pub const CONSTANTS: &str = "answer";

pub static TABLES: &[NamedTable] = &[
    NamedTable { name: MEMORY_BANDWIDTH.name, cells: |host, cpu| MEMORY_BANDWIDTH.cells(host, cpu) },
    NamedTable { name: SIZE_STRIDE.name, cells: |host, cpu| SIZE_STRIDE.cells(host, cpu) },
    NamedTable { name: PIPE.name, cells: |host, cpu| PIPE.cells(host, cpu) },
    NamedTable { name: "stream", cells: |_, _| of_stream() },
    NamedTable { name: "lmbench", cells: |_, _| of_lmbench() },
    NamedTable { name: CONSTANTS, cells: |_, _| of_constants() },
    NamedTable { name: "overhead", cells: |_, _| of_overhead() },
    NamedTable { name: "data-path", cells: |_, _| of_data_path() },
];

/// Cells of a glance in which nothing else is asked for: the constants, a switch across CPUs, and what one core reads of memory.
pub static GLANCE: NamedTable = NamedTable { name: "glance", cells: |_, _| of_glance() };

/// The table called `name`.
pub fn table_named(name: &str) -> Option<&'static NamedTable> {
    TABLES.iter().find(|table| table.name == name)
}

fn of_stream() -> Vec<CaseId> {
    stream_times::KERNELS.map(|(kernel, ..)| cell(stream_times::PROBE, &[(stream_times::KERNEL, kernel)])).into()
}

/// Cells of lmbench on one machine, without those of a far end; and fewer chains, to tell whether the throughput still rises at the most of
/// them.
fn of_lmbench() -> Vec<CaseId> {
    let fewer = ["16", "24"].map(|chains| cell("memory.parallelism", &[("chains", chains)]));
    let cells = lmbench::cells().filter(|point| !lmbench::is_far(*point)).map(|point| cell(point.probe, point.at));
    cells.chain(fewer).collect()
}

fn of_constants() -> Vec<CaseId> {
    each_once(constants::cases().map(|of| cell(of.probe, of.at)))
}

fn of_glance() -> Vec<CaseId> {
    let more = [("sched.context_switch", [("cpus", "same_cache")]), ("memory.read", [("size", EACH_POINT)])];
    of_constants().into_iter().chain(more.map(|(probe, at)| cell(probe, &at))).collect()
}

fn of_overhead() -> Vec<CaseId> {
    overhead::cells().map(|(probe, at)| cell(probe, &at)).collect()
}

/// Every path on one CPU, on two, and on as many more as the profile has; what takes turns on one CPU on that alone. And the
/// disk beneath the cold files.
fn of_data_path() -> Vec<CaseId> {
    let cells = data_path::PATHS.iter().flat_map(|path| {
        let cpus: &[&str] = if data_path::is_of_one_cpu(path) { &["1"] } else { &[EACH_POINT, "2"] };
        cpus.iter().map(|cpus| cell(data_path::PROBE, &[(data_path::PATH, path), (data_path::CPUS, cpus)]))
    });
    cells.chain([cell(data_path::DISK, &data_path::IN_ORDER)]).collect()
}

fn cell(probe: &str, at: &[(&str, &str)]) -> CaseId {
    let params = at.iter().map(|&(axis, value)| (axis.to_owned(), value.to_owned())).collect();
    CaseId { probe: probe.to_owned(), params: Params(params) }
}

/// The cells in the order in which they come first.
fn each_once(all: impl Iterator<Item = CaseId>) -> Vec<CaseId> {
    let mut cells: Vec<CaseId> = Vec::new();
    for cell in all {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

impl Layout {
    /// The cases of all rows, each once.
    fn cells(&self, host: &HostFacts, cpu: usize) -> Vec<CaseId> {
        each_once(self.sections.iter().flat_map(|section| {
            section.sizes(host, cpu).into_iter().map(move |size| {
                let each = section.each.map(|axis| (axis, EACH_POINT));
                let along = [(section.along, size.as_str())].into_iter();
                let at: Vec<(&str, &str)> = along.chain(section.at.iter().copied()).chain(each).collect();
                cell(section.probe, &at)
            })
        }))
    }
}
