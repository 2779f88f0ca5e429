//! The network between hosts: what a link can carry, what was measured over it, and how both stand in a report.

mod flow;
mod goodput;
mod matrix;

use hostmark_model::{Lang, QueueingDiscipline, Unit};

use crate::format::{in_scale, scale_for};

pub use flow::{Capacity, CapacityCause, Direction, LinkDirection, TCP_BANDWIDTH, capacities, cases_to, flows, peers};
pub use goodput::{Framing, Protocol, goodput, payload_bytes};
pub use matrix::{Matrix, TCP_ROUND_TRIP, matrices};

/// `83 Mbit/s`: links are sold by bits, and by round numbers of them.
pub fn bits(bits_per_s: u64) -> String {
    let scale = scale_for(bits_per_s as f64, Unit::BytesPerSecond);
    // The multiples are those of bytes a second.
    let unit = scale.suffix.say(Lang::En).replace("B/s", "bit/s");
    let shown = in_scale(bits_per_s as f64, scale);
    let shown = if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
    format!("{shown} {unit}")
}

/// `tbf 1 Gbit/s`.
pub fn queue_text(queue: &QueueingDiscipline) -> String {
    format!("{}{}", queue.kind, queue.bits_per_s.map(|rate| format!(" {}", bits(rate))).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_links_are_written_as_they_are_sold() {
        for (rate, shown) in [
            (1_000_000_000, "1 Gbit/s"),
            (2_500_000_000, "2.5 Gbit/s"),
            (83_000_000, "83 Mbit/s"),
            (100_000_000_000, "100 Gbit/s"),
            (56_000, "56 kbit/s"),
        ] {
            assert_eq!(bits(rate), shown);
        }
    }
}
