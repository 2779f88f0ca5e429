//! The journal: every round written and synced as it ends, so that kill -9 loses at most the round under way.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hostmark_model::Event;
use serde::Serialize;

use crate::estimate::RoundResult;
use crate::plan::Plan;

/// An open journal, `NAME.partial.jsonl`.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

#[derive(Serialize)]
struct Header<'a, R> {
    run: &'a R,
    plan: PlanLine,
}

#[derive(Serialize)]
struct PlanLine {
    seed: u64,
    cases: Vec<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    case: &'a str,
    round: u32,
    cpus: &'a [usize],
    events: &'a [Event],
}

impl Journal {
    /// Creates the journal exclusively and writes its header: the run so far, and the plan.
    pub fn create(path: &Path, run: &impl Serialize, plan: &Plan) -> io::Result<Journal> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut journal = Journal { file, path: path.to_owned() };
        let cases: Vec<String> = plan.cases.iter().map(|case| case.id.to_string()).collect();
        let header = Header { run, plan: PlanLine { seed: plan.request.seed, cases } };
        match journal.append_line(&header) {
            Ok(()) => Ok(journal),
            Err(error) => {
                // A journal without a header is nothing, and would stand in the way of the next.
                let _ = journal.remove();
                Err(error)
            }
        }
    }

    /// Appends a round and syncs.
    pub fn append(&mut self, case: &str, round: &RoundResult) -> io::Result<()> {
        self.append_line(&Line { case, round: round.round, cpus: &round.cpus, events: &round.events })
    }

    fn append_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, once the run file stands.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
