//! A run without a value: nothing of what was asked for can be measured, which is no success and no run to keep.

use hostmark_engine::plan::Plan;
use hostmark_model::{Exit, Message, Outcome, Run};
use hostmark_say::say;

use crate::command::EndsWith;

/// The error of a run that came to its end and has skipped cases alone; none of any other.
pub fn error(run: &Run) -> Option<anyhow::Error> {
    let is_skipped = |outcome: &Outcome| matches!(outcome, Outcome::Skipped { .. });
    if run.interrupted.is_some() || !run.pairs.is_empty() || !run.cases.iter().all(|case| is_skipped(&case.outcome)) {
        return None;
    }
    let reason = |outcome: &Outcome| match outcome {
        Outcome::Skipped { reason } => Some(Message::from(reason)),
        _ => None,
    };
    Some(because(run.cases.iter().filter_map(|case| reason(&case.outcome))))
}

/// The error of several runs of which none has a value.
pub fn of_all<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<anyhow::Error> {
    runs.map(error).collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// The error of a plan of which the run will have no value.
pub fn of_plan(plan: &Plan) -> Option<anyhow::Error> {
    let skips: Option<Vec<Message>> = plan.cases.iter().map(|case| Some(case.skip.as_ref()?.into())).collect();
    skips.map(|skips| because(skips.into_iter()))
}

/// Each reason ends with what to do; the first stands for all.
fn because(reasons: impl Iterator<Item = Message>) -> anyhow::Error {
    let mut distinct: Vec<Message> = Vec::new();
    for reason in reasons {
        if !distinct.contains(&reason) {
            distinct.push(reason);
        }
    }
    let sentence = match distinct.as_slice() {
        [] => say!("there is no case to measure; choose others, as hostmark list shows them"),
        [only] => say!("nothing can be measured: {only}"),
        [first, rest @ ..] => {
            let count = rest.len();
            say!("nothing can be measured: {first} (and {count:other reason}, beside the cases)")
        }
    };
    EndsWith(Exit::NothingSelected, sentence).into()
}
