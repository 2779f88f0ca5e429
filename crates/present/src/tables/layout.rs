//! A table of one row a size, in sections: how it is printed.

use std::fmt::Write;

use hostmark_analysis::Spoken;
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::amount;
use hostmark_analysis::labels::Labels;
use hostmark_analysis::spoken;
use hostmark_model::{Lang, Message, Run, Text, Unit};
use hostmark_say::say;

use super::conclusion::conclusions;
use super::row::{CaseRow, Note, bytes_per_cycle};
use super::section::{Form, Section, Sizes};
use crate::RenderOptions;
use crate::texts;
use crate::wrap;

/// A table of one row a size.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Name for `--table` and `--format`.
    pub(crate) name: &'static str,
    pub(crate) title: Text,
    pub(crate) sections: &'static [Section],
    /// Explanations for readers.
    pub(crate) reading: &'static [Text],
}

impl Layout {
    pub(crate) fn render(&self, run: &Run, options: &RenderOptions) -> String {
        let lang = options.lang;
        let parts: Vec<(&Section, Option<String>, Vec<CaseRow>)> = (self.sections.iter())
            .flat_map(|section| section.points(run).into_iter().map(move |point| (section, point)))
            .map(|(section, point)| {
                let row = |size: String| CaseRow::of(section, &size, section.case(run, &size, point.as_deref()));
                let rows = section.sizes_of(run).into_iter().map(row).collect();
                (section, point, rows)
            })
            .collect();
        if parts.iter().all(|(.., rows)| rows.iter().all(CaseRow::is_absent)) {
            let command = format!("`hostmark run --table {}`", self.name);
            let nothing = spoken(&say!("This run has no cell of this table; measure it by {command}."), lang);
            return wrap::fit(&nothing, options.width.max(40));
        }
        let mut text = format!("{}\n{}\n", self.title.get(lang), "-".repeat(37));
        let mut notes = Notes { name: self.name, texts: Vec::new() };
        let labels = Labels::of(run);
        for (section, point, rows) in &parts {
            text.push_str(&heading(run, section, point.as_deref(), &labels, lang));
            let width = rows.iter().map(|row| row.value().chars().count()).max().unwrap_or(0);
            for row in rows {
                let note = row.note().map(|note| notes.number(&note, lang)).unwrap_or_default();
                // Writing to a string cannot fail.
                let _ = writeln!(text, "    {}", row.line(run, width, &note, lang).trim_end());
            }
            if let Form::RateAndCycles(_) = section.form {
                text.push_str(&bytes_per_cycle(run, rows, lang));
            }
            if let Form::Latency(stride) = section.form {
                let points: Vec<_> = rows.iter().filter_map(CaseRow::point).collect();
                text.push_str(&conclusions(run, stride, &points, lang));
            }
        }
        text.push('\n');
        text = wrap::fit(&text, options.width.max(40));
        let all: Vec<&CaseRow> = parts.iter().flat_map(|(.., rows)| rows).collect();
        let below = notes.lines().into_iter().chain(set(run, lang)).chain(disturbed(run, &all, lang));
        let below = below
            .chain([&texts::tables::row::SURE].into_iter().chain(self.reading).map(|text| text.get(lang).to_owned()));
        for line in below.flat_map(|line| wrap::wrap(&visible(&line), options.width.max(40))) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

fn heading(run: &Run, section: &Section, point: Option<&str>, labels: &Labels, lang: Lang) -> String {
    let title = section.title;
    let of_point = section.each.zip(point).map(|(axis, at)| labels.probe(section.probe).point(axis, at));
    let title = match of_point {
        Some(point) => say!("{title}: {point}", point = visible(&point.get(lang))),
        None if title.en.is_empty() => return "    =====================\n".to_owned(),
        None => around(run, section),
    };
    format!("\n    {}\n\n", spoken(&title, lang))
}

/// A section's title, with the cache that its sizes lie around where they lie around one.
fn around(run: &Run, section: &Section) -> Message {
    let (title, Sizes::AroundCache(position)) = (section.title, section.sizes) else { return section.title.into() };
    let caches = run.host.sizes_around_caches(run.settings.cpu);
    let bytes = caches.get(position).and_then(|around| around.cache_bytes);
    let is_reported = u8::try_from(position + 1).is_ok_and(|level| run.host.cache(run.settings.cpu, level).is_some());
    match (bytes, is_reported) {
        (Some(bytes), _) => say!("{title} of {size}", size = amount(bytes as f64, Unit::Bytes)),
        (None, true) => say!("{title}, of which a guest has an unknown share: powers of two"),
        (None, false) => say!("{title}, which the host does not report: powers of two"),
    }
}

/// Remark on disturbances of the machine, and the number of rows.
fn disturbed(run: &Run, rows: &[&CaseRow], lang: Lang) -> Vec<String> {
    let (all, contended) = (rows.len(), rows.iter().filter(|row| row.is_contended()).count());
    let of_rows = (contended > 0)
        .then(|| say!("{contended} of {all} rows were measured while other programs used their CPUs"))
        .map(|text| spoken(&text, lang));
    run.disturbances.iter().map(|text| text.get(lang).to_owned()).chain(of_rows).collect()
}

/// Options that the person set, and the rows do not show.
fn set(run: &Run, lang: Lang) -> Option<String> {
    let set: Vec<String> = run.settings.set.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    (!set.is_empty()).then(|| spoken(&say!("set: {set}", set = set.join(" ")), lang))
}

/// Notes on cells without a value, or to be taken with care; rows refer to them by number.
struct Notes {
    name: &'static str,
    texts: Vec<String>,
}

impl Notes {
    fn number(&mut self, note: &Note, lang: Lang) -> String {
        let text = note.text(self.name, lang);
        let index = self.texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        format!("({})", index + 1)
    }

    fn lines(&self) -> Vec<String> {
        (1..).zip(&self.texts).map(|(number, text)| format!("({number}) {text}")).collect()
    }
}
