//! What an environment costs over another: a guest over the bare machine, user space over the kernel.

use hostmark_analysis::escape::{markdown, visible};
use hostmark_analysis::overhead::{LayerConclusion, Overhead, overhead};
use hostmark_model::{Run, Text};
use unicode_width::UnicodeWidthStr;

use super::bars;
use super::plain_table::{GAP, heading, lines, write};
use super::{Format, Render};
use crate::RenderOptions;
use crate::wrap;

/// For the question what a layer costs.
pub(super) const FORMAT: Format = Format {
    name: "overhead",
    description: Text {
        en: "what kernel, OS and further environments cost, in percent: RUN, or native=RUN guest=RUN",
        zh: "内核、操作系统与其他环境的开销百分比：RUN，或 native=RUN guest=RUN",
    },
    render: Render::Many(render),
};

const TITLE: Text = Text { en: "What each layer costs", zh: "各层的开销" };
const CONCLUSIONS: Text = Text { en: "Conclusions", zh: "结论" };

fn render(runs: &[Run], options: &RenderOptions) -> String {
    over(runs, None, options).unwrap_or_else(|why| format!("{why}\n"))
}

/// The same over the case `base` of the first run's environment; an error is one sentence.
pub fn over(runs: &[Run], base: Option<&str>, options: &RenderOptions) -> Result<String, String> {
    let view = overhead(runs, base, options.verbose)?;
    if view.parts.is_empty() {
        const NOTHING: Text = Text {
            en: "There is nothing to hold against each other: measure with `hostmark run --table overhead`, give runs of two \
                 environments that have cases in common, as native=RUN guest=RUN, or a case of the run as --base CASE.",
            zh: "没有可以相互比较的内容：请用 `hostmark run --table overhead` 测量，或给出两个环境中有共同用例的运行，写作 native=RUN \
                 guest=RUN，或用 --base CASE 指定运行中的一个用例。",
        };
        return Ok(lines(NOTHING.get(options.lang), options));
    }
    Ok(text(&view, options))
}

/// Whether the runs have nothing to hold against each other.
pub(super) fn is_empty(runs: &[Run]) -> bool {
    overhead(runs, None, false).is_ok_and(|view| view.parts.is_empty())
}

/// Several runs as a document.
pub(super) fn markdown_of(runs: &[Run], options: &RenderOptions) -> String {
    match overhead(runs, None, options.verbose) {
        Ok(view) if !view.parts.is_empty() => document(&view, options),
        _ => over(runs, None, options).unwrap_or_else(|why| format!("{why}\n")),
    }
}

fn document(view: &Overhead, options: &RenderOptions) -> String {
    let lang = options.lang;
    let say = |text: &Text<String>| markdown(text.get(lang));
    let mut blocks = vec![format!("# {}\n", markdown(TITLE.get(lang)))];
    blocks.extend(view.remarks.iter().map(|remark| format!("> ! {}\n", say(remark))));
    for part in &view.parts {
        blocks.extend(part.title.map(|title| format!("## {}\n", markdown(title.get(lang)))));
        for table in &part.tables {
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            let mut text = format!("**{}**\n\n", say(&table.title));
            text += &line(std::iter::once(String::new()).chain(table.columns.iter().map(say)).collect());
            text += &format!("|---|{}\n", "--:|".repeat(table.columns.len()));
            for row in &table.rows {
                let blank = vec![String::new(); table.columns.len()];
                text += &match row.is_head() {
                    true => line([vec![format!("**{}**", say(&row.label))], blank].concat()),
                    false => line(std::iter::once(&row.label).chain(&row.cells).map(say).collect()),
                };
            }
            for (number, note) in (1..).zip(&table.notes) {
                text += &format!("\n({number}) {}\n", say(note));
            }
            text.extend(table.remarks.iter().map(|remark| format!("\n{}\n", say(&remark.text()))));
            blocks.push(text);
        }
        for bars in part.bars.iter().filter_map(|bars| bars::write(bars, options)) {
            // Indented lines are shown as they are.
            blocks.push(bars.lines().map(|line| format!("    {line}\n")).collect());
        }
    }
    if !view.conclusions.is_empty() {
        let told = |told: &LayerConclusion| {
            format!("- **{}** {}\n", markdown(told.verdict.label().get(lang)), say(&told.text))
        };
        let all: String = view.conclusions.iter().map(told).collect();
        blocks.push(format!("## {}\n\n{all}", markdown(CONCLUSIONS.get(lang))));
    }
    blocks.join("\n")
}

fn text(view: &Overhead, options: &RenderOptions) -> String {
    let remarks = view.remarks.iter().map(|remark| lines(&format!("! {}", remark.get(options.lang)), options));
    let parts = view.parts.iter().flat_map(|part| {
        let title = part.title.map(|title| heading(title.get(options.lang), options));
        let bars = part.bars.iter().filter_map(|bars| bars::write(bars, options));
        title.into_iter().chain(part.tables.iter().map(|table| write(table, options))).chain(bars)
    });
    let conclusions = (!view.conclusions.is_empty()).then(|| conclusions(&view.conclusions, options));
    remarks.chain(parts).chain(conclusions).collect::<Vec<String>>().join("\n")
}

/// Each with its verdict before it.
fn conclusions(all: &[LayerConclusion], options: &RenderOptions) -> String {
    let label = |told: &LayerConclusion| told.verdict.label().get(options.lang).to_owned();
    let widest = all.iter().map(|told| label(told).width()).max().unwrap_or(0);
    let lead = 2 * GAP.len() + widest;
    let mut text = heading(CONCLUSIONS.get(options.lang), options);
    for told in all {
        let said = visible(told.text.get(options.lang));
        let mut label = label(told);
        for line in wrap::wrap(&said, options.width.max(40).max(2 * lead) - lead) {
            let pad = " ".repeat(widest.saturating_sub(label.width()));
            text += &format!("{GAP}{label}{pad}{GAP}{line}\n");
            label.clear();
        }
    }
    text
}
