//! `hostmark report --reestimate`: a run whose estimates are made again, from its file or its journal.

use std::path::Path;

use anyhow::{Result, anyhow};
use hostmark_analysis::trust::{trust, with_self_check};
use hostmark_analysis::{findings, repetition};
use hostmark_engine::{Journal, estimate::outcomes::Outcomes, estimate::reestimate};
use hostmark_model::{Again, Gap, Lang, Run};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use crate::command::measure::disturbed::damaged;
use crate::command::measure::ready;
use crate::command::runs::load;
use crate::store::{self, JOURNAL};

/// The run that a person means, estimated again: one that is kept, a file, or a journal.
pub fn load(argument: &str, lang: Lang) -> Result<Run> {
    match store::find(argument) {
        Ok(path) if !path.to_string_lossy().ends_with(JOURNAL) => of_file(&path, lang),
        Ok(path) => of_journal(&path),
        // A run that was cut short has a journal and no file.
        Err(error) => match store::find_journal(argument) {
            Ok(path) if !argument.is_empty() => of_journal(&path),
            _ => Err(error),
        },
    }
}

fn of_file(path: &Path, lang: Lang) -> Result<Run> {
    let run = load::checked(path, lang)?;
    let (outcomes, gaps) = reestimate::of_run(CATALOGUE, &run);
    Ok(with(run, outcomes, gaps))
}

fn of_journal(path: &Path) -> Result<Run> {
    let (header, rounds, is_under_way) = Journal::read::<Run>(path)
        .map_err(|error| anyhow!("{} {}", path.display(), crate::language::spoken(&error.message())))?;
    let mut run = header.run;
    run.disturbances.extend(damaged(header.damaged));
    let plan = ready::planned_before(&run).ok();
    let skip = |id: &str| plan.iter().flat_map(|plan| &plan.cases).find(|case| case.id.to_string() == id)?.skip.clone();
    let (outcomes, gaps) = reestimate::of_journal(CATALOGUE, &run, &header.cases, rounds, skip);
    run.interrupted = (!is_under_way).then(|| say!("only its journal is left").to_string());
    Ok(with(run, outcomes, gaps))
}

fn with(run: Run, outcomes: Outcomes, gaps: Vec<Gap>) -> Run {
    let again = Some(Again { version: env!("CARGO_PKG_VERSION").into(), gaps });
    let stored = run.clone();
    let mut run = Run { cases: outcomes.cases, lost_rounds: outcomes.lost_rounds, again, ..run };
    if outcomes.core_shared.is_some() {
        run.neighbours.get_or_insert_default().core_shared = outcomes.core_shared;
    }
    // What runs of the host differed by was known when it was measured, and is in its file alone.
    repetition::keep(&mut run, &stored);
    run.trust = stored.trust.and_then(|stored| Some(with_self_check(trust(&run)?, stored.self_check)));
    run.findings = findings(&run);
    run
}
