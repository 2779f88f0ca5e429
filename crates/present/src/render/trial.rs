//! Text around the verdicts of `hostmark try`: the setting's effect here, and how to make it permanent. And the list of settings.

use hostmark_analysis::compare::{Against, CaseComparison, Comparison, Test, Verdict};
use hostmark_analysis::format::{number, percent, percent_number};
use hostmark_analysis::typography::COMMA;
use hostmark_analysis::words;
use hostmark_model::{Message, Text};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::console::page::{Page, Style};

/// Changes that the sentence tells at most.
const MOST_SHOWN: usize = 3;
/// Least ratio of a change that is shown as a factor.
const FACTOR: f64 = 2.0;

const SETTINGS: Text = term!("SETTINGS TO TRY");

/// Texts of a trial beside its verdicts.
#[derive(Debug, Clone)]
pub struct TrialText {
    /// The start of a sentence that goes on with what changed, and of one that goes on with what did not.
    pub makes: [Text; 2],
    /// Cases by their filters, `probe@axis=value`, and what each measures, the most important first. Others have their labels.
    pub names: Vec<(String, Text)>,
    /// Instructions to make it permanent.
    pub permanent: Text,
    pub pairs: u32,
}

/// Says in a comparison what the setting does here and, where a case got better or otherwise changed, how it is made permanent.
pub fn say(comparison: &mut Comparison, trial: &TrialText) {
    for against in &mut comparison.new {
        let does = words(sentence(against, trial));
        let pays = against.cases.iter().any(|case| PAYS.contains(&case.verdict));
        let keep = pays.then(|| words(say!("To make it permanent: {permanent}", permanent = trial.permanent)));
        against.said = std::iter::once(does).chain(keep).collect();
    }
}

/// Verdicts after which somebody may want to keep the setting.
const PAYS: [Verdict; 3] = [Verdict::Faster, Verdict::Changed, Verdict::ChangedShape];

/// Effect of the setting here.
fn sentence(against: &Against, trial: &TrialText) -> Message {
    let cases = in_order(against, trial);
    let of = |wanted: &[Verdict]| -> Vec<&(&CaseComparison, Message)> {
        cases.iter().filter(|(case, _)| wanted.contains(&case.verdict)).collect()
    };
    let changed = of(&[Verdict::Slower, Verdict::Faster, Verdict::Changed, Verdict::ChangedShape]);
    let (same, undecided) = (of(&[Verdict::Same]), of(&[Verdict::Inconclusive]));
    let [makes, keeps] = trial.makes;
    if !changed.is_empty() {
        let parts = changed.iter().take(MOST_SHOWN).filter_map(|(case, name)| {
            let change = change(case.decisive_test()?);
            Some(say!("{name} {change}"))
        });
        return say!("{makes} {parts}.", parts = listed(parts.collect()));
    }
    if !same.is_empty() {
        let parts = same.iter().take(MOST_SHOWN).filter_map(|(case, name)| {
            let within = percent(case.decisive_test()?.within);
            Some(say!("{name} (by {within} at most)"))
        });
        return say!("{keeps} {parts} here.", parts = listed(parts.collect()));
    }
    let pairs = trial.pairs;
    match undecided.first() {
        Some((case, name)) => {
            let more = (pairs * 4).max(10);
            let range = case.decisive_test().map(range).unwrap_or_default();
            say!("{pairs} pairs cannot tell what it does to {name} ({range}); try --pairs {more}.")
        }
        None => say!("No case could be compared; the reasons stand below."),
    }
}

/// `a, b and c`
fn listed(mut parts: Vec<Message>) -> Message {
    match parts.pop() {
        Some(last) if !parts.is_empty() => say!("{parts} and {last}", parts = Message::joined(parts, COMMA)),
        last => Message::joined(last, COMMA),
    }
}

