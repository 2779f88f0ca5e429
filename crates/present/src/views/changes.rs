//! The changes of hosts' values over the runs that are kept of them.

use hostmark_analysis::bilingual::{Words, each, fixed};
use hostmark_analysis::fleet::{CaseChange, Changed, HostChange};
use hostmark_analysis::format::value;
use hostmark_model::{Lang, Text, counted};

use super::comparison::known;
use super::fleet::change;
use crate::document::{Block, Document, Remark, Style};

/// Cases and facts of a change that are told unless everything is asked for.
const FEW_CASES: usize = 8;
const FEW_FACTS: usize = 6;

const METHOD: Text = Text {
    en: "A change is a step for good in a case's values over at least three runs on each side, so clear that in one of twenty histories one \
         would be by chance, whichever case it was in. Values that drift look like steps.",
    zh: "变化指某用例的数值在两侧各至少三次运行之间发生的持久跳变，其显著程度在二十份历史中仅有一份会偶然出现（不论在哪个用例）。缓慢漂移的数值也会表现为跳变。",
};
const NO_FACT: Text = Text { en: "no recorded fact changed with it", zh: "没有记录在案的事实同时改变" };

/// All changes of these many runs.
pub(crate) fn changes(changes: &[HostChange], runs: usize) -> Document {
    let (of, count) = (counted(runs, "run"), changes.len());
    let summary = match count {
        0 => Words {
            en: format!("{of}: no value changed for good"),
            zh: format!("{runs} 次运行：没有数值发生持久变化"),
        },
        _ => Words {
            en: format!("{of}, {}", counted(count, "change")), zh: format!("{runs} 次运行，{count} 处变化")
        },
    };
    let first = Block::Sentence(summary, Style::Heading);
    let method = Block::Sentence(fixed(METHOD), Style::Dim);
    std::iter::once(first).chain(changes.iter().flat_map(of_host)).chain([method]).collect()
}

fn of_host(one: &HostChange) -> Document {
    let HostChange { host, started, run, .. } = one;
    let title = Words { en: format!("{host}  since {started}  {run}"), zh: format!("{host}  自 {started}  {run}") };
    let facts = match one.facts.is_empty() {
        true => vec![Remark::new(fixed(NO_FACT), Style::Dim)],
        false => one.facts.iter().map(|fact| Remark::new(reported(fact), Style::Plain)).collect(),
    };
    let style = |case: &CaseChange| if case.is_worse() { Style::Warning } else { Style::Plain };
    let cases = one.cases.iter().map(|case| Remark::new(line(case), style(case))).collect();
    vec![Block::Part(title), remarks(facts, FEW_FACTS), remarks(cases, FEW_CASES)]
}

/// So many of them for everybody.
fn remarks(mut all: Vec<Remark>, few: usize) -> Block {
    all.iter_mut().skip(few).for_each(|one| one.is_detail = true);
    Block::Remarks(all)
}

pub(crate) fn reported(fact: &Changed) -> Words {
    let Words { en, zh } = moved(fact);
    Words { en: format!("with it: {en}"), zh: format!("同时改变：{zh}") }
}

/// `CPU quota none → 0.3`.
pub(crate) fn moved(fact: &Changed) -> Words {
    let [from, to] = [&fact.from, &fact.to].map(|text| known(&Some(text.clone()).filter(|text| !text.is_empty())));
    Words {
        en: format!("{} {} → {}", fact.label.en, from.en, to.en),
        zh: format!("{} {} → {}", fact.label.zh, from.zh, to.zh),
    }
}

/// `syscall.null  100 ns → 130 ns  +30 % (+28 … +32), 12 and 12 runs`.
fn line(case: &CaseChange) -> Words {
    let [low, high] = case.interval.map(|end| change(end - 1.0));
    let of = change(case.ratio - 1.0);
    let [before, since] = case.runs;
    each(|lang| {
        let [from, to] = [case.before, case.since].map(|number| value(number, case.unit, lang));
        let values = format!("{}  {from} → {to}  {of}", case.case);
        match lang {
            Lang::En => format!("{values} ({low} … {high}), {before} and {since} runs"),
            Lang::Zh => format!("{values}（{low} … {high}），前 {before} 次、后 {since} 次运行"),
        }
    })
}
