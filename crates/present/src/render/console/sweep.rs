//! Values along an axis: points read across, or down where there are many kinds of value for each point.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{QUIET, Scale, TYPICAL, UNSTEADY, in_scale, other, percent_number, scale_for, value};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::labels::ProbeLabels;
use hostmark_analysis::short_arrays::short_arrays;
use hostmark_analysis::typography::COLON;
use hostmark_analysis::{Spoken, reasons};
use hostmark_model::{AxisKind, CaseRecord, Estimate, FlagKind, Lang, Measured, Outcome, Params, Text, Unit};
use unicode_width::UnicodeWidthStr;

use super::grid::WIDEST_HEADER;
use super::page::{Mark, Page, Piece, Style, gap};
use super::view::View;
use crate::runs::needs_detail;
use crate::words;
use crate::wrap::cut;

/// Values that lie further apart than this have no unit in common that suits them all.
const ONE_SCALE: f64 = 1e4;

/// Mark under a point without a value.
const NOTHING: &str = "–";

/// Largest number of series that have a row of intervals each.
const SERIES_WITH_INTERVALS: usize = 4;

/// A point of the swept axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SweepPoint {
    pub(super) value: String,
    pub(super) label: String,
    /// The group that it belongs to: a level of the memory hierarchy.
    pub(super) group: Option<&'static str>,
}

/// The values at each point, all else being the same.
pub(super) struct Series<'a> {
    pub(super) label: String,
    pub(super) cells: Vec<Option<&'a CaseRecord>>,
    /// Labels beside the values of each point: the lines that a walk touches, and the level that holds them.
    pub(super) lines: Option<Vec<String>>,
}

/// A table of values along an axis.
pub(super) struct Sweep<'a> {
    /// Title of the first column.
    pub(super) title: String,
    pub(super) points: Vec<SweepPoint>,
    pub(super) series: Vec<Series<'a>>,
    pub(super) unit: Unit,
}

/// Cases that differ in one axis alone, by what they have in common.
pub(super) fn lines_along<'a>(cases: &[&'a CaseRecord], axis: &str) -> Vec<(Params, Vec<&'a CaseRecord>)> {
    let mut lines: Vec<(Params, Vec<&CaseRecord>)> = Vec::new();
    let mut places: HashMap<Vec<&(String, String)>, usize> = HashMap::new();
    for case in cases.iter().filter(|case| case.params.get(axis).is_some()) {
        let rest: Vec<&(String, String)> = case.params.0.iter().filter(|(name, _)| name != axis).collect();
        let place = *places.entry(rest).or_insert_with_key(|rest| {
            lines.push((Params(rest.iter().copied().cloned().collect()), Vec::new()));
            lines.len() - 1
        });
        lines[place].1.push(case);
    }
    lines
}

/// The points of `axis` that the cases stand at: numbers ascending, names behind them as they come.
pub(super) fn points(labels: &ProbeLabels, axis: &str, cases: &[&CaseRecord], lang: Lang) -> Vec<SweepPoint> {
    let mut seen: HashSet<&str> = HashSet::new();
    let of_axis = cases.iter().filter_map(|case| case.params.get(axis));
    let mut values: Vec<&str> = of_axis.filter(|value| seen.insert(value)).collect();
    let kind = labels.kind(axis);
    // A choice of numbers and a word or two, as delays and "idle", is read in the order of the numbers too.
    let numbers = values.iter().filter(|value| value.parse::<u64>().is_ok()).count();
    if labels.is_numeric(axis) || 2 * numbers > values.len() {
        values.sort_by_key(|value| value.parse::<u64>().unwrap_or(u64::MAX));
    }
    let label = |value: &str| match kind {
        AxisKind::Size => short_size(value),
        _ => labels.value(axis, value).get(lang).to_owned(),
    };
    let point = |value: &&str| {
        let label = cut(&visible(&label(value)), WIDEST_HEADER);
        SweepPoint { value: (*value).to_owned(), label, group: None }
    };
    values.iter().map(point).collect()
}

