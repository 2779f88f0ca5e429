//! The page of runs, and that of a comparison alone: their sections, and the way to each.

use std::collections::HashSet;

use hostmark_analysis::compare::{Comparison, History, Pool, SAME};
use hostmark_analysis::constants::MOST_FINDINGS;
use hostmark_analysis::duration::duration_s;
use hostmark_analysis::findings::host::host_report;
use hostmark_analysis::findings::{findings_and_kept, is_everywhere};
use hostmark_analysis::format::amount;
use hostmark_analysis::groups::grouped;
use hostmark_analysis::guest;
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::overhead::{environments, is_wanted, overhead};
use hostmark_analysis::trust::{doubted, promise};
use hostmark_model::{Disturbed, Finding, Message, Run, Text, Trust, Unit};
use hostmark_say::say;

use super::figures::{Figure, Figures, MOST_SAMPLES, figures, of_probe, of_samples};
use super::{Frame, SCRIPT, said};
use crate::RenderOptions;
use crate::document::{
    Align, Block, Cell, Chart, Column, Document, Drawing, Judged, Row, RowKind, Style, Table, TableLayout,
};
use crate::print::html::{self, Number};
use crate::runs::Runs;
use crate::texts::html::page as texts;
use crate::views::constants::constants;
use crate::views::network::network;
use crate::views::probe::{anchor, probe};
use crate::views::run::{short, warnings, whole_seconds};
use crate::views::{self, data_path, host, scaling};
use crate::wrap::{escaped, markup};

/// Pictures of samples in a page at most, and cases beyond which there are fewer of them: rows need the room. A probe's default case
/// comes first, the case with its widest interval has what room is left.
const MOST_STRIPS: usize = 104;
const MOST_CASES: usize = 2400;

const ANSWER: Text = term!("Answer");
const FINDINGS: Text = term!("Findings");
const DATA_PATH: Text = term!("Data path of TCP");
const SCALING: Text = term!("Scaling laws");
const COMPARISON: Text = term!("Comparison");
const CHARTS: Text = term!("Charts");
const VALUES: Text = term!("Values");
const OPEN: Text = term!("Open a group, or find a case by words of its name. Click a column's head to sort by it.");
const HOST: Text = term!("Host and settings");

