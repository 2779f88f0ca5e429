//! lmbench's summary of one or several runs: its twelve tables with a row for each run, and under each table why a cell
//! has no value.

use hostmark_analysis::escape::visible;
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::lmbench::{CellRemark, SummaryCell, SummaryTable, TABLES, cases_of, cell, interval};
use hostmark_analysis::{Spoken, spoken};
use hostmark_model::{Lang, Message, Run, Text};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::{ExportFormat, Render};
use crate::RenderOptions;
use crate::wrap;

/// Format for eyes that know lmbench, and to set runs and imported result files beside each other.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "lmbench",
    description: term!("the twelve summary tables of lmbench, with a row for each run"),
    render: Render::Many(render),
};

const GAP: &str = "  ";

/// Tells whether a run has a cell of any table.
pub(super) fn is_in(run: &Run) -> bool {
    TABLES.iter().flat_map(|table| table.columns).any(|column| cases_of(run, column).next().is_some())
}

fn render(runs: &[Run], options: &RenderOptions) -> String {
    let rows = rows(runs);
    TABLES.iter().map(|table| write(table, &rows, options)).collect::<Vec<String>>().join("\n")
}

/// A run, and what stands before its values.
struct HostRow<'a> {
    run: &'a Run,
    host: String,
    system: String,
}

/// Rows are called by their hosts; where two would be called alike, by their runs, and at last with the letter of the run.
fn rows(runs: &[Run]) -> Vec<HostRow<'_>> {
    let distinguished = |names: Vec<String>, otherwise: &dyn Fn(usize) -> String| -> Vec<String> {
        let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let all = names.iter().enumerate();
        all.map(|(index, name)| if is_alone(name) { name.clone() } else { otherwise(index) }).collect()
    };
    let hosts = distinguished(runs.iter().map(host).collect(), &|index| runs[index].name.clone());
    let hosts = distinguished(hosts, &|index| format!("{} {}", runs[index].name, run_letter(index)));
    let row = |(run, name): (_, &String)| {
        let run: &Run = run;
        HostRow {
            run,
            host: visible(name),
            system: visible(&run.host.kernel.named().unwrap_or_else(|| run.host.kernel.system().into())),
        }
    };
    runs.iter().zip(&hosts).map(row).collect()
}

/// The columns before those that the table names: text, at the left.
const TEXTS: usize = 2;

fn write(table: &SummaryTable, runs: &[HostRow], options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut notes = Notes::default();
    let heads = [term!("Host"), term!("OS")].into_iter().chain(table.columns.iter().map(|column| column.head));
    let heads: Vec<Vec<&str>> = heads.map(|head| head_of(head, lang)).collect();
    let rows: Vec<Vec<String>> = runs
        .iter()
        .flat_map(|row| {
            let cells = table.columns.iter().zip(&heads[TEXTS..]).map(|(column, head)| {
                let name = head.join(" ").replace("/ ", "/");
                notes.shown(&row.host, &name, cell(row.run, column), lang)
            });
            let values = [row.host.clone(), row.system.clone()].into_iter().chain(cells).collect();
            std::iter::once(values).chain(intervals(table, row))
        })
        .collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    let width = |index: usize| {
        let head = heads[index].iter().map(|line| line.width()).max().unwrap_or(0);
        rows.iter().map(|row| row[index].width()).fold(head, usize::max)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let is_text = |index: usize| {
        let holds_a_letter = |row: &Vec<String>| row[index].contains(|c: char| c.is_alphabetic());
        index < TEXTS || rows.iter().any(holds_a_letter)
    };
    let mut text = wrap::fit(table.title.get(lang), options.width.max(40));
    let page = options.width.max(40);
    let lead = widths[..TEXTS].iter().map(|width| width + GAP.len()).sum::<usize>() - GAP.len();
    for bank in wrap::banks(&widths[TEXTS..], lead, GAP.len(), page) {
        let mut line = |cells: &dyn Fn(usize) -> String| {
            let shown = (0..TEXTS).chain(bank.clone().map(|index| index + TEXTS));
            let padded: Vec<String> = shown
                .map(|index| {
                    let cell = cells(index);
                    let pad = " ".repeat(widths[index].saturating_sub(cell.width()));
                    if is_text(index) { cell + &pad } else { pad + &cell }
                })
                .collect();
            text += &wrap::fit(padded.join(GAP).trim_end(), page);
        };
        for row in 0..height {
            // Short heads stand on the rule.
            line(&|index| {
                let above = height - heads[index].len();
                row.checked_sub(above).map(|row| heads[index][row].to_owned()).unwrap_or_default()
            });
        }
        line(&|index| "-".repeat(widths[index]));
        rows.iter().for_each(|row| line(&|index| row[index].clone()));
    }
    text + &notes.lines(options)
}

/// The row below a run's values: how sure each is; none where no value of the run has an interval.
fn intervals(table: &SummaryTable, row: &HostRow) -> Option<Vec<String>> {
    let cells: Vec<Option<String>> = table.columns.iter().map(|column| interval(row.run, column)).collect();
    cells.iter().any(Option::is_some).then(|| {
        let shown = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        [String::new(), "95 %".to_owned()].into_iter().chain(shown).collect()
    })
}

fn head_of(head: Text, lang: Lang) -> Vec<&'static str> {
    head.say(lang).lines().collect()
}

