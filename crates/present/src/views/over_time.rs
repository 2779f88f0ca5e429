//! Series over time: how steady the machine was, one beside another, and changes of hosts' values over kept runs.

use hostmark_analysis::fleet::{CaseChange, Changed, HostChange};
use hostmark_analysis::format::{amount, number, percent};
use hostmark_analysis::over_time::{
    Burst, Cause, ChangedFacts, ComparedSubject, Episode, Gap, LastingChange, Nightly, OverTime, SeriesComparison,
    SeriesVerdict, Steadiness, Subject, SubjectOverTime, Together,
};
use hostmark_analysis::typography::{COMMA, SEMICOLON};
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Message, Text, Unit};
use hostmark_say::say;

use super::comparison::known;
use super::fleet::change;
use crate::document::{Align, Block, Cell, Column, Document, Remark, Row, RowKind, Style, Table};
use crate::texts::views as texts;

/// Subjects of an episode, episodes and facts that are told unless everything is asked for.
const FEW_SUBJECTS: usize = 4;
const FEW_EPISODES: usize = 10;
const FEW_FACTS: usize = 6;
/// Columns of a name before the heat map.
const NAME: usize = 24;
const HOURS: usize = 24;

/// Largest median loss of an hour's turns for each shade, beside the best.
const SHADES: [(f64, char, char); 5] =
    [(0.05, '·', '.'), (0.1, '░', '-'), (0.25, '▒', '+'), (0.5, '▓', '*'), (f64::INFINITY, '█', '#')];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shades {
    Unicode,
    Ascii,
}

pub(crate) fn over_time(all: &OverTime, shades: Shades) -> Document {
    let mut document = vec![
        Block::Title("hostmark over time".into()),
        Block::Sentence(first_line(all), Style::Heading),
        Block::Sentence(about(all), Style::Plain),
    ];
    part(&mut document, term!("CHANGES FOR GOOD"), all.changes.iter().map(lasting).collect());
    part(&mut document, term!("FAST AT FIRST"), all.bursts.iter().map(burst).collect());
    part(&mut document, term!("EPISODES"), episodes(all));
    part(&mut document, term!("FACTS THAT CHANGED BESIDES"), facts(&all.facts));
    part(&mut document, term!("GAPS"), gaps(&all.gaps));
    document.push(table(&all.subjects));
    let title = match all.course {
        Some(_) => term!("TIME OF DAY (UTC)"),
        None => term!("HOURS OF THE DAY (UTC)"),
    };
    document.push(Block::Part(title.into()));
    document.push(Block::Drawn(heat_map(all, shades)));
    if all.course.is_none() {
        document.push(Block::Folded(term!("Percentiles by hour").into(), vec![by_hour(&all.subjects)]));
    }
    document.push(Block::Sentence(texts::over_time::METHOD.into(), Style::Dim));
    document
}

/// Remarks under a title, each with the lines below it.
fn part(document: &mut Document, title: Text, all: Vec<Vec<Remark>>) {
    if !all.is_empty() {
        document.push(Block::Part(title.into()));
        document.push(Block::Remarks(all.into_iter().flatten().collect()));
    }
}

/// First line: the steadiness of this machine.
fn first_line(all: &OverTime) -> Message {
    let word = match all.steadiness {
        Steadiness::Steady => term!("steady"),
        Steadiness::MostlySteady => term!("mostly steady"),
        Steadiness::Unsteady => term!("unsteady"),
    };
    let near = percent(all.near_best);
    let mut parts = vec![say!("{word}: figures are near their best (10 %) {near} of the time")];
    parts.extend(
        all.worst
            .as_ref()
            .map(|(subject, share)| say!("{subject} only {share}", subject = subject.name, share = percent(*share))),
    );
    if !all.bursts.is_empty() {
        parts.push(say!("fast at first and slow for the rest"));
    }
    let together = time(all.episodes.iter().map(|episode| episode.seconds).sum());
    if !all.episodes.is_empty() {
        parts.push(say!("{episodes:slow episode} of {together} together", episodes = all.episodes.len()));
    }
    if !all.changes.is_empty() {
        parts.push(say!("{changes:lasting change}", changes = all.changes.len()));
    }
    Message::joined(parts, SEMICOLON)
}

