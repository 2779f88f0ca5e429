//! `--table NAME`: the table that is meant, and what may be set beside it.

use anyhow::Result;
use hostmark_engine::plan::Request;
use hostmark_model::{CaseId, HostFacts, Profile};
use hostmark_present::tables::{self, NamedTable};

use crate::language::refuse;

fn named(name: &str) -> Result<&'static NamedTable> {
    match tables::table_named(name) {
        Some(table) => Ok(table),
        None => refuse!("no table is called '{name}'; choose {names}", names = names()),
    }
}

/// The table whose cells a request means: the one of this name, or in a glance that asks for nothing else that of the first screen.
pub fn meant(name: Option<&str>, request: &Request) -> Result<Option<&'static NamedTable>> {
    let is_glance =
        request.profile == Profile::Glance && request.filters.is_empty() && request.inputs.command.is_empty();
    name.map_or(Ok(is_glance.then_some(&tables::GLANCE)), |name| named(name).map(Some))
}

fn names() -> String {
    let names: Vec<&str> = tables::TABLES.iter().map(|table| table.name).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

pub fn cells(table: &NamedTable, host: &HostFacts) -> Vec<CaseId> {
    table.cells(host, hostmark_host::single(host).unwrap_or_default())
}

/// Refuses points in the place of those that make the table.
pub fn check_set(table: &NamedTable, host: &HostFacts, set: &[String]) -> Result<()> {
    let cells = cells(table, host);
    let is_of_table = |typed: &&String| {
        let place = typed.split('=').next().unwrap_or_default();
        let (probe, axis) = place.split_once(':').map_or((None, place), |(probe, axis)| (Some(probe), axis));
        let is_meant = |id: &str| probe.is_none_or(|probe| probe == id || id.split('.').next() == Some(probe));
        let fixed = |value: &str| value != hostmark_model::EACH_POINT;
        cells.iter().any(|cell| is_meant(&cell.probe) && cell.params.get(axis).is_some_and(fixed))
    };
    match set.iter().find(is_of_table) {
        Some(typed) => {
            refuse!("--table {table} has points of its own there; leave out --set {typed}", table = table.name)
        }
        None => Ok(()),
    }
}