/// A section: its id, what leads there, and what is in it; it is left out where that is nothing.
type Section = (&'static str, Text, String);

/// Several runs beside each other as a page that stands alone.
pub fn page(all: &[Run], options: &RenderOptions) -> String {
    let sorted = by_environment(all);
    let all = sorted.as_deref().unwrap_or(all);
    let runs = &Runs::new(all);
    let sides = sides(all);
    let numbers = std::cell::Cell::new(0);
    let number: Number = &|| numbers.replace(numbers.get() + 1);
    let Figures { leading, all: figures, shown } = figures(runs);
    let findings: Vec<Vec<Finding>> = all.iter().map(findings_and_kept).collect();
    let cases: usize = runs.probes.iter().map(|probe| probe.cases.len()).sum();
    let most_strips = MOST_STRIPS.min(MOST_STRIPS * MOST_CASES / cases.max(1));
    let found = Some(views::run::findings(runs, &findings)).filter(|all| !all.is_empty());
    let found = found.map(|all| titled(FINDINGS, &html::write(&[Block::Judged(Message::default(), all)], 2, number)));
    let first = format!("<h2 class=\"unseen\">{}</h2>\n", said(ANSWER));
    let sections = [
        ("answer", ANSWER, first + &answer(runs, &findings, charts(leading), number)),
        ("layers", term!("Layers"), layers(all, number)),
        ("charts", CHARTS, drawn(figures, number)),
        ("findings", FINDINGS, found.unwrap_or_default()),
        ("network", term!("Network between hosts"), links(runs, &findings)),
        ("data-path", DATA_PATH, by_run(runs, DATA_PATH, number, |run| data_path(run, true))),
        // The section's own heading stands above.
        ("scaling", SCALING, by_run(runs, SCALING, number, |run| scaling(run, true).into_iter().skip(1).collect())),
        ("comparison", COMPARISON, beside(&sides).map(|one| compared(&one, number)).unwrap_or_default()),
        ("values", VALUES, values(runs, &shown, most_strips, number)),
        ("host", HOST, folded(HOST, &settings_and_hosts(runs, &sides))),
    ];
    let machine = |(index, run): (usize, &Run)| {
        let host = if runs.are_many() { format!("{} · ", escaped(&run.host.hostname)) } else { String::new() };
        let machine = markup(&Message::joined(views::run::machine(run), Text::name(" · ")));
        let (letter, name) = (html::letter(&runs.letter(index)), escaped(&run.name));
        format!("<p class=\"machine\">{letter}{host}{machine}<br><small>{name}</small></p>\n")
    };
    let machines: String = all.iter().enumerate().map(machine).collect();
    let samples = say!(
        "Samples are drawn of a probe's default case and of the one whose interval is widest, of as many as this page has room for: {most_strips} charts at most, with at most {MOST_SAMPLES} samples each, evenly picked. The run file has every one."
    );
    framed((&title(all), &hosts(all)), &machines, &sections, &[texts::METHOD.into(), samples], options)
}

/// A comparison as a page that stands alone.
pub fn of_comparison(comparison: &Comparison, options: &RenderOptions) -> String {
    let numbers = std::cell::Cell::new(0);
    let names = std::iter::once(&comparison.base).chain(comparison.new.iter().map(|against| &against.side));
    let title = names.map(|side| side.name.as_str()).collect::<Vec<_>>().join(" – ");
    let compared = compared(comparison, &|| numbers.replace(numbers.get() + 1));
    framed((&title, &title), "", &[("comparison", COMPARISON, compared)], &[texts::METHOD.into()], options)
}

/// A page with this title of its window, and this heading.
fn framed(
    (title, heading): (&str, &str),
    machines: &str,
    sections: &[Section],
    method: &[Message],
    options: &RenderOptions,
) -> String {
    let shown = || sections.iter().filter(|(.., inside)| !inside.is_empty());
    let links: String =
        shown().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{}</a></li>\n", said(*title))).collect();
    let main = shown().map(|(id, _, inside)| format!("<section id=\"{id}\">\n{inside}</section>\n"));
    let method = method.iter().map(|text| format!("<p>{}</p>\n", markup(text)));
    let (heading, find) = (escaped(heading), said(term!("Find")));
    let frame = Frame {
        title: &format!("{} · hostmark", escaped(title)),
        nav: &format!(
            "<nav aria-label=\"{heading}\"><ul>\n{links}</ul>\n<p class=\"find\" hidden><label>{find} \
             <input type=\"search\" id=\"find\" autocomplete=\"off\"></label><output id=\"found\" for=\"find\"></output></p>\n</nav>\n"
        ),
        heading: &heading,
        machines,
        main: &main.collect::<String>(),
        method: &method.collect::<String>(),
        data: "<div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>\n",
        script: SCRIPT,
        ..Frame::default()
    };
    frame.write(options)
}

fn titled(title: Text, inside: &str) -> String {
    format!("<h2>{}</h2>\n{inside}", said(title))
}

fn folded(title: Text, inside: &str) -> String {
    let title = said(title);
    format!("<details class=\"group\">\n<summary><h2>{title}</h2></summary>\n{inside}</details>\n")
}

fn hint(text: Text) -> String {
    format!("<p class=\"hint\">{}</p>\n", said(text))
}

/// A document whose title stands in it.
fn article(document: &Document, level: usize, number: Number) -> String {
    format!("<article>\n{}</article>\n", html::write(document, level, number))
}

fn charts(figures: Vec<Figure>) -> Vec<Chart> {
    let chart = |Figure { title, note, chart, .. }: Figure| Chart { title, note, drawing: Drawing::Picture(chart) };
    figures.into_iter().map(chart).collect()
}

fn drawn(figures: Vec<Figure>, number: Number) -> String {
    if figures.is_empty() {
        return String::new();
    }
    titled(CHARTS, &(hint(texts::POINT) + &html::write(&[Block::Charts(charts(figures))], 2, number)))
}

/// The sections of the report with their probes.
fn values(runs: &Runs, shown: &HashSet<String>, most_strips: usize, number: Number) -> String {
    let mut strips = 0;
    let articles = runs.probes.iter().enumerate().map(|(index, one)| {
        let mut samples = of_samples(runs, one);
        let to_come = runs.probes.len().saturating_sub(index + 1) * runs.all.len();
        samples.truncate(most_strips.saturating_sub(strips + to_come).max(runs.all.len()));
        samples.truncate(most_strips.saturating_sub(strips));
        strips += samples.len();
        let figures = of_probe(runs, one, shown.contains(one.id));
        let inside = html::write(&probe(runs, one, charts(figures), charts(samples)), 3, number);
        let (anchor, title, id) = (escaped(&anchor(one.id)), markup(&one.title()), escaped(one.id));
        let article = format!("<article id=\"{anchor}\">\n<h4>{title} <code>{id}</code></h4>\n{inside}</article>\n");
        (one.section(), (one.cases.len(), article))
    });
    let group = |(index, (title, articles)): (usize, (Message, Vec<(usize, String)>))| {
        let cases: usize = articles.iter().map(|(cases, _)| cases).sum();
        let articles: String = articles.into_iter().map(|(_, article)| article).collect();
        let (title, word) = (markup(&title), said(term!("cases")));
        format!(
            "<details class=\"group\" id=\"s{index}\">\n<summary><h3>{title} <small>{cases} {word}</small></h3></summary>\n{articles}</details>\n"
        )
    };
    let all: String = grouped(articles).into_iter().enumerate().map(group).collect();
    if all.is_empty() { all } else { titled(VALUES, &(hint(OPEN) + &all)) }
}

fn compared(comparison: &Comparison, number: Number) -> String {
    let documents = views::comparison::comparison(comparison);
    titled(COMPARISON, &documents.iter().map(|document| article(document, 3, number)).collect::<String>())
}

/// The runs of each environment behind each other; none where the page is not about environments.
fn by_environment(all: &[Run]) -> Option<Vec<Run>> {
    let sorted = || environments(all).into_iter().flat_map(|one| one.runs).cloned().collect();
    is_wanted(all).then(sorted)
}

/// Cost of the layers between environments. A page of one environment has none.
fn layers(all: &[Run], number: Number) -> String {
    // The page has room for every interval.
    let view = overhead(all, None, true).ok().filter(|view| is_wanted(all) && !view.parts.is_empty());
    view.map(|view| article(&views::overhead(view), 2, number)).unwrap_or_default()
}

/// The links of each run to its peers.
fn links(runs: &Runs, findings: &[Vec<Finding>]) -> String {
    // The page lists the findings of all runs under one count.
    let (mut first, mut all) = (1, Document::new());
    for (index, (run, findings)) in runs.all.iter().zip(findings).enumerate() {
        let document = network(run, findings, first, &runs.letter(index));
        // The heading stands above the first.
        let heading = usize::from(!all.is_empty());
        all.extend(document.into_iter().flatten().skip(heading));
        first += findings.len();
    }
    if all.is_empty() { String::new() } else { article(&all, 1, &|| 0) }
}

/// A section with what each run has of something, where any has.
fn by_run(runs: &Runs, title: Text, number: Number, document: impl Fn(&Run) -> Document) -> String {
    let of_run = |(index, run): (usize, &Run)| {
        let (document, letter) = (document(run), html::letter(&runs.letter(index)));
        (!document.is_empty()).then(|| format!("{letter}{}", html::write(&document, 2, number)))
    };
    let all: String = runs.all.iter().enumerate().filter_map(of_run).collect();
    if all.is_empty() { all } else { folded(title, &all) }
}

/// The runs of each environment, which stand behind each other, with their letters; where the page is not about environments,
/// each run alone.
fn sides(all: &[Run]) -> Vec<(String, &[Run])> {
    let are_environments = is_wanted(all);
    let mut begun = 0;
    let with_letters = |side| {
        let (first, last) = (begun, begun + <[Run]>::len(side) - 1);
        begun = last + 1;
        let to = if last > first { format!("–{}", run_letter(last)) } else { String::new() };
        (format!("{}{to}", run_letter(first)), side)
    };
    all.chunk_by(|one, other| are_environments && one.name == other.name).map(with_letters).collect()
}

/// The first side against each other one, where there are several.
fn beside(sides: &[(String, &[Run])]) -> Option<Comparison> {
    let names: Vec<String> = sides.iter().map(|(letters, side)| format!("{letters} {}", side[0].name)).collect();
    let pool = |index: usize| Pool { name: &names[index], runs: sides[index].1 };
    let new: Vec<Pool> = (1..sides.len()).map(pool).collect();
    (!new.is_empty()).then(|| Comparison::of(pool(0), &new, &History::default(), SAME))
}

/// Title of the page's window: of one run its host, processor and date.
fn title(all: &[Run]) -> String {
    let [run] = all else { return hosts(all) };
    let day = run.started.split('T').next().filter(|day| !day.is_empty());
    [Some(hosts(all)), run.host.cpu.named_model(), day.map(str::to_owned)]
        .into_iter()
        .flatten()
        .collect::<Vec<String>>()
        .join(" · ")
}

/// The names of the runs' hosts.
fn hosts(all: &[Run]) -> String {
    let mut hosts: Vec<&str> =
        all.iter().map(|run| run.host.hostname.as_str()).filter(|name| !name.is_empty()).collect();
    hosts.dedup();
    if hosts.is_empty() { "hostmark".to_owned() } else { hosts.join(", ") }
}

const BEFORE: Text = term!("Before you trust these numbers");
const ALL: Text = term!("All findings, and what to do");

/// The constants of a run alone stand beside its first findings.
pub(super) fn answer(runs: &Runs, findings: &[Vec<Finding>], leading: Vec<Chart>, number: Number) -> String {
    let write = |block: Block| html::write(&[block], 2, number);
    let mut text: String = (0..runs.all.len()).map(|run| head(runs, run)).collect();
    match constants(runs.all, runs.reference.as_ref()).map(|table| write(Block::Table(table))) {
        Some(constants) if !runs.are_many() => {
            let findings: Vec<&Finding> = findings.iter().flatten().collect();
            let here = findings.iter().copied().filter(|finding| !is_everywhere(finding));
            let first: Vec<Judged> = here.take(MOST_FINDINGS).map(|one| short(runs, one)).collect();
            text += "<div class=\"first\">\n";
            if !first.is_empty() {
                let (first, all) = (write(Block::Judged(term!("Main findings").into(), first)), said(ALL));
                let all = format!("<p><a href=\"#findings\">{all} ({})</a></p>", findings.len());
                text += &format!("<div class=\"costly\">\n{first}{all}\n</div>\n");
            }
            text += &format!("<div>\n{constants}</div>\n</div>\n");
        }
        constants => text.extend(constants),
    }
    text + &write(Block::Charts(leading))
}

/// Grade of a run, its disturbances and its end.
fn head(runs: &Runs, run: usize) -> String {
    let letter = runs.letter(run);
    let mut text = runs.all[run].trust.iter().map(|trust| verdict(&letter, trust)).collect::<String>();
    let warnings = warnings(&runs.all[run]);
    if !warnings.is_empty() {
        let (before, letter, list) = (said(BEFORE), html::letter(&letter), html::list("<ul>", &warnings));
        text += &format!(
            "<div class=\"warning\" role=\"note\">\n<h3 class=\"unseen\">{before}</h3>\n{letter}{list}</div>\n"
        );
    }
    text
}

/// The grade, what it promises, and why it is no better.
fn verdict(letter: &str, trust: &Trust) -> String {
    let (grade, letter, name) = (trust.grade.letter(), html::letter(letter), said(term!("Trust")));
    let mut text = format!(
        "<div class=\"verdict grade-{grade}\">\n<b class=\"grade\">{grade}</b>\n<div><p>{letter}<b>{name} {grade}</b> {}</p>\n",
        markup(&promise(trust).into())
    );
    let reasons: Vec<_> = trust.doubts.iter().map(|doubt| doubted(doubt).into()).collect();
    if let [first, others @ ..] = reasons.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            count => format!(" <span class=\"more\">+{count}</span>"),
        };
        let others = html::list("<ul>", others);
        text += &format!("<details class=\"reasons\"><summary>{}{more}</summary>\n{others}</details>\n", markup(first));
    }
    text + "</div></div>\n"
}

