//! One side against another: what differs, a forest plot of the changes, and every case.

pub(super) mod words;

use hostmark_analysis::compare::{Against, CaseComparison, Comparison, GroupChange, Side, Verdict};
use hostmark_analysis::constants::{Constant, LINES};
use hostmark_model::{Message, Text};
use hostmark_say::say;

use crate::chart::scale::{ScaleKind, change};
use crate::chart::{Rows, ValueRow};
use crate::document::{
    Align, Block, Cell, Chart, Column, Document, Drawing, FoldedRows, NamedParty, Remark, Row, RowKind, Style, Table,
    TableLayout, Tally, TallyReason,
};

/// Number of cases up to which all are shown; of more only those that changed, unless everything is asked for.
const FEW_CASES: usize = 24;

const SETUP: Text = term!("Setup");
const DIFFERS: Text = term!("Differs");
const CASES: Text = term!("Cases");
const FIGURES: Text = term!("Key figures");
const NOT_COMPARABLE: Text = term!("Not comparable");
const REST: Text = term!("All other cases");
const BASE: Text = term!("base");
const NEW: Text = term!("new", "comparison");
const FACT: Text = term!("fact");
const GROUP: Text = term!("group");
const CASE: Text = term!("case");
const COUNT: Text = term!("cases", "comparison");
const COST: Text = term!("by time");
const CHANGE: Text = term!("change");
const INTERVAL: Text = term!("adjusted interval");
const VERDICT: Text = term!("verdict");
const UNKNOWN: Text = term!("not known");

/// A document for each of the new sides.
pub(crate) fn comparison(comparison: &Comparison) -> Vec<Document> {
    comparison.new.iter().map(|against| document(&comparison.base, against)).collect()
}

fn document(base: &Side, against: &Against) -> Document {
    let title = say!("{new} against {base}", new = against.side.name, base = base.name);
    let mut said = against.said.iter().map(Message::from);
    // A trial has its own verdict.
    let first = said.next().unwrap_or_else(|| words::verdict(against));
    let mut blocks: Document = vec![Block::Title(title), Block::Sentence(first, Style::Heading)];
    let hints = words::one_run(base, against).into_iter().map(|text| Remark::new(text, Style::Plain));
    blocks.push(Block::Remarks(hints.collect()));
    blocks.push(Block::Conclusion(words::summary(against)));
    blocks.push(Block::Named(vec![named(BASE, base), named(NEW, &against.side)]));
    blocks.extend(key_figures(against).map(Block::Table));
    differs(against, &mut blocks);
    blocks.extend(forest(against).map(|chart| Block::Charts(vec![chart])));
    blocks.extend(words::together(against).map(|part| Block::Table(groups(against, part))));
    blocks.extend(cases(against).map(Block::Table));
    blocks.extend(not_comparable(against).map(Block::Tally));
    blocks.push(Block::Method(words::method(against)));
    blocks.extend(said.map(|text| Block::Sentence(text, Style::Plain)));
    blocks
}

fn named(role: Text, side: &Side) -> NamedParty {
    NamedParty {
        role: role.into(),
        name: side.name.clone(),
        facts: words::of_side(side),
        warnings: side.disturbances.iter().map(Message::from).collect(),
    }
}

/// Title above facts that differ, with the number of equal ones.
pub(super) fn differing(differ: usize, same: usize) -> (Message, Message) {
    match differ {
        0 => (SETUP.into(), say!("identical ({same} facts compared)")),
        _ => (DIFFERS.into(), say!("same: {same} other facts")),
    }
}

pub(super) fn known(value: &Option<String>) -> Message {
    value.as_ref().map_or_else(|| UNKNOWN.into(), Message::plain)
}

fn differs(against: &Against, blocks: &mut Document) {
    let (title, remark) = differing(against.differs.len(), against.same);
    blocks.push(Block::Heading(title, remark));
    let known = |value| known(value).into();
    let rows = against
        .differs
        .iter()
        .map(|one| Row { cells: vec![(&one.label).into(), known(&one.base), known(&one.new)], ..Row::default() });
    let columns = [FACT, BASE, NEW].map(|head| Column::new(head, Align::Left));
    let table =
        Table {
            columns: columns.into(), rows: rows.collect(), layout: TableLayout::Lines(" → "), ..Table::default()
        };
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    if !against.warnings.is_empty() {
        blocks.push(Block::Warnings(against.warnings.iter().map(Message::from).collect()));
    }
}

