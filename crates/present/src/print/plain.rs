//! A document as plain text: titles with a rule below, no colour, labels that wrap before cells are parted.

use hostmark_analysis::Spoken;
use hostmark_analysis::bars::{BarGroup, Bars};
use hostmark_analysis::escape::visible;
use hostmark_analysis::typography::{typeset, typeset_columns};
use hostmark_model::Message;
use unicode_width::UnicodeWidthStr;

use crate::RenderOptions;
use crate::document::{Block, Document, Drawing, Judged, Row, Table};
use crate::wrap::{self, fit};

/// Gap between two columns, and before the first.
const GAP: &str = "  ";

fn heading(title: &str, options: &RenderOptions) -> String {
    let title = visible(title);
    let width = options.width.max(40);
    format!("{}{}\n", wrap::fit(&title, width), "-".repeat(title.width().min(width)))
}

/// A text in lines of the width that is asked for.
pub(crate) fn lines(text: &str, options: &RenderOptions) -> String {
    let text = typeset(text, options.lang);
    wrap::wrap(&visible(&text), options.width.max(40)).iter().map(|line| format!("{line}\n")).collect()
}

/// The document with a blank line between its blocks; what belongs to the lines above it stands close to them.
pub(crate) fn write(document: &Document, options: &RenderOptions) -> String {
    let mut text = String::new();
    for block in document {
        let is_close = matches!(block, Block::Sentence(..) | Block::Drawn(_));
        for part in write_block(block, options) {
            text += if text.is_empty() || is_close { "" } else { "\n" };
            text += &part;
        }
    }
    text
}

fn write_block(block: &Block, options: &RenderOptions) -> Vec<String> {
    let say = |text: &Message| lines(&text.get(options.lang), options);
    match block {
        // The command that asked for it stands above.
        Block::Title(_) => Vec::new(),
        Block::Warnings(all) => {
            all.iter().map(|text| lines(&format!("! {}", text.get(options.lang)), options)).collect()
        }
        Block::Part(title) | Block::Heading(title, _) => vec![heading(&title.get(options.lang), options)],
        Block::Conclusion(text) | Block::Sentence(text, _) => vec![say(text)],
        Block::Method(all) => all.iter().map(say).collect(),
        Block::Remarks(all) => all.iter().map(|remark| say(&remark.text)).collect(),
        Block::Table(table) => vec![write_table(table, options)],
        Block::Charts(all) => all.iter().filter_map(|chart| drawn(&chart.drawing, options)).collect(),
        Block::Drawn(all) => vec![columns(all, options)],
        Block::Folded(title, blocks) => {
            let blocks = blocks.iter().flat_map(|block| write_block(block, options));
            std::iter::once(heading(&title.get(options.lang), options)).chain(blocks).collect()
        }
        Block::Judged(title, all) => vec![judged(title, all, options)],
        Block::List(list) => vec![titled(&list.title, list.lines.iter(), options)],
        Block::Named(all) => all.iter().map(|one| lines(&one.in_a_line(options.lang), options)).collect(),
        Block::Tally(tally) => vec![titled(&tally.title, tally.reasons.iter().map(|reason| &reason.text), options)],
    }
}

fn titled<'a>(title: &Message, texts: impl Iterator<Item = &'a Message>, options: &RenderOptions) -> String {
    let texts = texts.map(|text| lines(&format!("{GAP}{}", text.get(options.lang)), options));
    heading(&title.get(options.lang), options) + &texts.collect::<String>()
}

/// Lines as they are; one that is too long goes on below.
pub(crate) fn columns(all: &[Message], options: &RenderOptions) -> String {
    let line = |line: &Message| wrap::fit(&format!("{GAP}{}", visible(&line.get(options.lang))), options.width.max(40));
    all.iter().map(line).collect()
}

/// A drawing of letters; none where it takes lines.
pub(crate) fn drawn(drawing: &Drawing, options: &RenderOptions) -> Option<String> {
    match drawing {
        Drawing::Bars(bars) => write_bars(bars, options),
        Drawing::Rows(_) | Drawing::Picture(_) => None,
    }
}

