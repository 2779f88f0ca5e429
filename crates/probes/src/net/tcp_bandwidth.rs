//! Probe net.tcp_bandwidth: how fast bytes go through TCP connections, by direction, message, method, placement and streams.

use hostmark_engine::prelude::*;

use crate::authenticated::{PATIENCE, connect, connect_with, unanswered};
use crate::context_switches::{ContextSwitches, MIB, SWITCHES, WAKE_UPS};
use crate::net::{RECEIVER_CPUS, SENDER_CPUS};
use crate::workloads::machine::busy::{Account, Busy, Switches};
use crate::workloads::network::socket;
use crate::workloads::network::tcp_info::TcpInfo;
use far::{FarReport, begun};

mod far;
mod flows;
mod terms;

pub use far::StreamsFarEnd;
pub use flows::{Flows, Receiver};
pub use terms::{Direction, StreamOptions};

pub static PROBE: Probe = Probe {
    revision: 2,
    also: ALSO,
    axes: &[
        Axis::size(
            "message",
            "65536",
            Points::quick(&["65536"])
                .standard(&["1", "64", "1024", "4096", "16384", "131072", "262144", "1048576", "10485760"])
                .thorough(&["8192", "32768", "4194304"]),
        ),
        terms::DIRECTION,
        terms::METHOD,
        Axis::near_and_free("cpus"),
        Axis::threads("streams", Points::OfHost(streams)).sharing_cpus(flows::PER_CPU),
        terms::WINDOW,
        terms::CONGESTION,
        terms::BLOCK,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["message", "method"] },
        FullFactorial { from: Profile::Standard, axes: &["direction", "streams"] },
        FullFactorial { from: Profile::Thorough, axes: &["direction", "method"] },
        FullFactorial { from: Profile::Standard, axes: &["window", "cpus"] },
        FullFactorial { from: Profile::Standard, axes: &["congestion", "cpus"] },
        FullFactorial { from: Profile::Thorough, axes: &["window", "congestion"] },
    ],
    blocking: true,
    limit: Limit::Link,
    measure: Measure::Between { service: &far::STREAMS, measure },
    ..crate::rate(Unit::BytesPerSecond, crate::texts::net::TCP_BANDWIDTH)
};

/// Returns the numbers of streams, by profile: powers of two, and as many as there are CPUs.
fn streams(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    let powers = (1..u64::BITS).map(|power| 1 << power).take_while(|&streams| streams < all);
    match profile {
        Profile::Quick => vec![1],
        _ => [1].into_iter().chain(powers).chain([all.max(1)]).collect(),
    }
}

/// Bytes of a sample at most.
const LONGEST_STEP: u64 = 128 << 20;

pub fn measure(case: &mut Case) -> Result<()> {
    let terms = StreamOptions::of(|axis| case.param(axis))?;
    let streams = case.far_ends().len() as u64;
    match (terms.direction, streams) {
        (terms::Direction::Receive, 1) => received(case, &terms),
        _ => looked_at(case, &terms),
    }
}

/// Measures one stream that comes here: the case's own thread reads it, and nothing else is in the way.
fn received(case: &mut Case, terms: &StreamOptions) -> Result<()> {
    case.may_fill(terms.block)?;
    let far = case.far_end()?.clone();
    let account = connect(&far)?;
    let stream = connect_with(&far, PATIENCE, |socket| terms.set_near(socket, false))?;
    let (send_buffer, congestion) = begun(&stream).map_err(unanswered)?;
    terms.window.check(send_buffer, socket::receive_buffer(&stream)?)?;
    case.note("congestion_control", congestion);
    let pace = LinkPace::of(&TcpInfo::of(&stream)?);
    let mut receiver = Receiver::of(stream, terms.block)?;
    let (mut busy, turns) = (Busy::default(), ContextSwitches::begin(None));
    let (mut timed, mut settled) = (0, None);
    case.timed(|clock| {
        let Some((sample_ns, place)) = &mut settled else {
            // What the stream takes to get to its rate is thrown away, as every round's first sample is.
            let rate = receiver.settle(clock, pace).map_err(unanswered)?;
            turns.moved(receiver.read);
            settled = Some((pace.sample_ns(rate), receiver.place(clock)?));
            return Ok((clock.ticks(1.0), 1));
        };
        let before = receiver.read;
        busy.begin()?;
        let came = receiver.receive_for(clock, place, *sample_ns, LONGEST_STEP).map_err(unanswered)?;
        busy.end()?;
        turns.moved(receiver.read - before);
        timed += receiver.read - before;
        Ok(came)
    })
    .rate_of_the_whole(1)?;
    let all = receiver.read;
    case.note("receive_buffer_bytes", receiver.receive_buffer()?);
    // Its end is that of what the sender accounts for.
    drop(receiver);
    let report = FarReport::receive(account).map_err(unanswered)?;
    note_far(case, terms.direction, &report);
    turns.give_beside(case, report.account.switches)?;
    give_cpus(case, report.account.cpus(), busy.cpus())?;
    give_cpu_time(case, (busy.cpu_ns(), timed), &[report], all)?;
    let sent: Vec<TcpInfo> = report.sent.into_iter().collect();
    give_info(case, &sent, all, report.account.passed_ns())
}

