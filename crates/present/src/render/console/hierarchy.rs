//! The block MEMORY HIERARCHY: a level a row, with its size, latency and bandwidths.

use hostmark_analysis::Spoken;
use hostmark_analysis::format::{agreement, number, other_value, plus_minus, value};
use hostmark_analysis::levels::{HIERARCHY, LEVELS, Level, UNNAMED, bracket_of, is_unnamed, last_cache_size};
use hostmark_analysis::typography::COLON;
use hostmark_model::{CaseRecord, Estimate, FlagKind, Lang, Measured, Run, Unit, size_text};
use hostmark_say::say;
use hostmark_stats::capacity::Bracket;

use super::grid::{Align, Grid, GridRow};
use super::memory::{BANDWIDTHS, LATENCY};
use super::page::{Mark, Page, Piece, Style};
use super::remarks::{reason_rows, remarks};
use super::view::{Shown, View};
use crate::words;

const COPY: &str = "memory.copy";

/// A best round that is this much better than the value stands beside it.
const BEST_ROUND_GAP: f64 = 0.05;

struct LevelRow<'a> {
    label: String,
    size: String,
    case: &'a CaseRecord,
    measured: &'a Measured,
    bandwidths: [Option<&'a CaseRecord>; 3],
    notes: Vec<Piece>,
}

/// Writes the block when the run has one.
pub(super) fn write<'a>(view: &View<'a>, page: &mut Page, shown: &mut Shown<'a>) {
    let cases = view.cases_of(HIERARCHY);
    if cases.is_empty() {
        return;
    }
    shown.extend(cases.iter().map(|case| case.id.as_str()));
    let mut lines: Vec<LevelRow> = Vec::new();
    for case in &cases {
        if let Some(measured) = case.measured() {
            lines.push(level_line(view, page, case, measured));
        }
    }
    lines.extend(other_page_line(view));

    let mut grid = Grid::new();
    grid.row(GridRow::Heading(Piece::new(view.say(words::HIERARCHY), Style::Heading)));
    let has_cycles = lines.iter().any(|line| line.measured.also.contains_key(Measured::CYCLES));
    let columns: Vec<usize> = (0..3).filter(|c| lines.iter().any(|line| line.bandwidths[*c].is_some())).collect();
    grid.column(view.say(words::SIZE), Align::Right);
    if has_cycles {
        grid.column(view.say(words::CYCLES), Align::Point);
    }
    grid.column(view.say(words::LATENCY_COLUMN), Align::Point);
    for (nth, column) in columns.iter().enumerate() {
        let name = view.say(BANDWIDTHS[*column].1);
        grid.column(&if nth == 0 { format!("{name} GB/s") } else { name.to_owned() }, Align::Point);
    }
    for mut line in lines {
        let others = columns.iter().filter_map(|column| other_bandwidth(view, line.bandwidths[*column]?, *column));
        line.notes.extend(others);
        let mut cells = vec![Piece::plain(&line.label), Piece::plain(&line.size)];
        if has_cycles {
            let cycles = line.measured.companion(Measured::CYCLES);
            // Of what is shared the interval of the time is that of the cycles.
            let sure = line.measured.in_cycles().map_or_else(String::new, |cycles| interval(view, &cycles));
            let shown = |cycles: &Estimate| format!("{}{sure}", number(cycles.value()));
            cells.push(Piece::plain(cycles.as_deref().map_or("–".to_owned(), shown)));
        }
        cells.push(latency_cell(view, line.case, line.measured));
        for column in &columns {
            cells.push(bandwidth_cell(view, page, line.bandwidths[*column]));
        }
        grid.row(GridRow::Cells(cells, line.notes));
    }
    reason_rows(view, &cases).into_iter().for_each(|row| grid.row(row));
    grid.write(page);
    write_structure(view, page);
    reported_caches(view, page);
}

