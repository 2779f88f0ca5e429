//! A run as a picture for a post: SVG of 1200 × 630, which stands alone: what machine, how far to trust it, its constants beside a
//! reference, and what costs most. It names no host.

use std::fmt::Write;

use hostmark_analysis::Spoken;
use hostmark_analysis::constants::{self, ConstantValue};
use hostmark_analysis::escape::{visible, xml};
use hostmark_analysis::findings::leading;
use hostmark_analysis::references::{NearestReference, ReferenceVerdict, Tone, beside};
use hostmark_analysis::trust;
use hostmark_analysis::typography::typeset;
use hostmark_model::{Lang, Message, Run, Text};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::RenderOptions;
use crate::views::run;

/// The picture, in pixels: what services that show links ask for.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const MARGIN: f64 = 44.0;
/// Columns of constants, and where they begin.
const COLUMNS: usize = 3;
const TOP: f64 = 152.0;
const ROW: f64 = 53.0;
/// Constants at most: more rows would leave no room for findings.
const MOST: usize = 18;
const FINDINGS: usize = 3;
/// The width of a half-width character over the size of its font, on average in the widest usual sans-serif fonts; of bold ones.
const CHARACTER: f64 = 0.56;
const BOLD: f64 = 0.67;
/// Sizes of a value's font.
const SIZES: [f64; 4] = [20.0, 16.0, 13.0, 11.5];
/// The size of a verdict's font.
const VERDICT: f64 = 15.0;
/// A ratio of so much fills half of its bar.
const FULL: f64 = 4.0;

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif";
const INK: &str = "#16191d";
const FAINT: &str = "#5b6470";
const GOOD: &str = "#15803d";
const BAD: &str = "#c2410c";

const NO_CONSTANTS: Text = term!("The run has none of the constants.");

/// The whole picture; it ends with a line break.
pub fn svg(run: &Run, options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"630\" viewBox=\"0 0 1200 630\" role=\"img\" \
         font-family=\"{FONT}\">\n<title>{}</title>\n<rect width=\"1200\" height=\"630\" fill=\"#ffffff\"/>",
        xml(&parts(run, lang).join(" "))
    );
    let room = WIDTH - 2.0 * MARGIN;
    let facts = parts(run, lang);
    let (first, others) = facts.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
    line(&mut out, MARGIN, 62.0, (34.0, 700), INK, first, room);
    line(&mut out, MARGIN, 94.0, (21.0, 400), FAINT, &others.join(" · "), room);
    let (colour, says) = believed(run);
    line(&mut out, MARGIN, 126.0, (19.0, 600), colour, &visible(&says.get(lang)), room);
    let beside = beside(run);
    let groups = constants::of_run(run);
    let all: Vec<(&Text, &ConstantValue)> = groups
        .iter()
        .flat_map(|(kind, constants)| constants.iter().map(|constant| (&kind.name, constant)))
        .take(MOST)
        .collect();
    let width = room / COLUMNS as f64;
    let rows = all.len().div_ceil(COLUMNS);
    for (index, (kind, constant)) in all.iter().enumerate() {
        // Down, then to the right, so that constants of a kind stand together.
        let (column, row) = (index / rows, index % rows);
        let (x, y) = (MARGIN + column as f64 * width, TOP + row as f64 * ROW);
        constant_row(&mut out, (x, y, width - 30.0), kind, constant, beside.as_ref(), lang);
    }
    if all.is_empty() {
        line(&mut out, MARGIN, TOP + 20.0, (19.0, 400), FAINT, NO_CONSTANTS.say(lang), room);
    }
    let mut y = HEIGHT - 52.0 - 27.0 * FINDINGS as f64;
    for finding in leading(run).iter().take(FINDINGS) {
        y += 27.0;
        let text = visible(finding.short.get(lang));
        line(&mut out, MARGIN, y, (18.0, 400), INK, &format!("• {text}"), room);
    }
    foot(&mut out, run, beside.as_ref(), !all.is_empty(), lang);
    typeset(&(out + "</svg>\n"), lang).into_owned()
}

/// Grade of the figures, or the reason not to believe them.
fn believed(run: &Run) -> (&'static str, Message) {
    let forbids = run::contradictions(run).into_iter().next();
    let grade = || run.trust.as_ref().map(|trust| trust::line(trust).into()).unwrap_or_default();
    forbids.map_or_else(|| (INK, grade()), |warning| (BAD, warning))
}

/// Description of the machine: the model first; no name of a host.
fn parts(run: &Run, lang: Lang) -> Vec<String> {
    let mut parts: Vec<String> = run::title(run).iter().map(|part| visible(&part.get(lang))).collect();
    if parts.is_empty() {
        parts.push(visible(&run.host.cpu.architecture));
    }
    parts
}

