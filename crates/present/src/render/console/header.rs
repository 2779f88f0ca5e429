//! The head of the table: what was measured where, and what disturbed it.

use hostmark_analysis::duration::duration_s;
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{percent, value};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::{Spoken, guest, spoken, trust};
use hostmark_model::{CaseRecord, Grade, Guest, Imported, Lang, Message, RunTime, Text, Trust, Unit};
use hostmark_say::say;

use super::page::{Page, Piece, Style};
use super::view::View;
use crate::views::run::{self, Reasons, whole_seconds};
use crate::views::{self};
use crate::words;

pub(super) fn write(view: &View, page: &mut Page) {
    page.flow(0, &machine(view));
    page.flow(0, &settings(view));
    if let Some(line) = line(view.run.time.as_ref(), view.lang).filter(|_| view.verbose) {
        page.paragraph("  ", &line, Style::Dim);
    }
    if let Some(guest) = &view.run.guest {
        page.flow(0, &virtual_machine(guest, view));
    }
    noted(view, page);
    for line in brought_along(view) {
        page.paragraph("  ", &line, Style::Dim);
    }
    warn(&run::contradictions(view.run), Style::Bad, page);
    if let Some(trust) = &view.run.trust {
        grade(&trust::lines(trust)[0], trust, page);
        let style = style_of(trust);
        trust.doubts.iter().for_each(|doubt| page.paragraph("  ", trust::doubted(doubt).get(view.lang), style));
    }
    warn(&run::ended(view.run, Reasons::Below), Style::Warning, page);
    let disturbances = run::disturbed(view.run);
    warn(&disturbances, Style::Warning, page);
    if !disturbances.is_empty() {
        let advice = page.say(words::WHAT_TO_DO);
        page.paragraph("  ", advice, Style::Dim);
    }
}

/// The head of the answer: what machine it is, whether its values can be believed at all, the grade with so many of its reasons, and
/// how the run ended.
pub(super) fn write_short(view: &View, page: &mut Page, reasons: usize) {
    page.flow(0, &machine(view));
    noted(view, page);
    warn(&run::contradictions(view.run), Style::Bad, page);
    warn(run::traced(view.run).as_slice(), Style::Bad, page);
    if let Some(trust) = &view.run.trust {
        grade(&trust::line(trust), trust, page);
        if let Some(why) = trust::why(trust, reasons) {
            page.paragraph("  ", &view.tell(&why), style_of(trust));
        }
    }
    warn(&run::ended(view.run, Reasons::InFull), Style::Warning, page);
}

fn warn(warnings: &[Message], style: Style, page: &mut Page) {
    let lang = page.options.lang;
    warnings.iter().for_each(|warning| page.paragraph("! ", &warning.get(lang), style));
}

/// Note of a person on the run.
fn noted(view: &View, page: &mut Page) {
    if let Some(note) = &view.run.note {
        page.paragraph(view.say(term!("note: ")), &visible(note), Style::Plain);
    }
}

fn style_of(trust: &Trust) -> Style {
    if trust.grade == Grade::A { Style::Plain } else { Style::Warning }
}

/// The grade, before what it stands on.
fn grade(line: &Text<String>, trust: &Trust, page: &mut Page) {
    let line = line.get(page.options.lang);
    let (lead, text) =
        line.split_once("   ").map_or((String::new(), line), |(lead, text)| (format!("{lead}   "), text));
    page.paragraph(&lead, text, style_of(trust));
}

fn machine(view: &View) -> Vec<Piece> {
    let names = [run::tool(view.run), view.run.host.hostname.clone()];
    let names = names.into_iter().map(|name| Piece::new(name, Style::Heading));
    names.chain(run::machine(view.run).iter().map(|fact| Piece::plain(fact.get(view.lang)))).collect()
}

/// The virtual machine that it was measured in.
fn virtual_machine(guest: &Guest, view: &View) -> Vec<Piece> {
    let fact =
        |(label, says): (Text, Message)| Piece::plain(format!("{} {}", label.get(view.lang), says.get(view.lang)));
    guest::facts(guest, view.verbose).into_iter().map(fact).collect()
}

/// Origin of a run that another tool measured.
fn origin(view: &View, imported: &Imported) -> Vec<Piece> {
    let (file, values) = (&imported.file, view.run.cases.len());
    let mut facts = vec![view.tell(&say!("{values:value} imported from {file}, without intervals"))];
    facts.extend(imported.date.clone());
    facts.extend(view.run.settings.set.iter().map(|(key, value)| format!("{key}={value}")));
    facts.into_iter().map(Piece::plain).collect()
}