fn about(all: &OverTime) -> Message {
    let OverTime { host, turns, first, last, every_s, .. } = all;
    let named = all.series.as_ref().map_or_else(|| host.clone(), |series| format!("{series} · {host}"));
    say!("{named}: {turns} turns from {first} to {last}, every {time}", time = time(*every_s))
}

/// A length of time in the unit in which people say it.
fn time(seconds: f64) -> Message {
    let count = |unit: f64| (seconds / unit * 10.0).round() / 10.0;
    match seconds {
        seconds if seconds < 120.0 => say!("{count} s", count = count(1.0)),
        seconds if seconds < 7200.0 => say!("{count} min", count = count(60.0)),
        seconds if seconds < 172_800.0 => say!("{count} h", count = count(3600.0)),
        _ => say!("{count} d", count = count(86_400.0)),
    }
}

fn slower(times: f64) -> String {
    format!("{times:.2}x")
}

fn first_few<'a>(all: impl ExactSizeIterator<Item = (&'a Subject, String)>) -> Message {
    let more = all.len().saturating_sub(FEW_SUBJECTS);
    let named = all.take(FEW_SUBJECTS).map(|(subject, what)| say!("{subject} {what}", subject = subject.name));
    Message::joined(named.chain((more > 0).then(|| say!("{more} more"))), COMMA)
}

fn lasting(one: &LastingChange) -> Vec<Remark> {
    let subjects = first_few(one.subjects.iter().map(|of| (&of.subject, change(of.times - 1.0))));
    let text = say!("since {since}: {subjects}", since = one.since);
    let style = if one.is_slower() { Style::Warning } else { Style::Plain };
    let mut facts: Vec<Remark> = one.facts.iter().map(|fact| below(reported(fact))).collect();
    facts.iter_mut().skip(FEW_FACTS).for_each(|fact| fact.is_detail = true);
    facts.extend(company(&one.together, if one.is_slower() { When::Since } else { When::Before }));
    if facts.is_empty() {
        facts.push(below(say!("nothing that is recorded changed with it")));
    }
    std::iter::once(Remark::new(text, style)).chain(facts).collect()
}

fn below(text: Message) -> Remark {
    Remark::new(Message::joined([" ".into(), text], " "), Style::Dim)
}

fn burst(one: &Burst) -> Vec<Remark> {
    let subjects = first_few(one.subjects.iter().map(|(subject, times)| (subject, slower(*times))));
    let (share, fast) = (percent(one.share), time(one.fast_s));
    let text = match &one.began[..] {
        [first] => say!("faster for {fast} from {first}, slow for the rest ({share} of the time fast): {subjects}"),
        all => say!(
            "{count} times faster for {fast}, slow for the rest ({share} of the time fast): {subjects}",
            count = all.len()
        ),
    };
    let advice = say!("as when CPU credits or a burst allowance are used up: count on the slow value");
    std::iter::once(Remark::new(text, Style::Warning))
        .chain(company(&one.together, When::Then))
        .chain([below(advice)])
        .collect()
}

fn episodes(all: &OverTime) -> Vec<Vec<Remark>> {
    let is_told = |index: usize| all.nightly.iter().any(|one| one.episodes.contains(&index));
    let mut parts: Vec<Vec<Remark>> = all.nightly.iter().map(|one| nightly(one, &all.episodes)).collect();
    let mut others = 0;
    for (index, episode) in all.episodes.iter().enumerate() {
        let mut remarks = of_episode(episode, &all.recorded);
        others += usize::from(!is_told(index));
        if is_told(index) || others > FEW_EPISODES {
            remarks.iter_mut().for_each(|remark| remark.is_detail = true);
        }
        parts.push(remarks);
    }
    if others > FEW_EPISODES {
        parts.push(vec![more_with_verbose(others - FEW_EPISODES)]);
    }
    parts
}