/// Each with its verdict before it.
fn judged(title: &Message, all: &[Judged], options: &RenderOptions) -> String {
    let widest = all.iter().map(|one| one.verdict.get(options.lang).width()).max().unwrap_or(0);
    let width = options.width.max(40).max(2 * (2 * GAP.len() + widest));
    let each = all.iter().map(|one| {
        let label = one.verdict.get(options.lang);
        let lead = format!("{GAP}{label}{}{GAP}", " ".repeat(widest.saturating_sub(label.width())));
        wrap::hanging(&lead, &visible(&one.text.get(options.lang)), width)
    });
    heading(&title.get(options.lang), options) + &each.collect::<String>()
}

/// The table under its title; the first column to the left, the others to the right. A head of rows takes the whole line.
pub(crate) fn write_table(table: &Table, options: &RenderOptions) -> String {
    let lang = options.lang;
    let shown = |text: &Message| visible(&text.get(lang));
    let heads: Vec<String> = table.columns.iter().map(|column| shown(&column.head)).collect();
    let (count, mut rows) = (heads.len(), vec![heads]);
    rows.extend(table.rows.iter().map(|row: &Row| row.cells.iter().map(|cell| shown(&cell.text)).collect()));
    let of_cells = |row: &&Vec<String>| row.len() > 1 || count == 1;
    let width = |index: usize| {
        let rows = rows.iter().filter(of_cells);
        rows.filter_map(|row| row.get(index)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let page = options.width.max(40);
    let mut text = lines(&table.caption.get(lang), options);
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
    text.extend(table.notes.iter().map(|note| lines(&note.get(lang), options)));
    typeset_columns(&text, lang).into_owned()
}

/// The longest bar; more tells no more.
const MOST: usize = 48;
/// The shortest room for one.
const LEAST: usize = 8;
/// A whole column, and what is left of one in eighths.
const WHOLE: &str = "█";
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The bars under their title; none where there is no value.
fn write_bars(bars: &Bars, options: &RenderOptions) -> Option<String> {
    let most = bars.most()?;
    let shown = |text: &Message| visible(&text.get(options.lang));
    let names: Vec<String> = bars.names.iter().map(|name| visible(name)).collect();
    let widest = |all: &mut dyn Iterator<Item = usize>| all.max().unwrap_or(0);
    let label = widest(&mut bars.groups.iter().map(|group| shown(&group.label).width()));
    let name = widest(&mut names.iter().map(|name| name.width()));
    let values = bars.groups.iter().flat_map(|group| &group.bars).flatten();
    let value = widest(&mut values.map(|(_, text)| shown(text).width()));
    let room = options.width.max(40).saturating_sub(label + name + value + 4 * GAP.len()).clamp(LEAST, MOST);
    let mut text = lines(&bars.title.get(options.lang), options);
    let line = |group: &BarGroup, index: usize, label_text: &str| {
        let (bar, end) = match group.bars.get(index).and_then(Option::as_ref) {
            Some((value, text)) => (bar(value / most, room), shown(text)),
            None => (String::new(), "–".to_owned()),
        };
        let gap = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let name_text = &names[index];
        format!(
            "{GAP}{label_text}{}{GAP}{name_text}{}{GAP}{bar}{}{GAP}{end}\n",
            gap(label_text, label),
            gap(name_text, name),
            gap(&bar, room)
        )
    };
    for group in &bars.groups {
        let label = shown(&group.label);
        for index in 0..names.len() {
            text += &line(group, index, if index == 0 { &label } else { "" });
        }
    }
    Some(fit(&text, options.width.max(40)))
}

fn bar(share: f64, room: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize;
    WHOLE.repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for (share, text) in [(0.0, ""), (0.5, "██"), (1.0, "████"), (0.53125, "██▏"), (f64::NAN, ""), (7.0, "████")]
        {
            assert_eq!(bar(share, 4), text, "{share}");
        }
    }
}