/// The cases with what they are called: those that the setting concerns first, in their order.
fn in_order<'a>(against: &'a Against, trial: &TrialText) -> Vec<(&'a CaseComparison, Message)> {
    let named = trial.names.iter().filter_map(|(filter, name)| {
        let case = against.cases.iter().find(|case| is_at(case, filter))?;
        Some((case, Message::from(*name)))
    });
    let named: Vec<(&CaseComparison, Message)> = named.collect();
    let mut others: Vec<&CaseComparison> = against.cases.iter().collect();
    others.retain(|case| named.iter().all(|(known, _)| known.id != case.id));
    let size = |case: &CaseComparison| case.decisive_test().map_or(0.0, |test| test.ratio.ln().abs());
    others.sort_by(|one, other| size(other).total_cmp(&size(one)));
    // Nothing else is told where the setting's own cases are there.
    match named.is_empty() {
        true => {
            let quoted = |case: &CaseComparison| say!("'{name}'", name = case.label);
            others.into_iter().map(|case| (case, quoted(case))).collect()
        }
        false => named,
    }
}

/// Tells whether a case lies where a filter says.
fn is_at(case: &CaseComparison, filter: &str) -> bool {
    let (probe, points) = filter.split_once('@').unwrap_or((filter, ""));
    let mut points = points.split(',').filter_map(|point| point.split_once('='));
    case.probe == probe && points.all(|(axis, value)| case.params.get(axis) == Some(value))
}

/// `18 % lower (12 … 23 %)`, `3.4 times as high (3.1 … 3.7)`.
fn change(test: &Test) -> Message {
    let Test { ratio, low, high, .. } = *test;
    if ratio >= FACTOR {
        let (times, range) = (number(ratio), format!("{} … {}", number(low), number(high)));
        return say!("{times} times as high ({range})");
    }
    let (by, range) = (percent((ratio - 1.0).abs()), range(test));
    if ratio < 1.0 { say!("{by} lower ({range})") } else { say!("{by} higher ({range})") }
}

/// The interval of a change: of one that is certain of its direction without signs.
fn range(test: &Test) -> Message {
    let [low, high] = [test.low, test.high].map(|ratio| ratio - 1.0);
    let signed = |fraction: f64| match fraction > 0.0 {
        true => format!("+{}", percent_number(fraction)),
        false => percent_number(fraction),
    };
    match (low >= 0.0, high <= 0.0) {
        (true, _) => format!("{} … {} %", percent_number(low), percent_number(high)).into(),
        (_, true) => format!("{} … {} %", percent_number(-high), percent_number(-low)).into(),
        _ => say!("between {low} and {high} %", low = signed(low), high = signed(high)),
    }
}

/// A setting as the list shows it.
#[derive(Debug, Clone)]
pub struct Listed<'a> {
    pub name: &'a str,
    pub what: Text,
    pub findings: &'a [&'a str],
    /// Reason why it cannot be tried here, if it cannot.
    pub possible: Result<(), Text<String>>,
}

/// The settings, and which of them can be tried here.
pub fn list(all: &[Listed], options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    let (title, how) = (page.say(SETTINGS), page.say(term!("hostmark try TUNING")));
    page.heading(title, how);
    let width = all.iter().map(|one| one.name.width()).max().unwrap_or(0);
    let lang = options.lang;
    for one in all {
        let name = format!("  {}{}  ", one.name, " ".repeat(width - one.name.width()));
        let indent = " ".repeat(name.width());
        page.paragraph(&name, one.what.get(lang), Style::Plain);
        if let Err(why) = &one.possible {
            let cannot = page.say(term!("not here: "));
            page.paragraph(&indent, &format!("{cannot}{}", why.get(lang)), Style::Warning);
        }
        if !one.findings.is_empty() {
            let cures = page.say(term!("finding: "));
            page.paragraph(&indent, &format!("{cures}{}", one.findings.join(", ")), Style::Dim);
        }
    }
    page.into_text()
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
