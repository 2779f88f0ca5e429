//! A run held against a reference: each value that both have with its ratio, and a verdict where both sides can bear one.

use hostmark_analysis::bilingual::{Words, each, fixed, same};
use hostmark_analysis::constants::name_of;
use hostmark_analysis::format::{both, value as shown};
use hostmark_analysis::references::{Counterpart, Reference, ReferenceValue, ratio_text};
use hostmark_model::{Run, Text};

use crate::document::{Align, Block, Column, Document, Remark, Row, Style, Table};
use crate::words::said;

const CASE: Text = term!("case");
const RUN: Text = term!("this run");
const REFERENCE: Text = term!("reference");
const USUAL: Text = term!("usual");
const RATIO: Text = term!("ratio");

/// A value of a reference, and what the run has of it.
pub(crate) type AgainstRow<'a> = (&'a ReferenceValue, Option<Counterpart<'a>>);

pub(crate) fn against<'a>(run: &Run, reference: &Reference, rows: &[AgainstRow<'a>]) -> Document {
    let (name, source) = (&reference.name, reference.source());
    let is_usual = reference.design.is_some();
    let machine = reference.class_of(&run.host).map_or(&reference.machine, |class| &class.machine);
    let title = said!("{run} against {name}: {machine}", run = run.name);
    let method = said!("{date}; {method}", date = source.date, method = source.method);
    let remarks = [same(source.address), method].map(|text| Remark::new(text, Style::Plain));
    let mut notes: Vec<Words> = Vec::new();
    let row = |(value, found): &AgainstRow<'a>| {
        let verdict = found.as_ref().map(|found| value.verdict(found, is_usual));
        let mut words = match &verdict {
            Some(verdict) => verdict.standing.why_none().map_or_else(|| verdict.words.clone(), fixed),
            None => fixed(value.why_missing(run).0.why_none().unwrap_or_default()),
        };
        let why = || Some(value.why_missing(run).1).filter(|why| found.is_none() && *why != words);
        if let Some(note) = value.differs.clone().or_else(why) {
            let known = notes.iter().position(|known| *known == note);
            let at = known.unwrap_or(notes.len());
            notes.extend(known.is_none().then_some(note));
            words = each(|lang| format!("{} ({})", words.get(lang), at + 1));
        }
        let unit = found.as_ref().map(|found| found.unit).or_else(|| {
            let info = run.probes.iter().find(|info| value.id.split('@').next() == Some(info.id.as_str()))?;
            Some(value.unit_beside(info.unit))
        });
        let here = |lang| found.as_ref().map_or("–".to_owned(), |found| both(&found.estimate, found.unit, lang));
        let known = |lang| match unit {
            Some(unit) if is_usual => value.range(unit, lang).unwrap_or_default(),
            Some(unit) => shown(value.value, unit, lang),
            None => String::new(),
        };
        let ratio = found.as_ref().filter(|_| !is_usual).map(|found| found.estimate.value() / value.value);
        let id = || same(format!("{} {}", run.typed_id(&value.id), value.quantity).trim_end());
        let name = name_of(&value.id).filter(|_| is_usual).map_or_else(id, fixed);
        let cells =
            [Some(name), Some(each(here)), Some(each(known)), ratio.map(|ratio| same(ratio_text(ratio))), Some(words)];
        Row { cells: cells.into_iter().flatten().map(Into::into).collect(), ..Row::default() }
    };
    let rows: Vec<Row> = rows.iter().map(row).collect();
    let columns = match is_usual {
        // How far beyond is told in words, from the near end of the range.
        true => {
            vec![(CASE, Align::Left), (RUN, Align::Point), (USUAL, Align::Ellipsis), (Text::default(), Align::Left)]
        }
        false => vec![
            (CASE, Align::Left),
            (RUN, Align::Point),
            (REFERENCE, Align::Point),
            (RATIO, Align::Right),
            (Text::default(), Align::Left),
        ],
    };
    let columns = columns.into_iter().map(|(head, align)| Column::new(fixed(head), align)).collect();
    let (all, lacking) = (reference.values.len(), reference.values_for(&run.host).len() - rows.len());
    let lacking = (lacking > 0).then(|| said!("Of its {all} values this run lacks {lacking}."));
    let notes = (1..).zip(notes).map(|(number, note)| each(|lang| format!("({number}) {}", note.get(lang))));
    let ratio = match is_usual {
        true => said!(
            "Slower and faster count from the near end of the usual range. hostmark explain {name} has each source."
        ),
        false => {
            said!("The ratio is this run's value over the reference's. hostmark explain {name} has each source.")
        }
    };
    vec![
        Block::Sentence(title, Style::Plain),
        Block::Remarks(remarks.into()),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Method(lacking.into_iter().chain(notes).chain([ratio]).collect()),
    ]
}