fn settings(view: &View) -> Vec<Piece> {
    if let Some(imported) = &view.run.imported {
        return origin(view, imported);
    }
    let (run, settings) = (view.run, &view.run.settings);
    let (cases, rounds, limit) = (run.cases.len(), settings.rounds, settings.limit_s);
    let has_more = run.cases.iter().filter_map(CaseRecord::measured).any(|measured| measured.estimate.rounds > rounds);
    let profile = views::profile(settings.profile);
    let limit = value(if limit.is_finite() { limit * 1e9 } else { limit }, Unit::Nanoseconds, view.lang);
    let limit = whole_seconds(settings.limit_s).unwrap_or(limit);
    let started = &run.started;
    let mut facts = vec![
        match settings.limit_s == 0.0 {
            true => say!("{profile}, no time limit"),
            false => say!("{profile}, at most {limit}"),
        },
        match has_more {
            true => say!("{cases:case} × {rounds:round} or more"),
            false => say!("{cases:case} × {rounds:round}"),
        },
        match duration_s(run) {
            Some(seconds) => say!("{started}, took {took}", took = whole_seconds(seconds).unwrap_or_default()),
            None => Message::from(&Message::plain(started)),
        },
    ];
    facts.extend(run::place(run));
    if view.verbose {
        facts.push(say!("seed {seed:#x}", seed = settings.seed));
        let clock = settings.clock.source.to_uppercase();
        facts.push(say!("clock {clock} {rate}", rate = value(settings.clock.hz, Unit::Hertz, view.lang)));
    }
    facts.extend(settings.table.as_ref().map(|table| say!("only table {table}")));
    if !settings.filters.is_empty() {
        facts.push(say!("only {filters}", filters = settings.filters.join(" ")));
    }
    let mut facts: Vec<String> = facts.iter().map(|fact| view.tell(fact)).collect();
    facts.extend(settings.set.iter().map(|(key, value)| format!("{key}={value}")));
    facts.into_iter().map(Piece::plain).collect()
}

/// Probes that nobody asked for, by those that are computed from them.
fn brought_along(view: &View) -> Vec<String> {
    let brought = view.run.probes.iter().filter(|probe| !probe.brought_by.is_empty());
    let line = |(for_whom, probes): (String, Vec<&String>)| {
        let probes = Message::joined(probes.into_iter().map(Message::plain), term!(", ", "list"));
        view.tell(&say!("also measured for {for_whom}, as far as needed: {probes}"))
    };
    grouped(brought.map(|probe| (probe.brought_by.join(", "), &probe.id))).into_iter().map(line).collect()
}

/// A sentence on the time; none of a run that does not tell.
pub(super) fn line(time: Option<&RunTime>, lang: Lang) -> Option<String> {
    let time = time.filter(|time| time.wall_s > 0.0)?;
    let seconds = |seconds: f64| format!("{seconds:.1} s");
    let RunTime { wall_s, samples_s, set_up_s, between_s, warm_up_s, facts_s, end_s, workers_s, outside_s } = *time;
    let [wall, samples, set_up, between, outside] = [wall_s, samples_s, set_up_s, between_s, outside_s].map(seconds);
    let [warm_up, facts, end, workers] = [warm_up_s, facts_s, end_s, workers_s].map(seconds);
    let share = percent(time.share());
    let said = say!(
        "Of {wall}, {share} lie in samples ({samples}); set-up {set_up}, between samples {between}, warm-up {warm_up}, \
         clock and counters {facts}, take-down {end}, processes and journal {workers}, outside rounds {outside}."
    );
    Some(spoken(&said, lang))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_samples_is_reported_in_both_languages() {
        assert_eq!(line(None, Lang::En), None);
        assert_eq!(line(Some(&RunTime::default()), Lang::En), None);
        let time = RunTime { wall_s: 50.0, samples_s: 12.5, set_up_s: 30.0, ..RunTime::default() };
        let line_in = |lang| line(Some(&time), lang).unwrap();
        assert!(
            line_in(Lang::En).starts_with("Of 50.0 s, 25 % lie in samples (12.5 s); set-up 30.0 s"),
            "{}",
            line_in(Lang::En)
        );
        assert!(line_in(Lang::Zh).starts_with("50.0 s 中有 25 %"), "{}", line_in(Lang::Zh));
    }
}