/// Facts that changed without any value, in the order of time.
fn facts(all: &[ChangedFacts]) -> Vec<Vec<Remark>> {
    one_line_each(all.iter().map(|one| {
        let facts = Message::joined(one.facts.iter().map(moved), COMMA);
        say!("{since}: {facts}", since = one.since)
    }))
}

/// Times of which nothing is known, the longest first.
fn gaps(all: &[Gap]) -> Vec<Vec<Remark>> {
    let mut all: Vec<&Gap> = all.iter().collect();
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    one_line_each(all.into_iter().map(|Gap { from, to, seconds, restarted }| {
        let gap = say!("no turn between {from} and {to}, {late} overdue", late = time(*seconds));
        if *restarted == Some(true) { say!("{gap}: the machine was restarted") } else { gap }
    }))
}

/// The first of these lines, and how many more there are.
fn one_line_each(all: impl ExactSizeIterator<Item = Message>) -> Vec<Vec<Remark>> {
    let more = all.len().saturating_sub(FEW_EPISODES);
    let of = |(index, text)| {
        let mut remark = Remark::new(text, Style::Plain);
        remark.is_detail = index >= FEW_EPISODES;
        vec![remark]
    };
    all.enumerate().map(of).chain((more > 0).then(|| vec![more_with_verbose(more)])).collect()
}

fn more_with_verbose(more: usize) -> Remark {
    Remark::new(say!("{more} more with --verbose"), Style::Dim)
}

fn nightly(one: &Nightly, episodes: &[Episode]) -> Vec<Remark> {
    let (hour, minute) = ((one.begins_s / 3600.0) as u32, (one.begins_s / 60.0) as u32 % 60);
    let days = one.days;
    let first = one.episodes.first().map(|index| &episodes[*index]);
    let subjects = first.map(|episode| episode.subjects.as_slice()).unwrap_or_default();
    let subjects = first_few(subjects.iter().map(|of| (&of.subject, slower(of.times))));
    let text = say!(
        "on {days} days from about {hour:02}:{minute:02} UTC for {long}: {subjects} slower",
        long = time(one.seconds)
    );
    let together = first.map(|episode| company(&episode.together, When::Then)).unwrap_or_default();
    std::iter::once(Remark::new(text, Style::Warning)).chain(together).collect()
}

fn of_episode(one: &Episode, recorded: &[Cause]) -> Vec<Remark> {
    let subjects = first_few(one.subjects.iter().map(|of| (&of.subject, slower(of.times))));
    let (Episode { from, to, .. }, long) = (one, time(one.seconds));
    let text = match one.goes_on {
        true => say!("since {from}, {long} so far: {subjects} slower"),
        false => say!("{from} … {to} ({long}): {subjects} slower"),
    };
    let mut below_it = company(&one.together, When::Then);
    below_it.extend(one.facts.iter().take(FEW_FACTS).map(|fact| below(reported(fact))));
    if below_it.is_empty() {
        let recorded = recorded.iter().filter(|cause| **cause != Cause::Waited).map(|cause| name(*cause));
        let recorded = Message::joined(recorded, term!(", ", "list"));
        below_it.push(below(say!("nothing that was recorded changed with it: {recorded}")));
    }
    std::iter::once(Remark::new(text, Style::Warning)).chain(below_it).collect()
}

/// Name of a cause, as people call it.
fn name(cause: Cause) -> Text {
    match cause {
        Cause::Steal => Text::name("CPU steal"),
        Cause::Throttling => term!("a CPU quota's pauses"),
        Cause::Others => term!("other programs' CPU use"),
        Cause::CoreShared => term!("another thread on the same core"),
        Cause::LastCache => term!("slower loads from the last cache"),
        Cause::Temperature => term!("hotter processors"),
        Cause::Waited => term!("waiting for a CPU that nobody used, as under a quota that cannot be seen here"),
    }
}

/// Side of a time on which others took more of the machine.
#[derive(Clone, Copy)]
enum When {
    Then,
    Since,
    Before,
}