fn level_line<'a>(view: &View<'a>, page: &mut Page, case: &'a CaseRecord, measured: &'a Measured) -> LevelRow<'a> {
    let key = case.params.get("level").unwrap_or(&case.id);
    let level = Level::of(key);
    let bracket = bracket_of(case);
    let reported = level.and_then(|level| level.reported(view.run)).map(|cache| cache.size_bytes as f64);
    let mut notes = Vec::new();
    let contradicts =
        |reported: &f64| bracket.is_some_and(|bracket| bracket.is_over(*reported) || bracket.is_under(*reported));
    let differ = reported.filter(contradicts);
    if let Some(reported) = differ {
        let mut says = format!("{} {}", view.say(words::REPORTS), value(reported, Unit::Bytes, view.lang));
        if bracket.is_some_and(|bracket| bracket.is_under(reported)) {
            says += &format!("{}{}", view.say(COLON), view.say(words::REST));
        }
        notes.push(Piece::new(says, Style::Warning));
    }
    notes.extend(level_remarks(view, case, measured, differ.is_some()));
    let is_about = differ.is_some() || measured.flags.iter().any(|flag| flag.kind == FlagKind::Unconfirmed);
    let size = match (bracket, reported) {
        (Some(bracket), _) if level.is_none_or(|level| level.cache.is_some()) => {
            if is_about {
                page.marks.insert(Mark::About);
            }
            format!("{}{}", if is_about { "≈" } else { "" }, bracket_cell(&bracket))
        }
        (None, Some(reported)) => format!("({})", value(reported, Unit::Bytes, view.lang)),
        _ => "–".to_owned(),
    };
    let default_page = view.labels(LATENCY).default_of("page");
    let label = match level {
        Some(level) if level.cache.is_none() => {
            default_page.map_or(level.name.to_owned(), |page| memory_label(view, page))
        }
        Some(level) => level.name.to_owned(),
        None if is_unnamed(key) => view.say(UNNAMED).to_owned(),
        None => key.to_owned(),
    };
    let bandwidths = BANDWIDTHS.map(|(probe, _)| level.and_then(|level| within(view, probe, level)));
    LevelRow { label, size, case, measured, bandwidths, notes }
}

/// The points that prove a size: `45–64 KiB`, `> 16 MiB`, `< 2 MiB`.
fn bracket_cell(bracket: &Bracket) -> String {
    let size = |bytes: f64| value(bytes, Unit::Bytes, Lang::En);
    match (bracket.fits.map(size), bracket.leaves.map(size)) {
        (Some(fits), Some(leaves)) => {
            let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
            let fits = if unit(&fits) == unit(&leaves) { fits.split(' ').next().unwrap_or(&fits) } else { &fits };
            format!("{fits}–{leaves}")
        }
        (Some(fits), None) => format!("≥ {fits}"),
        (None, Some(leaves)) => format!("< {leaves}"),
        (None, None) => "–".to_owned(),
    }
}

/// Memory seen through the other kind of page than the hierarchy's own, at the largest size that lies in memory.
fn other_page_line<'a>(view: &View<'a>) -> Option<LevelRow<'a>> {
    let own = view.labels(LATENCY).default_of("page")?;
    let beyond = last_cache_size(view.run).unwrap_or(0.0) * 1.5;
    let others = |probe: &str| {
        let is_other = |case: &&CaseRecord| {
            let points = view.labels(probe).off_default(&case.params);
            points.iter().all(|(axis, _)| *axis == "page" || *axis == "size")
                && case.params.get("page").is_some_and(|page| page != own)
                && case.measured().is_some()
                && size_of(case).is_some_and(|size| size > beyond)
        };
        let found = view.cases_of(probe).into_iter().filter(is_other);
        found.max_by(|a, b| size_of(a).unwrap_or(0.0).total_cmp(&size_of(b).unwrap_or(0.0)))
    };
    let case = others(LATENCY)?;
    let measured = case.measured()?;
    let label = memory_label(view, case.params.get("page")?);
    let notes = remarks(view, case, measured);
    // The level above may stand on a larger buffer than this one.
    let size = size_of(case)
        .map_or("–".to_owned(), |bytes| view.tell(&say!("at {size}", size = value(bytes, Unit::Bytes, view.lang))));
    Some(LevelRow { label, size, case, measured, bandwidths: BANDWIDTHS.map(|(probe, _)| others(probe)), notes })
}

