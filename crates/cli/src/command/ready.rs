//! What a run needs before its first round, whether it is a new one or goes on.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::Result;
use hostmark_engine::plan::{self, Plan, Request};
use hostmark_engine::{Journal, PastRound};
use hostmark_model::{HostFacts, Inputs, Run};
use hostmark_probes::CATALOGUE;
use hostmark_report::tables::Table;

use super::tables;
use crate::store::Place;

/// What a run needs before its first round.
pub struct Ready {
    /// The plan.
    pub plan: Plan,
    /// The run, without a case.
    pub run: Run,
    /// The host as it is now, which may have less memory than when the run was planned.
    pub host: HostFacts,
    /// Where it goes.
    pub place: Option<Place>,
    /// Its journal.
    pub journal: Option<Journal>,
    /// What was measured before it was cut short.
    pub past: Vec<PastRound>,
    /// Where its files go.
    pub scratch: PathBuf,
}

/// What tells this binary from any other: its version, and the size and the time of its file.
pub fn binary() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let stamp = file.map(|file| format!("{} {}.{:09}", file.len(), file.mtime(), file.mtime_nsec()));
    format!("{} {}", env!("CARGO_PKG_VERSION"), stamp.unwrap_or_else(|_| "unknown".into()))
}

/// The rows of STREAM's table beside its first, which is the probe's default.
const STREAM: [plan::Cell; 3] =
    [stream(&[("kernel", "scale")]), stream(&[("kernel", "add")]), stream(&[("kernel", "triad")])];

const fn stream(at: &'static [(&'static str, &'static str)]) -> plan::Cell {
    plan::Cell { probe: "memory.stream", at }
}

/// The plan of a request within its profile's time; the cells of lmbench's and STREAM's tables come right behind the defaults.
/// Of a table that is named its cells alone.
pub fn fitted(host: &HostFacts, request: Request, table: Option<&Table>) -> Result<Plan> {
    let mut plan = match table {
        None => plan::plan(CATALOGUE, host, request)?,
        Some(table) => plan::plan_table(CATALOGUE, host, request, &table.cells())?,
    };
    let cells = hostmark_report::lmbench::cells().map(|point| plan::Cell { probe: point.probe, at: point.at });
    plan.fit(host, &cells.chain(STREAM).collect::<Vec<_>>());
    Ok(plan)
}

/// The plan of a run from what its file says.
pub fn planned_before(run: &Run) -> Result<Plan> {
    let request = Request {
        filters: run.settings.filters.clone(),
        profile: run.settings.profile,
        seed: run.settings.seed,
        set: Inputs::axes(&run.settings.set).map(|(key, value)| format!("{key}={value}")).collect(),
        inputs: run.settings.inputs.clone(),
    };
    let table = run.settings.table.as_deref().map(tables::named).transpose()?;
    fitted(&run.host, request, table)
}
