//! Probe net.udp_bandwidth: how fast datagrams come through, and how many are lost, by size, direction and rate.

use hostmark_engine::prelude::*;

use crate::net::{RECEIVER_CPUS, SENDER_CPUS};
use crate::workloads::network::datagrams::{Arrivals, DatagramPlan, HEADER_BYTES, Sent};

mod ends;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: ALSO,
    axes: &[
        Axis::size(
            "datagram",
            "1472",
            Points::quick(&["1472"])
                .standard(&["64", "512", "8192", "32768", "61440"])
                .thorough(&["16", "256", "1024", "4096", "16384"]),
        ),
        super::ENDS,
        DIRECTION,
        RATE,
        SEGMENTATION,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["direction", "rate_mbit"] },
        FullFactorial { from: Profile::Thorough, axes: &["direction", "segmentation"] },
    ],
    blocking: true,
    limit: Limit::Link,
    measure: Measure::Between { service: &ends::SERVICE, measure },
    ..crate::rate(Unit::BytesPerSecond, crate::texts::net::UDP_BANDWIDTH)
};

fn measure(case: &mut Case) -> Result<()> {
    let (sends, flow) = flow(|axis| case.param(axis))?;
    // A message that the kernel cuts or joins is no longer.
    case.may_fill(1 << 16)?;
    if sends { ends::send(case, flow) } else { ends::receive(case, flow) }
}

/// Longest datagram: the length of an IPv4 packet less its header and UDP's (RFC 768, RFC 791).
const LONGEST_DATAGRAM: usize = 65535 - 20 - 8;

/// Sender: the far end, or the case.
const DIRECTION: Axis =
    Axis::choice("direction", "receive", Points::quick(&["receive"]).standard(&["send"])).of_links();
/// Megabits (10^6) of datagrams a second that are sent at most.
pub const RATE: Axis =
    Axis::count("rate_mbit", "max", Points::quick(&["max"]).standard(&["100"]).thorough(&["10", "1000"]));
/// Cutting of messages into datagrams: by the sender, or the kernel.
const SEGMENTATION: Axis = Axis::choice("segmentation", "none", Points::quick(&["none"]).standard(&["gso"]));

/// Reads whether the case receives, and the plan, where `param` tells the value of an axis.
pub fn flow(param: impl Fn(&str) -> Result<String>) -> Result<(bool, DatagramPlan)> {
    let wrong = |axis: &Axis| RoundError::internal(say!("there is no such {name}", name = axis.name));
    let datagram = param("datagram")?.parse()?;
    if datagram < HEADER_BYTES {
        return Err(RoundError::not_applicable(say!("a datagram holds its number and its time, 16 bytes")));
    }
    if datagram > LONGEST_DATAGRAM {
        return Err(RoundError::not_applicable(say!("a datagram holds 65507 bytes at most")));
    }
    let bits_a_second = match param(RATE.name)?.as_str() {
        "max" => None,
        megabits => Some(megabits.parse::<f64>()? * 1e6),
    };
    let is_cut = match param(SEGMENTATION.name)?.as_str() {
        "none" => false,
        "gso" => true,
        _ => return Err(wrong(&SEGMENTATION)),
    };
    let case_sends = match param(DIRECTION.name)?.as_str() {
        "receive" => false,
        "send" => true,
        _ => return Err(wrong(&DIRECTION)),
    };
    Ok((case_sends, DatagramPlan { datagram, bits_a_second, is_cut }))
}

/// Losses, amounts sent, and costs of the two ends.
pub const ALSO: &[Quantity] = &[
    Quantity::SUSTAINED_BYTES,
    LOSS,
    OVERRUN,
    PACKETS,
    SENT,
    BLOCKED,
    JITTER,
    REORDERED,
    SENDER_CPUS,
    RECEIVER_CPUS,
    SENDER_NS,
    RECEIVER_NS,
];

const LOSS: Quantity = Quantity::given("loss", Unit::Ratio, Better::Lower, term!("share of datagrams lost"));
const OVERRUN: Quantity = Quantity::given(
    "overrun",
    Unit::Ratio,
    Better::Lower,
    term!("share of datagrams lost in the receiver's full buffer"),
);
const PACKETS: Quantity =
    Quantity::given("packets", Unit::OperationsPerSecond, Better::Higher, term!("datagrams received"));
