//! How long a stream takes to get to its rate, and how long a sample of it has to be: by the link's round trip and by the rate.

use crate::workloads::tcp_info::TcpInfo;

/// A window of the warm-up is this many round trips, within bounds, ns: a slow start doubles the rate in each.
const WINDOW_ROUND_TRIPS: f64 = 2.0;
const WINDOW_NS: (f64, f64) = (5e6, 200e6);
/// Pieces of a stream that tell a rate.
const LEAST_PIECES: u64 = 16;
/// A rate that grew by no more than this is not growing.
const GROWTH: f64 = 1.1;
/// So many windows in a row that do not grow end the warm-up; so does this time, ns.
const CALM: u32 = 2;
const LONGEST_NS: f64 = 3e9;
/// A sample is no shorter than this, ns: two ends on one CPU take turns of some milliseconds, and a sample has many of them.
const SAMPLE_NS: f64 = 100e6;
/// A sample has this many round trips, in each of which a window's worth of data comes at once, and this many packets: senders
/// and rate limits let up to 45 of them go at once.
const SAMPLE_ROUND_TRIPS: f64 = 4.0;
const SAMPLE_PACKETS: f64 = 64.0;
/// A sample is no longer than this, ns.
const LONGEST_SAMPLE_NS: f64 = 1e9;
/// A packet of the usual Ethernet. Over loopback, where they are larger, no sample has few of them.
const PACKET_BYTES: u64 = 1500;

/// The pace of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    rtt_ns: f64,
    segment: u64,
}

impl Pace {
    /// That of a connection's link.
    pub fn of(info: &TcpInfo) -> Pace {
        let rtt_ns = info.min_rtt_ns.or(info.rtt_ns).unwrap_or(0) as f64;
        Pace { rtt_ns, segment: info.segment_bytes.unwrap_or(PACKET_BYTES).min(PACKET_BYTES) }
    }

    /// The slower of two.
    #[must_use]
    pub fn or_slower(self, other: Pace) -> Pace {
        Pace { rtt_ns: self.rtt_ns.max(other.rtt_ns), segment: self.segment.max(other.segment) }
    }

    /// Time between two looks at how fast it is, ns.
    pub fn window_ns(self) -> f64 {
        (WINDOW_ROUND_TRIPS * self.rtt_ns).clamp(WINDOW_NS.0, WINDOW_NS.1)
    }

    /// Whether so many pieces in this time tell a rate.
    pub fn is_window(self, ns: f64, pieces: u64) -> bool {
        ns >= self.window_ns() && (pieces >= LEAST_PIECES || ns >= WINDOW_NS.1)
    }

    /// The time of a sample at this rate, bytes a nanosecond, ns.
    pub fn sample_ns(self, rate: f64) -> f64 {
        let packets_ns = SAMPLE_PACKETS * self.segment as f64 / rate.max(f64::MIN_POSITIVE);
        SAMPLE_NS.max(SAMPLE_ROUND_TRIPS * self.rtt_ns).max(packets_ns).min(LONGEST_SAMPLE_NS)
    }

    /// The bytes of a sample at this rate, bytes a nanosecond, and at most `most`.
    pub fn sample_bytes(self, rate: f64, most: u64) -> u64 {
        ((rate * self.sample_ns(rate)) as u64).clamp(1, most.max(1))
    }
}

/// The warm-up of a stream.
#[derive(Debug)]
pub struct Settling {
    last: f64,
    calm: u32,
}

impl Settling {
    /// One that has just begun.
    pub fn new() -> Settling {
        Settling { last: f64::INFINITY, calm: 0 }
    }

    /// Whether it is over, after a window of this rate and all in all so long.
    pub fn is_over(&mut self, rate: f64, spent_ns: f64) -> bool {
        self.calm = if self.last.is_finite() && rate <= GROWTH * self.last { self.calm + 1 } else { 0 };
        self.last = rate;
        self.calm >= CALM || spent_ns >= LONGEST_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace(rtt_ns: u64) -> Pace {
        Pace::of(&TcpInfo { min_rtt_ns: Some(rtt_ns), segment_bytes: Some(1448), ..TcpInfo::default() })
    }

    /// Windows of a warm-up until it is over.
    fn windows(pace: Pace, mut rate: impl FnMut(u32) -> f64) -> u32 {
        let mut settling = Settling::new();
        let is_over = |window: &u32| settling.is_over(rate(*window), f64::from(*window) * pace.window_ns());
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
        let most = 64 << 20;
        // 4 GB/s over loopback: as many bytes as a sample may have.
        assert_eq!(pace(20_000).sample_bytes(4.0, most), most);
        // 10 Gbit/s over 20 µs, 83 Mbit/s, 1 Mbit/s, in bytes a nanosecond.
        for (rate, rtt, ns) in [(1.25, 20_000, 53e6), (0.01, MS, 100e6), (125e-6, MS, 741e6), (0.125, 100 * MS, 400e6)]
        {
            let pace = pace(rtt);
            let took = pace.sample_bytes(rate, most) as f64 / rate;
            assert!((took / ns - 1.0).abs() < 0.02, "{rate}: {took}");
        }
        assert_eq!(pace(0).sample_bytes(1e-12, most), 1);
        assert_eq!(pace(20_000).sample_bytes(0.001, 65_536), 65_536);
    }
}
