//! The formats in which a fleet is written, by name; a new one is its function and one line in [`FORMATS`].

use std::fmt::Write;

use hostmark_analysis::escape;
use hostmark_analysis::fleet::{Fleet, HostChange, KindOfHosts, OtherEstimate};
use hostmark_model::Text;
use hostmark_model::timestamp::Timestamp;
use serde::Serialize;

use super::json::pretty;
use super::prometheus::written;
use crate::print::{console, markdown};
use crate::views::fleet::fleet as document;
use crate::{RenderOptions, html, views};

#[derive(Debug)]
pub struct FleetFormat {
    /// Name for `--format`.
    pub name: &'static str,
    pub description: Text,
    /// Writes it piece by piece, each of whole lines: of ten thousand hosts no text is kept whole that need not be.
    pub write: Written,
}

/// Writer of a fleet: passes on each piece.
pub type Written = fn(&Fleet, &RenderOptions, &mut dyn FnMut(&str));

/// Every format; the first is the default.
pub static FORMATS: &[FleetFormat] = &[
    FleetFormat {
        name: "table",
        description: term!("to read: the outliers, in what and why"),
        write: |fleet, options, out| out(&console::write(&[document(fleet)], options)),
    },
    FleetFormat {
        name: "html",
        description: term!("a page with a heat map that stands alone"),
        write: |fleet, options, out| out(&html::fleet(fleet, options)),
    },
    FleetFormat {
        name: "markdown",
        description: term!("for a ticket or a report"),
        write: |fleet, options, out| out(&markdown::write(&[document(fleet)], 1, options)),
    },
    FleetFormat {
        name: "json",
        description: term!("hostmark.fleet/1, for programs"),
        write: |fleet, _, out| out(&pretty(fleet)),
    },
    FleetFormat {
        name: "jsonl",
        description: term!("one line a host and case, for DuckDB and the like"),
        write: |fleet, _, out| jsonl(fleet, out),
    },
    FleetFormat {
        name: "prometheus",
        description: term!("for a text file collector, to raise alerts"),
        write: |fleet, _, out| out(&prometheus(fleet)),
    },
];

/// The format called `name`.
pub fn format_named(name: &str) -> Option<&'static FleetFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The changes over so many runs that are kept, for the eye.
pub fn changes(changes: &[HostChange], runs: usize, options: &RenderOptions) -> String {
    console::write(&[views::over_time::changes(changes, runs)], options)
}

#[derive(Serialize)]
struct FleetLine<'a> {
    host: &'a str,
    kind: &'a str,
    file: &'a str,
    started: &'a str,
    odd: bool,
    q: Option<f64>,
    group: &'a str,
    case: &'a str,
    unit: hostmark_model::Unit,
    estimator: hostmark_model::Leading,
    value: f64,
    median: f64,
    change: f64,
    beside: Option<OtherEstimate>,
}

fn jsonl(fleet: &Fleet, out: &mut dyn FnMut(&str)) {
    for kind in &fleet.kinds {
        for host in &kind.hosts {
            let mut lines = String::new();
            for (number, (case, place)) in kind.cases.iter().zip(&host.places).enumerate() {
                let Some(place) = place else { continue };
                let line = FleetLine {
                    host: &host.name,
                    kind: &kind.title.en,
                    file: &host.file,
                    started: &host.started,
                    odd: host.is_odd,
                    q: host.q,
                    group: kind.groups.get(case.group).map_or("", |group| &group.name),
                    case: &case.id,
                    unit: case.unit,
                    estimator: case.estimator,
                    value: case.value_at(*place),
                    median: case.median,
                    change: f64::from(*place).exp_m1(),
                    beside: host.besides.get(&number).copied(),
                };
                if let Ok(line) = serde_json::to_string(&line) {
                    lines += &escape::json(&line);
                    lines.push('\n');
                }
            }
            out(&lines);
        }
    }
}

/// The verdicts as gauges: values of single hosts come from their runs' own text.
fn prometheus(fleet: &Fleet) -> String {
    let mut out = String::new();
    let mut family = |name: &str, help: &str, lines: &[(String, f64)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
        for (labels, value) in lines.iter().filter(|(_, value)| value.is_finite()) {
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    };
    let of_kinds = |of: &dyn Fn(&KindOfHosts) -> f64| -> Vec<(String, f64)> {
        fleet.kinds.iter().map(|kind| (labels(&[("kind", &kind.title.en)]), of(kind))).collect()
    };
    family("hostmark_fleet_hosts", "Hosts of a kind.", &of_kinds(&|kind| kind.hosts.len() as f64));
    let odd = |kind: &KindOfHosts| kind.hosts.iter().filter(|host| host.is_odd).count() as f64;
    family("hostmark_fleet_odd_hosts", "Hosts that are not like the others of their kind.", &of_kinds(&odd));
    let (mut is_odd, mut q, mut groups, mut times) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for kind in &fleet.kinds {
        for host in &kind.hosts {
            let of_host = labels(&[("host", &host.name), ("kind", &kind.title.en)]);
            if kind.is_judged {
                is_odd.push((of_host.clone(), f64::from(u8::from(host.is_odd))));
            }
            q.extend(host.q.map(|q| (of_host.clone(), q)));
            for (group, place) in kind.groups.iter().zip(&host.groups) {
                let labels = labels(&[("host", &host.name), ("kind", &kind.title.en), ("group", &group.name)]);
                groups.extend(place.map(|place| (labels, place.change)));
            }
            if let Some(time) = Timestamp::parse(&host.started) {
                times.push((of_host, time.seconds() as f64));
            }
        }
    }
    family("hostmark_fleet_host_odd", "Whether the host is not like the others of its kind.", &is_odd);
    family(
        "hostmark_fleet_host_q_ratio",
        "How likely hosts alike have one that far out, adjusted for their number.",
        &q,
    );
    family("hostmark_fleet_group_change_ratio", "What a group delivers on the host beside the usual.", &groups);
    family("hostmark_fleet_run_started_timestamp_seconds", "When the host's latest run began.", &times);
    family("hostmark_fleet_unread_files", "Files that were not read.", &[(String::new(), fleet.unread.len() as f64)]);
    out + "# EOF\n"
}

fn labels(all: &[(&str, &str)]) -> String {
    format!("{{{}}}", all.iter().map(|(name, value)| written(name, value)).collect::<Vec<_>>().join(","))
}
