//! Reads iperf3's JSON (`iperf3 --json`) and its JSON stream (`--json-stream`, one event a line): the rate that arrived,
//! what had to be sent again, what it cost both CPUs.

use std::collections::BTreeMap;
use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count, Size};
use hostmark_model::{Message, Run, Text, Unit};
use hostmark_say::say;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};

use super::bounded::{Amount, AtMost, NameMap, Plain, Short, amount, shortened};
use super::foreign::{Axis, Foreign, Further, ImportedValue, quantity, read_documents};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "iperf3",
    tool: "iperf3",
    what: WHAT,
    nothing: term!("the file ends here without iperf3's end, so it is truncated"),
    texts: crate::texts::iperf3::TEXTS,
    programs: &[
        quantity("iperf3.tcp", Unit::BytesPerSecond, AXES).with(&[RETRANSMITS, CPU_HERE, CPU_THERE]),
        quantity("iperf3.udp", Unit::BytesPerSecond, AXES).with(&[
            Further("lost", Unit::Ratio, term!("share lost")),
            Further("jitter", Unit::Nanoseconds, term!("jitter")),
            CPU_HERE,
            CPU_THERE,
        ]),
        quantity("iperf3.stream", Unit::BytesPerSecond, &[DIRECTION, STREAMS, MESSAGE, TARGET, ("number", Count)])
            .with(&[RETRANSMITS, Further("round_trip", Unit::Nanoseconds, term!("mean round trip"))]),
    ],
    read,
};

const WHAT: Text = term!("what iperf3 wrote with --json or --json-stream");

const DIRECTION: Axis = ("direction", Choice);
const STREAMS: Axis = ("streams", Count);
const MESSAGE: Axis = ("message", Size);
const TARGET: Axis = ("target", Choice);
const AXES: &[Axis] = &[DIRECTION, STREAMS, MESSAGE, TARGET];
const CPU_HERE: Further = Further("cpu_here", Unit::Ratio, term!("CPUs used here"));
const CPU_THERE: Further = Further("cpu_there", Unit::Ratio, term!("CPUs used there"));
const RETRANSMITS: Further = Further("retransmits", Unit::Count, term!("segments sent again"));

const MOST_STREAMS: usize = 1000;
/// Parts of a test that are axes, or only say how often it is told.
const NOT_ASKED: &str = "protocol num_streams blksize reverse bidir target_bitrate interval";

/// A document, or an event of a stream.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Document {
    event: Option<Short>,
    data: ObjectOr<ResultSection>,
    start: Option<ResultSection>,
    end: ObjectOr<ResultSection>,
    error: Option<Short>,
}