const MEANS: Text = term!("What this host's settings mean for its values");

const APART: Text = Text::name(" · ");

/// The facts of all runs, those of each environment once, and what they mean for the values.
fn settings_and_hosts(runs: &Runs, sides: &[(String, &[Run])]) -> String {
    let letters: Vec<&str> = sides.iter().map(|(letters, _)| letters.as_str()).collect();
    let write = |block: Block| html::write(&[block], 2, &|| 0);
    let block = |table: Table| format!("<div class=\"block\">\n{}</div>\n", write(Block::Table(table)));
    let tables = tables(&sides.iter().map(|(_, side)| &side[0]).collect::<Vec<_>>(), &letters);
    let conditions = |(index, run): (usize, &Run)| {
        let all = views::run::conditions(run);
        (!all.is_empty()).then(|| write(Block::Judged(runs.of_run(index, MEANS.into()), all)))
    };
    let tables: String = tables.into_iter().map(block).collect();
    let conditions: String = runs.all.iter().enumerate().filter_map(conditions).collect();
    format!("<div class=\"facts\">\n{tables}</div>\n{conditions}")
}

/// Settings, then the host's facts, a column for each run.
fn tables(runs: &[&Run], letters: &[&str]) -> Vec<Table> {
    let mut all = vec![settings(runs), virtual_machine(runs)];
    let of_run = |run: &&Run| host::facts(&host_report(run.host.clone(), Disturbed::default()));
    let hosts: Vec<Vec<Table>> = runs.iter().map(of_run).collect();
    for (place, table) in hosts.first().into_iter().flatten().enumerate() {
        let row = |(at, row): (usize, &Row)| {
            let facts =
                |host: &Vec<Table>| host[place].rows.get(at).map(|row| Message::joined(&row.cells[1].lines, APART));
            fact(row.cells[0].text.clone(), hosts.iter().map(|host| facts(host).unwrap_or_default()).collect())
        };
        all.push((table.title.clone(), table.rows.iter().enumerate().filter_map(row).collect()));
    }
    all.retain(|(_, rows)| !rows.is_empty());
    // One run's values need no head.
    let head = |letter: &&str| Message::plain(if letters.len() > 1 { *letter } else { "" });
    let of_run = |letter: &&str| Column { style: Style::Run, ..Column::new(head(letter), Align::Left) };
    let columns = || std::iter::once(Column::default()).chain(letters.iter().map(of_run)).collect();
    let table =
        |(title, rows)| Table { title, columns: columns(), rows, layout: TableLayout::Runs, ..Table::default() };
    all.into_iter().map(table).collect()
}

