//! A document as markdown, for a report, a ticket or a pull request.

use hostmark_analysis::Spoken;
use hostmark_analysis::escape;
use hostmark_analysis::spoken;
use hostmark_analysis::typography::{COLON, SEMICOLON, typeset};
use hostmark_model::{Lang, Message, Text};
use hostmark_say::say;

use super::plain;
use crate::RenderOptions;
use crate::document::{Align, Block, Cell, Column, Document, NamedParty, Row, RowKind, Style, Table, Tally};

const DISTURBED: Text = term!("disturbed: ");

/// The documents below each other, with titles of this level; the text ends with a line break, and nothing of a file is taken for markup.
pub(crate) fn write(documents: &[Document], level: usize, options: &RenderOptions) -> String {
    let RenderOptions { lang, verbose, .. } = *options;
    let printer = Printer { options: *options, lang, verbose, level: "#".repeat(level) };
    let blocks = documents.iter().flatten().map(|block| printer.block(block));
    let blocks: Vec<String> = blocks.filter(|text| !text.is_empty()).collect();
    typeset(&blocks.join("\n"), lang).into_owned()
}

struct Printer {
    options: RenderOptions,
    lang: Lang,
    verbose: bool,
    level: String,
}

impl Printer {
    /// A block in whole lines; nothing where markdown cannot show it.
    fn block(&self, block: &Block) -> String {
        match block {
            Block::Title(text) => format!("{} {}\n", self.level, self.say(text)),
            Block::Conclusion(text) => format!("**{}**\n", self.say(text)),
            Block::Heading(title, remark) => self.heading(title, remark),
            Block::Part(title) => self.heading(title, &Message::default()),
            Block::Remarks(all) => {
                all.iter().map(|one| format!("{}\n", self.say(&one.text))).collect::<Vec<_>>().join("\n")
            }
            Block::List(list) => {
                let lines = list.lines.iter().map(|line| format!("- {}\n", self.say(line)));
                format!("{}\n{}", self.heading(&list.title, &Message::default()), lines.collect::<String>())
            }
            Block::Sentence(text, _) => format!("{}\n", self.say(text)),
            Block::Method(all) | Block::Warnings(all) => {
                all.iter().map(|text| format!("- {}\n", self.say(text))).collect()
            }
            Block::Named(all) => all.iter().map(|one| self.named(one)).collect(),
            Block::Table(table) => self.table(table),
            Block::Tally(tally) => self.tally(tally),
            Block::Charts(all) => {
                let drawn = all.iter().filter_map(|chart| plain::drawn(&chart.drawing, &self.options));
                drawn.map(|text| as_it_is(&text)).collect::<Vec<String>>().join("\n")
            }
            Block::Drawn(all) => as_it_is(&plain::columns(all, &self.options)),
            Block::Folded(title, blocks) => {
                let blocks = blocks.iter().map(|block| self.block(block));
                std::iter::once(self.heading(title, &Message::default())).chain(blocks).collect::<Vec<_>>().join("\n")
            }
            Block::Judged(title, all) => {
                let each = all.iter().map(|one| format!("- **{}** {}\n", self.say(&one.verdict), self.say(&one.text)));
                format!("{}\n{}", self.heading(title, &Message::default()), each.collect::<String>())
            }
        }
    }

    fn say(&self, text: &Message) -> String {
        plain(&text.get(self.lang))
    }

    fn heading(&self, title: &Message, remark: &Message) -> String {
        let (title, remark) = (self.say(title), self.say(remark));
        match remark.is_empty() {
            true => format!("{}# {title}\n", self.level),
            false => format!("{}# {}\n", self.level, spoken(&say!("{title} ({remark})"), self.lang)),
        }
    }

