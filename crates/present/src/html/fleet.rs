//! A fleet as a page: odd hosts with their reasons, a heat map of all, and behind a click a host's cases beside those of its kind.

use std::fmt::Write;

use hostmark_analysis::escape;
use hostmark_analysis::fleet::{Deviation, Fleet, HostResult, KindOfHosts};
use hostmark_analysis::format::percent;
use hostmark_model::{Lang, Text};
use serde::Serialize;

use super::bilingual::{Words, each, fixed, same};
use crate::RenderOptions;
use crate::markup::escaped;
use crate::render::fleet as words;

/// Rows of the heat map of one kind: the farthest hosts; whoever wants more takes a form for programs.
const MOST_ROWS: usize = 2000;
/// Room for the cases behind a click, characters of all hosts together, so that a page of a thousand hosts stays under 3 MB.
const MOST_DETAILS: usize = 1_200_000;
/// Characters of a case of a host.
const DIGITS: usize = 2;
/// Reasons of one odd host in the table, and cases: a click shows them all.
const MOST_IN_ROW: usize = 6;
const MOST_CASES: usize = 3;

#[derive(Debug, Serialize)]
pub(super) struct FleetPage {
    lang: &'static str,
    version: &'static str,
    summary: Words,
    odd: Vec<Odd>,
    lists: Vec<List>,
    kinds: Vec<Shown>,
    unread: Vec<Words>,
    method: Words,
    /// What the script reads, as JSON.
    #[serde(skip)]
    pub(super) data: String,
}