/// Streams with threads of their own: what is timed are looks at how far their receivers are.
fn looked_at(case: &mut Case, terms: &StreamOptions) -> Result<()> {
    let far = case.far_ends().to_vec();
    case.may_fill(u64::saturating_mul(terms.block, far.len() as u64))?;
    let cpus = if far.len() > 1 { case.thread_cpus() } else { Vec::new() };
    if far.len() > cpus.len() && !cpus.is_empty() {
        case.note("streams_per_cpu", far.len().div_ceil(cpus.len()));
    }
    let message = case.buffer(if terms.direction.sends() { terms.message } else { 1 }, Pages::Base, None)?;
    let (mut rates, mut ended, mut reports) = (Vec::new(), None, Vec::new());
    let near = Account::of(|| {
        std::thread::scope(|scope| {
            let flows = Flows::start(scope, terms, message.bytes(), &far, &cpus)?;
            note_begun(case, &flows)?;
            let mut look = None;
            case.timed(|clock| {
                let Some(look) = &mut look else {
                    look = Some(flows.settle(clock)?);
                    return Ok((clock.ticks(1.0), 1));
                };
                let start = clock.start();
                let [received, sent] = look.next(&flows, clock)?;
                let ticks = clock.end().since(start);
                rates.push([received, sent]);
                Ok((ticks, (((received + sent) * clock.ns(ticks)).round() as u64).max(1)))
            })
            .rate_of_the_whole(1)?;
            note_buffers(case, &flows)?;
            let mut all = flows.end()?;
            reports.append(&mut all.reports);
            ended = Some(all);
            Ok::<(), RoundError>(())
        })
    })?;
    let Some(ended) = ended else { return Ok(()) };
    for report in reports.iter().take(1) {
        note_far(case, terms.direction, report);
    }
    if let Some(copied) = ended.copied.filter(|_| terms.direction == terms::Direction::Send) {
        note_copied(case, copied);
    }
    if terms.direction == terms::Direction::Both {
        // Bytes a nanosecond.
        let mean = |way: usize| rates.iter().map(|rates| rates[way]).sum::<f64>() / rates.len().max(1) as f64;
        case.also(RECEIVE_RATE.name, [mean(0) * 1e9])?;
        case.also(SEND_RATE.name, [mean(1) * 1e9])?;
    }
    let bytes = ended.bytes[0].saturating_add(ended.bytes[1]);
    let of_far = || reports.iter().filter_map(|report| report.account.cpus()).reduce(|sum, cpus| sum + cpus);
    match terms.direction {
        terms::Direction::Receive => give_cpus(case, of_far(), near.cpus())?,
        terms::Direction::Send => give_cpus(case, near.cpus(), of_far())?,
        terms::Direction::Both => {}
    }
    give_turns(case, reports.iter().map(|report| report.account).chain([near]), bytes)?;
    give_cpu_time(case, (near.cpu_ns(), bytes), &reports, bytes)?;
    let sent: Vec<TcpInfo> = ended.sent.into_iter().chain(reports.iter().filter_map(|report| report.sent)).collect();
    let passed_ns = reports.iter().map(|report| report.account.passed_ns()).max().unwrap_or(0);
    give_info(case, &sent, bytes, passed_ns)
}

fn note_begun(case: &mut Case, flows: &Flows) -> Result<()> {
    let far = flows.begun().map(|(_, congestion)| congestion.clone());
    if let Some(congestion) = flows.own_congestion()?.or(far) {
        case.note("congestion_control", congestion);
    }
    Ok(())
}

fn note_buffers(case: &mut Case, flows: &Flows) -> Result<()> {
    if let Some((sends, bytes)) = flows.own_buffer()? {
        case.note(if sends { "send_buffer_bytes" } else { "receive_buffer_bytes" }, bytes);
    }
    Ok(())
}

