//! What a comparison comes to for who asked: its exit code, and on standard error what keeps it from being green.

use hostmark_analysis::compare::{Comparison, Open, SAME};
use hostmark_model::{Exit, Lang, Run};
use hostmark_present::export::comparison;

use super::sides::{NamedRuns, history};
use crate::language::both;
use crate::output;

/// What is told of a run that is held against others: a comparison of the cases that it was asked for, and whether any is slower by more
/// than [`SAME`].
pub fn held_against(mut expected: NamedRuns, run: Run, lang: Lang) -> Exit {
    for other in &mut expected.runs {
        other.cases.retain(|case| run.cases.iter().any(|own| own.id == case.id));
    }
    let sides = [expected, NamedRuns { name: run.name.clone(), runs: vec![run] }];
    let comparison = Comparison::of(sides[0].pool(), &[sides[1].pool()], &history(&sides), SAME);
    let table =
        comparison::format_named("table").map(|format| (format.render)(&comparison, &output::options(lang, false)));
    output::print(&table.unwrap_or_default());
    exit(&comparison, SAME, true, lang)
}

/// The exit code of a comparison; a change within `limit` is no regression. If `is_strict`, a case that is not known to be the same or faster
/// is named and keeps the code from being 0.
pub fn exit(comparison: &Comparison, limit: f64, is_strict: bool, lang: Lang) -> Exit {
    let is_open = is_strict && has_open(comparison, limit, lang);
    match comparison.has_regression(limit) {
        true => Exit::Found,
        false if is_open => Exit::Undecided,
        false => Exit::Fine,
    }
}

/// Cases that are named on standard error.
const MOST_NAMED: usize = 20;

/// Whether a case is not known to be the same or faster; says which and why, those that more runs would decide by their number.
fn has_open(comparison: &Comparison, limit: f64, lang: Lang) -> bool {
    let all = comparison.open(limit);
    let (undecided, others): (Vec<&Open>, Vec<&Open>) = all.iter().partition(|open| open.is_undecided());
    for open in others.iter().take(MOST_NAMED) {
        let (id, side, why) = (open.case.typed(), open.side, open.why(lang));
        output::complain(&both!("{id} ({side}): {why}", "{id}（{side}）：{why}"));
    }
    if let more @ 1.. = others.len().saturating_sub(MOST_NAMED) {
        output::complain(&both!("{more} more cases as these", "另有 {more} 个这样的用例"));
    }
    if !undecided.is_empty() {
        let count = undecided.len();
        output::complain(&both!(
            "{count} undecided; more runs or a quieter machine would tell",
            "{count} 个用例无法判定；更多的运行或更安静的机器才能得出结论"
        ));
    }
    if comparison.tells_nothing() {
        output::complain(&both!(
            "no case could be compared; the reasons stand in the comparison",
            "没有可比较的用例；原因见比较结果"
        ));
    }
    !all.is_empty() || comparison.tells_nothing()
}
