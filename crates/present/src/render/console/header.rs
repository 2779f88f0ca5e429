//! The head of the table: what was measured where, and what disturbed it.

use hostmark_analysis::bilingual::Words;
use hostmark_analysis::duration::duration_s;
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::value;
use hostmark_analysis::guest;
use hostmark_analysis::trust;
use hostmark_model::{CaseRecord, Grade, Guest, Imported, Lang, Text, Trust, Unit, counted};

use super::page::{Page, Piece, Style};
use super::spent;
use super::view::View;
use crate::views;
use crate::views::run::{self, Reasons, whole_seconds};
use crate::words;

/// Writes the head.
pub(super) fn write(view: &View, page: &mut Page) {
    page.flow(0, &machine(view));
    page.flow(0, &settings(view));
    if let Some(line) = spent::line(view.run.time.as_ref(), view.lang).filter(|_| view.verbose) {
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
        grade(&trust::lines(trust)[0], trust, usize::MAX, page);
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
    if let Some(trust) = &view.run.trust {
        let left = trust.doubts.len().saturating_sub(reasons);
        grade(&trust::line(trust, left), trust, reasons, page);
    }
    warn(&run::ended(view.run, Reasons::InFull), Style::Warning, page);
}

fn warn(warnings: &[Words], style: Style, page: &mut Page) {
    let lang = page.options.lang;
    warnings.iter().for_each(|warning| page.paragraph("! ", warning.get(lang), style));
}

/// What a person wrote of the run.
fn noted(view: &View, page: &mut Page) {
    if let Some(note) = &view.run.note {
        page.paragraph(if view.lang == Lang::Zh { "备注：" } else { "note: " }, &visible(note), Style::Plain);
    }
}

/// The grade, before what it stands on, and so many reasons why it is no better.
fn grade(line: &Words, trust: &Trust, reasons: usize, page: &mut Page) {
    let lang = page.options.lang;
    let style = if trust.grade == Grade::A { Style::Plain } else { Style::Warning };
    let line = line.get(lang);
    let (lead, text) = line.split_once("  ").map_or((String::new(), line), |(lead, text)| (format!("{lead}  "), text));
    page.paragraph(&lead, text, style);
    trust.doubts.iter().take(reasons).for_each(|doubt| page.paragraph("  ", trust::doubted(doubt).get(lang), style));
}

/// What was measured.
fn machine(view: &View) -> Vec<Piece> {
    let names = [run::tool(view.run), view.run.host.hostname.clone()];
    let names = names.into_iter().map(|name| Piece::new(name, Style::Heading));
    names.chain(run::machine(view.run).iter().map(|fact| Piece::plain(fact.get(view.lang)))).collect()
}

/// The virtual machine that it was measured in.
fn virtual_machine(guest: &Guest, view: &View) -> Vec<Piece> {
    let fact = |(label, says): (Text<String>, Text<String>)| {
        Piece::plain(format!("{} {}", label.get(view.lang), says.get(view.lang)))
    };
    guest::facts(guest, view.verbose).into_iter().map(fact).collect()
}

/// Where a run comes from that another tool measured.
fn origin(view: &View, imported: &Imported) -> Vec<Piece> {
    let (file, values) = (&imported.file, view.run.cases.len());
    let mut facts = vec![match view.lang {
        Lang::En => format!("{} imported from {file}, without intervals", counted(values, "value")),
        Lang::Zh => format!("从 {file} 导入 {values} 个值，没有区间"),
    }];
    facts.extend(imported.date.clone());
    facts.extend(view.run.settings.set.iter().map(|(key, value)| format!("{key}={value}")));
    facts.into_iter().map(Piece::plain).collect()
}

/// How it was measured.
fn settings(view: &View) -> Vec<Piece> {
    if let Some(imported) = &view.run.imported {
        return origin(view, imported);
    }
    let (run, settings) = (view.run, &view.run.settings);
    let (cases, rounds, limit) = (run.cases.len(), settings.rounds, settings.limit_s);
    let has_more = run.cases.iter().filter_map(CaseRecord::measured).any(|measured| measured.estimate.rounds > rounds);
    let profile = view.say(views::profile(settings.profile));
    let limit = value(if limit.is_finite() { limit * 1e9 } else { limit }, Unit::Nanoseconds, view.lang);
    let limit = whole_seconds(settings.limit_s).unwrap_or(limit);
    let mut facts = vec![
        match (view.lang, settings.limit_s == 0.0) {
            (Lang::En, true) => format!("{profile}, no time limit"),
            (Lang::Zh, true) => format!("{profile}，不限时"),
            (Lang::En, false) => format!("{profile}, at most {limit}"),
            (Lang::Zh, false) => format!("{profile}，最长 {limit}"),
        },
        match view.lang {
            Lang::En => {
                let (cases, rounds) = (counted(cases, "case"), counted(rounds, "round"));
                format!("{cases} × {rounds}{}", if has_more { " or more" } else { "" })
            }
            Lang::Zh => format!("{cases} 个用例 × {}{rounds} 轮", if has_more { "至少 " } else { "" }),
        },
    ];
    if let Some(seconds) = duration_s(run) {
        let took = whole_seconds(seconds).unwrap_or_default();
        facts.push(match view.lang {
            Lang::En => format!("{}, took {took}", run.started),
            Lang::Zh => format!("{}，用时 {took}", run.started),
        });
    } else {
        facts.push(run.started.clone());
    }
    facts.extend(run::place(run).map(|place| view.label(&place)));
    facts.push(match view.lang {
        Lang::En => format!("seed {:#x}", settings.seed),
        Lang::Zh => format!("种子 {:#x}", settings.seed),
    });
    let clock = match settings.clock.source.as_str() {
        "tsc" => "TSC",
        "cntvct" => "CNTVCT",
        source => source,
    };
    let rate = value(settings.clock.hz, Unit::Hertz, view.lang);
    facts.push(match view.lang {
        Lang::En => format!("clock {clock} {rate}"),
        Lang::Zh => format!("时钟 {clock} {rate}"),
    });
    if let Some(table) = &settings.table {
        facts.push(match view.lang {
            Lang::En => format!("only table {table}"),
            Lang::Zh => format!("仅表 {table}"),
        });
    }
    if !settings.filters.is_empty() {
        facts.push(match view.lang {
            Lang::En => format!("only {}", settings.filters.join(" ")),
            Lang::Zh => format!("仅 {}", settings.filters.join(" ")),
        });
    }
    facts.extend(settings.set.iter().map(|(key, value)| format!("{key}={value}")));
    facts.into_iter().map(Piece::plain).collect()
}

/// Probes that nobody asked for, by those that are computed from them.
fn brought_along(view: &View) -> Vec<String> {
    let mut by: Vec<(String, Vec<&str>)> = Vec::new();
    for probe in view.run.probes.iter().filter(|probe| !probe.brought_by.is_empty()) {
        let for_whom = probe.brought_by.join(", ");
        match by.iter_mut().find(|(known, _)| *known == for_whom) {
            Some((_, probes)) => probes.push(&probe.id),
            None => by.push((for_whom, vec![&probe.id])),
        }
    }
    let line = |(for_whom, probes): (String, Vec<&str>)| match view.lang {
        Lang::En => format!("also measured for {for_whom}, as far as needed: {}", probes.join(", ")),
        Lang::Zh => format!("为 {for_whom} 附带测量（仅所需部分）：{}", probes.join("、")),
    };
    by.into_iter().map(line).collect()
}
