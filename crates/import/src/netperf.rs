//! Reads the text of netperf's classic tests: streams and transactions, each under its heading.

use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Size};
use hostmark_model::Run;
use hostmark_model::Unit::{BytesPerSecond, OperationsPerSecond};

use super::bounded::{amount, shortened};
use super::foreign::{Axis, Further, ImportedValue, quantity, read_lines};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "netperf",
    tool: "netperf",
    what: WHAT,
    nothing: "the file has no result",
    texts: crate::texts::netperf::TEXTS,
    programs: &[
        quantity("netperf.stream", BytesPerSecond, &[TEST, ("message", Size), SOCKET]).with(&[Further(
            "sent",
            BytesPerSecond,
            term!("sent"),
        )]),
        quantity("netperf.transactions", OperationsPerSecond, &[TEST, ("request", Size), ("response", Size), SOCKET]),
    ],
    read,
};

const TEST: Axis = ("test", Choice);
const SOCKET: Axis = ("socket", Size);

/// Units in bytes per second; without a K, M or G in front of bytes it is a power of ten of bits.
const UNITS: [(&str, f64); 6] = [
    ("10^3bits/s", 125.0),
    ("10^6bits/s", 125e3),
    ("10^9bits/s", 125e6),
    ("KBytes/s", 1024.0),
    ("MBytes/s", 1_048_576.0),
    ("GBytes/s", 1_073_741_824.0),
];
const WHAT: &str = "the whole text of netperf, without -P 0, -k, -o and -O";

/// A test whose lines are read.
#[derive(Default)]
struct NetperfTest {
    name: String,
    unit: Option<f64>,
    /// True where the columns are the usual ones.
    is_classic: bool,
    /// The line of the sending end of UDP: socket, message, what was sent.
    sender: Option<[f64; 3]>,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut now: Option<NetperfTest> = None;
    read_lines(&FORMAT, input, |run, _, line| {
        let heading = line.map(|line| line.split_once(" TEST from "));
        if let (None | Some(Some(_)), Some(test)) = (heading, &now) {
            let cut = if line.is_none() { ", so the file is truncated" } else { "" };
            return Err(format!("{} has no result before this line{cut}; give {WHAT}", shortened(&test.name)));
        }
        let Some(line) = line else { return Ok(()) };
        if let Some(Some((name, _))) = heading {
            let name = name.rsplit("MIGRATED ").next().unwrap_or(name).trim().to_owned();
            now = Some(NetperfTest { name, ..NetperfTest::default() });
        } else if let Some(test) = now.as_mut().filter(|_| !line.starts_with("Interim result:")) {
            let unit = |word: &str| UNITS.iter().find(|(unit, _)| word.strip_suffix("ec").unwrap_or(word) == *unit);
            test.unit = test.unit.or(line.split_whitespace().find_map(unit).map(|(_, bytes)| *bytes));
            test.is_classic |= line.starts_with("Socket ") && (line.contains("Message") || line.contains("Request"));
            if let Some(value) = result(test, line)? {
                now = None;
                run.keep(value)?;
            }
        }
        Ok(())
    })
}

/// The value of a line of numbers; none where more is to come, or it says something else.
fn result(test: &mut NetperfTest, line: &str) -> Result<Option<ImportedValue>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if !test.is_classic || words.len() < 4 || words.iter().any(|word| word.parse::<f64>().is_err()) {
        return Ok(None);
    }
    let numbers = words.iter().map(|word| amount(word, "a number")).collect::<Result<Vec<f64>, String>>()?;
    let unit =
        || test.unit.ok_or_else(|| format!("the heading names no unit of {}; give {WHAT}", shortened(&test.name)));
    let stream = |[message, socket, rate]: [f64; 3], seconds: f64| -> Result<ImportedValue, String> {
        let value = ImportedValue::new("netperf.stream", vec![rate * unit()?]).at("test", &test.name);
        Ok(value.at("message", message).at("socket", socket).note("seconds", seconds))
    };
    let is_udp = test.name.starts_with("UDP") || test.name.starts_with("UNIDIRECTIONAL");
    match (test.sender, &numbers[..]) {
        _ if test.name.to_ascii_uppercase().contains("REQUEST/RESPONSE") => {
            let &[_, socket, request, response, seconds, rate, ..] = &numbers[..] else { return Ok(None) };
            let value = ImportedValue::new("netperf.transactions", vec![rate]).at("test", &test.name);
            let value = value.at("request", request).at("response", response).at("socket", socket);
            Ok(Some(value.note("seconds", seconds)))
        }
        (None, &[socket, message, _, _, _, rate, ..]) if is_udp => {
            test.sender = Some([message, socket, rate]);
            Ok(None)
        }
        (Some([message, socket, sent]), &[_, seconds, _, rate, ..]) => {
            let sent = Some(sent * unit()?);
            Ok(Some(stream([message, socket, rate], seconds)?.and("sent", sent)))
        }
        (None, &[socket, _, message, seconds, rate, ..]) if !is_udp => {
            stream([message, socket, rate], seconds).map(Some)
        }
        _ => Ok(None),
    }
}
