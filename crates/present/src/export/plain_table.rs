//! Headings, lines and tables of texts as the views print them.

use hostmark_analysis::escape::visible;
use hostmark_analysis::plain_table::Table;
use hostmark_model::Text;
use unicode_width::UnicodeWidthStr;

use crate::RenderOptions;
use crate::wrap;

/// What stands between two columns, and before the first.
pub(super) const GAP: &str = "  ";

/// A title and its rule.
pub(super) fn heading(title: &str, options: &RenderOptions) -> String {
    let title = visible(title);
    let width = options.width.max(40);
    format!("{}{}\n", wrap::fit(&title, width), "-".repeat(title.width().min(width)))
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
    let page = options.width.max(40);
    let mut text = lines(table.title.get(lang), options);
    // Labels wrap before the cells are parted into several tables below each other.
    let widest = widths[1..].iter().max().map_or(0, |cell| cell + GAP.len());
    let label = widths[0]
        .min((page / 3).max(page.saturating_sub(GAP.len() + widths[1..].iter().map(|w| w + GAP.len()).sum::<usize>())));
    let label = label.min(page.saturating_sub(GAP.len() + widest).max(page / 3));
    let mut banks = wrap::banks(&widths[1..], GAP.len() + label, GAP.len(), page);
    if banks.is_empty() {
        banks.push(0..0);
    }
    for bank in banks {
        for row in &rows {
            if count > 1 && row.len() == 1 {
                text += &lines(&row[0], options);
                continue;
            }
            let mut parts = wrap::wrap(&row[0], label.max(2));
            let last = parts.pop().unwrap_or_default();
            text.extend(parts.into_iter().map(|part| format!("{GAP}{part}\n")));
            let mut line = format!("{GAP}{last}{}", " ".repeat(label.saturating_sub(last.width())));
            for index in bank.clone() {
                let cell = row.get(index + 1).map_or("", String::as_str);
                line += &format!("{GAP}{}{cell}", " ".repeat(widths[index + 1].saturating_sub(cell.width())));
            }
            text += &wrap::fit(line.trim_end(), page);
        }
    }
    for (number, note) in (1..).zip(&table.notes) {
        text += &lines(&format!("({number}) {}", note.get(lang)), options);
    }
    text.extend(table.remarks.iter().map(|remark| lines(remark.text().get(lang), options)));
    text
}
