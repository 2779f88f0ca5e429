//! Two series beside each other: what the one delivers less than the other, whatever the hour.

use hostmark_analysis::bilingual::{Words, each, fixed, same};
use hostmark_analysis::format::value;
use hostmark_analysis::over_time::{ComparedSubject, SeriesComparison, SeriesVerdict};
use hostmark_model::{Lang, Text};

use super::fleet::change;
use crate::document::{Align, Block, Cell, Column, Document, Row, RowKind, Style, Table};

const METHOD: Text = Text {
    en: "Each block of time that both series have gives one difference of medians; the change is their mean, its 95 % interval what they \
         and the days of a series differ by. Slower or faster: by 5 % or more, false discoveries held to 5 %. Same: within 5 % for certain.",
    zh: "两个序列共有的每个时间块给出一个中位数之差；变化为其平均，95% 区间取自这些差值以及各天之间的差异。变慢或变快：至少 5%，错误发现率不超过 5%。相同：确定在 5% 以内。",
};

/// The whole comparison.
pub(crate) fn compared(all: &SeriesComparison) -> Document {
    let count = |verdict| all.subjects.iter().filter(|one| one.verdict == verdict).count();
    let [slower, faster, equal, open] =
        [SeriesVerdict::Slower, SeriesVerdict::Faster, SeriesVerdict::Same, SeriesVerdict::Undecided].map(count);
    let first = Words {
        en: format!("{slower} slower, {faster} faster, {equal} the same, {open} undecided"),
        zh: format!("变慢 {slower}，变快 {faster}，相同 {equal}，未定 {open}"),
    };
    let ([base, new], [of_base, of_new], blocks) = (&all.hosts, all.turns, all.blocks);
    let about = each(|lang| match (lang, all.by_hour) {
        (Lang::En, true) => {
            format!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} hours of the day")
        }
        (Lang::En, false) => {
            format!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} parts of their time")
        }
        (Lang::Zh, true) => format!("{base}（{of_base} 次）与 {new}（{of_new} 次），按一天中的 {blocks} 个小时"),
        (Lang::Zh, false) => format!("{base}（{of_base} 次）与 {new}（{of_new} 次），按各自时间的 {blocks} 段"),
    });
    let columns = vec![
        Column::named("", "", Align::Left),
        Column::named("base", "基准", Align::Point),
        Column::named("new", "新", Align::Point),
        Column::named("change", "变化", Align::Right),
        Column::named("95 % interval", "95% 区间", Align::Ellipsis),
        Column::named("", "", Align::Left),
    ];
    let rows = all.subjects.iter().map(row).collect();
    vec![
        Block::Title(same("hostmark series")),
        Block::Sentence(first, Style::Heading),
        Block::Sentence(about, Style::Plain),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Sentence(fixed(METHOD), Style::Dim),
    ]
}

fn row(one: &ComparedSubject) -> Row {
    let shown = |number: f64| Cell::from(each(|lang| value(number, one.subject.unit, lang)));
    let [low, high] = one.interval.map(change);
    let (word, kind, style) = match one.verdict {
        SeriesVerdict::Slower => (Text { en: "slower", zh: "变慢" }, RowKind::Worse, Style::Warning),
        SeriesVerdict::Faster => (Text { en: "faster", zh: "变快" }, RowKind::Better, Style::Good),
        SeriesVerdict::Same => (Text { en: "same", zh: "相同" }, RowKind::Equal, Style::Dim),
        SeriesVerdict::Undecided => (Text { en: "undecided", zh: "未定" }, RowKind::None, Style::Dim),
    };
    let cells = vec![
        Cell::from(one.subject.name.clone()),
        shown(one.base),
        shown(one.new),
        Cell::from(same(change(one.change))),
        Cell::from(same(format!("{low} … {high}"))),
        Cell { text: fixed(word), style, ..Cell::default() },
    ];
    Row { kind, id: one.subject.key.clone(), cells, ..Row::default() }
}