/// Notes how the far end carried its streams.
fn note_far(case: &mut Case, direction: Direction, report: &FarReport) {
    match direction {
        terms::Direction::Receive => case.note("send_buffer_bytes", report.buffer),
        terms::Direction::Send => case.note("receive_buffer_bytes", report.buffer),
        // Its buffer to send from is that of this end's.
        terms::Direction::Both => {}
    }
    if let Some(copied) = report.copied {
        note_copied(case, copied);
    }
}

fn note_copied(case: &mut Case, copied: bool) {
    case.note("zero_copy", if copied { "copied" } else { "not copied" });
}

/// Round trips of a window of the warm-up, within bounds in ns: slow start doubles the rate in each, and two ends on a CPU take turns.
const WINDOW_ROUND_TRIPS: f64 = 2.0;
const WINDOW_NS: (f64, f64) = (10e6, 200e6);
/// Packets in which a window tells a rate.
const WINDOW_PACKETS: f64 = 16.0;
/// A rate that is no more than this many times the highest before is not growing: what falls and comes back by chance does not either.
const GROWTH: f64 = 1.1;
/// Number of windows in a row without growth that end the warm-up; so does this time, ns.
const CALM: u32 = 2;
const LONGEST_NS: f64 = 3e9;
/// A sample is no shorter than this, ns, and where it lasts until so many bytes have come, no shorter than the second: two ends on one
/// CPU take turns of some milliseconds, and a sample has many of them.
const SAMPLE_NS: f64 = 300e6;
const LEAST_SAMPLE_NS: f64 = 100e6;
const SAMPLE_BYTES: f64 = 128.0 * 1024.0 * 1024.0;
/// A sample has this many round trips, in each of which a window's worth of data comes at once, and this many packets: senders
/// and rate limits let up to 45 of them go at once, and one more or less at either end is less than a hundredth.
const SAMPLE_ROUND_TRIPS: f64 = 4.0;
const SAMPLE_PACKETS: f64 = 256.0;
/// A sample is no longer than this, ns.
const LONGEST_SAMPLE_NS: f64 = 1e9;
/// A packet of the usual Ethernet. Over loopback, where they are larger, no sample has few of them.
const PACKET_BYTES: u64 = 1500;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPace {
    rtt_ns: f64,
    segment: u64,
}

impl LinkPace {
    /// Returns the pace of a connection's link.
    pub fn of(info: &TcpInfo) -> LinkPace {
        let rtt_ns = info.min_rtt_ns.or(info.rtt_ns).unwrap_or(0) as f64;
        LinkPace { rtt_ns, segment: info.segment_bytes.unwrap_or(PACKET_BYTES).min(PACKET_BYTES) }
    }

    #[must_use]
    fn or_slower(self, other: LinkPace) -> LinkPace {
        LinkPace { rtt_ns: self.rtt_ns.max(other.rtt_ns), segment: self.segment.max(other.segment) }
    }

    /// Time between two looks at how fast it is, after one that saw this rate, bytes a nanosecond, ns.
    fn window_ns(self, rate: f64) -> f64 {
        (WINDOW_ROUND_TRIPS * self.rtt_ns).max(self.packets_ns(WINDOW_PACKETS, rate)).clamp(WINDOW_NS.0, WINDOW_NS.1)
    }

    fn packets_ns(self, packets: f64, rate: f64) -> f64 {
        packets * self.segment as f64 / rate.max(f64::MIN_POSITIVE)
    }

    /// The time of a sample at this rate, bytes a nanosecond, ns.
    pub fn sample_ns(self, rate: f64) -> f64 {
        let packets_ns = self.packets_ns(SAMPLE_PACKETS, rate);
        let least_ns = (SAMPLE_BYTES / rate.max(f64::MIN_POSITIVE)).clamp(LEAST_SAMPLE_NS, SAMPLE_NS);
        least_ns.max(SAMPLE_ROUND_TRIPS * self.rtt_ns).max(packets_ns).min(LONGEST_SAMPLE_NS)
    }
}

#[derive(Debug)]
struct Settling {
    windows: u32,
    highest: f64,
    calm: u32,
}

impl Settling {
    pub fn new() -> Settling {
        Settling { windows: 0, highest: 0.0, calm: 0 }
    }

    /// Tells whether it is over, after a window of this rate and all in all so long.
    pub fn is_over(&mut self, rate: f64, spent_ns: f64) -> bool {
        self.calm = if self.windows > 0 && rate <= GROWTH * self.highest { self.calm + 1 } else { 0 };
        // What had come before anybody read it is in the first.
        self.highest = if self.windows > 1 { self.highest.max(rate) } else { rate };
        self.windows += 1;
        self.calm >= CALM || spent_ns >= LONGEST_NS
    }
}

