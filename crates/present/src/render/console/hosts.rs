//! Several runs beside each other: what differs between their machines, and the constants of each.

use unicode_width::UnicodeWidthStr;

use hostmark_analysis::compare::{FactOfRuns, differing};
use hostmark_analysis::constants::{self, ConstantOfRuns, ConstantValue, followed};
use hostmark_analysis::labels::run_letter;
use hostmark_model::{Lang, Run, Text};

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style, cut};
use crate::RenderOptions;
use crate::{views, words};

/// A name of a run may be this wide over its column; a longer one has a letter in its place.
const WIDEST_NAME: usize = 14;
/// Columns that one value of a fact may take, unless everything is asked for: the flags of a CPU fill a page.
const LONGEST_VALUE: usize = 100;

const FACTS: Text = Text { en: "DIFFERENT", zh: "不同之处" };
const CONSTANTS: Text = Text { en: "CONSTANTS", zh: "关键常数" };
const TRUST: Text = Text { en: "trust", zh: "可信度" };
const UNKNOWN: Text = Text { en: "unknown", zh: "未知" };

/// The table of several runs; it ends with a line break.
pub fn hosts(runs: &[Run], options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    let names = names(runs);
    let machines: Vec<Vec<Piece>> = runs.iter().map(|run| machine(run, options)).collect();
    let texts = |at: usize| machines[at].iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>();
    let is_one = (1..machines.len()).all(|at| texts(at) == texts(0));
    let called = |run: &Run, name: &String| {
        let own = (*name != run.name && !run.name.is_empty()).then(|| Piece::plain(&run.name));
        std::iter::once(Piece::new(name, Style::Heading)).chain(own).collect::<Vec<Piece>>()
    };
    for ((run, name), machine) in runs.iter().zip(&names).zip(&machines) {
        let mut facts = called(run, name);
        if !is_one {
            facts.extend(machine.iter().cloned());
        }
        page.flow_hanging(0, 4, &facts);
    }
    if let Some(machine) = machines.first().filter(|_| is_one) {
        page.flow(0, machine);
    }
    facts(runs, &names, &mut page);
    constants(runs, &names, &mut page);
    page.into_text()
}

/// Where a run was measured.
fn machine(run: &Run, options: &RenderOptions) -> Vec<Piece> {
    let name = Piece::new(&run.host.hostname, Style::Heading);
    let facts = views::run::machine(run).into_iter().chain(views::run::place(run));
    std::iter::once(name).chain(facts.map(|fact| Piece::plain(fact.get(options.lang)))).collect()
}

/// What each run is called over its column: its name where all are short and none is another's, else a letter.
fn names(runs: &[Run]) -> Vec<String> {
    let is_short = |run: &Run| !run.name.is_empty() && run.name.width() <= WIDEST_NAME;
    let is_alone = |run: &Run| runs.iter().filter(|other| other.name == run.name).count() == 1;
    match runs.iter().all(|run| is_short(run) && is_alone(run)) {
        true => runs.iter().map(|run| run.name.clone()).collect(),
        false => (0..runs.len()).map(run_letter).collect(),
    }
}

/// The facts that are not the same everywhere, each value once, behind those that have it.
fn facts(runs: &[Run], names: &[String], page: &mut Page) {
    let lang = page.options.lang;
    let (differ, same) = differing(runs);
    let remark = match (lang, differ.len(), same) {
        (Lang::En, 0, _) => format!("nothing of {same} facts"),
        (Lang::Zh, 0, _) => format!("无，{same} 项事实均相同"),
        (Lang::En, _, 1) => "1 other fact is the same".to_owned(),
        (Lang::En, ..) => format!("{same} other facts are the same"),
        (Lang::Zh, ..) => format!("其余 {same} 项相同"),
    };
    let title = page.say(FACTS);
    page.heading(title, &remark);
    let widest = differ.iter().map(|fact| fact.label.get(lang).width()).max().unwrap_or(0).min(page.width / 3);
    for FactOfRuns { label, values } in &differ {
        let mut groups: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
        for (value, name) in values.iter().zip(names) {
            match groups.iter_mut().find(|(known, _)| *known == value.as_deref()) {
                Some((_, whose)) => whose.push(name),
                None => groups.push((value.as_deref(), vec![name])),
            }
        }
        let most = if page.options.verbose { usize::MAX } else { LONGEST_VALUE };
        let told = |(value, whose): &(Option<&str>, Vec<&str>)| {
            let value = value.map_or_else(
                || page.say(UNKNOWN).to_owned(),
                |value| cut(&hostmark_analysis::escape::visible(value), most),
            );
            format!("{}{}{value}", whose.join(page.say(words::COMMA)), page.say(words::COLON))
        };
        let pieces: Vec<Piece> = groups.iter().map(told).map(Piece::plain).collect();
        let label = Piece::new(label.get(lang), Style::Dim);
        if label.width() > widest {
            page.line(&[Piece::plain("  "), label]);
            page.flow_hanging(6, 6, &pieces);
        } else {
            let pad = " ".repeat(widest - label.width());
            let lead = Piece { text: format!("  {}{pad}", label.text), style: Style::Dim };
            let all: Vec<Piece> = std::iter::once(lead).chain(pieces).collect();
            page.flow_hanging(0, widest + 5, &all);
        }
    }
}

/// A row for each constant that any run has, and a column for each run.
fn constants(runs: &[Run], names: &[String], page: &mut Page) {
    let lang = page.options.lang;
    let mut grid = Grid::new();
    names.iter().for_each(|name| grid.column(name, Align::Point));
    grid.row(GridRow::Heading(Piece::new(page.say(CONSTANTS), Style::Heading)));
    if runs.iter().any(|run| run.trust.is_some()) {
        let grade = |run: &Run| run.trust.as_ref().map_or("–".to_owned(), |trust| trust.grade.letter().to_owned());
        let cells = runs.iter().map(|run| Piece::plain(grade(run)));
        grid.row(GridRow::Cells(
            std::iter::once(Piece::new(page.say(TRUST), Style::Dim)).chain(cells).collect(),
            Vec::new(),
        ));
    }
    let mut has_constants = false;
    for line in constants::LINES {
        for beside in line.constants.iter().filter_map(|constant| constant.beside(runs)) {
            has_constants = true;
            let label = format!("{}{}{}", line.name.get(lang), page.say(words::COMMA), beside.name.get(lang));
            let cell = |(run, told): (&Run, &Option<ConstantValue>)| {
                Piece::plain(told.as_ref().map_or_else(|| "–".to_owned(), |told| cell(&beside, told, run, lang)))
            };
            let cells = runs.iter().zip(&beside.told).map(cell);
            grid.row(GridRow::Cells(std::iter::once(Piece::plain(label)).chain(cells).collect(), Vec::new()));
        }
    }
    if !has_constants {
        let nothing = page.say(words::NO_CASES);
        page.blank();
        page.paragraph("", nothing, Style::Plain);
        return;
    }
    grid.write(page);
}

/// `1.67 ns`, with how sure it is where that is worth a word; a range of rounds that disagree in the place of a half-width.
fn cell(beside: &ConstantOfRuns, told: &ConstantValue, run: &Run, lang: Lang) -> String {
    followed(beside.value(told, lang), told.how_sure(run, lang))
}
