//! A run held against a reference: each value that both have with its ratio, and a verdict where both sides can bear one.

use hostmark_analysis::bilingual::{Words, each, fixed, same};
use hostmark_analysis::format::{both, value as shown};
use hostmark_analysis::references::{Counterpart, Reference, ReferenceValue, Standing, ratio_text};
use hostmark_model::{Run, Text};

use crate::document::{Align, Block, Column, Document, Remark, Row, Style, Table};

const CASE: Text = Text { en: "case", zh: "用例" };
const RUN: Text = Text { en: "this run", zh: "本次运行" };
const REFERENCE: Text = Text { en: "reference", zh: "参考" };
const RATIO: Text = Text { en: "ratio", zh: "比值" };

pub(crate) fn against<'a>(run: &Run, reference: &Reference, rows: &[(&'a ReferenceValue, Counterpart)]) -> Document {
    let (name, source) = (&reference.name, reference.source());
    let machine = reference.class_of(&run.host).map_or(&reference.machine, |class| &class.machine);
    let title = Words {
        en: format!("{} against {name}: {}", run.name, machine.en),
        zh: format!("{} 与 {name} 对比：{}", run.name, machine.zh),
    };
    let method = Words {
        en: format!("{}; {}", source.date, source.method.en),
        zh: format!("{}；{}", source.date, source.method.zh),
    };
    let remarks = [same(source.address), method].map(|text| Remark::new(text, Style::Plain));
    let mut notes: Vec<&Text<String>> = Vec::new();
    let row = |(value, found): &(&'a ReferenceValue, Counterpart)| {
        let mut verdict = fixed(word(found.standing(value)));
        if let Some(differs) = &value.differs {
            let known = notes.iter().position(|note| *note == differs);
            let at = known.unwrap_or(notes.len());
            notes.extend(known.is_none().then_some(differs));
            verdict = each(|lang| format!("{} ({})", verdict.get(lang), at + 1));
        }
        let cells = vec![
            same(format!("{} {}", run.typed_id(&value.id), value.quantity).trim_end()),
            each(|lang| both(found.estimate, found.unit, lang)),
            each(|lang| shown(value.value, found.unit, lang)),
            same(ratio_text(found.estimate.value() / value.value)),
            verdict,
        ];
        Row { cells: cells.into_iter().map(Into::into).collect(), ..Row::default() }
    };
    let rows: Vec<Row> = rows.iter().map(row).collect();
    let columns = [(CASE, Align::Left), (RUN, Align::Point), (REFERENCE, Align::Point), (RATIO, Align::Right)];
    let columns = columns.into_iter().chain([(Text::default(), Align::Left)]);
    let columns = columns.map(|(head, align)| Column::new(fixed(head), align)).collect();
    let (all, lacking) = (reference.values.len(), reference.values_for(&run.host).len() - rows.len());
    let lacking = (lacking > 0).then(|| Words {
        en: format!("Of its {all} values this run lacks {lacking}."),
        zh: format!("其 {all} 个数值中，本次运行缺少 {lacking} 个。"),
    });
    let notes = (1..).zip(notes).map(|(number, note)| each(|lang| format!("({number}) {}", note.get(lang))));
    let ratio = Words {
        en: format!("The ratio is this run's value over the reference's. hostmark explain {name} has each source."),
        zh: format!("比值为本次运行与参考之比。各数值的来源见 hostmark explain {name}。"),
    };
    vec![
        Block::Sentence(title, Style::Plain),
        Block::Remarks(remarks.into()),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Method(lacking.into_iter().chain(notes).chain([ratio]).collect()),
    ]
}

/// How a value stands to the reference's.
const fn word(standing: Standing) -> Text {
    match standing {
        Standing::Within => Text { en: "within both intervals", zh: "在两者区间之内" },
        Standing::Better => Text { en: "better", zh: "更好" },
        Standing::Worse => Text { en: "worse", zh: "更差" },
        Standing::NoInterval => Text { en: "no interval", zh: "无区间" },
        Standing::OtherMethod => Text { en: "no verdict, other method", zh: "方法不同，不作判断" },
        Standing::NoDirection => Text { en: "neither is better", zh: "无优劣之分" },
    }
}