    fn named(&self, one: &NamedParty) -> String {
        let facts: Vec<String> = one.facts.iter().map(|fact| self.say(fact)).collect();
        let mut text = format!(
            "- {}{}**{}** · {}\n",
            self.say(&one.role),
            COLON.say(self.lang),
            plain(&one.name),
            facts.join(" · ")
        );
        text.extend(one.warnings.iter().map(|one| format!("  - {}{}\n", DISTURBED.say(self.lang), self.say(one))));
        text
    }

    fn table(&self, table: &Table) -> String {
        let is_whole = table.is_whole(self.verbose);
        let rows: Vec<&Row> = table.rows.iter().filter(|row| is_whole || !row.is_rest).collect();
        let mut text = String::new();
        if !table.title.is_empty() {
            text = format!("{}\n", self.heading(&table.title, &Message::default()));
        }
        if !table.caption.is_empty() {
            text += &format!("**{}**\n\n", self.say(&table.caption));
        }
        if !rows.is_empty() {
            let rule = |column: &Column| if column.align == Align::Left { "---|" } else { "--:|" };
            text += &line(table.columns.iter().map(|column| self.say(&column.head)));
            text += &format!("|{}\n", table.columns.iter().map(rule).collect::<String>());
            text.extend(rows.iter().map(|row| self.row(row, &table.columns)));
        }
        text.extend(table.notes.iter().map(|note| format!("\n{}\n", self.say(note))));
        if let Some(rest) = table.rest.as_ref().filter(|_| rows.len() < table.rows.len()) {
            let gap = if rows.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{}{}\n", self.say(&rest.left_out), term!(".").say(self.lang));
        }
        text
    }

    /// The remarks stand in the last cell.
    fn row(&self, row: &Row, columns: &[Column]) -> String {
        if row.is_head() && columns.len() > 1 {
            let label = format!("**{}**", self.say(&row.cells[0].text));
            return line(std::iter::once(label).chain(vec![String::new(); columns.len() - 1]));
        }
        // What did not change needs no sign to be found.
        let cell = |(cell, column): (&Cell, &Column)| match cell.sign {
            "" if !cell.lines.is_empty() => {
                let most = if self.verbose || cell.style != Style::Dim { usize::MAX } else { column.few };
                cell.lines.iter().take(most).map(|line| self.say(line)).collect::<Vec<_>>().join("<br>")
            }
            sign if sign.is_empty() || row.kind == RowKind::Equal => self.say(&cell.text),
            sign => format!("{sign} {}", self.say(&cell.text)),
        };
        let mut cells: Vec<String> = row.cells.iter().zip(columns).map(cell).collect();
        let shown = row.remarks.iter().filter(|remark| self.verbose || !remark.is_detail);
        let id = (self.verbose && !row.id.is_empty()).then(|| plain(&row.id));
        if let Some(last) = cells.last_mut() {
            for remark in shown.map(|remark| self.say(&remark.text)).chain(id) {
                last.push_str(SEMICOLON.say(self.lang));
                last.push_str(&remark);
            }
        }
        line(cells)
    }

    fn tally(&self, tally: &Tally) -> String {
        let mut text = format!("{}\n", self.heading(&tally.title, &Message::default()));
        for reason in &tally.reasons {
            text += &format!("- {}{}{}\n", reason.rows.len(), COLON.say(self.lang), self.say(&reason.text));
            let is_all = self.verbose || reason.is_open;
            for row in reason.rows.iter().filter(|row| is_all || row.has_values()) {
                text += &format!("  - {}\n", plain(&row.in_a_line(self.verbose, self.lang)));
            }
        }
        text
    }
}

/// Indented lines are shown as they are.
fn as_it_is(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
}

/// `text` as markdown shows it: nothing in it is markup, a name that is called, or a formula.
fn plain(text: &str) -> String {
    escape::markdown(text).replace('@', "&#64;").replace('$', "\\$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_is_markup() {
        assert_eq!(
            plain("a|b <img src=x> *c* _d_\n@e $f$"),
            "a\\|b &lt;img src=x&gt; \\*c\\* \\_d\\_\\\\n&#64;e \\$f\\$"
        );
    }
}