const fn quantity(name: &'static str, unit: Unit, better: Better, title: Text) -> Quantity {
    Quantity::given(name, unit, better, title)
}

const RECEIVE_RATE: Quantity =
    quantity("receive_rate", Unit::BytesPerSecond, Better::Higher, term!("received here (both directions)"));
const SEND_RATE: Quantity =
    quantity("send_rate", Unit::BytesPerSecond, Better::Higher, term!("sent from here (both directions)"));
const NEAR_CPU: Quantity =
    quantity("near_cpu_per_byte", Unit::Nanoseconds, Better::Lower, term!("CPU time per byte at this end"));
const FAR_CPU: Quantity =
    quantity("far_cpu_per_byte", Unit::Nanoseconds, Better::Lower, term!("CPU time per byte at the far end"));
const RETRANSMITS: Quantity = quantity("retransmits", Unit::Count, Better::Lower, term!("segments sent again"));
const RETRANSMITS_PER_GB: Quantity =
    quantity("retransmits_per_gb", Unit::Ratio, Better::Lower, term!("segments sent again per GB"));
const CONGESTION_WINDOW: Quantity =
    quantity("congestion_window", Unit::Bytes, Better::Neither, term!("congestion window at the end"));
const RTT: Quantity = quantity("rtt", Unit::Nanoseconds, Better::Lower, term!("TCP's round trip under load"));
const MIN_RTT: Quantity = quantity("min_rtt", Unit::Nanoseconds, Better::Lower, term!("TCP's shortest round trip"));
const PACING_RATE: Quantity =
    quantity("pacing_rate", Unit::BytesPerSecond, Better::Neither, term!("pacing rate at the end"));
const DELIVERY_RATE: Quantity =
    quantity("delivery_rate", Unit::BytesPerSecond, Better::Higher, term!("TCP's delivery rate at the end"));
const BUSY: Quantity = quantity("busy", Unit::Ratio, Better::Neither, term!("share of time with data to send"));
const RECEIVER_LIMITED: Quantity =
    quantity("receiver_limited", Unit::Ratio, Better::Lower, term!("share of time limited by the receiver's window"));
const BUFFER_LIMITED: Quantity =
    quantity("buffer_limited", Unit::Ratio, Better::Lower, term!("share of time limited by the send buffer"));

/// The rate that lasts, what the two ends cost, how often they take turns, and what limits the connection.
pub const ALSO: &[Quantity] = &[
    Quantity::SUSTAINED_BYTES,
    RECEIVE_RATE,
    SEND_RATE,
    SWITCHES,
    WAKE_UPS,
    SENDER_CPUS,
    RECEIVER_CPUS,
    NEAR_CPU,
    FAR_CPU,
    RETRANSMITS,
    RETRANSMITS_PER_GB,
    CONGESTION_WINDOW,
    RTT,
    MIN_RTT,
    PACING_RATE,
    DELIVERY_RATE,
    BUSY,
    RECEIVER_LIMITED,
    BUFFER_LIMITED,
];

/// Gives the case what the sending and the receiving process kept busy.
fn give_cpus(case: &mut Case, sender: Option<f64>, receiver: Option<f64>) -> Result<()> {
    case.also(SENDER_CPUS.name, sender)?;
    case.also(RECEIVER_CPUS.name, receiver)
}

/// Gives the case the turns that both ends took for so many bytes.
fn give_turns(case: &mut Case, accounts: impl Iterator<Item = Account>, bytes: u64) -> Result<()> {
    let add = |sum: Switches, one: Switches| Switches {
        voluntary: sum.voluntary.saturating_add(one.voluntary),
        involuntary: sum.involuntary.saturating_add(one.involuntary),
    };
    let all = accounts.map(|account| account.switches).fold(Switches::default(), add);
    let each_mib = |count: u64| count as f64 * MIB / bytes.max(1) as f64;
    case.also(SWITCHES.name, [each_mib(all.voluntary.saturating_add(all.involuntary))])?;
    case.also(WAKE_UPS.name, [each_mib(all.voluntary)])
}

/// Gives the case the CPU time that `near` and the far ends took for so many bytes, in either direction.
fn give_cpu_time(case: &mut Case, near: (u64, u64), reports: &[FarReport], bytes: u64) -> Result<()> {
    let each = |ns: f64, bytes: u64| (bytes > 0).then(|| ns / bytes as f64);
    case.also(NEAR_CPU.name, each(near.0 as f64, near.1))?;
    case.also(FAR_CPU.name, each(reports.iter().map(|report| report.account.cpu_ns() as f64).sum(), bytes))
}

