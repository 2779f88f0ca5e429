//! Settings of the runs and their hosts, side by side.

use hostmark_analysis::duration::duration_s;
use hostmark_analysis::findings::host::host_report;
use hostmark_analysis::format::amount;
use hostmark_analysis::guest;
use hostmark_model::{Disturbed, Message, Run, Text, Unit};

use crate::document::{Align, Block, Cell, Column, Row, RowKind, Style, Table, TableLayout};
use crate::print::html;
use crate::runs::Runs;
use crate::views::run::whole_seconds;
use crate::views::{self, host};

const MEANS: Text = term!("What this host's settings mean for its values");

const APART: Text = Text::name(" · ");

/// The facts of all runs, those of each environment once, and what they mean for the values.
pub(super) fn facts(runs: &Runs, sides: &[(String, &[Run])]) -> String {
    let letters: Vec<&str> = sides.iter().map(|(letters, _)| letters.as_str()).collect();
    let write = |block: Block| html::write(&[block], 2, &|| 0);
    let block = |table: Table| format!("<div class=\"block\">\n{}</div>\n", write(Block::Table(table)));
    let tables = tables(&sides.iter().map(|(_, side)| &side[0]).collect::<Vec<_>>(), &letters);
    let conditions = |(index, run): (usize, &Run)| {
        let all = views::findings::conditions(run);
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