/// Changes of each group's cases together, or of each table's.
fn groups(against: &Against, (title, groups): (Text, &[GroupChange])) -> Table {
    let row = |group: &GroupChange| {
        let (change, interval, verdict) = words::group_cells(group);
        let remarks = words::group_remarks(group, against).into_iter();
        Row {
            kind: kind(group.verdict),
            cells: vec![
                (&group.title).into(),
                Message::plain(group.cases.to_string()).into(),
                Message::plain(change).into(),
                Message::plain(interval).into(),
                verdict_cell(verdict, group.verdict),
            ],
            remarks: remarks.map(|text| Remark::new(text, Style::Warning)).collect(),
            ..Row::default()
        }
    };
    let mut columns = vec![
        Column::new(GROUP, Align::Left),
        Column::new(COUNT, Align::Right),
        Column::new(COST, Align::Right),
        Column::new(INTERVAL, Align::Ellipsis),
        Column::new(VERDICT, Align::Left),
    ];
    columns[2].is_value = true;
    Table { title: title.into(), columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}

/// Key figures of which both sides have a value, in their order, with the factor: also those of levels of different caches.
fn key_figures(against: &Against) -> Option<Table> {
    let all = LINES.iter().flat_map(|line| line.constants);
    let case = |figure: &'static Constant| {
        let is_it = |case: &&CaseComparison| case.figure == Some(figure.row) && words::cost(case).is_some();
        against.cases.iter().find(is_it)
    };
    let shown = |case: &CaseComparison| {
        let Row { mut cells, kind, .. } = row(case);
        let times = words::cost(case).map_or_else(String::new, |cost| words::times(cost) + "x");
        cells[0] = case.figure.map(Message::from).unwrap_or_default().into();
        cells[3] = Message::plain(times).into();
        cells.push(verdict_cell(words::figure_verdict(case), case.verdict));
        Row { cells, kind, ..Row::default() }
    };
    let rows: Vec<Row> = all.filter_map(case).map(shown).collect();
    let mut columns = Vec::from(columns());
    columns[3].head = term!("time, <1 faster").into();
    columns.push(Column::new(VERDICT, Align::Left));
    (!rows.is_empty()).then(|| Table { title: FIGURES.into(), columns, rows, ..Table::default() })
}

/// Cases with a verdict, the greatest changes first; those without a difference in the catalogue's order, where neighbours are related.
fn cases(against: &Against) -> Option<Table> {
    let mut cases: Vec<&CaseComparison> =
        against.cases.iter().filter(|case| case.verdict != Verdict::NotComparable).collect();
    let size = |case: &CaseComparison| match case.verdict {
        Verdict::Same | Verdict::Inconclusive => 0.0,
        _ => case.shown_change().map_or(0.0, |change| change.ln_1p().abs()),
    };
    cases.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(size(b).total_cmp(&size(a))));
    let mut columns = Vec::from(columns());
    columns.push(Column::new(INTERVAL, Align::Ellipsis));
    columns.push(Column::new(VERDICT, Align::Left));
    let count = |verdict: Verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    let (same, open) = (count(Verdict::Same), count(Verdict::Inconclusive));
    let left_out = say!("not shown: {same} same, {open} cannot tell");
    let clock = against.clock.iter().map(|clock| Row { is_rest: false, ..judged(clock) });
    let rows: Vec<Row> = clock.chain(cases.into_iter().map(judged)).collect();
    let rest = FoldedRows { title: REST.into(), left_out, few: FEW_CASES };
    (!rows.is_empty()).then(|| Table { title: CASES.into(), columns, rows, rest: Some(rest), ..Table::default() })
}

/// The columns of a case, of both sides and its change.
fn columns() -> [Column; 4] {
    let mut columns = [(CASE, Align::Left), (BASE, Align::Point), (NEW, Align::Point), (CHANGE, Align::Right)]
        .map(|(head, align)| Column::new(head, align));
    columns[3].is_value = true;
    columns
}

fn judged(case: &CaseComparison) -> Row {
    let mut row = row(case);
    row.cells.push(Message::plain(words::change(case).1).into());
    row.cells.push(verdict_cell(words::verdict_text(case), case.verdict));
    row.remarks.extend(case.remarks.iter().map(|remark| Remark::new(remark, Style::Warning)));
    row.remarks.extend(words::grounds(case).map(|text| Remark { text, style: Style::Dim, is_detail: true }));
    Row { is_rest: !words::is_change(case.verdict), ..row }
}

/// A case with both values and its change.
fn row(case: &CaseComparison) -> Row {
    let [base, new] = words::values(case).map(Cell::from);
    let key = case.effect.as_ref().map(|effect| (effect.ratio - 1.0) * 100.0);
    let change = Cell { text: words::change(case).0.into(), key, ..Cell::default() };
    Row {
        kind: kind(case.verdict),
        id: case.typed().to_owned(),
        section: case.section.clone().into(),
        cells: vec![words::label(case).into(), base, new, change],
        remarks: words::others(case)
            .map(|text| Remark::new(text, Style::Dim))
            .into_iter()
            .chain(words::flags(case).map(|text| Remark::new(text, Style::Warning)))
            .collect(),
        ..Row::default()
    }
}

