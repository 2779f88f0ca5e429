//! The changes of hosts' values over the runs that are kept of them.

use hostmark_analysis::fleet::{CaseChange, Changed, HostChange};
use hostmark_analysis::format::value;
use hostmark_model::{Lang, Text, counted};

use super::page::{Page, Style};
use crate::RenderOptions;
use crate::views::fleet::change;

/// Cases and facts of a change that are told unless everything is asked for.
const FEW_CASES: usize = 8;
const FEW_FACTS: usize = 6;

const METHOD: Text = Text {
    en: "A change is a step for good in a case's values over at least three runs on each side, so clear that in one of twenty histories one \
         would be by chance, whichever case it was in. Values that drift look like steps.",
    zh: "变化指某用例的数值在两侧各至少三次运行之间发生的持久跳变，其显著程度在二十份历史中仅有一份会偶然出现（不论在哪个用例）。缓慢漂移的数值也会表现为跳变。",
};
const NONE: Text = Text { en: "no value changed for good", zh: "没有数值发生持久变化" };
const SINCE: Text = Text { en: "since", zh: "自" };
const WITH_IT: Text = Text { en: "with it: ", zh: "同时改变：" };
const NO_FACT: Text = Text { en: "no recorded fact changed with it", zh: "没有记录在案的事实同时改变" };
const UNKNOWN: Text = Text { en: "unknown", zh: "未知" };

/// All changes of these many runs; it ends with a line break.
pub(super) fn table(changes: &[HostChange], runs: usize, options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut page = Page::new(options);
    let summary = match (lang, changes.is_empty()) {
        (Lang::En, true) => format!("{}: {}", counted(runs, "run"), NONE.en),
        (Lang::Zh, true) => format!("{runs} 次运行：{}", NONE.zh),
        (Lang::En, false) => format!("{}, {}", counted(runs, "run"), counted(changes.len(), "change")),
        (Lang::Zh, false) => format!("{runs} 次运行，{} 处变化", changes.len()),
    };
    page.paragraph("", &summary, Style::Heading);
    for one in changes {
        page.blank();
        let since = page.say(SINCE);
        page.paragraph("", &format!("{}  {since} {}  {}", one.host, one.started, one.run), Style::Heading);
        let most = if options.verbose { usize::MAX } else { FEW_FACTS };
        for fact in one.facts.iter().take(most) {
            page.paragraph(&format!("  {}", WITH_IT.say(lang)), &told(fact, lang), Style::Plain);
        }
        if one.facts.is_empty() {
            let text = page.say(NO_FACT);
            page.paragraph("  ", text, Style::Dim);
        }
        rest(&mut page, one.facts.len().saturating_sub(most));
        let most = if options.verbose { usize::MAX } else { FEW_CASES };
        for case in one.cases.iter().take(most) {
            let style = if case.is_worse() { Style::Warning } else { Style::Plain };
            page.paragraph("  ", &line(case, lang), style);
        }
        rest(&mut page, one.cases.len().saturating_sub(most));
    }
    page.blank();
    let method = page.say(METHOD);
    page.paragraph("", method, Style::Dim);
    page.into_text()
}

fn told(fact: &Changed, lang: Lang) -> String {
    let known = |text: &str| if text.is_empty() { UNKNOWN.say(lang).to_owned() } else { text.to_owned() };
    format!("{} {} → {}", fact.label.get(lang), known(&fact.from), known(&fact.to))
}

/// `syscall.null  100 ns → 130 ns  +30 % (+28 … +32), 12 and 12 runs`.
fn line(case: &CaseChange, lang: Lang) -> String {
    let shown = |number: f64| value(number, case.unit, lang);
    let [low, high] = case.interval.map(|end| change(end - 1.0));
    let of = change(case.ratio - 1.0);
    let [before, since] = case.runs;
    let values = format!("{}  {} → {}", case.case, shown(case.before), shown(case.since));
    match lang {
        Lang::En => format!("{values}  {of} ({low} … {high}), {before} and {since} runs"),
        Lang::Zh => format!("{values}  {of}（{low} … {high}），前 {before} 次、后 {since} 次运行"),
    }
}

fn rest(page: &mut Page, more: usize) {
    if more > 0 {
        let text = match page.options.lang {
            Lang::En => format!("{more} more with --verbose"),
            Lang::Zh => format!("另有 {more} 项：--verbose"),
        };
        page.paragraph("  ", &text, Style::Dim);
    }
}