/// `4K`, `1.5M`, `1G`: a size where the columns are narrow, in the letters that `--set` takes (2^10 …).
pub(super) fn short_size(value: &str) -> String {
    let Ok(bytes) = value.parse::<u64>() else { return value.to_owned() };
    for (size, letter) in [(1u64 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')] {
        if bytes >= size {
            return match bytes % size {
                0 => format!("{}{letter}", bytes / size),
                // Two digits tell neighbouring points apart.
                _ if bytes >= 10 * size => format!("{:.0}{letter}", bytes as f64 / size as f64),
                _ => format!("{:.1}{letter}", bytes as f64 / size as f64),
            };
        }
    }
    bytes.to_string()
}

/// A line of cases as cells of the points.
pub(super) fn cells<'a>(points: &[SweepPoint], axis: &str, cases: &[&'a CaseRecord]) -> Vec<Option<&'a CaseRecord>> {
    // Of two at one point the first counts.
    let at: HashMap<Option<&str>, &CaseRecord> =
        cases.iter().rev().map(|case| (case.params.get(axis), *case)).collect();
    points.iter().map(|point| at.get(&Some(point.value.as_str())).copied()).collect()
}

/// Splits `count` columns into as many banks as the width asks for, as alike in width as they can be: no column stands alone under a full
/// line. `end` says where a bank ends that begins at a column and may fill a width.
pub(super) fn even_banks(width: usize, count: usize, end: impl Fn(usize, usize) -> usize) -> Vec<Range<usize>> {
    let banks = |width: usize| {
        let (mut banks, mut from) = (Vec::new(), 0);
        while from < count {
            let to = end(width, from);
            banks.push(from..to);
            from = to;
        }
        banks
    };
    let fewest = banks(width).len();
    // The narrowest width that still gives so few: a wider one never gives more.
    let (mut too_narrow, mut enough) = (0, width);
    while too_narrow + 1 < enough {
        let middle = (too_narrow + enough) / 2;
        if banks(middle).len() <= fewest { enough = middle } else { too_narrow = middle }
    }
    banks(enough)
}