/// Cases without a verdict, by their reason; those of which both sides have a value with their ratio.
fn not_comparable(against: &Against) -> Option<Tally> {
    let reason = |(text, cases): (&Text<String>, Vec<&CaseComparison>)| TallyReason {
        text: text.clone().into(),
        is_open: cases.iter().any(|case| case.reason.as_ref().is_some_and(|reason| reason.is_open)),
        rows: cases.into_iter().map(row).collect(),
    };
    let reasons: Vec<TallyReason> = words::reasons(against).into_iter().map(reason).collect();
    (!reasons.is_empty()).then(|| Tally { title: NOT_COMPARABLE.into(), columns: columns().into(), reasons })
}

fn kind(verdict: Verdict) -> RowKind {
    match verdict {
        Verdict::Slower => RowKind::Worse,
        Verdict::Faster => RowKind::Better,
        Verdict::Changed | Verdict::ChangedShape => RowKind::Changed,
        Verdict::Same | Verdict::Inconclusive | Verdict::NotComparable => RowKind::Equal,
    }
}

fn verdict_cell(text: Message, verdict: Verdict) -> Cell {
    let style = match kind(verdict) {
        RowKind::Worse | RowKind::Failed => Style::Bad,
        RowKind::Better | RowKind::Changed => Style::Warning,
        RowKind::None | RowKind::Equal => Style::Plain,
    };
    Cell { text, style, sign: sign(verdict), ..Cell::default() }
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "▼",
        Verdict::Faster => "▲",
        Verdict::Changed => "◆",
        Verdict::ChangedShape => "◇",
        Verdict::Same => "=",
        Verdict::Inconclusive => "?",
        Verdict::NotComparable => "–",
    }
}

/// Rows of a forest plot: so many changes at most, and so many rows at least where there are cases without a change.
const MOST_CHANGES: usize = 40;
const LEAST_ROWS: usize = 12;

/// Size of a change: equal for a half and for twice.
fn size(case: &CaseComparison) -> f64 {
    case.effect.as_ref().map_or(0.0, |effect| effect.ratio.ln().abs())
}

/// Colour and shape of a verdict in the plot; they are named below it in this order.
fn style(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Slower => 1,
        Verdict::Faster => 2,
        Verdict::Changed | Verdict::ChangedShape => 3,
        Verdict::Inconclusive => 4,
        Verdict::Same | Verdict::NotComparable => 0,
    }
}

/// The changes of all cases with an interval, the greatest first; none where there is no such case.
fn forest(against: &Against) -> Option<Chart> {
    let known = |case: &&CaseComparison| case.effect.as_ref().is_some_and(|effect| effect.test.is_some());
    let mut cases: Vec<&CaseComparison> = against.cases.iter().filter(known).collect();
    cases.sort_by(|a, b| {
        let is_equal = |case: &CaseComparison| !words::is_change(case.verdict);
        is_equal(a).cmp(&is_equal(b)).then(size(b).total_cmp(&size(a)))
    });
    let changed = cases.iter().filter(|case| words::is_change(case.verdict)).count();
    let (all, shown) = (cases.len(), changed.clamp(LEAST_ROWS, MOST_CHANGES).min(cases.len()));
    cases.truncate(shown);
    let row = |case: &&CaseComparison| {
        let effect = case.effect.as_ref()?;
        let test = effect.test.as_ref()?;
        let verdict = words::verdict_word(case.verdict);
        let sign = sign(case.verdict);
        let shown = change(effect.ratio);
        let interval = format!("{} … {}", change(test.low), change(test.high));
        Some(ValueRow {
            label: words::label(case),
            remark: Message::joined([Message::plain(format!("{shown} {sign}")), verdict.into()], " "),
            value: effect.ratio,
            interval: Some((test.low, test.high)),
            style: style(case.verdict),
            reading: Message::joined([Message::plain(format!("{shown} [{interval}]")), verdict.into()], " "),
        })
    };
    let styles = [Verdict::Same, Verdict::Slower, Verdict::Faster, Verdict::Changed, Verdict::Inconclusive];
    let chart = Rows {
        x_title: term!("new against base, %").into(),
        x: ScaleKind::Change,
        rows: cases.iter().filter_map(row).collect(),
        styles: styles.into_iter().map(|verdict| words::verdict_word(verdict).into()).collect(),
    };
    let note = (shown < all)
        .then(|| say!("{shown} of {all} cases, the greatest changes first; all stand in the table below."));
    let title = term!("Changes with their intervals").into();
    (shown > 0).then_some(Chart { title, note, drawing: Drawing::Rows(chart) })
}