/// `DRAM, 4 KiB pages`.
fn memory_label(view: &View, page: &str) -> String {
    let memory = &view.run.host.memory;
    let bytes = match page {
        "base" => Some(memory.page_bytes).filter(|bytes| *bytes > 0),
        "pmd" => memory.pmd_page_bytes,
        _ => None,
    };
    let name = bytes.map_or_else(|| page.to_owned(), size_text);
    view.tell(&say!("DRAM, {name} pages"))
}

fn size_of(case: &CaseRecord) -> Option<f64> {
    case.params.get("size")?.parse::<u64>().ok().map(|bytes| bytes as f64)
}

/// The case of `probe` whose buffer lies well inside `level`: at most half of it and over the level before; in memory
/// the largest.
fn within<'a>(view: &View<'a>, probe: &str, level: &Level) -> Option<&'a CaseRecord> {
    let (least, most) = bounds(view.run, level)?;
    // A copy goes over two buffers of its size, and both are to fit.
    let buffers = if probe == COPY { 2.0 } else { 1.0 };
    let fits = |case: &&CaseRecord| {
        view.labels(probe).off_default(&case.params).iter().all(|(axis, _)| *axis == "size")
            && case.measured().is_some()
            && size_of(case).is_some_and(|size| buffers * size > least && buffers * size <= most)
    };
    let cases = view.cases_of(probe).into_iter().filter(fits);
    cases.max_by(|a, b| size_of(a).unwrap_or(0.0).total_cmp(&size_of(b).unwrap_or(0.0)))
}

fn bounds(run: &Run, level: &Level) -> Option<(f64, f64)> {
    let before = LEVELS.iter().take_while(|other| other.key != level.key);
    let least = before.filter_map(|other| other.size(run)).fold(0.0, f64::max);
    match level.cache {
        Some(_) => Some((least, level.size(run)? / 2.0)),
        // Without a cache to compare with, no size is known to lie in memory.
        None => {
            let least = if level.is_found(run) { last_cache_size(run).unwrap_or(0.0) } else { least };
            (least > 0.0).then_some((least, f64::INFINITY))
        }
    }
}

/// The remarks on a level; the best round stands beside its value where it is better by more than the eye expects.
fn level_remarks(view: &View, case: &CaseRecord, measured: &Measured, is_size_reported: bool) -> Vec<Piece> {
    let gap = best_gap(&measured.estimate);
    let shows_best = gap > BEST_ROUND_GAP || view.verbose;
    let mut others = measured.clone();
    others.flags.retain(|flag| match flag.kind {
        FlagKind::BestRoundGap => !shows_best,
        // What the size is beside the reported one stands in its place.
        FlagKind::Unconfirmed => !is_size_reported || !flag.detail.contains("the host reports"),
        _ => true,
    });
    let unit = view.unit_or(&case.probe, Unit::Nanoseconds);
    let other = other_value(&measured.estimate, unit).map(|other| other.get(view.lang));
    let mut all: Vec<Piece> = other.into_iter().map(|text| Piece::new(text, Style::Dim)).collect();
    if shows_best {
        let best = value(measured.estimate.best_round, unit, view.lang);
        let style = if gap > BEST_ROUND_GAP { Style::Warning } else { Style::Dim };
        all.push(Piece::new(format!("{} {best}", view.say(words::BEST)), style));
    }
    all.extend(remarks(view, case, &others));
    all
}

/// Fraction by which the best round is better; 0 when that cannot be said.
fn best_gap(estimate: &Estimate) -> f64 {
    let gap = 1.0 - estimate.best_round / estimate.typical;
    if gap.is_finite() && estimate.best_round > 0.0 { gap } else { 0.0 }
}

/// The interval, where it is wide or all is asked for.
fn interval(view: &View, estimate: &Estimate) -> String {
    let is_wide = estimate.relative_half_width().is_some_and(|half| view.verbose || half > view.target);
    plus_minus(estimate).filter(|_| is_wide).map_or(String::new(), |text| format!(" {text}"))
}