/// Causes that came together with it, a line each.
fn company(all: &[Together], when: When) -> Vec<Remark> {
    let of = |one: &Together| {
        let name = name(one.cause);
        let [then, usual] = [one.then, one.otherwise].map(|number| match one.cause {
            Cause::LastCache => amount(number, Unit::Nanoseconds),
            Cause::Temperature => format!("{number:.0} °C").into(),
            _ => percent(number).into(),
        });
        below(match when {
            When::Then => say!("together with {name}: {then}, else {usual}"),
            When::Since => say!("with it {name}: {then}, before {usual}"),
            When::Before => say!("until then {name}: {then}, since {usual}"),
        })
    };
    all.iter().map(of).collect()
}

/// The subjects: best, usual, the slowest tenth, and the time near the best.
fn table(all: &[SubjectOverTime]) -> Block {
    let columns = vec![
        Column::default(),
        Column::new(term!("best"), Align::Point),
        Column::new(term!("median"), Align::Point),
        Column::new(term!("slowest tenth"), Align::Point),
        Column::new(term!("within 10 % of best"), Align::Right),
    ];
    let row = |one: &SubjectOverTime| {
        let shown = |number: f64| Cell::from(amount(number, one.subject.unit));
        let [slow, middle, _] = one.percentiles;
        let near = Cell::from(Message::plain(percent(one.near_best)));
        let cells = vec![Cell::from(&one.subject.name), shown(one.best), shown(middle), shown(slow), near];
        Row { id: one.subject.key.clone(), cells, ..Row::default() }
    };
    Block::Table(Table { columns, rows: all.iter().map(row).collect(), ..Table::default() })
}

/// A line for each subject, a column for each hour, or for each part of a course: the darker, the more half of its turns lose.
fn heat_map(all: &OverTime, shades: Shades) -> Vec<Message> {
    use unicode_width::UnicodeWidthStr;
    let padded = |name: &str| {
        let cut: String = name.chars().take(NAME).collect();
        format!("{cut}{}", " ".repeat(NAME.saturating_sub(cut.width())))
    };
    let of = |shade: &(f64, char, char)| if shades == Shades::Ascii { shade.2 } else { shade.1 };
    let columns = |one: &SubjectOverTime| -> Vec<Option<f64>> {
        let of_hour = |hour: u8| one.hours.iter().find(|of| of.hour == hour).map(|of| of.lost);
        if all.course.is_some() { one.course.clone() } else { (0..24).map(of_hour).collect() }
    };
    let width = if all.course.is_some_and(|course| course.parts > HOURS) { 1 } else { 2 };
    let line = |one: &SubjectOverTime| {
        let cell = |lost: Option<f64>| {
            let sign = lost.and_then(|lost| SHADES.iter().find(|(least, ..)| lost <= *least).map(of)).unwrap_or(' ');
            String::from_iter(std::iter::repeat_n(sign, width))
        };
        let cells: String = columns(one).into_iter().map(cell).collect();
        let of = |name: &str| format!("{}{}", padded(name), cells.trim_end());
        let Text { en, zh } = &one.subject.name;
        Text { en: of(en), zh: of(zh) }.into()
    };
    let shade = |of: &(f64, char, char)| {
        let (shade, lost) = (if shades == Shades::Ascii { of.2 } else { of.1 }, percent(of.0));
        if of.0.is_finite() { say!("{shade} ≤ {lost}") } else { say!("{shade} more") }
    };
    let names = SHADES.iter().map(shade).chain([say!("blank: no turn")]);
    let legend = say!("below its best: {shades}", shades = Message::joined(names, Text::name("  ")));
    let head = format!("{}{}", " ".repeat(NAME), head(all, width).trim_end()).into();
    std::iter::once(head).chain(all.subjects.iter().map(line)).chain([legend]).collect()
}

/// Heading of a heat map's columns: every third hour, or the time at which a part of the course begins.
fn head(all: &OverTime, width: usize) -> String {
    let Some(course) = all.course else { return (0..HOURS).step_by(3).map(|hour| format!("{hour:<6}")).collect() };
    let first = Timestamp::parse(&all.first).unwrap_or_default().seconds();
    let time = |part: usize| {
        let minutes = (first + (part as f64 * course.part_s) as i64).rem_euclid(86_400) / 60;
        format!("{:<12}", format!("{:02}:{:02}", minutes / 60, minutes % 60))
    };
    (0..course.parts).step_by(12 / width).map(time).collect()
}