#[derive(Debug, Serialize)]
struct Odd {
    name: String,
    /// Its row in the heat map.
    anchor: String,
    kind: Words,
    stands_out: Words,
    odds: String,
    remarks: Vec<Words>,
    cases: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct List {
    title: Words,
    lines: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Shown {
    title: Words,
    /// Why there is no verdict; empty where there is one.
    no_verdict: Words,
    names: String,
    groups: Vec<Group>,
    remark: Words,
    /// Rows of the heat map, as markup.
    rows: String,
    /// What the map leaves out.
    left_out: Words,
}

#[derive(Debug, Serialize)]
struct Group {
    name: String,
    cases: usize,
    between: String,
    within: String,
}

/// What the script draws a host's cases of.
#[derive(Serialize)]
struct Details<'a> {
    ids: Vec<&'a str>,
    titles: Vec<&'a Text<String>>,
    /// Six quantiles of each case, in thousandths of a logarithm.
    quantiles: Vec<[i64; 6]>,
    /// Each host's cases, two characters a case.
    hosts: Vec<String>,
}

pub(super) fn page(fleet: &Fleet, options: &RenderOptions) -> FleetPage {
    let list = |title: Text, lines: Vec<Words>| List { title: fixed(title), lines };
    let causes = fleet.causes.iter().map(|cause| each(|lang| words::cause(cause, lang))).collect();
    let drifts = fleet.drifts.iter().map(|drift| each(|lang| words::drift(drift, lang))).collect();
    let (en, zh) = (words::pairs(fleet, Lang::En), words::pairs(fleet, Lang::Zh));
    let mut pairs: Vec<Words> = en.into_iter().zip(zh).map(|(en, zh)| Text { en, zh }).collect();
    pairs.truncate(MOST_ROWS);
    let mut lists = vec![list(words::CAUSES, causes), list(words::DRIFTS, drifts), list(words::BETWEEN_HOSTS, pairs)];
    lists.retain(|list| !list.lines.is_empty());
    let room = MOST_DETAILS / fleet.kinds.iter().filter(|kind| kind.is_judged).count().max(1);
    let details: Vec<Details> = fleet.kinds.iter().map(|kind| details(kind, room)).collect();
    let unread =
        |file: &hostmark_analysis::fleet::Unread| each(|lang| format!("{} {}", file.file, file.reason.get(lang)));
    let mut unread_lines: Vec<Words> = fleet.unread.iter().take(MOST_ROWS).map(unread).collect();
    if fleet.unread.len() > MOST_ROWS {
        let more = fleet.unread.len() - MOST_ROWS;
        unread_lines.push(Text { en: format!("{more} more"), zh: format!("另有 {more} 个") });
    }
    FleetPage {
        lang: if options.lang == Lang::Zh { "zh-CN" } else { "en" },
        version: env!("CARGO_PKG_VERSION"),
        summary: each(|lang| words::summary(fleet, lang)),
        odd: fleet.odd().take(MOST_ROWS).map(|(kind, host)| odd(fleet, kind, host)).collect(),
        lists,
        kinds: fleet.kinds.iter().enumerate().map(|(number, kind)| shown(number, kind, &details[number])).collect(),
        unread: unread_lines,
        method: fixed(words::METHOD),
        // No string in it ends the element that holds it.
        data: escape::json(&serde_json::to_string(&details).unwrap_or_default()).replace('<', "\\u003c"),
    }
}

fn anchor(kind: usize, host: usize) -> String {
    format!("h{kind}-{host}")
}

fn odd(fleet: &Fleet, kind: &KindOfHosts, host: &HostResult) -> Odd {
    let number = fleet.kinds.iter().position(|other| std::ptr::eq(other, kind)).unwrap_or(0);
    let place = kind.hosts.iter().position(|other| std::ptr::eq(other, host)).unwrap_or(0);
    let reasons = host.reasons.iter().take(MOST_IN_ROW).map(|reason| each(|lang| words::reason(reason, lang)));
    let mut remarks: Vec<Words> = reasons.collect();
    if remarks.is_empty() {
        remarks.push(fixed(words::NO_FACTS));
    }
    if host.shares_name {
        remarks.push(fixed(words::SAME_NAME));
    }
    let cases = host.odd_cases.iter().take(MOST_CASES);
    Odd {
        name: host.name.clone(),
        anchor: anchor(number, place),
        kind: kind.title.clone(),
        stands_out: each(|lang| words::stands_out(kind, host, lang)),
        odds: host.q.map(words::odds).unwrap_or_default(),
        remarks,
        cases: cases.map(|case| each(|lang| words::odd_case(case, lang))).collect(),
    }
}

fn shown(number: usize, kind: &KindOfHosts, details: &Details) -> Shown {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    let group = |group: &hostmark_analysis::fleet::GroupSpread| Group {
        name: group.name.clone(),
        cases: group.cases,
        between: share(group.between),
        within: share(group.within),
    };
    let names: Vec<&str> = kind.hosts.iter().take(MOST_ROWS).map(|host| host.name.as_str()).collect();
    let left_out = kind.hosts.len().saturating_sub(MOST_ROWS);
    let nothing = || same("");
    Shown {
        title: each(|lang| words::kind(kind, lang)),
        no_verdict: if kind.is_judged { nothing() } else { each(|lang| words::no_verdict(kind, lang)) },
        names: if kind.is_judged { String::new() } else { names.join(", ") },
        groups: kind.groups.iter().map(group).collect(),
        remark: words::within_by_rounds(kind).map_or_else(nothing, fixed),
        rows: if kind.is_judged { rows(number, kind, details) } else { String::new() },
        left_out: match left_out {
            0 => nothing(),
            count => Text {
                en: format!("{count} nearer hosts are left out; --format jsonl has all"),
                zh: format!("省略了 {count} 台较接近常态的主机；--format jsonl 含全部主机"),
            },
        },
    }
}

/// The rows of the heat map.
fn rows(number: usize, kind: &KindOfHosts, details: &Details) -> String {
    let mut out = String::new();
    for (place, host) in kind.hosts.iter().take(MOST_ROWS).enumerate() {
        let name = escaped(&host.name);
        let class = if host.is_odd { " class=\"odd\"" } else { "" };
        // A name of one language stands for itself, and a button is what a keyboard reaches.
        let name = match details.hosts.get(place) {
            Some(_) => format!("<button type=\"button\">{name}</button>"),
            None => name,
        };
        // Writing to a string cannot fail.
        let _ = write!(out, "<tr id=\"{}\"{class}><th scope=\"row\">{name}</th>", anchor(number, place));
        host.groups.iter().for_each(|place| out += &cell(*place));
        out += "</tr>\n";
    }
    out
}

/// A cell: its colour says how unusual it is, its number how far off.
fn cell(place: Option<Deviation>) -> String {
    let Some(Deviation { change, distance }) = place else { return "<td>".to_owned() };
    let size = match distance.abs() {
        0.0..2.0 => 0,
        2.0..4.0 => 1,
        4.0..8.0 => 2,
        _ => 3,
    };
    let class = match (size, distance < 0.0) {
        (0, _) => String::new(),
        (size, true) => format!(" class=\"s{size}\""),
        (size, false) => format!(" class=\"f{size}\""),
    };
    format!("<td{class}>{}", words::change(change).replace(" %", ""))
}

/// The cases of the hosts that there is room for, the farthest first.
fn details(kind: &KindOfHosts, room: usize) -> Details<'_> {
    let hosts = if kind.is_judged { room / (DIGITS * kind.cases.len()).max(1) } else { 0 };
    let thousandths = |value: f64| (value * 1000.0).round().clamp(-2048.0, 2046.0) as i64;
    let cases = if hosts > 0 { kind.cases.as_slice() } else { &[] };
    Details {
        ids: cases.iter().map(|case| case.id.as_str()).collect(),
        titles: cases.iter().map(|case| &case.title).collect(),
        quantiles: cases.iter().map(|case| case.quantiles.map(thousandths)).collect(),
        hosts: kind.hosts.iter().take(hosts.min(MOST_ROWS)).map(|host| code(&host.places, thousandths)).collect(),
    }
}

/// Two characters of 64 a case; the last number stands for none.
fn code(places: &[Option<f32>], thousandths: impl Fn(f64) -> i64) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let number = |place: &Option<f32>| {
        let shifted = place.map_or(4095, |place| thousandths(f64::from(place)) + 2048);
        usize::try_from(shifted).unwrap_or(0)
    };
    let digits = |number: usize| [number / 64, number % 64].map(|digit| char::from(ALPHABET[digit % 64]));
    places.iter().map(number).flat_map(digits).collect()
}