/// The scale that suits all of these values; none when they lie too far apart.
fn scale_of(values: impl Iterator<Item = f64>, unit: Unit) -> Option<Scale> {
    let mut values: Vec<f64> = values.map(f64::abs).filter(|value| value.is_finite() && *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let (first, last) = (values.first()?, values.last()?);
    (last / first < ONE_SCALE).then(|| scale_for(values[values.len() / 2], unit))
}

impl<'a> Sweep<'a> {
    fn cases(&self) -> impl Iterator<Item = &'a CaseRecord> {
        self.series.iter().flat_map(|series| series.cells.iter().flatten().copied())
    }

    /// A case's value in the unit of the table.
    fn estimate(&self, case: Option<&'a CaseRecord>) -> Option<Cow<'a, Estimate>> {
        let measured = case?.measured()?;
        let cycles = measured.in_cycles().filter(|_| self.unit == Unit::CoreCycles);
        Some(cycles.unwrap_or(Cow::Borrowed(&measured.estimate)))
    }

    /// Half of a value's interval over the value.
    pub(super) fn half_width(&self, cell: Option<&'a CaseRecord>) -> Option<f64> {
        self.estimate(cell)?.relative_half_width()
    }

    /// The scale that suits all values; none when they lie too far apart.
    pub(super) fn scale(&self) -> Option<Scale> {
        scale_of(self.cases().filter_map(|case| Some(self.estimate(Some(case))?.value())), self.unit)
    }

    /// Name of the numbers' unit, when there is one for all.
    pub(super) fn unit_name(&self, view: &View) -> &'static str {
        self.scale().map_or("", |scale| view.say(scale.suffix))
    }

    pub(super) fn text(
        &self,
        view: &View,
        page: &mut Page,
        scale: Option<Scale>,
        cell: Option<&'a CaseRecord>,
    ) -> Piece {
        let Some(case) = cell else {
            page.marks.insert(Mark::NotPlanned);
            return Piece::new("·", Style::Dim);
        };
        let Some(measured) = case.measured() else {
            return match case.outcome {
                Outcome::Failed { .. } => Piece::new(view.say(words::FAIL), Style::Bad),
                _ => Piece::new(view.say(words::SKIP), Style::Dim),
            };
        };
        let estimate = self.estimate(cell);
        let led = estimate.as_ref().map_or(f64::NAN, |estimate| estimate.value());
        let is_unsteady = estimate.is_some_and(|estimate| estimate.is_unsteady());
        let mut text = scale.map_or_else(|| value(led, self.unit, view.lang), |scale| in_scale(led, scale));
        let mut style = Style::Plain;
        for flag in measured.flags.iter().filter(|flag| !view.shown_once.contains(&flag.kind)) {
            style = Style::Warning;
            let is_about = matches!(flag.kind, FlagKind::Unconfirmed | FlagKind::SmallBuffer);
            if is_about && !text.starts_with('≈') {
                page.marks.insert(Mark::About);
                text = format!("≈{text}");
            } else if !is_about && !text.ends_with('!') {
                text.push('!');
            }
        }
        if is_unsteady && !text.ends_with('!') {
            style = Style::Warning;
            text.push('!');
        }
        Piece::new(text, style)
    }

    /// Tells whether a value's interval is wide enough to be shown.
    pub(super) fn shows_interval(&self, view: &View, case: &'a CaseRecord) -> bool {
        self.half_width(Some(case)).is_some_and(|half| view.verbose || half > view.target)
    }

    /// Writes the sweep with its points across, in as many banks as the width asks for.
    pub(super) fn write_across(&self, view: &View, page: &mut Page) {
        let scale = self.scale();
        let mut rows: Vec<(Piece, Vec<Piece>)> = Vec::new();
        for series in &self.series {
            let cells = series.cells.iter().map(|cell| self.text(view, page, scale, *cell)).collect();
            rows.push((Piece::plain(&series.label), cells));
            if let Some(lines) = &series.lines {
                let label = Piece::new(format!("  {}", view.say(words::LINES)), Style::Dim);
                rows.push((label, lines.iter().map(|text| Piece::new(text, Style::Dim)).collect()));
            }
        }
        rows.extend(self.time_rows(view));
        rows.extend(self.other_rows(view, scale));
        rows.extend(self.interval_rows(view));
        let labels = rows.iter().map(|(label, _)| label.width()).chain([self.title.as_str().width()]);
        let label_width = labels.max().unwrap_or(0).min(page.width * 2 / 5);
        let widths: Vec<usize> = (0..self.points.len())
            .map(|index| {
                let cells = rows.iter().map(|(_, cells)| cells.get(index).map_or(0, Piece::width));
                let begins = self.begins_group(index, 0);
                let group =
                    self.points[index].group.filter(|_| begins).map_or(0, |name| name.width().saturating_sub(1));
                cells.chain([self.points[index].label.as_str().width(), group]).max().unwrap_or(0)
            })
            .collect();
        let end = |width, from| self.bank_end(width, label_width, &widths, from);
        for bank in even_banks(page.width, widths.len(), end) {
            self.write_bank(page, &rows, label_width, &widths, bank);
        }
        self.write_remarks(view, page);
    }

    /// Label of a row under the values of a series.
    fn named(&self, name: &str, series: &Series) -> String {
        if self.series.len() == 1 { format!("  {name}") } else { format!("{name} {}", series.label.trim()) }
    }

    /// Times of values in cycles, under all of them: a row for each series.
    fn time_rows(&self, view: &View) -> Vec<(Piece, Vec<Piece>)> {
        if self.unit != Unit::CoreCycles {
            return Vec::new();
        }
        let time = |case: &CaseRecord| Some(case.measured()?.estimate.value());
        let Some(scale) = scale_of(self.cases().filter_map(time), Unit::Nanoseconds) else { return Vec::new() };
        let cell = |cell: &Option<&CaseRecord>| {
            let text = cell.and_then(time).map(|time| in_scale(time, scale));
            Piece::new(text.as_deref().unwrap_or(NOTHING), Style::Dim)
        };
        let row = |series: &Series| {
            (
                Piece::new(self.named(view.say(scale.suffix), series), Style::Dim),
                series.cells.iter().map(cell).collect(),
            )
        };
        self.series.iter().map(row).collect()
    }

    /// Values of the other estimator, by name, under all values: a row for each series in which one differs.
    fn other_rows(&self, view: &View, scale: Option<Scale>) -> Vec<(Piece, Vec<Piece>)> {
        let row = |(label, cells): (String, Vec<Option<String>>)| {
            let pieces = cells.iter().map(|text| Piece::new(text.as_deref().unwrap_or(NOTHING), Style::Dim)).collect();
            (Piece::new(label, Style::Dim), pieces)
        };
        self.others(view, scale).into_iter().map(row).collect()
    }

    /// The other estimator's values of each series in which they are something else somewhere, under its name, by point.
    fn others(&self, view: &View, scale: Option<Scale>) -> Vec<(String, Vec<Option<String>>)> {
        let other_of = |cell: &Option<&CaseRecord>| other(&*self.estimate(*cell)?);
        let of_series = |series: &Series| -> Vec<(String, Vec<Option<String>>)> {
            let others: Vec<Option<(Text, f64)>> = series.cells.iter().map(other_of).collect();
            let row = |name: Text| {
                let of_name = others.iter().map(|other| other.filter(|(of, _)| *of == name));
                let text = |(_, number)| match scale {
                    Some(scale) => in_scale(number, scale),
                    None => value(number, self.unit, view.lang),
                };
                let label = self.named(view.say(name), series);
                let cells: Vec<Option<String>> = of_name.map(|other| other.map(text)).collect();
                cells.iter().any(Option::is_some).then_some((label, cells))
            };
            [TYPICAL, QUIET].into_iter().filter_map(row).collect()
        };
        self.series.iter().flat_map(of_series).collect()
    }

    /// The same in lines, under a table that has no room for them: `quiet stride 64: 8M 15.5, 16M 17.0`.
    pub(super) fn write_others(&self, view: &View, page: &mut Page) {
        for (label, cells) in self.others(view, self.scale()) {
            let known = self.points.iter().zip(cells).filter_map(|(point, cell)| Some((&point.label, cell?)));
            let known: Vec<String> = known.map(|(point, cell)| format!("{point} {cell}")).collect();
            let text = format!("{}{}{}", label.trim(), view.say(COLON), known.join(view.say(words::COMMA)));
            page.paragraph("    ", &text, Style::Dim);
        }
    }

    /// The intervals, under all values, so that these can be compared line by line: a row for each series that has a wide
    /// one, or the widest of each point where the series are many.
    fn interval_rows(&self, view: &View) -> Vec<(Piece, Vec<Piece>)> {
        let row = |label: String, halves: Vec<Option<f64>>| {
            let text = |half: Option<f64>| Piece::new(half.map_or(NOTHING.to_owned(), percent_number), Style::Dim);
            (Piece::new(label, Style::Dim), halves.into_iter().map(text).collect())
        };
        let is_wide = |series: &&Series| series.cells.iter().flatten().any(|case| self.shows_interval(view, case));
        if self.series.len() > SERIES_WITH_INTERVALS && self.series.iter().any(|series| is_wide(&series)) {
            let widest = (0..self.points.len()).map(|index| self.widest(index)).collect();
            return vec![row(view.say(words::PLUS_MINUS_MOST).to_owned(), widest)];
        }
        let sign = view.say(words::PLUS_MINUS);
        let of_series = |series: &Series| {
            row(self.named(sign, series), series.cells.iter().map(|cell| self.half_width(*cell)).collect())
        };
        self.series.iter().filter(is_wide).map(of_series).collect()
    }

    /// The widest interval at a point.
    pub(super) fn widest(&self, index: usize) -> Option<f64> {
        self.series.iter().filter_map(|series| self.half_width(series.cells[index])).max_by(f64::total_cmp)
    }

    pub(super) fn begins_group(&self, index: usize, first: usize) -> bool {
        let group = |index: usize| self.points.get(index).and_then(|point| point.group);
        group(index).is_some() && (index == first || group(index) != group(index.wrapping_sub(1)))
    }

    /// Columns that a point takes with what parts it from the one before.
    fn taken(&self, widths: &[usize], index: usize, first: usize) -> usize {
        widths[index] + if self.begins_group(index, first) { 4 } else { 2 }
    }

    fn bank_end(&self, width: usize, label_width: usize, widths: &[usize], from: usize) -> usize {
        let mut used = 2 + label_width;
        let mut to = from;
        while to < widths.len() {
            used += self.taken(widths, to, from);
            if used > width && to > from {
                break;
            }
            to += 1;
        }
        to
    }

    fn write_bank(
        &self,
        page: &mut Page,
        rows: &[(Piece, Vec<Piece>)],
        label_width: usize,
        widths: &[usize],
        bank: Range<usize>,
    ) {
        let first = bank.start;
        if bank.clone().any(|index| self.points[index].group.is_some()) {
            let mut line = vec![gap(2 + label_width)];
            for index in bank.clone() {
                let taken = self.taken(widths, index, first);
                match self.points[index].group.filter(|_| self.begins_group(index, first)) {
                    Some(name) => {
                        line.push(Piece::new(format!(" │ {name}"), Style::Dim));
                        line.push(gap(taken.saturating_sub(3 + name.width())));
                    }
                    None => line.push(gap(taken)),
                }
            }
            page.line(&line);
        }
        let head = bank.clone().map(|index| Piece::new(&self.points[index].label, Style::Dim)).collect::<Vec<_>>();
        let title = Piece::new(&self.title, Style::Dim);
        let rows = rows.iter().map(|(label, cells)| (label, &cells[bank.clone()]));
        // Of a row that says something in another bank alone nothing stands here.
        let says_something = |(_, cells): &(&Piece, &[Piece])| cells.iter().any(|cell| cell.text != NOTHING);
        let all = std::iter::once((&title, head.as_slice())).chain(rows.filter(says_something));
        for (label, cells) in all {
            let lead = label.text.len() - label.text.trim_start().len();
            let mut parts = crate::wrap::wrap(label.text.trim_start(), label_width.saturating_sub(lead));
            let last = parts.pop().unwrap_or_default();
            for text in parts {
                page.line(&[gap(2 + lead), Piece { text, style: label.style }]);
            }
            let room = label_width.saturating_sub(lead + last.as_str().width());
            let mut line = vec![gap(2 + lead), Piece { text: last, style: label.style }, gap(room)];
            for (index, cell) in bank.clone().zip(cells) {
                let begins = self.begins_group(index, first);
                line.push(if begins { Piece::new(" │ ", Style::Dim) } else { gap(2) });
                line.push(gap((widths[index] + usize::from(begins)).saturating_sub(cell.width())));
                line.push(cell.clone());
            }
            page.line(&line);
        }
    }

    /// The flags of the cells, by kind, each with the cells that carry it.
    pub(super) fn write_remarks(&self, view: &View, page: &mut Page) {
        /// Cells that are named; the rest is counted.
        const NAMED: usize = 6;
        let cells = self.series.iter().flat_map(|series| {
            let name = |point: &SweepPoint| format!("{} {}", series.label.trim(), point.label);
            let cells = self.points.iter().zip(&series.cells);
            cells.filter_map(move |(point, case)| Some((case.and_then(CaseRecord::measured)?, name(point))))
        });
        let cells: Vec<(&Measured, String)> = cells.collect();
        let flags = cells.iter().flat_map(|(measured, name)| {
            let flags = measured.flags.iter().filter(|flag| !view.shown_once.contains(&flag.kind));
            flags.map(move |flag| (flag.kind, (name.as_str(), flag)))
        });
        let kinds = grouped(flags);
        let shorts =
            grouped(cells.iter().filter_map(|(measured, name)| {
                Some((short_arrays(measured)?.get(view.lang).to_owned(), name.as_str()))
            }));
        let scale = self.scale();
        let unstable = self.series.iter().flat_map(|series| {
            self.points.iter().zip(&series.cells).filter_map(|(point, case)| {
                let estimate = self.estimate(*case)?;
                let range = estimate.shown_range().filter(|_| estimate.is_unsteady())?;
                let [low, high] = range.map(|end| match scale {
                    Some(scale) => in_scale(end, scale),
                    None => value(end, self.unit, view.lang),
                });
                Some(format!("{} {} {low} … {high}", series.label.trim(), point.label).trim_start().to_owned())
            })
        });
        let some = |names: &[&str]| {
            let (first, more) = names.split_at(names.len().min(NAMED));
            let more = if more.is_empty() { String::new() } else { format!(" +{}", more.len()) };
            format!("{}{}{more}", view.say(COLON), first.join(view.say(words::COMMA)))
        };
        let unstable: Vec<String> = unstable.collect();
        if !unstable.is_empty() {
            let names: Vec<&str> = unstable.iter().map(String::as_str).collect();
            let text = format!("{}{}", UNSTEADY.get(view.lang), some(&names));
            page.paragraph("    ! ", &text, Style::Warning);
        }
        for (short, names) in shorts {
            let text = format!("{short}{}{}", view.say(COLON), names.join(view.say(words::COMMA)));
            page.paragraph("    ! ", &text, Style::Warning);
        }
        let mut cells = self.series.iter().flat_map(|series| &series.cells).flatten();
        if let Some(cut) = cells.find_map(|case| (view.split_huge_pages)(case)) {
            page.paragraph("    ! ", &format!("DRAM{}{}", view.say(COLON), cut.get(view.lang)), Style::Warning);
        }
        for (kind, flags) in kinds {
            let names: Vec<&str> = flags.iter().map(|(name, _)| *name).collect();
            let mut text = format!("{}{}", view.say(words::flag(kind)), some(&names));
            let detail = view.run.typed_text(&reasons::localized(flags[0].1.sentence(), view.lang));
            if needs_detail(kind) && !detail.is_empty() {
                text.push_str(&format!(" ({detail})"));
            }
            page.paragraph("    ! ", &text, Style::Warning);
        }
    }
}
