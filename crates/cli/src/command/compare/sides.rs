//! The sides of a comparison: which runs a person means, and what earlier runs tell of their environments.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::Result;
use hostmark_analysis::compare::{History, Pool};
use hostmark_model::{Lang, Run};

use crate::command::runs::{load, several};
use crate::language::refuse;
use crate::store;

/// Earlier runs that are read at most, the newest: each is some megabytes of text.
const MOST_EARLIER: usize = 60;

/// One side: what it is called, and its runs.
pub struct NamedRuns {
    /// As it was typed.
    pub name: String,
    /// At least one.
    pub runs: Vec<Run>,
}

impl NamedRuns {
    /// The side as a comparison takes it.
    pub fn pool(&self) -> Pool<'_> {
        Pool { name: &self.name, runs: &self.runs }
    }
}

/// The sides that a person names, the base first.
pub fn read(names: &[String], lang: Lang) -> Result<Vec<NamedRuns>> {
    if names.len() < 2 {
        refuse!("a comparison has a base and something new; give both, as hostmark compare last-1 last");
    }
    let sides = names.iter().map(|name| side(name, lang)).collect::<Result<Vec<NamedRuns>>>()?;
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for side in &sides {
        for run in &side.runs {
            if let Some(other) = seen.insert(&run.id, &side.name) {
                let (run, side) = (&run.name, &side.name);
                refuse!(
                    "the run {run} is in '{other}' and again in '{side}'; a run compared with itself tells nothing, so \
                     name each run once"
                );
            }
        }
    }
    Ok(sides)
}

/// The runs that an argument means.
pub fn side(name: &str, lang: Lang) -> Result<NamedRuns> {
    let runs = several::files(name)?.iter().map(|file| load::checked(file, lang)).collect::<Result<Vec<Run>>>()?;
    // `last` is another run tomorrow.
    let name = match runs.as_slice() {
        [only] if !Path::new(name).exists() => only.name.clone(),
        _ => name.to_owned(),
    };
    Ok(NamedRuns { name, runs })
}

/// What the runs that are kept here tell of how much runs of the sides' hosts differ. What cannot be read tells nothing.
pub fn history(sides: &[NamedRuns]) -> History {
    let mut history = History::default();
    let hosts: HashSet<&str> = sides.iter().flat_map(|side| &side.runs).map(|run| run.host.hostname.as_str()).collect();
    let mut kept = store::kept().unwrap_or_default();
    let mut summaries = store::summary::summaries(&kept).into_iter();
    kept.retain(|_| summaries.next().is_some_and(|run| run.is_ok_and(|run| hosts.contains(run.host.as_str()))));
    for run in kept.iter().rev().take(MOST_EARLIER).filter_map(|path| store::load(path).ok()) {
        history.add(&run);
    }
    history
}