/// The host's name; an imported run tells that it is one.
fn host(run: &Run) -> String {
    let name = if run.host.hostname.is_empty() { &run.name } else { &run.host.hostname };
    match &run.imported {
        Some(_) => format!("{name} ({})", run.tool.version),
        None => name.clone(),
    }
}

/// Notes under a table; cells refer to them by number.
#[derive(Default)]
struct Notes {
    notes: Vec<Note>,
}

struct Note {
    run: String,
    columns: Vec<String>,
    text: String,
    filters: Vec<String>,
}

impl Notes {
    /// The cell as it is shown: never blank.
    fn shown(&mut self, run: &str, column: &str, cell: SummaryCell, lang: Lang) -> String {
        let value = cell.text.map(|text| visible(&text.get(lang))).unwrap_or_default();
        match cell.note {
            None => value,
            Some(remark) => format!("{value}({})", self.number(run, column, &remark, lang)),
        }
    }

    /// The number of the note, which several columns of a run may share.
    fn number(&mut self, run: &str, column: &str, remark: &CellRemark, lang: Lang) -> usize {
        let text = visible(&remark.text.get(lang));
        let known = self.notes.iter().position(|note| note.run == run && note.text == text);
        let index = known.unwrap_or_else(|| {
            self.notes.push(Note { run: run.to_owned(), columns: Vec::new(), text, filters: Vec::new() });
            self.notes.len() - 1
        });
        let note = &mut self.notes[index];
        note.columns.push(column.to_owned());
        note.filters.extend(remark.filter.clone().filter(|filter| !note.filters.contains(filter)));
        index + 1
    }

    fn lines(&self, options: &RenderOptions) -> String {
        let mut text = String::new();
        for (number, note) in (1..).zip(&self.notes) {
            let (lead, run, filters) = (format!("({number}) "), &note.run, note.filters.join(" "));
            let columns = Message::joined(note.columns.iter().map(Message::plain), term!(", ", "list"));
            let mut said = say!("{run}: {columns}: {text}", text = note.text);
            if !filters.is_empty() {
                said = say!("{said}; to measure: hostmark run {filters}");
            }
            let said = spoken(&said, options.lang);
            let indent = " ".repeat(lead.len());
            for (index, line) in wrap::wrap(&said, options.width.max(40) - lead.len()).iter().enumerate() {
                text += if index == 0 { &lead } else { &indent };
                text += line;
                text.push('\n');
            }
        }
        text
    }
}