fn by_hour(all: &[SubjectOverTime]) -> Block {
    let columns = vec![
        Column::default(),
        Column::new(term!("hour"), Align::Right),
        Column::new(term!("turns"), Align::Right),
        Column::new(term!("slowest tenth"), Align::Point),
        Column::new(term!("median"), Align::Point),
        Column::new(term!("fastest tenth"), Align::Point),
    ];
    let mut rows = Vec::new();
    for one in all {
        for hour in &one.hours {
            let shown = |number: f64| Cell::from(amount(number, one.subject.unit));
            let mut cells = vec![
                Cell::from(&one.subject.name),
                Cell::from(Message::plain(format!("{:02}", hour.hour))),
                Cell::from(Message::plain(number(hour.turns as f64))),
            ];
            cells.extend(hour.percentiles.map(shown));
            rows.push(Row { id: one.subject.key.clone(), cells, ..Row::default() });
        }
    }
    Block::Table(Table { columns, rows, ..Table::default() })
}

pub(crate) fn compared(all: &SeriesComparison) -> Document {
    let count = |verdict| all.subjects.iter().filter(|one| one.verdict == verdict).count();
    let [slower, faster, equal, open] =
        [SeriesVerdict::Slower, SeriesVerdict::Faster, SeriesVerdict::Same, SeriesVerdict::Undecided].map(count);
    let first = say!("{slower} slower, {faster} faster, {equal} the same, {open} undecided");
    let ([base, new], [of_base, of_new], blocks) = (&all.hosts, all.turns, all.blocks);
    let about = match all.by_hour {
        true => say!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} hours of the day"),
        false => say!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} parts of their time"),
    };
    let columns = vec![
        Column::default(),
        Column::new(term!("base"), Align::Point),
        Column::new(term!("new"), Align::Point),
        Column::new(term!("change"), Align::Right),
        Column::new(term!("95 % interval"), Align::Ellipsis),
        Column::default(),
    ];
    let rows = all.subjects.iter().map(row).collect();
    vec![
        Block::Title("hostmark series".into()),
        Block::Sentence(first, Style::Heading),
        Block::Sentence(about, Style::Plain),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Sentence(texts::compared_series::METHOD.into(), Style::Dim),
    ]
}

fn row(one: &ComparedSubject) -> Row {
    let shown = |number: f64| Cell::from(amount(number, one.subject.unit));
    let [low, high] = one.interval.map(change);
    let (word, kind, style) = match one.verdict {
        SeriesVerdict::Slower => (term!("slower", "change"), RowKind::Worse, Style::Warning),
        SeriesVerdict::Faster => (term!("faster"), RowKind::Better, Style::Good),
        SeriesVerdict::Same => (term!("same"), RowKind::Equal, Style::Dim),
        SeriesVerdict::Undecided => (term!("undecided"), RowKind::None, Style::Dim),
    };
    let cells = vec![
        Cell::from(&one.subject.name),
        shown(one.base),
        shown(one.new),
        Cell::from(Message::plain(change(one.change))),
        Cell::from(Message::plain(format!("{low} … {high}"))),
        Cell { text: word.into(), style, ..Cell::default() },
    ];
    Row { kind, id: one.subject.key.clone(), cells, ..Row::default() }
}

/// Cases and facts of a change that are told unless everything is asked for.
const FEW_CASES: usize = 8;

const NO_FACT: Text = term!("no recorded fact changed with it");

/// All changes of these many runs.
pub(crate) fn changes(changes: &[HostChange], runs: usize) -> Document {
    let summary = match changes.len() {
        0 => say!("{runs:run}: no value changed for good"),
        count => say!("{runs:run}, {count:change}"),
    };
    let first = Block::Sentence(summary, Style::Heading);
    let method = Block::Sentence(texts::changes::METHOD.into(), Style::Dim);
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