const SENT: Quantity = Quantity::given("sent", Unit::BytesPerSecond, Better::Neither, term!("sent"));
const BLOCKED: Quantity = Quantity::given(
    "held_back",
    Unit::Ratio,
    Better::Neither,
    term!("share of the time in which the sender was held back"),
);
const JITTER: Quantity = Quantity::given("jitter", Unit::Nanoseconds, Better::Lower, term!("jitter (RFC 3550)"));
const REORDERED: Quantity =
    Quantity::given("reordered", Unit::Ratio, Better::Lower, term!("share of datagrams out of order"));
const SENDER_NS: Quantity =
    Quantity::given("sender_ns", Unit::Nanoseconds, Better::Lower, term!("sender's CPU time a datagram"));
const RECEIVER_NS: Quantity =
    Quantity::given("receiver_ns", Unit::Nanoseconds, Better::Lower, term!("receiver's CPU time a datagram"));
/// A sender that waits for less of its time is not held back, but was put off now and then.
const BLOCKED_FROM: f64 = 0.01;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Received {
    pub datagrams: u64,
    /// Datagrams that came in the time below, and more than 0 where it begins and ends with one that was waited for.
    pub counted: u64,
    /// Time in which they came; else from the first datagram that was read to the last, ns.
    pub span_ns: u64,
    pub jitter_ns: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    pub cpu_ns: u64,
    pub most_joined: u64,
    /// Datagrams that its buffer had no room for.
    pub dropped: u64,
}

impl Received {
    /// Returns the counts of the arrivals, the CPU time of their process, and the datagrams that its buffer had no room for.
    pub fn of(came: Arrivals, cpu_ns: u64, dropped: u64) -> Received {
        let (counted, span_ns) = came.steady().unwrap_or((0, came.span_ns()));
        Received {
            datagrams: came.received,
            counted,
            span_ns,
            jitter_ns: came.jitter_ns.round() as u64,
            reordered: came.reordered,
            cpu_ns,
            most_joined: came.most_joined,
            dropped,
        }
    }

    /// Returns how many came in which time, ns, of what was sent in a time. A receiver that did not wait was as busy as the sender,
    /// or had no CPU: what is read in less time than it was sent in had been kept.
    pub fn in_time(&self, sent: Sent) -> (u64, u64) {
        match self.counted {
            0 => (self.datagrams.saturating_sub(1), self.span_ns.max(sent.passed_ns)),
            counted => (counted, self.span_ns),
        }
    }
}

/// Gives the case what a flow came to, of which this share was lost.
pub fn give(case: &mut Case, datagram: usize, loss: Option<f64>, sent: Sent, received: Received) -> Result<()> {
    let over = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    case.also(LOSS.name, loss)?;
    let all = loss.filter(|&loss| loss < 1.0).map(|loss| received.datagrams as f64 / (1.0 - loss));
    case.also(OVERRUN.name, all.filter(|&all| all > 0.0).map(|all| received.dropped as f64 / all))?;
    let (count, in_ns) = received.in_time(sent);
    case.also(PACKETS.name, over(count, in_ns).map(|rate| rate * 1e9))?;
    case.also(SENT.name, over(sent.datagrams * datagram as u64, sent.passed_ns).map(|rate| rate * 1e9))?;
    case.also(BLOCKED.name, over(sent.blocked_ns, sent.passed_ns))?;
    case.also(JITTER.name, (received.datagrams > 1).then_some(received.jitter_ns as f64))?;
    case.also(REORDERED.name, over(received.reordered, received.datagrams))?;
    case.also(SENDER_CPUS.name, over(sent.cpu_ns, sent.passed_ns))?;
    case.also(SENDER_NS.name, over(sent.cpu_ns, sent.datagrams))?;
    case.also(RECEIVER_NS.name, over(received.cpu_ns, received.datagrams))
}

/// Notes whether the sender waited for its queue, and what the kernel joined.
pub fn note(case: &mut Case, is_cut: bool, sent: Sent, received: Received) {
    if sent.blocked_ns as f64 > BLOCKED_FROM * sent.passed_ns as f64 {
        case.note("sender", "held back");
    }
    if is_cut {
        case.note("joined_by_receiver", received.most_joined);
    }
}
