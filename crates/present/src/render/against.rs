//! A run held against a reference: each value with its ratio, and a verdict where both sides can bear one.

use hostmark_analysis::escape::{self, visible};
use hostmark_analysis::format::{both, value as shown};
use hostmark_analysis::references::{Counterpart, Reference, Standing, Value, ratio_text};
use hostmark_model::{Lang, Run, Text};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::references::{paragraph, source};

/// Ids up to so many columns stand in their row, longer ones over it.
const WIDEST_ID: usize = 44;
/// And so wide are cells.
const WIDEST_CELL: usize = 20;

/// A run beside a reference.
#[derive(Debug)]
pub struct Against<'a> {
    run: &'a Run,
    reference: &'a Reference,
    rows: Vec<(&'a Value, Counterpart<'a>)>,
}

/// A run beside a reference; none where they have no value in common.
pub fn against<'a>(run: &'a Run, reference: &'a Reference) -> Option<Against<'a>> {
    let row = |value: &'a Value| Some((value, value.in_run(run)?));
    let rows: Vec<_> = reference.values_for(&run.host).iter().filter_map(row).collect();
    (!rows.is_empty()).then_some(Against { run, reference, rows })
}

/// How a value stands to the reference's, for people and for programs.
fn says(standing: Standing) -> (Text, &'static str) {
    match standing {
        Standing::Within => (Text { en: "within both intervals", zh: "在两者区间之内" }, "within"),
        Standing::Better => (Text { en: "better", zh: "更好" }, "better"),
        Standing::Worse => (Text { en: "worse", zh: "更差" }, "worse"),
        Standing::NoInterval => (Text { en: "no interval", zh: "无区间" }, "no_interval"),
        Standing::OtherMethod => (Text { en: "no verdict, other method", zh: "方法不同，不作判断" }, "other_method"),
        Standing::NoDirection => (Text { en: "neither is better", zh: "无优劣之分" }, "no_direction"),
    }
}

/// A row for programs.
#[derive(Debug, Serialize)]
struct ReferenceRow<'a> {
    id: &'a str,
    quantity: &'a str,
    value: f64,
    estimator: &'static str,
    interval: Option<[f64; 2]>,
    reference: f64,
    reference_interval: Option<[f64; 2]>,
    ratio: f64,
    standing: &'static str,
    differs: Option<&'a Text<String>>,
    address: &'a str,
    date: &'a str,
    machine: &'a Text<String>,
    method: &'a Text<String>,
}

/// The whole for programs.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a str,
    reference: &'a str,
    rows: Vec<ReferenceRow<'a>>,
}

impl<'a> Against<'a> {
    /// How each value that both have stands to the reference's.
    pub fn standings(&self) -> impl Iterator<Item = Standing> {
        self.rows.iter().map(|(value, found)| value.standing(found.estimate, found.flags, found.better))
    }

    /// Values of the reference that the run lacks.
    pub fn lacking(&self) -> usize {
        self.reference.values_for(&self.run.host).len() - self.rows.len()
    }

    pub fn json(&self) -> String {
        let row = |(value, found): &(&'a Value, Counterpart)| {
            let source = value.source(self.reference);
            ReferenceRow {
                id: &value.id,
                quantity: &value.quantity,
                value: found.estimate.value(),
                estimator: found.estimate.estimator().word(),
                interval: found.estimate.interval().map(|(low, high)| [low, high]),
                reference: value.value,
                reference_interval: value.interval,
                ratio: found.estimate.value() / value.value,
                standing: says(value.standing(found.estimate, found.flags, found.better)).1,
                differs: value.differs.as_ref(),
                address: source.address,
                date: source.date,
                machine: source.machine,
                method: source.method,
            }
        };
        let document = Document {
            schema: "hostmark.against/1",
            run: &self.run.name,
            reference: &self.reference.name,
            rows: self.rows.iter().map(row).collect(),
        };
        escape::json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
    }