/// A row, unless no run has anything to say.
fn fact(label: Message, cells: Vec<Message>) -> Option<Row> {
    if cells.iter().all(Message::is_empty) {
        return None;
    }
    let differs = cells.windows(2).any(|pair| pair[0].to_string() != pair[1].to_string());
    let (kind, sign) = if differs { (RowKind::Changed, "≠") } else { (RowKind::None, "") };
    let filled = |cell: Message| Cell::from(if cell.is_empty() { "–".into() } else { cell });
    let label = Cell { text: label, sign, ..Cell::default() };
    Some(Row { kind, cells: std::iter::once(label).chain(cells.into_iter().map(filled)).collect(), ..Row::default() })
}

fn settings(runs: &[&Run]) -> (Message, Vec<Row>) {
    let mut rows = Vec::new();
    let mut row = |label: Text, of: &dyn Fn(&Run) -> Message| {
        rows.extend(fact(label.into(), runs.iter().copied().map(of).collect()));
    };
    let of_measured = |run: &Run, fact: Message| if run.imported.is_none() { fact } else { Message::default() };
    row(term!("run"), &|run| Message::plain(&run.name));
    row(term!("note"), &|run| run.note.clone().unwrap_or_default().into());
    row(term!("host"), &|run| Message::plain(&run.host.hostname));
    row(term!("measured at"), &|run| run.place.clone().unwrap_or_default().into());
    row(term!("imported from"), &|run| run.imported.as_ref().map(|from| from.file.clone()).unwrap_or_default().into());
    row(term!("started"), &|run| Message::plain(&run.started));
    row(term!("took"), &|run| duration_s(run).and_then(whole_seconds).unwrap_or_default().into());
    row(term!("profile"), &|run| of_measured(run, views::profile(run.settings.profile).into()));
    row(term!("cases × rounds"), &|run| format!("{} × {}", run.cases.len(), run.settings.rounds).into());
    row(term!("only"), &|run| run.settings.filters.join(" ").into());
    row(term!("table"), &|run| run.settings.table.clone().unwrap_or_default().into());
    row(term!("settings"), &|run| {
        let set: Vec<String> = run.settings.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        set.join(" ").into()
    });
    row(term!("seed"), &|run| of_measured(run, format!("{:#x}", run.settings.seed).into()));
    row(term!("clock"), &|run| {
        let clock = &run.settings.clock;
        of_measured(run, Message::joined([Message::plain(&clock.source), amount(clock.hz, Unit::Hertz)], " "))
    });
    row(term!("measuring CPU"), &|run| of_measured(run, run.settings.cpu.to_string().into()));
    row(term!("program"), &|run| {
        let tool = &run.tool;
        let linked = if tool.is_static { ", static" } else { "" };
        format!("hostmark {}, {}, {}{linked}", tool.version, tool.target, tool.libc).into()
    });
    row(term!("program's SHA-256"), &|run| run.tool.digest.clone().unwrap_or_default().into());
    (term!("Run and settings").into(), rows)
}

/// The virtual machines that the runs were measured in.
fn virtual_machine(runs: &[&Run]) -> (Message, Vec<Row>) {
    let of_run = |run: &Run| run.guest.as_ref().map(|guest| guest::facts(guest, true)).unwrap_or_default();
    let all: Vec<Vec<(Text, Message)>> = runs.iter().copied().map(of_run).collect();
    let mut labels: Vec<&Text> = Vec::new();
    for (label, _) in all.iter().flatten() {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let says = |label: &Text, facts: &Vec<(Text, Message)>| {
        facts.iter().find(|(known, _)| known == label).map(|(_, says)| says.clone()).unwrap_or_default()
    };
    let row = |label: &Text| fact(label.into(), all.iter().map(|facts| says(label, facts)).collect());
    (term!("Virtual machine").into(), labels.into_iter().filter_map(row).collect())
}
