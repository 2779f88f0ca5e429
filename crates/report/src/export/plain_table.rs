//! Headings, lines and tables of texts as the views print them.

use hostmark_model::Text;
use unicode_width::UnicodeWidthStr;

use crate::RenderOptions;
use crate::escape::visible;
use crate::plain_table::Table;
use crate::render::wrap;

/// What stands between two columns, and before the first.
pub(super) const GAP: &str = "  ";

/// A title and its rule.
pub(super) fn heading(title: &str) -> String {
    let title = visible(title);
    format!("{title}\n{}\n", "-".repeat(title.width()))
}

/// A text in lines of the width that is asked for.
pub(super) fn lines(text: &str, options: &RenderOptions) -> String {
    wrap::wrap(&visible(text), options.width.max(40)).iter().map(|line| format!("{line}\n")).collect()
}

/// The table under its title; the first column to the left, the others to the right. A head of rows takes the whole line.
pub(super) fn write(table: &Table, options: &RenderOptions) -> String {
    let lang = options.lang;
    let shown = |text: &Text<String>| visible(text.get(lang));
    let heads: Vec<String> = std::iter::once(String::new()).chain(table.columns.iter().map(shown)).collect();
    let (count, mut rows) = (heads.len(), vec![heads]);
    rows.extend(table.rows.iter().map(|row| std::iter::once(&row.label).chain(&row.cells).map(shown).collect()));
    let of_cells = |row: &&Vec<String>| row.len() > 1 || count == 1;
    let width = |index: usize| {
        let rows = rows.iter().filter(of_cells);
        rows.filter_map(|row| row.get(index)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = lines(table.title.get(lang), options);
    for row in &rows {
        if count > 1 && row.len() == 1 {
            text += &lines(&row[0], options);
            continue;
        }
        let mut line = String::from(GAP);
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            line += &if index == 0 { format!("{cell}{pad}") } else { format!("{GAP}{pad}{cell}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    for (number, note) in (1..).zip(&table.notes) {
        text += &lines(&format!("({number}) {}", note.get(lang)), options);
    }
    text.extend(table.remarks.iter().map(|remark| lines(remark.text().get(lang), options)));
    text
}
