//! Reads the text of sockperf: latency with percentiles, and the rate of messages.

use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Size};
use hostmark_model::Run;
use hostmark_model::Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};

use super::foreign::{Axis, Further, quantity, read_lines};
use super::table::Fields;
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "sockperf",
    tool: "sockperf",
    what: WHAT,
    nothing: "the file has no result",
    texts: crate::texts::sockperf::TEXTS,
    programs: &[
        quantity("sockperf.latency", Nanoseconds, &[PROTOCOL, MESSAGE, ("way", Choice)]).with(&[
            Further("p50", Nanoseconds, term!("p50")),
            Further("p90", Nanoseconds, term!("p90")),
            Further("p99", Nanoseconds, term!("p99")),
            Further("p999", Nanoseconds, term!("p99.9")),
            Further("greatest", Nanoseconds, term!("greatest")),
        ]),
        quantity("sockperf.messages", OperationsPerSecond, &[PROTOCOL, MESSAGE]).with(&[Further(
            "bytes",
            BytesPerSecond,
            term!("bytes"),
        )]),
    ],
    read,
};

const PROTOCOL: Axis = ("protocol", Choice);
const MESSAGE: Axis = ("message", Size);

/// Its lines. Its MB are 2^20 bytes.
const LINES: &[&str] = &[
    "{}== version #{version:word}",
    "{}PORT = {}# {protocol:word}",
    "{}msg-size={message:word}",
    "[Valid Duration] RunTime={} sec; SentMessages={sent:1}; ReceivedMessages={}",
    "# dropped messages = {dropped:1}; # duplicated messages = {}",
    "Summary: Latency is {one:us} usec",
    "Summary: Round trip is {both:us} usec",
    "Summary: Message Rate is {rate:1} [msg/sec]",
    "Summary: BandWidth is {bytes:MiB/s} MBps{}",
    "---> <MAX> observation = {greatest:us}",
    "---> percentile 99.90{} = {p999:us}",
    "---> percentile 99.00{} = {p99:us}",
    "---> percentile 90.00{} = {p90:us}",
    "---> percentile 50.00{} = {p50:us}",
];
const WHAT: &str = "the whole text of sockperf";

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut fields = Fields::default();
    let result = |fields: &Fields| ["one", "both", "rate"].into_iter().find(|name| fields.has(name));
    read_lines(&FORMAT, input, |run, _, line| {
        let Some(text) = line else {
            let is_cut = result(&fields).is_some();
            return if is_cut {
                Err(format!("the file ends here within a result, so it is truncated; give {WHAT}"))
            } else {
                Ok(())
            };
        };
        let text = text.split_once("sockperf: ").map_or(text, |(_, said)| said).trim();
        let is_first = text.contains("== version #");
        let is_summary = text.starts_with("Summary: ") && !text.starts_with("Summary: BandWidth");
        if (is_first || is_summary) && result(&fields).is_some() {
            return Err(format!("the result before this line is not whole; give {WHAT}"));
        }
        if is_first {
            fields = Fields::default();
        }
        fields.take(LINES, text);
        fields.check(text)?;
        if is_first {
            run.version_is(&fields.text("version").chars().take(40).collect::<String>());
        }
        let end = if fields.has("rate") { "Summary: BandWidth is " } else { "---> <MIN> observation" };
        if let Some(way) = result(&fields).filter(|_| text.starts_with(end)) {
            fields.set("way", way);
            let probe = if way == "rate" { "sockperf.messages" } else { "sockperf.latency" };
            let mut value = fields.value(&FORMAT, probe, vec![fields.number(way, text)?], "unknown")?;
            let is_dropped = fields.has("dropped") && fields.number("dropped", text)? > 0.0;
            let dropped = || format!("{} of {} messages were dropped", fields.text("dropped"), fields.text("sent"));
            value.unconfirmed = is_dropped.then(dropped);
            fields = fields.split_off(&["protocol", "message"]);
            run.keep(value)?;
        }
        Ok(())
    })
}