    pub fn table(&self, options: &RenderOptions) -> String {
        let (lang, width) = (options.lang, options.width.max(40));
        let (run, reference) = (self.run, self.reference);
        let machine = reference.class_of(&run.host).map_or(&reference.machine, |class| &class.machine).get(lang);
        let mut out = String::new();
        let head = match lang {
            Lang::En => format!("{} against {}: {machine}", run.name, reference.name),
            Lang::Zh => format!("{} 与 {} 对比：{machine}", run.name, reference.name),
        };
        paragraph(&mut out, "", &head, width);
        source(&mut out, "  ", &reference.source(), options);
        out.push('\n');
        let mut notes: Vec<&Text<String>> = Vec::new();
        let rows = self.cells(lang, &mut notes);
        write_rows(&mut out, &rows, width);
        out.push('\n');
        let (all, lacking) = (reference.values.len(), self.lacking());
        if lacking > 0 {
            let says = match lang {
                Lang::En => format!("Of its {all} values this run lacks {lacking}."),
                Lang::Zh => format!("其 {all} 个数值中，本次运行缺少 {lacking} 个。"),
            };
            paragraph(&mut out, "", &says, width);
        }
        for (index, note) in notes.iter().enumerate() {
            paragraph(&mut out, &format!("({}) ", index + 1), note.get(lang), width);
        }
        let name = &reference.name;
        let says = match lang {
            Lang::En => {
                format!("The ratio is this run's value over the reference's. hostmark explain {name} has each source.")
            }
            Lang::Zh => format!("比值为本次运行与参考之比。各数值的来源见 hostmark explain {name}。"),
        };
        paragraph(&mut out, "", &says, width);
        out
    }

    /// The table's cells, and in `notes` in what methods differ.
    fn cells(&self, lang: Lang, notes: &mut Vec<&'a Text<String>>) -> Vec<[String; 5]> {
        let heads = match lang {
            Lang::En => ["case", "this run", "reference", "ratio", ""],
            Lang::Zh => ["用例", "本次运行", "参考", "比值", ""],
        };
        let mut rows = vec![heads.map(str::to_owned)];
        for (value, found) in &self.rows {
            let mut verdict = says(value.standing(found.estimate, found.flags, found.better)).0.get(lang).to_owned();
            if let Some(differs) = &value.differs {
                let known = notes.iter().position(|note| *note == differs);
                let index = known.unwrap_or_else(|| {
                    notes.push(differs);
                    notes.len() - 1
                });
                verdict += &format!(" ({})", index + 1);
            }
            rows.push([
                visible(format!("{} {}", self.run.typed_id(&value.id), value.quantity).trim_end()),
                both(found.estimate, found.unit, lang),
                shown(value.value, found.unit, lang),
                ratio_text(found.estimate.value() / value.value),
                verdict,
            ]);
        }
        rows
    }
}

fn write_rows(out: &mut String, rows: &[[String; 5]], width: usize) {
    let widest = |column: usize, most: usize| {
        rows.iter().map(|row| row[column].width()).filter(|width| *width <= most).max().unwrap_or(0)
    };
    let id_width = widest(0, WIDEST_ID.min(width / 2 - 8));
    let widths = [1, 2, 3].map(|column| widest(column, WIDEST_CELL));
    for row in rows {
        let mut line = row[0].clone();
        if line.width() > id_width {
            // Ids have no spaces to break at: they may go beyond a narrow screen, as whole words do.
            paragraph(out, "", &line, width);
            line.clear();
        }
        line += &" ".repeat(id_width.saturating_sub(line.width()));
        for (cell, width) in row[1..4].iter().zip(widths) {
            line += &format!("  {}{cell}", " ".repeat(width.saturating_sub(cell.width())));
        }
        line += &format!("  {}", row[4]);
        *out += line.trim_end();
        out.push('\n');
    }
}
