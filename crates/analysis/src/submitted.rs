//! Requirements of a run that becomes a reference: redacted, checked on its host, repeated, and consistent with its own samples.

use hostmark_model::{Grade, Message, Run, SelfChecked, Text};
use hostmark_say::say;

use crate::consistency;
use crate::redact::unredacted;
use crate::trust::{trust, with_self_check};

/// Least number of runs of the host behind a reference, the submitted one among them: five values have an interval.
pub const LEAST_RUNS: u32 = 5;
/// A worse grade says that another run's values may lie a quarter away.
const WORST: Grade = Grade::B;
/// Fields that are named of those that are not redacted.
const MOST_FIELDS: usize = 3;

/// Reason why a run cannot be a reference: the first fault, and what to do. None where it can.
pub fn refusal(run: &Run) -> Option<Message> {
    // What was cut short has another grade, and is no forgery.
    not_of_hostmark(run)
        .or_else(|| contradiction(run))
        .or_else(|| not_redacted(run))
        .or_else(|| unchecked(run))
        .or_else(|| too_few(run))
        .or_else(|| too_scattered(run))
}

/// A value that its own samples do not give, and a grade that its values do not give.
fn contradiction(run: &Run) -> Option<Message> {
    if let Some(what) = consistency::sentence(run) {
        return Some(say!("it contradicts itself: {what}; send the file as hostmark wrote it"));
    }
    let stored = run.trust.as_ref()?;
    let given = with_self_check(trust(run)?, stored.self_check.clone());
    let is_near = match (stored.within, given.within) {
        (Some(stored), Some(given)) => consistency::is_near(stored, given, 0.0),
        (stored, given) => stored == given,
    };
    if is_near && stored.grade == given.grade && stored.runs == given.runs {
        return None;
    }
    let (says, gives) = (stored.grade.letter(), given.grade.letter());
    let (of, by) = (stored.runs, given.runs);
    Some(say!(
        "its TRUST says {says} by {of} earlier runs, and its values give {gives} by {by}; measure with this version, \
             and send the file as hostmark wrote it"
    ))
}

fn not_of_hostmark(run: &Run) -> Option<Message> {
    if let Some(imported) = &run.imported {
        let format = &imported.format;
        return Some(say!("another tool measured it ({format}); measure with hostmark run"));
    }
    run.interrupted.as_ref()?;
    Some(say!("the run was cut short; measure again"))
}

fn not_redacted(run: &Run) -> Option<Message> {
    let fields = unredacted(run);
    let named = fields.iter().take(MOST_FIELDS).map(String::as_str).collect::<Vec<_>>();
    let more = fields.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0);
    named.first()?;
    let named = Message::joined(named, term!(", ", "list"));
    Some(match more {
        Some(more) => say!(
            "it is not redacted ({named} and {more} more may name a host, a person or a path); write it by hostmark report RUN --share"
        ),
        None => say!(
            "it is not redacted ({named} may name a host, a person or a path); write it by hostmark report RUN --share"
        ),
    })
}

fn unchecked(run: &Run) -> Option<Message> {
    let found = run.trust.as_ref().and_then(|trust| trust.self_check.as_ref());
    if found.is_some_and(|found| found.has_passed() && found.started <= run.started) {
        return None;
    }
    let why = match found {
        None => say!("no self-check of this program has passed on its host"),
        Some(found) if found.has_passed() => say!("its self-check is later than the run"),
        Some(SelfChecked { failed, .. }) => {
            say!("its self-check failed{of}", of = Text { en: String::new(), zh: failed.to_string() })
        }
    };
    Some(say!("{why}; run hostmark self-check, then hostmark run, and send that run"))
}

fn too_few(run: &Run) -> Option<Message> {
    let runs = run.trust.as_ref()?.runs + 1;
    (runs < LEAST_RUNS).then_some(())?;
    Some(say!(
        "it stands on {runs} of {LEAST_RUNS} runs of its host; run the same profile again, and send the last run"
    ))
}

fn too_scattered(run: &Run) -> Option<Message> {
    let grade = run.trust.as_ref()?.grade;
    (grade > WORST).then_some(())?;
    let (is, worst) = (grade.letter(), WORST.letter());
    Some(say!("its TRUST is {is}, and a reference needs {worst} or better; measure at a quieter hour"))
}
