//! One command's page: what its help on a screen and its manual page are made of, and how text breaks into lines.

use clap::{Arg, Command};
use hostmark_analysis::groups::distinct;
use hostmark_analysis::spoken;
use hostmark_analysis::typography::COLON;
use hostmark_model::Lang;
use hostmark_say::say;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::HelpEntry;
use crate::help;
use crate::texts::help as zh;

/// Widest and narrowest help.
const WIDTHS: (usize, usize) = (40, 100);
/// Largest width of the column of terms.
const TERMS: usize = 30;

/// Style of a page on a screen.
#[derive(Debug, Clone, Copy)]
pub struct PageStyle {
    pub width: usize,
    pub color: bool,
}

/// Width of help on an output of so many columns.
pub fn width(columns: Option<usize>) -> usize {
    columns.unwrap_or(WIDTHS.1).clamp(WIDTHS.0, WIDTHS.1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Commands: a table in every help.
    Commands,
    /// Arguments and options: a table in the short help, blocks in the long one.
    Options,
    /// Table in the long help alone.
    Topic,
    Examples,
}

#[derive(Debug, Clone)]
pub struct HelpSection {
    pub kind: SectionKind,
    pub heading: String,
    pub entries: Vec<HelpEntry>,
}

/// One command's page.
#[derive(Debug, Clone)]
pub struct HelpPage {
    lang: Lang,
    /// The whole command, as `hostmark vm run`.
    pub name: String,
    pub about: String,
    pub usage: String,
    pub sections: Vec<HelpSection>,
}

pub fn of(command: &Command, path: &str, lang: Lang) -> HelpPage {
    let said = |en: &str| super::heading(en, lang).to_owned();
    let mut sections = Vec::new();
    let commands: Vec<HelpEntry> = command
        .get_subcommands()
        .map(|part| {
            let about = match part.get_name() {
                "help" => super::HELP_COMMAND.get(lang).to_owned(),
                _ => part.get_about().map(ToString::to_string).unwrap_or_default(),
            };
            // What is typed once at installation stands in the long help alone.
            let short = if part.is_hide_set() { String::new() } else { about.clone() };
            HelpEntry { term: part.get_name().to_owned(), text: vec![about], short }
        })
        .collect();
    let mut add = |kind, heading: String, entries: Vec<HelpEntry>| {
        if !entries.is_empty() {
            sections.push(HelpSection { kind, heading, entries });
        }
    };
    add(SectionKind::Commands, said("Commands"), commands);
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let entries = |wanted: &dyn Fn(&Arg) -> bool| -> Vec<HelpEntry> {
        shown().filter(|argument| wanted(argument)).map(|argument| entry(argument, path, lang)).collect()
    };
    let is_argument = |one: &Arg| one.is_positional() && one.get_help_heading().is_none();
    add(SectionKind::Options, said("Arguments"), entries(&is_argument));
    let is_every = |one: &Arg| one.is_global_set() || super::of_every_command(one.get_id().as_str()).is_some();
    let has_own = shown().any(|one| one.get_help_heading().is_none() && !is_argument(one) && !is_every(one));
    let mut headings: Vec<_> = distinct(shown().filter_map(Arg::get_help_heading)).into_iter().map(Some).collect();
    // Options of every command come last.
    headings.insert(if has_own { 0 } else { headings.len() }, None);
    for heading in headings {
        let title = heading.map_or_else(|| said("Options"), str::to_owned);
        add(SectionKind::Options, title, entries(&|one| one.get_help_heading() == heading && !is_argument(one)));
    }
    add(SectionKind::Examples, said("Examples"), help::entries(path, lang));
    for topic in super::of(path) {
        add(SectionKind::Topic, topic.heading.get(lang).to_owned(), topic.entries(lang));
    }
    let usage = command.clone().render_usage().to_string();
    HelpPage {
        lang,
        name: if path.is_empty() { "hostmark".to_owned() } else { format!("hostmark {path}") },
        about: command.get_about().map(ToString::to_string).unwrap_or_default(),
        usage: super::usage(usage.strip_prefix("Usage:").unwrap_or(&usage).trim(), lang),
        sections,
    }
}

fn entry(argument: &Arg, path: &str, lang: Lang) -> HelpEntry {
    let long = argument.get_long().map(|_| argument.to_string());
    let term = match (argument.get_short(), long) {
        (Some(short), Some(long)) => format!("-{short}, {long}"),
        (_, Some(long)) => format!("    {long}"),
        _ => argument.to_string(),
    };
    let id = argument.get_id().as_str();
    let (short, mut text) = match super::of_every_command(id) {
        Some(help) => (help.get(lang).to_owned(), vec![help.get(lang).to_owned()]),
        None => {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let long = argument.get_long_help().map(ToString::to_string).unwrap_or_else(|| help.clone());
            (help, long.split("\n\n").map(str::to_owned).collect())
        }
    };
    let colon = COLON.get(lang);
    let takes_values = argument.get_action().takes_values();
    let values: Vec<_> = argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    let names = || values.iter().map(clap::builder::PossibleValue::get_name).collect::<Vec<&str>>().join(", ");
    let mut brackets = Vec::new();
    let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_values && !defaults.is_empty() {
        brackets.push(format!("[{}{colon}{}]", super::heading("default", lang), defaults.join(" ")));
    }
    let aliases: Vec<String> =
        argument.get_visible_aliases().unwrap_or_default().iter().map(|alias| format!("--{alias}")).collect();
    if !aliases.is_empty() {
        brackets.push(format!("[{}{colon}{}]", super::heading("also", lang), aliases.join(", ")));
    }
    let explained = values.iter().any(|value| value.get_help().is_some());
    if takes_values && explained {
        for value in &values {
            let help = value_help(path, id, value.get_name(), value.get_help().map(ToString::to_string), lang);
            text.push(format!("{}{colon}{help}", value.get_name()));
        }
    } else if takes_values && !values.is_empty() {
        brackets.push(format!("[{}{colon}{}]", super::heading("values", lang), names()));
    }
    text.extend(brackets.iter().cloned());
    let short = if takes_values && explained { format!("{short} [{}]", names()) } else { short };
    let short = if argument.is_hide_short_help_set() { String::new() } else { short };
    HelpEntry { term, short, text }
}

/// Help of a value; the command line's own English where the table has none.
pub fn value_help(path: &str, id: &str, value: &str, en: Option<String>, lang: Lang) -> String {
    let found = || zh::VALUES.iter().find(|(p, i, v, _)| (*i, *v) == (id, value) && (*p == path || p.is_empty()));
    match lang {
        Lang::Zh => found().map(|(.., text)| (*text).to_owned()).or(en).unwrap_or_default(),
        Lang::En => en.unwrap_or_default(),
    }
}

impl HelpPage {
    /// One screen: what it does, how it is called, and every option in a line.
    pub fn short(&self, look: PageStyle) -> String {
        let mut out = self.head(look);
        // What few people need stands in the long help alone.
        let in_short = |section: &HelpSection| -> Vec<HelpEntry> {
            let is_wanted = matches!(section.kind, SectionKind::Commands | SectionKind::Options);
            section.entries.iter().filter(|entry| is_wanted && !entry.short.is_empty()).cloned().collect()
        };
        let all = self.sections.iter().map(|section| (&section.heading, in_short(section)));
        let all: Vec<_> = all.filter(|(_, entries)| !entries.is_empty()).collect();
        for (index, (title, entries)) in all.iter().enumerate() {
            let before = out.len();
            heading(&mut out, title, look);
            // Many groups stand close, so that they fit on a screen.
            if index > 0 && all.len() > 3 {
                out.remove(before);
            }
            table(&mut out, entries, look, |entry| vec![entry.short.clone()]);
        }
        out.push('\n');
        let more = spoken(
            &say!("`{name} --help` shows all: details, examples, filters, exit codes, files.", name = self.name),
            self.lang,
        );
        push_lines(&mut out, "", &more, look.width);
        out
    }

    pub fn long(&self, look: PageStyle) -> String {
        let mut out = self.head(look);
        for section in &self.sections {
            heading(&mut out, &section.heading, look);
            match section.kind {
                SectionKind::Commands | SectionKind::Topic => {
                    table(&mut out, &section.entries, look, |entry| entry.text.clone())
                }
                SectionKind::Examples | SectionKind::Options => blocks(&mut out, &section.entries, look),
            }
        }
        out
    }

    fn head(&self, look: PageStyle) -> String {
        let mut out = String::new();
        push_lines(&mut out, "", &self.about, look.width);
        let usage = super::heading("Usage", self.lang);
        let colon = COLON.get(self.lang);
        let usage = if look.color { format!("\x1b[1m{usage}{colon}\x1b[0m") } else { format!("{usage}{colon}") };
        out.push_str(&format!("\n{usage}{}\n", self.usage));
        out
    }
}

fn heading(out: &mut String, text: &str, look: PageStyle) {
    out.push_str(&if look.color { format!("\n\x1b[1m{text}\x1b[0m\n") } else { format!("\n{text}\n") });
}

fn push_lines(out: &mut String, indent: &str, text: &str, width: usize) {
    for line in lines(text, width.saturating_sub(indent.width())) {
        out.push_str(indent);
        out.push_str(&line);
        out.push('\n');
    }
}

/// Terms in one column, texts in another.
fn table(out: &mut String, entries: &[HelpEntry], look: PageStyle, text: impl Fn(&HelpEntry) -> Vec<String>) {
    let most = TERMS.min(look.width / 2);
    let terms = entries.iter().map(|entry| entry.term.width()).filter(|&width| width <= most).max().unwrap_or(0);
    let indent = " ".repeat(terms + 4);
    for entry in entries {
        let mut body = String::new();
        for paragraph in text(entry) {
            push_lines(&mut body, &indent, &paragraph, look.width);
        }
        let width = entry.term.width();
        if width > terms {
            out.push_str(&format!("  {}\n{body}", entry.term));
        } else {
            // The first line's own indentation is where the term stands.
            let rest = body.get(indent.len()..).unwrap_or("\n");
            out.push_str(&format!("  {}{}{rest}", entry.term, " ".repeat(terms + 2 - width)));
        }
    }
}

/// Each term on a line, its text below it.
fn blocks(out: &mut String, entries: &[HelpEntry], look: PageStyle) {
    for entry in entries {
        out.push_str(&format!("  {}\n", entry.term));
        for paragraph in &entry.text {
            push_lines(out, "          ", paragraph, look.width);
        }
    }
}

/// No line begins with one of these.
const CLOSING: &str = "，。；：、！？）」』”’》";
/// No line ends with one of these.
const OPENING: &str = "（「『“‘《";

/// The lines of a text, none wider than `width` unless a single word is.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for (atom, has_blank) in atoms(text) {
        let blank = usize::from(has_blank && !line.is_empty());
        if !line.is_empty() && line.width() + blank + atom.width() > width {
            lines.push(std::mem::take(&mut line));
        } else if blank == 1 {
            line.push(' ');
        }
        line.push_str(&atom);
    }
    lines.push(line);
    lines
}