/// One of them: its name, its value, and a bar that says how it stands beside the reference.
fn constant_row(
    out: &mut String,
    (x, y, width): (f64, f64, f64),
    kind: &Text,
    constant: &ConstantValue,
    beside: Option<&NearestReference>,
    lang: Lang,
) {
    let name = format!("{} · {}", kind.get(lang), constant.name.get(lang));
    line(out, x, y + 13.0, (14.5, 400), FAINT, &name, width);
    let verdict = beside.and_then(|beside| beside.verdict(constant));
    let kept = verdict.as_ref().map_or(0.0, |verdict| columns(verdict.words.get(lang), VERDICT, 600) + 8.0);
    // How sure a value is is never left out: it is written smaller.
    let shown = visible(&constant.in_line().get(lang));
    let fits = |size: &f64| columns(&shown, *size, 600) <= width - kept;
    let size = SIZES.into_iter().find(fits).unwrap_or(SIZES[SIZES.len() - 1]);
    line(out, x, y + 35.0, (size, 600), INK, &shown, width - kept);
    let Some(ReferenceVerdict { words, tone, better, .. }) = verdict else { return };
    let colour = match tone {
        Tone::Bad => BAD,
        Tone::Good => GOOD,
        Tone::Doubtful => INK,
        Tone::Plain => FAINT,
    };
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{VERDICT}\" font-weight=\"600\" fill=\"{colour}\" text-anchor=\"end\">{}</text>",
        x + width,
        y + 35.0,
        xml(words.get(lang))
    );
    let (middle, half) = (x + width / 2.0, width / 2.0);
    let reach = (better.ln() / FULL.ln()).clamp(-1.0, 1.0) * half;
    let _ = writeln!(
        out,
        "<path d=\"M{x:.1} {0:.1}h{width:.1}\" stroke=\"#e3e6ea\" stroke-width=\"4\"/>\
         <path d=\"M{middle:.1} {0:.1}h{reach:.1}\" stroke=\"{colour}\" stroke-width=\"4\"/>\
         <path d=\"M{middle:.1} {1:.1}v8\" stroke=\"{FAINT}\" stroke-width=\"1.5\"/>",
        y + 43.0,
        y + 39.0
    );
}

fn foot(out: &mut String, run: &Run, beside: Option<&NearestReference>, has_constants: bool, lang: Lang) {
    let day = run.started.split('T').next().unwrap_or_default();
    let made = shortened(&visible(&format!("{} · {day}", run::tool(run))), 16.0, 400, 400.0);
    let kept = columns(&made, 16.0, 400) + 24.0;
    let y = HEIGHT - 26.0;
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{y}\" font-size=\"16\" fill=\"{FAINT}\" text-anchor=\"end\">{}</text>",
        WIDTH - MARGIN,
        xml(&made)
    );
    if has_constants {
        let legend = match beside {
            Some(beside) => format!("{}{}", term!("right is better; ").say(lang), beside.source().get(lang)),
            None => term!("no reference machine of this kind is known").say(lang).to_owned(),
        };
        line(out, MARGIN, y, (16.0, 400), FAINT, &legend, WIDTH - 2.0 * MARGIN - kept);
    }
}

/// Writes a text that takes no more room than this.
fn line(out: &mut String, x: f64, y: f64, (size, weight): (f64, u32), colour: &str, text: &str, room: f64) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{colour}\">{}</text>",
        xml(&shortened(text, size, weight, room))
    );
}

/// Largest width of a text, pixels.
fn columns(text: &str, size: f64, weight: u32) -> f64 {
    text.width() as f64 * character(size, weight)
}

fn character(size: f64, weight: u32) -> f64 {
    size * if weight < 600 { CHARACTER } else { BOLD }
}

/// A text that takes no more room than this; what does not fit ends in an ellipsis.
fn shortened(text: &str, size: f64, weight: u32, room: f64) -> String {
    if columns(text, size, weight) <= room {
        return text.to_owned();
    }
    let most = (room / character(size, weight)) as usize;
    let mut taken = 1;
    let kept = text.chars().take_while(|c| {
        taken += c.width().unwrap_or(0);
        taken <= most
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_shortened_to_its_room() {
        assert_eq!(shortened("abc", 10.0, 400, 18.0), "abc");
        assert_eq!(shortened("abcdef ghij", 10.0, 400, 43.0), "abcdef…");
        for room in [0.0, 6.0, 50.0, 200.0] {
            let text = shortened("内存带宽 of all cores 全部核心", 10.0, 600, room);
            assert!(columns(&text, 10.0, 600) <= room.max(7.0), "{room} {text}");
        }
    }
}
