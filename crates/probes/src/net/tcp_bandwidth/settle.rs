//! How long a stream takes to get to its rate, and how long a sample of it has to be: by the link's round trip and by the rate.

use crate::workloads::network::tcp_info::TcpInfo;

/// A window of the warm-up is this many round trips, within bounds, ns: a slow start doubles the rate in each, and two ends on one
/// CPU take turns of some milliseconds.
const WINDOW_ROUND_TRIPS: f64 = 2.0;
const WINDOW_NS: (f64, f64) = (10e6, 200e6);
/// Packets in which a window tells a rate.
const WINDOW_PACKETS: f64 = 16.0;
/// A rate that is no more than this many times the highest before is not growing: what falls and comes back by chance does not either.
const GROWTH: f64 = 1.1;
/// So many windows in a row that do not grow end the warm-up; so does this time, ns.
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

/// The pace of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPace {
    rtt_ns: f64,
    segment: u64,
}

impl LinkPace {
    /// That of a connection's link.
    pub fn of(info: &TcpInfo) -> LinkPace {
        let rtt_ns = info.min_rtt_ns.or(info.rtt_ns).unwrap_or(0) as f64;
        LinkPace { rtt_ns, segment: info.segment_bytes.unwrap_or(PACKET_BYTES).min(PACKET_BYTES) }
    }

    /// The slower of two.
    #[must_use]
    pub fn or_slower(self, other: LinkPace) -> LinkPace {
        LinkPace { rtt_ns: self.rtt_ns.max(other.rtt_ns), segment: self.segment.max(other.segment) }
    }

    /// Time between two looks at how fast it is, after one that saw this rate, bytes a nanosecond, ns.
    pub fn window_ns(self, rate: f64) -> f64 {
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

/// The warm-up of a stream.
#[derive(Debug)]
pub struct Settling {
    windows: u32,
    highest: f64,
    calm: u32,
}

impl Settling {
    /// One that has just begun.
    pub fn new() -> Settling {
        Settling { windows: 0, highest: 0.0, calm: 0 }
    }

    /// Whether it is over, after a window of this rate and all in all so long.
    pub fn is_over(&mut self, rate: f64, spent_ns: f64) -> bool {
        self.calm = if self.windows > 0 && rate <= GROWTH * self.highest { self.calm + 1 } else { 0 };
        // What had come before anybody read it is in the first.
        self.highest = if self.windows > 1 { self.highest.max(rate) } else { rate };
        self.windows += 1;
        self.calm >= CALM || spent_ns >= LONGEST_NS
    }
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
    fn a_sample_has_many_packets_and_round_trips_and_ends() {
        // 20 and 5 Gbit/s over 20 µs, 83, 10 and 1 Mbit/s, 1 Gbit/s over 100 ms, in bytes a nanosecond; nothing at all.
        for (rate, rtt, ms) in [
            (2.5, 20_000, 100.0),
            (0.625, 20_000, 214.7),
            (0.01, MS, 300.0),
            (1.2e-3, MS, 308.9),
            (125e-6, MS, 1e3),
            (0.125, 100 * MS, 400.0),
            (0.0, 0, 1e3),
        ] {
            let took = pace(rtt).sample_ns(rate) / 1e6;
            assert!((took / ms - 1.0).abs() < 0.001, "{rate}: {took}");
        }
    }

    #[test]
    fn a_window_that_saw_few_packets_is_followed_by_a_longer_one() {
        // The first, 10 Gbit/s, 5 Mbit/s, hardly anything; 10 Gbit/s over 50 ms.
        for (rate, rtt, ms) in [
            (f64::INFINITY, MS, 10.0),
            (1.25, MS, 10.0),
            (0.625e-3, MS, 37.0),
            (0.0, MS, 200.0),
            (1.25, 50 * MS, 100.0),
        ] {
            let took = pace(rtt).window_ns(rate) / 1e6;
            assert!((took / ms - 1.0).abs() < 0.01, "{rate}: {took}");
        }
    }
}
