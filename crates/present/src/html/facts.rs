//! What was measured, where and how: the runs' settings and their hosts, side by side.

use hostmark_analysis::duration::duration_s;
use hostmark_analysis::findings::host::host_report;
use hostmark_analysis::format::value;
use hostmark_analysis::guest;
use hostmark_model::{Disturbed, Run, Text, Unit};

use super::bilingual::{Words, each, fixed, joined, same};
use crate::document::{Align, Block, Cell, Column, Row, RowKind, Style, Table, TableLayout};
use crate::print::html;
use crate::runs::Runs;
use crate::views::run::whole_seconds;
use crate::views::{self, host};

const MEANS: Text = Text { en: "What this host's settings mean for its values", zh: "本机设置对数值的影响" };

/// Between facts of a row.
const APART: Text = Text { en: " · ", zh: " · " };

/// The facts of all runs, those of each environment once, and what they mean for the values.
pub(super) fn facts(runs: &Runs, sides: &[(String, &[Run])]) -> String {
    let letters: Vec<&str> = sides.iter().map(|(letters, _)| letters.as_str()).collect();
    let write = |block: Block| html::write(&[block], 2, &|| 0);
    let block = |table: Table| format!("<div class=\"block\">\n{}</div>\n", write(Block::Table(table)));
    let tables = tables(&sides.iter().map(|(_, side)| &side[0]).collect::<Vec<_>>(), &letters);
    let conditions = |(index, run): (usize, &Run)| {
        let all = views::findings::conditions(run);
        (!all.is_empty()).then(|| write(Block::Judged(runs.of_run(index, fixed(MEANS)), all)))
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
            let facts = |host: &Vec<Table>| host[place].rows.get(at).map(|row| joined(&row.cells[1].lines, APART));
            fact(row.cells[0].text.clone(), hosts.iter().map(|host| facts(host).unwrap_or_default()).collect())
        };
        all.push((table.title.clone(), table.rows.iter().enumerate().filter_map(row).collect()));
    }
    all.retain(|(_, rows)| !rows.is_empty());
    // One run's values need no head.
    let head = |letter: &&str| same(if letters.len() > 1 { *letter } else { "" });
    let of_run = |letter: &&str| Column { style: Style::Run, ..Column::new(head(letter), Align::Left) };
    let columns = || std::iter::once(Column::default()).chain(letters.iter().map(of_run)).collect();
    let table =
        |(title, rows)| Table { title, columns: columns(), rows, layout: TableLayout::Runs, ..Table::default() };
    all.into_iter().map(table).collect()
}

/// A row, unless no run has anything to say.
fn fact(label: Words, cells: Vec<Words>) -> Option<Row> {
    if cells.iter().all(|cell| cell.en.is_empty()) {
        return None;
    }
    let (kind, sign) =
        if cells.windows(2).any(|pair| pair[0] != pair[1]) { (RowKind::Changed, "≠") } else { (RowKind::None, "") };
    let filled = |cell: Words| Cell::from(if cell.en.is_empty() { same("–") } else { cell });
    let label = Cell { text: label, sign, ..Cell::default() };
    Some(Row { kind, cells: std::iter::once(label).chain(cells.into_iter().map(filled)).collect(), ..Row::default() })
}

fn settings(runs: &[&Run]) -> (Words, Vec<Row>) {
    let mut rows = Vec::new();
    let mut row = |en: &str, zh: &str, of: &dyn Fn(&Run) -> Words| {
        let label = Words { en: en.to_owned(), zh: zh.to_owned() };
        rows.extend(fact(label, runs.iter().copied().map(of).collect()));
    };
    let measured = |run: &Run| run.imported.is_none();
    row("run", "运行", &|run| same(&run.name));
    row("note", "备注", &|run| same(run.note.clone().unwrap_or_default()));
    row("host", "主机", &|run| same(&run.host.hostname));
    row("measured at", "测量位置", &|run| same(run.place.clone().unwrap_or_default()));
    row("imported from", "导入自", &|run| {
        same(run.imported.as_ref().map(|from| from.file.clone()).unwrap_or_default())
    });
    row("started", "开始时间", &|run| same(&run.started));
    row("took", "用时", &|run| same(duration_s(run).and_then(whole_seconds).unwrap_or_default()));
    row("profile", "档位", &|run| if measured(run) { fixed(views::profile(run.settings.profile)) } else { same("") });
    row("cases × rounds", "用例 × 轮", &|run| same(format!("{} × {}", run.cases.len(), run.settings.rounds)));
    row("only", "筛选", &|run| same(run.settings.filters.join(" ")));
    row("table", "表", &|run| same(run.settings.table.clone().unwrap_or_default()));
    row("settings", "设置", &|run| {
        let set: Vec<String> = run.settings.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        same(set.join(" "))
    });
    row("seed", "随机种子", &|run| {
        if measured(run) { same(format!("{:#x}", run.settings.seed)) } else { same("") }
    });
    row("clock", "时钟", &|run| {
        let clock = &run.settings.clock;
        each(|lang| match measured(run) {
            true => format!("{} {}", clock.source, value(clock.hz, Unit::Hertz, lang)),
            false => String::new(),
        })
    });
    row("measuring CPU", "测量所用 CPU", &|run| {
        if measured(run) { same(run.settings.cpu.to_string()) } else { same("") }
    });
    row("program", "程序", &|run| {
        let tool = &run.tool;
        let linked = if tool.is_static { ", static" } else { "" };
        same(format!("hostmark {}, {}, {}{linked}", tool.version, tool.target, tool.libc))
    });
    row("program's SHA-256", "程序的 SHA-256", &|run| same(run.tool.digest.clone().unwrap_or_default()));
    (fixed(Text { en: "Run and settings", zh: "运行与设置" }), rows)
}

/// The virtual machines that the runs were measured in.
fn virtual_machine(runs: &[&Run]) -> (Words, Vec<Row>) {
    let of_run = |run: &Run| run.guest.as_ref().map(|guest| guest::facts(guest, true)).unwrap_or_default();
    let all: Vec<Vec<(Words, Words)>> = runs.iter().copied().map(of_run).collect();
    let mut labels: Vec<&Words> = Vec::new();
    for (label, _) in all.iter().flatten() {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let says = |label: &Words, facts: &Vec<(Words, Words)>| {
        facts.iter().find(|(known, _)| known == label).map(|(_, says)| says.clone()).unwrap_or_default()
    };
    let row = |label: &Words| fact(label.clone(), all.iter().map(|facts| says(label, facts)).collect());
    (fixed(Text { en: "Virtual machine", zh: "虚拟机" }), labels.into_iter().filter_map(row).collect())
}
