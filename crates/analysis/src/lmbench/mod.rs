//! lmbench's summary: its twelve tables as data, and where each column's value lies in a run.

pub mod tables;
mod value;

pub use tables::TABLES;
pub use value::{
    CellRemark, SummaryCell, case_at, case_of, cases_of, cell, far_case, interval, is_far, remark, values,
};

use hostmark_model::Text;

/// The programs of lmbench 3, whose places probes take; their names are filters.
pub fn programs() -> impl Iterator<Item = &'static str> {
    "bw_file_rd bw_mem bw_mmap_rd bw_pipe bw_tcp bw_udp bw_unix cache disk enough lat_cmd lat_connect lat_ctx \
     lat_dram_page lat_fcntl lat_fifo lat_fs lat_http lat_mem_rd lat_mmap lat_ops lat_pagefault lat_pipe \
     lat_pmake lat_proc lat_rand lat_rpc lat_select lat_sem lat_sig lat_syscall lat_tcp lat_udp lat_unix \
     lat_unix_connect lat_usleep line lmdd lmhttp loop_o memsize mhz par_mem par_ops stream timing_o tlb"
        .split(' ')
}

#[derive(Debug)]
pub struct SummaryTable {
    /// Title, with the unit of its values.
    pub title: Text,
    /// Columns behind host and system, in lmbench's order.
    pub columns: &'static [SummaryColumn],
}

#[derive(Debug)]
pub struct SummaryColumn {
    /// Heading; a line break begins a further line.
    pub head: Text,
    /// Number of a value's base units in one of the column's.
    pub scale: f64,
    /// Place of its value in a run of this program.
    pub ours: CellSource,
    /// Place of its value in a run that was read from a result file of lmbench.
    pub theirs: CellSource,
}

/// Place of a value in a run.
#[derive(Debug, Clone, Copy)]
pub enum CellSource {
    Case(CasePoint),
    Mean(CasePoint, CasePoint),
    /// First of two cases; where that has no value, the second, which measures the same in another way.
    Either(CasePoint, CasePoint),
    /// Number of copies: of ours, up to which none hinders another; of lmbench's, how many measured at once.
    Load,
    /// Text on the machine itself: its model.
    Machine,
    Caches,
}

/// A case, by the axes on which it is not at its probe's default.
#[derive(Debug, Clone, Copy)]
pub struct CasePoint {
    pub probe: &'static str,
    pub at: &'static [(&'static str, &'static str)],
    /// The axis of which the case with the largest value is meant; empty for none.
    pub largest: &'static str,
    /// The further quantity of the case that is meant; empty for its value.
    pub quantity: &'static str,
}

impl CellSource {
    /// The probes that it comes from.
    fn probes(&self) -> Vec<&'static str> {
        match self {
            CellSource::Load => vec![value::SCALING],
            CellSource::Caches => vec![crate::levels::HIERARCHY],
            _ => self.points().iter().map(|point| point.probe).collect(),
        }
    }

    pub fn points(&self) -> Vec<CasePoint> {
        match *self {
            CellSource::Case(point) => vec![point],
            CellSource::Mean(one, other) | CellSource::Either(one, other) => vec![one, other],
            CellSource::Load | CellSource::Machine | CellSource::Caches => Vec::new(),
        }
    }
}

/// The cases of all columns: a run that has them leaves no cell of the summary blank.
pub fn cells() -> impl Iterator<Item = CasePoint> {
    let columns = TABLES.iter().flat_map(|table| table.columns);
    columns.flat_map(|column| match column.ours {
        CellSource::Load => vec![point(value::SCALING, &[])],
        CellSource::Caches => vec![point(crate::levels::HIERARCHY, &[])],
        ref other => other.points(),
    })
}

/// The probes behind the columns whose head is `name` in either language, whatever its case and its spaces; none where there
/// is no such column, or it has no probe.
pub fn probes_of_column(name: &str) -> Vec<&'static str> {
    let columns = TABLES.iter().flat_map(|table| table.columns).filter(|column| column.head.is_called(name));
    distinct(columns.flat_map(|column| column.ours.probes()))
}

/// Each of them once, in the order in which they come first.
pub(crate) fn distinct(all: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut probes: Vec<&str> = Vec::new();
    for probe in all {
        if !probes.contains(&probe) {
            probes.push(probe);
        }
    }
    probes
}

/// A case at its probe's default but for `at`.
const fn case(probe: &'static str, at: &'static [(&'static str, &'static str)]) -> CellSource {
    CellSource::Case(point(probe, at))
}

/// A further quantity of a case at its probe's default but for `at`.
const fn also(probe: &'static str, at: &'static [(&'static str, &'static str)], quantity: &'static str) -> CellSource {
    CellSource::Case(CasePoint { quantity, ..point(probe, at) })
}

/// The case of the largest `axis` that has `at`.
const fn largest(probe: &'static str, axis: &'static str, at: &'static [(&'static str, &'static str)]) -> CellSource {
    CellSource::Case(CasePoint { largest: axis, ..point(probe, at) })
}

const fn point(probe: &'static str, at: &'static [(&'static str, &'static str)]) -> CasePoint {
    CasePoint { probe, at, largest: "", quantity: "" }
}