/// Gives the case what the kernels of the senders tell of connections that carried `bytes` together and lasted about
/// `passed_ns` each: the sum of what was sent again, and the mean of the rest.
fn give_info(case: &mut Case, infos: &[TcpInfo], bytes: u64, passed_ns: u64) -> Result<()> {
    // What a far end tells may be any number: they are added as such that do not overflow.
    let numbers = |of: fn(&TcpInfo) -> Option<u64>| -> Option<Vec<f64>> {
        infos.iter().map(|info| Some(of(info)? as f64)).collect()
    };
    if let Some(again) = numbers(|info| info.retransmits).filter(|all| !all.is_empty()) {
        let again: f64 = again.iter().sum();
        case.also(RETRANSMITS.name, [again])?;
        case.also(RETRANSMITS_PER_GB.name, (bytes > 0).then(|| again * 1e9 / bytes as f64))?;
    }
    let mean = |of| {
        let numbers: Option<Vec<f64>> = numbers(of);
        numbers.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    case.also(CONGESTION_WINDOW.name, mean(|info| info.window_bytes))?;
    case.also(RTT.name, mean(|info| info.rtt_ns))?;
    case.also(MIN_RTT.name, mean(|info| info.min_rtt_ns))?;
    case.also(PACING_RATE.name, mean(|info| info.pacing_rate))?;
    case.also(DELIVERY_RATE.name, mean(|info| info.delivery_rate))?;
    let share = |of| mean(of).filter(|_| passed_ns > 0).map(|ns| (ns / passed_ns as f64).min(1.0));
    case.also(BUSY.name, share(|info| info.busy_ns))?;
    case.also(RECEIVER_LIMITED.name, share(|info| info.receiver_limited_ns))?;
    case.also(BUFFER_LIMITED.name, share(|info| info.buffer_limited_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace(rtt_ns: u64) -> LinkPace {
        LinkPace::of(&TcpInfo { min_rtt_ns: Some(rtt_ns), segment_bytes: Some(1448), ..TcpInfo::default() })
    }

    /// Windows of a warm-up until it is over.
    fn windows(pace: LinkPace, mut rate: impl FnMut(u32) -> f64) -> u32 {
        let mut settling = Settling::new();
        let is_over = |window: &u32| settling.is_over(rate(*window), f64::from(*window) * pace.window_ns(1.0));
        (1..).find(is_over).unwrap()
    }

    #[test]
    fn a_slow_start_is_waited_for_and_one_without_end_is_not() {
        // Four times as fast in every window of two round trips, until the link is full after six of them.
        let link = pace(50 * MS);
        assert_eq!(windows(link, |window| 4_f64.powi(window.min(6) as i32)), 8);
        assert_eq!(windows(link, |_| 1.0), 3);
        // What had come before anybody read it is no rate of the link.
        assert_eq!(windows(link, |window| if window == 1 { 1e3 } else { 1.0 }), 3);
        assert_eq!(windows(link, |window| 2_f64.powi(window as i32)), 30);
    }

    #[test]
    fn a_sample_has_many_packets_and_round_trips_and_ends_and_a_window_of_few_packets_is_followed_by_a_longer_one() {
        type Length = fn(LinkPace, f64) -> f64;
        let (sample, window): (Length, Length) = (LinkPace::sample_ns, LinkPace::window_ns);
        for (length, rate, rtt, ms) in [
            // 20 and 5 Gbit/s over 20 µs, 83, 10 and 1 Mbit/s, 1 Gbit/s over 100 ms, in bytes a nanosecond; nothing at all.
            (sample, 2.5, 20_000, 100.0),
            (sample, 0.625, 20_000, 214.7),
            (sample, 0.01, MS, 300.0),
            (sample, 1.2e-3, MS, 308.9),
            (sample, 125e-6, MS, 1e3),
            (sample, 0.125, 100 * MS, 400.0),
            (sample, 0.0, 0, 1e3),
            // The first, 10 Gbit/s, 5 Mbit/s, hardly anything; 10 Gbit/s over 50 ms.
            (window, f64::INFINITY, MS, 10.0),
            (window, 1.25, MS, 10.0),
            (window, 0.625e-3, MS, 37.07),
            (window, 0.0, MS, 200.0),
            (window, 1.25, 50 * MS, 100.0),
        ] {
            let took = length(pace(rtt), rate) / 1e6;
            assert!((took / ms - 1.0).abs() < 0.001, "{rate}: {took}");
        }
    }
}
