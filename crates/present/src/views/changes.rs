//! The changes of hosts' values over the runs that are kept of them.

use hostmark_analysis::fleet::{CaseChange, Changed, HostChange};
use hostmark_analysis::format::amount;
use hostmark_model::{Message, Text};
use hostmark_say::say;

use super::comparison::known;
use super::fleet::change;
use crate::document::{Block, Document, Remark, Style};
use crate::texts::views::changes as texts;

/// Cases and facts of a change that are told unless everything is asked for.
const FEW_CASES: usize = 8;
const FEW_FACTS: usize = 6;

const NO_FACT: Text = term!("no recorded fact changed with it");

/// All changes of these many runs.
pub(crate) fn changes(changes: &[HostChange], runs: usize) -> Document {
    let summary = match changes.len() {
        0 => say!("{runs:run}: no value changed for good"),
        count => say!("{runs:run}, {count:change}"),
    };
    let first = Block::Sentence(summary, Style::Heading);
    let method = Block::Sentence(texts::METHOD.into(), Style::Dim);
    std::iter::once(first).chain(changes.iter().flat_map(of_host)).chain([method]).collect()
}

fn of_host(one: &HostChange) -> Document {
    let HostChange { host, started, run, .. } = one;
    let title = say!("{host}  since {started}  {run}");
    let facts = match one.facts.is_empty() {
        true => vec![Remark::new(NO_FACT, Style::Dim)],
        false => one.facts.iter().map(|fact| Remark::new(reported(fact), Style::Plain)).collect(),
    };
    let style = |case: &CaseChange| if case.is_worse() { Style::Warning } else { Style::Plain };
    let cases = one.cases.iter().map(|case| Remark::new(line(case), style(case))).collect();
    vec![Block::Part(title), remarks(facts, FEW_FACTS), remarks(cases, FEW_CASES)]
}

/// Block of remarks, the first `few` of them for everybody.
fn remarks(mut all: Vec<Remark>, few: usize) -> Block {
    all.iter_mut().skip(few).for_each(|one| one.is_detail = true);
    Block::Remarks(all)
}

pub(crate) fn reported(fact: &Changed) -> Message {
    say!("with it: {fact}", fact = moved(fact))
}

/// `CPU quota none → 0.3`.
pub(crate) fn moved(fact: &Changed) -> Message {
    let [from, to] = [&fact.from, &fact.to].map(|text| known(&Some(text.clone()).filter(|text| !text.is_empty())));
    Message::joined([Message::from(&fact.label), Message::joined([from, to], " → ")], " ")
}

/// `syscall.null  100 ns → 130 ns  +30 % (+28 … +32), 12 and 12 runs`.
fn line(case: &CaseChange) -> Message {
    let [low, high] = case.interval.map(|end| change(end - 1.0));
    let [before, since] = case.runs;
    let [from, to] = [case.before, case.since].map(|number| amount(number, case.unit));
    let values = [Message::plain(&case.case), Message::joined([from, to], " → "), change(case.ratio - 1.0).into()];
    say!("{values} ({low} … {high}), {before} and {since} runs", values = Message::joined(values, "  "))
}
