//! Reads the text of sockperf: latency with percentiles, and the rate of messages.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::{amount, each_line};
use super::foreign::{Foreign, ForeignQuantity, Further, ImportedValue, Source, no_result};
use super::{ImportError, ImportFormat};
use crate::texts::sockperf as texts;

/// sockperf's text.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "sockperf", description: texts::DESCRIPTION, read };

const PROTOCOL: (&str, AxisKind) = ("protocol", AxisKind::Choice);
const MESSAGE: (&str, AxisKind) = ("message", AxisKind::Size);

static SOURCE: Source = Source {
    format: "sockperf",
    tool: "sockperf",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity {
            id: "sockperf.latency",
            title: texts::LATENCY_TITLE,
            unit: Unit::Nanoseconds,
            axes: &[PROTOCOL, MESSAGE, ("way", AxisKind::Choice)],
            also: &[
                Further("p50", Unit::Nanoseconds, term!("p50")),
                Further("p90", Unit::Nanoseconds, term!("p90")),
                Further("p99", Unit::Nanoseconds, term!("p99")),
                Further("p999", Unit::Nanoseconds, term!("p99.9")),
                Further("greatest", Unit::Nanoseconds, term!("greatest")),
            ],
            what: texts::LATENCY,
        },
        ForeignQuantity {
            id: "sockperf.messages",
            title: texts::MESSAGES_TITLE,
            unit: Unit::OperationsPerSecond,
            axes: &[PROTOCOL, MESSAGE],
            also: &[Further("bytes", Unit::BytesPerSecond, term!("bytes"))],
            what: texts::MESSAGES,
        },
    ],
};

/// How lines of latencies begin.
const TIMES: &[(&str, &str)] = &[
    ("---> <MAX> observation =", "greatest"),
    ("---> percentile 99.900 =", "p999"),
    ("---> percentile 99.90 =", "p999"),
    ("---> percentile 99.000 =", "p99"),
    ("---> percentile 99.00 =", "p99"),
    ("---> percentile 90.000 =", "p90"),
    ("---> percentile 90.00 =", "p90"),
    ("---> percentile 50.000 =", "p50"),
    ("---> percentile 50.00 =", "p50"),
];
const WHAT: &str = "the whole text of sockperf";

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut run = Foreign::of(&SOURCE);
    let (mut protocol, mut message) = (String::from("unknown"), String::from("unknown"));
    // The value whose last line has not come yet.
    let mut now: Option<ImportedValue> = None;
    let lines = each_line(input, WHAT, |line, text| {
        let text = text.split_once("sockperf: ").map_or(text, |(_, said)| said).trim();
        let first = |rest: &str| rest.split_whitespace().next().unwrap_or_default().to_owned();
        let number = |rest: &str| amount(&first(rest), text).map_err(|what| ImportError { line, what });
        let begins =
            text.contains("== version #") || (text.starts_with("Summary: ") && !text.starts_with("Summary: BandWidth"));
        if begins && now.is_some() {
            return Err(ImportError { line, what: format!("the result before this line is not whole; give {WHAT}") });
        }
        if let Some((_, version)) = text.split_once("== version #") {
            run.version = format!("sockperf {}", first(version).chars().take(40).collect::<String>());
            (protocol, message) = ("unknown".into(), "unknown".into());
        } else if let Some((_, name)) = text.split_once("PORT = ").and_then(|(_, rest)| rest.split_once("# ")) {
            protocol = first(name);
        } else if let Some((_, size)) = text.split_once("msg-size=") {
            message = first(size).trim_end_matches('.').to_owned();
        } else if let Some((way, time)) = [("one", "Latency is "), ("both", "Round trip is ")]
            .iter()
            .find_map(|(way, begin)| Some((way, text.strip_prefix("Summary: ")?.strip_prefix(begin)?)))
            .filter(|(_, time)| time.ends_with("usec"))
        {
            let value = ImportedValue::new("sockperf.latency", vec![number(time)? * 1e3]).at("protocol", &protocol);
            now = Some(value.at("message", &message).at("way", way));
        } else if let Some(rate) = text.strip_prefix("Summary: Message Rate is ").filter(|t| t.ends_with("[msg/sec]")) {
            let value = ImportedValue::new("sockperf.messages", vec![number(rate)?]);
            now = Some(value.at("protocol", &protocol).at("message", &message));
        } else if let (Some(value), Some((begin, name))) =
            (&mut now, TIMES.iter().find(|(begin, _)| text.starts_with(begin)))
        {
            value.also.push((*name, number(&text[begin.len()..])? * 1e3));
        } else if let Some(value) = now.take_if(|_| text.starts_with("---> <MIN> observation")) {
            return run.keep(value).map_err(|what| ImportError { line, what });
        } else if let Some(rate) = text.strip_prefix("Summary: BandWidth is ")
            && let Some(value) = now.take()
        {
            // Its MB are 2^20 bytes.
            let bytes = rate.contains(" MBps").then(|| number(rate)).transpose()?;
            let value = value.and("bytes", bytes.map(|mib| mib * f64::from(1 << 20)));
            return run.keep(value).map_err(|what| ImportError { line, what });
        }
        Ok(())
    })?;
    match now {
        Some(_) => Err(ImportError { line: lines, what: format!("the file ends here within a result; give {WHAT}") }),
        None => run.finish(lines, || no_result(WHAT)),
    }
}
