//! The links of each run to its peers, as the page lays them out.

use hostmark_analysis::findings::findings_and_kept;
use hostmark_analysis::labels::run_letter;

use serde::Serialize;

use super::bilingual::Words;
use super::gather::Runs;
use crate::render::network::{Block, HostMatrix, section};

/// The links of one run.
#[derive(Debug, Serialize)]
pub(super) struct Links {
    /// The run's letter; empty where there is one run.
    run: String,
    peers: Vec<Link>,
    tables: Vec<Hosts>,
    remarks: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Link {
    title: Words,
    rows: Vec<LinkRow>,
}

#[derive(Debug, Serialize)]
struct LinkRow {
    label: Words,
    facts: Vec<Words>,
}

/// A table of hosts by hosts.
#[derive(Debug, Serialize)]
struct Hosts {
    title: Words,
    sides: Words,
    hosts: Vec<String>,
    rows: Vec<HostRow>,
}

#[derive(Debug, Serialize)]
struct HostRow {
    host: String,
    cells: Vec<Words>,
}

/// Those of every run with peers.
pub(super) fn links(runs: &Runs) -> Vec<Links> {
    // The page lists the findings of all runs under one count.
    let mut first = 1;
    let of = |(index, run)| {
        let findings = findings_and_kept(run);
        let section = section(run, &findings, first);
        first += findings.len();
        section.map(|section| Links {
            run: if runs.are_many() { run_letter(index) } else { String::new() },
            peers: section.peers.into_iter().map(link).collect(),
            tables: section.tables.into_iter().map(hosts).collect(),
            remarks: section.remarks,
        })
    };
    runs.all.iter().enumerate().filter_map(of).collect()
}

fn link(block: Block) -> Link {
    let rows = block.rows.into_iter().map(|(label, facts)| LinkRow { label, facts });
    Link { title: block.title, rows: rows.collect() }
}

fn hosts(table: HostMatrix) -> Hosts {
    let rows = table.rows.into_iter().map(|(host, cells)| HostRow { host, cells });
    Hosts { title: table.title, sides: table.sides, hosts: table.hosts, rows: rows.collect() }
}
