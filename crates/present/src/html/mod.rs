//! The report as a page: one file that asks for nothing else, in both languages, read as tables without a script.
//!
//! What a page says is documents, which [`print::html`](crate::print::html) writes; here stand the sections around them.

mod figures;
mod page;

use std::fmt::Write;

use hostmark_analysis::escape;
use hostmark_analysis::fleet::{Deviation, Fleet, KindOfHosts};
use hostmark_model::{Lang, Text};
use hostmark_say::say;
use serde::Serialize;

use crate::document::Block;
use crate::print::html;
use crate::views::fleet as views;
use crate::wrap::{escaped, markup};
use crate::{RenderOptions, texts};

pub use figures::{FIGURES, FigureKind};
pub use page::{of_comparison as comparison, page};

const STYLE: &str = include_str!("templates/style.css");
const SCRIPT: &str = concat!(include_str!("templates/script.js"), include_str!("templates/table.js"));

/// Parts in which pages differ, as markup.
#[derive(Default)]
struct Frame<'a> {
    title: &'a str,
    heading: &'a str,
    machines: &'a str,
    nav: &'a str,
    main: &'a str,
    method: &'a str,
    data: &'a str,
    style: &'a str,
    script: &'a str,
}

impl Frame<'_> {
    fn write(&self, options: &RenderOptions) -> String {
        let Frame { title, heading, machines, nav, main, method, data, style, script } = *self;
        let (lang, en, zh) = match options.lang {
            Lang::En => ("en", " checked", ""),
            Lang::Zh => ("zh-CN", "", " checked"),
        };
        format!(
            include_str!("templates/frame.html"),
            title = title,
            version = env!("CARGO_PKG_VERSION"),
            style = [STYLE, style].concat(),
            lang = lang,
            en = en,
            zh = zh,
            heading = heading,
            machines = machines,
            nav = nav,
            main = main,
            method = method,
            data = data,
            script = script,
        )
    }
}

/// A series over time as a page that stands alone; its title stands in the frame.
pub(crate) fn over_time(document: &[Block], options: &RenderOptions) -> String {
    let main = section(html::write(&document[1..], 1, &|| 0));
    let heading = said(term!("Over time"));
    Frame { title: "hostmark over time", heading: &heading, main: &main, ..Frame::default() }.write(options)
}

fn said(text: Text) -> String {
    markup(&text.into())
}

/// Room for the cases behind a click, characters of all hosts together, so that a page of a thousand hosts stays under 3 MB.
const MOST_DETAILS: usize = 1_200_000;
/// Characters of a case of a host.
const DIGITS: usize = 2;

/// Data from which the script draws a host's cases.
#[derive(Serialize)]
struct Details<'a> {
    ids: Vec<&'a str>,
    titles: Vec<&'a Text<String>>,
    /// Six quantiles of each case, in thousandths of a logarithm.
    quantiles: Vec<[i64; 6]>,
    /// Each host's cases, two characters a case.
    hosts: Vec<String>,
}

/// A fleet as a page that stands alone.
pub fn fleet(fleet: &Fleet, options: &RenderOptions) -> String {
    let room = MOST_DETAILS / fleet.kinds.iter().filter(|kind| kind.is_judged).count().max(1);
    let details: Vec<Details> = fleet.kinds.iter().map(|kind| details(kind, room)).collect();
    let write = |blocks: &[Block]| html::write(blocks, 1, &|| 0);
    let [first, last] = views::around(fleet);
    // The title stands in the frame.
    let mut main = section(write(&first[1..]));
    for (number, kind) in fleet.kinds.iter().enumerate() {
        let document = views::kind(kind);
        let map = if kind.is_judged { map(number, kind, &details[number]) } else { String::new() };
        main += &section(write(&document[..1]) + &map + &write(&document[1..]));
    }
    main += &section(write(&last));
    // No string in it ends the element that holds it.
    let details = escape::json(&serde_json::to_string(&details).unwrap_or_default()).replace('<', "\\u003c");
    let frame = Frame {
        title: "hostmark fleet",
        heading: &said(term!("Fleet")),
        main: &main,
        data: &format!("<script type=\"application/json\" id=\"data\">{details}</script>\n"),
        style: include_str!("templates/fleet.css"),
        script: include_str!("templates/fleet.js"),
        ..Frame::default()
    };
    frame.write(options)
}

fn section(inside: String) -> String {
    format!("<section>\n{inside}</section>\n")
}

/// The heat map of a kind: the farthest hosts.
fn map(number: usize, kind: &KindOfHosts, details: &Details) -> String {
    const FIND: Text = term!("Find a host");
    const CLICK: Text = term!("Click a host to see its cases.");
    const HOST: Text = term!("host");
    let (note, find, click, host) = (said(texts::html::fleet::NOTE), said(FIND), said(CLICK), said(HOST));
    let groups = kind.groups.iter().map(|group| format!("<th scope=\"col\">{}</th>", escaped(&group.name)));
    let left_out = match kind.hosts.len().saturating_sub(html::MOST_ROWS) {
        0 => String::new(),
        count => format!(
            "<p class=\"note\">{}</p>\n",
            markup(&say!("{count} nearer hosts are left out; --format jsonl has all"))
        ),
    };
    format!(
        "<p class=\"note\">{note}</p>\n<p class=\"find\" hidden><label>{find} <input type=\"search\"></label> <span>{click}</span></p>\n\
         <div class=\"scroll\"><table class=\"map\" data-kind=\"{number}\">\n<thead><tr><th scope=\"col\">{host}</th>{}</tr></thead>\n\
         <tbody>\n{}</tbody></table></div>\n{left_out}",
        groups.collect::<String>(),
        rows(number, kind, details)
    )
}

/// The rows of the heat map.
fn rows(number: usize, kind: &KindOfHosts, details: &Details) -> String {
    let mut out = String::new();
    for (place, host) in kind.hosts.iter().take(html::MOST_ROWS).enumerate() {
        let name = escaped(&host.name);
        let class = if host.is_odd { " class=\"odd\"" } else { "" };
        // A name of one language stands for itself, and a button is what a keyboard reaches.
        let name = match details.hosts.get(place) {
            Some(_) => format!("<button type=\"button\">{name}</button>"),
            None => name,
        };
        // Writing to a string cannot fail.
        let _ = write!(out, "<tr id=\"{}\"{class}><th scope=\"row\">{name}</th>", views::anchor(number, place));
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
    format!("<td{class}>{}", views::change(change).replace(" %", ""))
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
        hosts: kind.hosts.iter().take(hosts.min(html::MOST_ROWS)).map(|host| code(&host.places, thousandths)).collect(),
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