/// An object, or the text or boolean in its place: an error event has a text, and a stream of an interval has a boolean that tells whether
/// this end is the sender.
#[derive(Default)]
struct ObjectOr<T>(Option<T>, Short);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ObjectOr<T>, D::Error> {
        deserializer.deserialize_any(ObjectOr(None, Short::default()))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectOr<T> {
    type Value = Self;
    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("an object, a text or a truth")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self, E> {
        Ok(ObjectOr(None, Short(text.chars().take(200).collect())))
    }
    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self, A::Error> {
        let map = MapAccessDeserializer::new(SumsTwice { map, seen: Vec::new() });
        Ok(ObjectOr(Some(T::deserialize(map)?), self.1))
    }
}

/// An object in which iperf3 before 3.10 writes the sums of both directions under the same names: the second has the name of later
/// versions.
struct SumsTwice<A> {
    map: A,
    seen: Vec<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SumsTwice<A> {
    type Error = A::Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(Short(mut key)) = self.map.next_key()? else { return Ok(None) };
        if self.seen.contains(&key) {
            key += "_bidir_reverse";
        } else if ["sum", "sum_sent", "sum_received"].contains(&key.as_str()) {
            self.seen.push(key.clone());
        }
        seed.deserialize(key.into_deserializer()).map(Some)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The start or the end of a result: each has its own of these fields.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ResultSection {
    version: Short,
    system_info: Short,
    timestamp: Timestamp,
    test_start: Option<NameMap<Plain>>,
    sock_bufsize: Short,
    sndbuf_actual: Short,
    rcvbuf_actual: Short,
    tcp_mss: Short,
    tcp_mss_default: Short,
    streams: AtMost<Stream, MOST_STREAMS>,
    sum: Option<Sum>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum_bidir_reverse: Option<Sum>,
    sum_sent_bidir_reverse: Option<Sum>,
    sum_received_bidir_reverse: Option<Sum>,
    cpu_utilization_percent: Cpu,
    sender_tcp_congestion: Short,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Timestamp {
    time: Short,
    timesecs: Amount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Stream {
    sender: ObjectOr<Sum>,
    receiver: ObjectOr<Sum>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sum {
    bits_per_second: Option<Amount>,
    retransmits: Option<Amount>,
    jitter_ms: Option<Amount>,
    /// iperf3 counts a datagram that came late as one less: the share can be below 0.
    lost_percent: Option<f64>,
    mean_rtt: Option<Amount>,
    sender: Option<bool>,
}

impl Sum {
    fn rate(&self) -> Option<f64> {
        self.bits_per_second.map(|bits| bits.0 / 8.0)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cpu {
    host_total: Option<Amount>,
    remote_total: Option<Amount>,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let (mut start, mut is_read, mut is_stream) = (ResultSection::default(), false, false);
    read_documents(&FORMAT, input, |run, document: Document| {
        if is_read {
            // Some versions write the whole document again after their stream.
            let is_same = std::mem::take(&mut is_stream) && document.event.is_none();
            return if is_same { Ok(()) } else { Err(say!("a second result begins here; import each alone")) };
        }
        is_stream = document.event.is_some();
        let (begin, end) = match document.event {
            None => {
                no_error(document.error.as_ref())?;
                (document.start.unwrap_or_default(), document.end.0)
            }
            Some(event) => match event.0.as_str() {
                "start" => {
                    start = document.data.0.unwrap_or_default();
                    return Ok(());
                }
                "end" => (std::mem::take(&mut start), document.data.0),
                "error" => return no_error(Some(&document.data.1)),
                // Intervals, and what later versions add.
                _ => return Ok(()),
            },
        };
        is_read = true;
        keep(run, &begin, &end.unwrap_or_default())
    })
}

fn no_error(error: Option<&Short>) -> Result<(), Message> {
    match error {
        Some(error) => {
            const MOST: usize = 200;
            let error: String = error.0.chars().take(MOST).collect();
            Err(say!("iperf3 ended with an error ({error}); measure again"))
        }
        None => Ok(()),
    }
}

fn keep(run: &mut Foreign, start: &ResultSection, end: &ResultSection) -> Result<(), Message> {
    let asked = &start.test_start.as_ref().ok_or_else(|| say!("it tells nothing of the test; give {WHAT}"))?.0;
    let told = |name: &str| asked.get(name).map(|Plain(text)| text.as_str()).filter(|text| !text.is_empty());
    let number = |name: &str| told(name).map(|text| amount(text, name)).transpose();
    let [streams_asked, message, reverse, bidir] =
        [number("num_streams")?, number("blksize")?, number("reverse")?, number("bidir")?]
            .map(Option::unwrap_or_default);
    // Told since 3.10, and the rate at which the kernel paces a stream.
    let (bitrate, paced) = (number("target_bitrate")?, number("fqrate")?);
    // What is 0 was not asked for, as what older versions do not tell.
    let options = asked.iter().filter(|(_, Plain(text))| amount(text, "") != Ok(0.0));
    let options: BTreeMap<String, Plain> = options.map(|(name, text)| (name.clone(), text.clone())).collect();
    // "iperf 3.12"
    run.version_is(start.version.0.trim_start_matches("iperf").trim());
    let system: Vec<&str> = start.system_info.0.split_whitespace().collect();
    if let [system, host, release, .., machine] = system[..] {
        run.host.kernel.system_is(system);
        run.host.hostname = host.to_owned();
        run.host.kernel.release = release.to_owned();
        run.host.cpu.architecture = machine.to_owned();
    }
    run.begun_at(Some(start.timestamp.timesecs));
    run.date_is(&start.timestamp.time.0);
    let probe = match told("protocol").unwrap_or_default() {
        "TCP" => "iperf3.tcp",
        "UDP" => "iperf3.udp",
        other => {
            let protocol = shortened(other);
            return Err(say!("its protocol is '{protocol}'; results of TCP and UDP can be imported"));
        }
    };
    // A client that sends and receives at once has the other direction beside; before 3.13 the start does not say so.
    let is_both = bidir > 0.0 || end.sum_received_bidir_reverse.is_some() || end.sum_bidir_reverse.is_some();
    let (one, other) = match (is_both, reverse > 0.0) {
        (true, _) => ("both_forward", "both_reverse"),
        (false, true) => ("reverse", ""),
        (false, false) => ("forward", ""),
    };
    let at = |value: ImportedValue, direction: &str| {
        let none = || if bitrate.is_none() { "unknown" } else { "none" }.to_owned();
        let targets = [bitrate, paced].into_iter().flatten();
        let least = targets.filter(|target| *target > 0.0).min_by(f64::total_cmp);
        let target = least.map_or_else(none, |target| target.to_string());
        value
            .at("direction", direction)
            .at("streams", streams_asked)
            .at("message", message)
            .at("target", target)
            .note("sndbuf_actual", &start.sndbuf_actual.0)
            .note("rcvbuf_actual", &start.rcvbuf_actual.0)
            .asked("sock_bufsize", start.sock_bufsize.0.trim_start_matches('0'))
            .asked("tcp_mss", if start.tcp_mss.0.is_empty() { &start.tcp_mss_default.0 } else { &start.tcp_mss.0 })
            .asked("congestion", &end.sender_tcp_congestion.0)
            .asked_but(NOT_ASKED, &options)
    };
    let whole = |value: ImportedValue| {
        value
            .and("cpu_here", end.cpu_utilization_percent.host_total.map(|percent| percent.0 / 100.0))
            .and("cpu_there", end.cpu_utilization_percent.remote_total.map(|percent| percent.0 / 100.0))
    };
    let first = end.sum_received.as_ref().or(end.sum.as_ref());
    let second = end.sum_received_bidir_reverse.as_ref().or(end.sum_bidir_reverse.as_ref());
    // The first sums are of what this end sends, unless they say that it received.
    let is_swapped = is_both && first.is_some_and(|sum| sum.sender == Some(false));
    let [of_first, of_second] = if is_swapped { [other, one] } else { [one, other] };
    let directions = [(of_first, &end.sum_sent, first), (of_second, &end.sum_sent_bidir_reverse, second)];
    for (direction, sent, received) in directions.into_iter().filter(|(direction, ..)| !direction.is_empty()) {
        let received = received.ok_or_else(|| say!("the sum of what was received is missing; give {WHAT}"))?;
        let mut rate = received.rate().ok_or_else(|| say!("the sum tells no bits_per_second; give {WHAT}"))?;
        let lost = received.lost_percent.filter(|percent| *percent >= 0.0).map(|percent| percent / 100.0);
        let mut unconfirmed = None;
        if let Some(percent) = received.lost_percent.filter(|percent| *percent > 100.0) {
            unconfirmed = Some(say!("iperf3 says that {percent} % were lost, more than were sent"));
        }
        let lost = lost.filter(|lost| *lost <= 1.0);
        if probe == "iperf3.udp" && end.sum_received.is_none() {
            rate *= 1.0 - lost.unwrap_or(0.0);
            unconfirmed = Some(say!("iperf3 before 3.10 tells what was sent: less the share that was lost"));
        }
        let mut value = whole(at(ImportedValue::new(probe, vec![rate]), direction));
        value.unconfirmed = unconfirmed;
        let value = match probe {
            "iperf3.udp" => value.and("lost", lost).and("jitter", received.jitter_ms.map(|ms| ms.0 * 1e6)),
            _ => value.and("retransmits", sent.as_ref().and_then(|sent| sent.retransmits).map(|count| count.0)),
        };
        run.keep(value)?;
    }
    if probe == "iperf3.tcp" && streams_asked > 1.0 {
        streams(run, &end.streams.0, &at, [one, other])?;
    }
    Ok(())
}

/// Each of several streams; of two directions those that this end sends come forward.
fn streams(
    run: &mut Foreign,
    streams: &[Stream],
    at: &dyn Fn(ImportedValue, &str) -> ImportedValue,
    [one, other]: [&str; 2],
) -> Result<(), Message> {
    let mut numbers = [0, 0];
    for stream in streams {
        let (ObjectOr(Some(sender), _), ObjectOr(Some(receiver), _)) = (&stream.sender, &stream.receiver) else {
            continue;
        };
        let is_other = !other.is_empty() && sender.sender == Some(false);
        let number = &mut numbers[usize::from(is_other)];
        *number += 1;
        let Some(rate) = receiver.rate() else { continue };
        let value = at(ImportedValue::new("iperf3.stream", vec![rate]), if is_other { other } else { one })
            .at("number", *number)
            .and("retransmits", sender.retransmits.map(|count| count.0))
            .and("round_trip", sender.mean_rtt.map(|us| us.0 * 1e3));
        run.keep(value)?;
    }
    Ok(())
}