fn latency_cell(view: &View, case: &CaseRecord, measured: &Measured) -> Piece {
    let number = value(measured.estimate.value(), view.unit_or(&case.probe, Unit::Nanoseconds), view.lang);
    Piece::plain(format!("{number}{}", interval(view, &measured.estimate)))
}

fn bandwidth_cell(view: &View, page: &mut Page, case: Option<&CaseRecord>) -> Piece {
    match case.and_then(CaseRecord::measured) {
        Some(measured) => {
            let gigabytes = number(measured.estimate.value() / 1e9);
            // The block below tells the intervals of bandwidths where they are wide.
            let interval = if view.verbose { interval(view, &measured.estimate) } else { String::new() };
            Piece::plain(format!("{gigabytes}{interval}"))
        }
        None => {
            page.marks.insert(Mark::NotPlanned);
            Piece::new("·", Style::Dim)
        }
    }
}

/// Value of the other estimator for a bandwidth: `read quiet 15.5 GB/s`.
fn other_bandwidth(view: &View, case: &CaseRecord, column: usize) -> Option<Piece> {
    let other = other_value(&case.measured()?.estimate, Unit::BytesPerSecond)?.get(view.lang);
    Some(Piece::new(format!("{} {other}", view.say(BANDWIDTHS[column].1)), Style::Dim))
}

/// Caches as reported by the host, in one line.
fn reported_caches(view: &View, page: &mut Page) {
    let mut facts = Vec::new();
    let mut line_bytes = None;
    for level in LEVELS {
        let Some(cache) = level.reported(view.run) else { continue };
        line_bytes = line_bytes.or(cache.line_bytes);
        let mut fact = format!("{} {}", level.name, size_text(cache.size_bytes));
        if let Some(ways) = cache.ways {
            fact = view.tell(&say!("{fact} {ways}-way"));
        }
        if cache.shared_cpus.len() > 1 {
            let cpus = cache.shared_cpus.len();
            fact = view.tell(&say!("{fact} for {cpus} CPUs"));
        }
        facts.push(Piece::new(fact, Style::Dim));
    }
    if facts.is_empty() {
        return;
    }
    facts.extend(line_bytes.map(|bytes| Piece::new(format!("{} {bytes} B", view.say(words::LINE)), Style::Dim)));
    facts.insert(0, Piece::new(view.say(words::REPORTED), Style::Dim));
    page.flow(2, &facts);
}

/// Writes the line when the run has any of it.
fn write_structure(view: &View, page: &mut Page) {
    let facts: Vec<Piece> = facts(view).into_iter().map(Piece::plain).collect();
    if !facts.is_empty() {
        page.flow(2, &facts);
    }
}

/// A number that rounds voted on, with their share where some disagree.
fn counted(view: &View, estimate: &Estimate, unit: Unit) -> String {
    let shown = value(estimate.value(), unit, view.lang);
    let is_split = estimate.agreement.is_some_and(|share| share < 1.0);
    match agreement(estimate).filter(|_| is_split) {
        Some(share) => format!("{shown} [{share}]"),
        None => shown,
    }
}

fn facts(view: &View) -> Vec<String> {
    let of = |level: &Level, name: &str| level.also(view.run, name);
    let mut facts = Vec::new();
    for level in LEVELS {
        let Some(reach) = of(level, "tlb") else { continue };
        let pages = counted(view, reach, Unit::Count);
        let miss = of(level, "tlb_miss").map(|miss| value(miss.value(), Unit::Nanoseconds, view.lang));
        let name = level.name;
        facts.push(view.tell(&match miss {
            Some(miss) => say!("{name} TLB {pages} pages, miss +{miss}"),
            None => say!("{name} TLB {pages} pages"),
        }));
    }
    for level in LEVELS {
        let line = of(level, "line").map(|line| counted(view, line, Unit::Bytes));
        facts.extend(line.map(|line| format!("{} {line}", view.say(words::CACHE_LINE))));
        let ways = |ways: &Estimate| {
            let (ways, name) = (counted(view, ways, Unit::Count), level.name);
            view.tell(&say!("{ways} ways ({name})"))
        };
        facts.extend(of(level, "ways").map(ways));
    }
    facts
}
