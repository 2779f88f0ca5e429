//! A run held against a reference: each value that both have with its ratio, and a verdict where both sides can bear one.

use hostmark_analysis::constants::name_of;
use hostmark_analysis::format::{amount, both};
use hostmark_analysis::references::{Counterpart, Reference, ReferenceValue, ratio_text};
use hostmark_model::{Message, Run, Text};
use hostmark_say::say;

use crate::document::{Align, Block, Column, Document, Remark, Row, Style, Table};

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
    let title = say!("{run} against {name}: {machine}", run = run.name);
    let method = say!("{date}; {method}", date = source.date, method = source.method);
    let remarks = [source.address.into(), method].map(|text| Remark::new(text, Style::Plain));
    let mut notes: Vec<Message> = Vec::new();
    let row = |(value, found): &AgainstRow<'a>| {
        let verdict = found.as_ref().map(|found| value.verdict(found, is_usual));
        let mut words: Message = match &verdict {
            Some(verdict) => verdict.standing.why_none().map_or_else(|| Message::from(&verdict.words), Message::from),
            None => value.why_missing(run).0.why_none().unwrap_or_default().into(),
        };
        let why = || Some(value.why_missing(run).1).filter(|why| found.is_none() && *why != words);
        if let Some(note) = value.differs.as_ref().map(Message::from).or_else(why) {
            let known = notes.iter().position(|known| *known == note);
            let at = known.unwrap_or(notes.len());
            notes.extend(known.is_none().then_some(note));
            words = say!("{words} ({number})", number = at + 1);
        }
        let unit = found.as_ref().map(|found| found.unit).or_else(|| {
            let info = run.probes.iter().find(|info| value.id.split('@').next() == Some(info.id.as_str()))?;
            Some(value.unit_beside(info.unit))
        });
        let here = found.as_ref().map_or_else(|| "–".into(), |found| both(&found.estimate, found.unit));
        let known = match unit {
            Some(unit) if is_usual => value.range(unit).unwrap_or_default(),
            Some(unit) => amount(value.value, unit),
            None => Message::default(),
        };
        let ratio = found.as_ref().filter(|_| !is_usual).map(|found| found.estimate.value() / value.value);
        let id = || format!("{} {}", run.typed_id(&value.id), value.quantity).trim_end().into();
        let name = name_of(&value.id).filter(|_| is_usual).map_or_else(id, Message::from);
        let cells = [Some(name), Some(here), Some(known), ratio.map(|ratio| ratio_text(ratio).into()), Some(words)];
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
    let columns = columns.into_iter().map(|(head, align)| Column::new(head, align)).collect();
    let (all, lacking) = (reference.values.len(), reference.values_for(&run.host).len() - rows.len());
    let lacking = (lacking > 0).then(|| say!("Of its {all} values this run lacks {lacking}."));
    let notes = (1..).zip(notes).map(|(number, note)| say!("({number}) {note}"));
    let ratio = match is_usual {
        true => say!(
            "Slower and faster count from the near end of the usual range. hostmark explain {name} has each source."
        ),
        false => {
            say!("The ratio is this run's value over the reference's. hostmark explain {name} has each source.")
        }
    };
    vec![
        Block::Sentence(title, Style::Plain),
        Block::Remarks(remarks.into()),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Method(lacking.into_iter().chain(notes).chain([ratio]).collect()),
    ]
}
