//! First part of the page: trust in each run, the constants, the greatest costs, and two charts.

use hostmark_analysis::constants::MOST_FINDINGS;
use hostmark_analysis::findings::is_everywhere;
use hostmark_analysis::trust::{doubted, promise};
use hostmark_model::{Finding, Text, Trust};

use super::say;
use crate::document::{Block, Chart, Judged};
use crate::markup::markup;
use crate::print::html::{self, Number};
use crate::runs::Runs;
use crate::views::constants::constants;
use crate::views::findings::short;
use crate::views::run::warnings;

const BEFORE: Text = term!("Before you trust these numbers");
const ALL: Text = term!("All findings, and what to do");

/// The constants of a run alone stand beside its first findings.
pub(super) fn answer(runs: &Runs, findings: &[Vec<Finding>], leading: Vec<Chart>, number: Number) -> String {
    let write = |block: Block| html::write(&[block], 2, number);
    let mut text: String = (0..runs.all.len()).map(|run| head(runs, run)).collect();
    match constants(runs.all, runs.reference.as_ref()).map(|table| write(Block::Table(table))) {
        Some(constants) if !runs.are_many() => {
            let findings: Vec<&Finding> = findings.iter().flatten().collect();
            let here = findings.iter().copied().filter(|finding| !is_everywhere(finding));
            let first: Vec<Judged> = here.take(MOST_FINDINGS).map(|one| short(runs, one)).collect();
            text += "<div class=\"first\">\n";
            if !first.is_empty() {
                let (first, all) = (write(Block::Judged(term!("Main findings").into(), first)), say(ALL));
                let all = format!("<p><a href=\"#findings\">{all} ({})</a></p>", findings.len());
                text += &format!("<div class=\"costly\">\n{first}{all}\n</div>\n");
            }
            text += &format!("<div>\n{constants}</div>\n</div>\n");
        }
        constants => text.extend(constants),
    }
    text + &write(Block::Charts(leading))
}

/// Grade of a run, its disturbances and its end.
fn head(runs: &Runs, run: usize) -> String {
    let letter = runs.letter(run);
    let mut text = runs.all[run].trust.iter().map(|trust| verdict(&letter, trust)).collect::<String>();
    let warnings = warnings(&runs.all[run]);
    if !warnings.is_empty() {
        let (before, letter, list) = (say(BEFORE), html::letter(&letter), html::list("<ul>", &warnings));
        text += &format!(
            "<div class=\"warning\" role=\"note\">\n<h3 class=\"unseen\">{before}</h3>\n{letter}{list}</div>\n"
        );
    }
    text
}

/// The grade, what it promises, and why it is no better.
fn verdict(letter: &str, trust: &Trust) -> String {
    let (grade, letter, name) = (trust.grade.letter(), html::letter(letter), say(term!("Trust")));
    let mut text = format!(
        "<div class=\"verdict grade-{grade}\">\n<b class=\"grade\">{grade}</b>\n<div><p>{letter}<b>{name} {grade}</b> {}</p>\n",
        markup(&promise(trust).into())
    );
    let reasons: Vec<_> = trust.doubts.iter().map(|doubt| doubted(doubt).into()).collect();
    if let [first, others @ ..] = reasons.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            count => format!(" <span class=\"more\">+{count}</span>"),
        };
        let others = html::list("<ul>", others);
        text += &format!("<details class=\"reasons\"><summary>{}{more}</summary>\n{others}</details>\n", markup(first));
    }
    text + "</div></div>\n"
}