/// Parts that no line break splits, each with whether a blank stands before it.
fn atoms(text: &str) -> Vec<(String, bool)> {
    let mut atoms: Vec<(String, bool)> = Vec::new();
    // Whether the next character belongs to the last atom.
    let mut is_open = false;
    let mut has_blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            (is_open, has_blank) = (false, true);
            continue;
        }
        let is_wide = c.width() == Some(2) || OPENING.contains(c) || CLOSING.contains(c);
        let joins = !has_blank && (is_open && (!is_wide || ends_open(&atoms)) || CLOSING.contains(c));
        match atoms.last_mut().filter(|_| joins) {
            Some((atom, _)) => atom.push(c),
            None => atoms.push((c.to_string(), has_blank)),
        }
        is_open = !is_wide || OPENING.contains(c);
        has_blank = false;
    }
    atoms
}

fn ends_open(atoms: &[(String, bool)]) -> bool {
    atoms.last().is_some_and(|(atom, _)| atom.ends_with(|c| OPENING.contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_breaks_at_blanks() {
        assert_eq!(lines("to be or not to be", 9), ["to be or", "not to be"]);
        assert_eq!(lines("incomprehensible word", 5), ["incomprehensible", "word"]);
        assert_eq!(lines("", 5), [""]);
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_at_punctuation() {
        assert_eq!(lines("测量本机的性能", 8), ["测量本机", "的性能"]);
        assert_eq!(lines("测量本机，网络", 8), ["测量本", "机，网络"]);
        assert_eq!(lines("测量（本机）", 6), ["测量", "（本", "机）"]);
        assert_eq!(lines("用 --help 查看", 9), ["用 --help", "查看"]);
    }
}
