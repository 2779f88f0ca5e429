//! Probe net.udp_bandwidth: how fast datagrams come through, and how many are lost, by size, direction and rate.

mod axes;
mod far;
mod messages;
mod near;
mod quantities;

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: quantities::ALSO,
    related: &["net.udp", "net.tcp_bandwidth"],
    axes: &[
        Axis::size(
            "datagram",
            "1472",
            Points::Listed {
                quick: &["1472"],
                standard: &["64", "512", "8192", "32768", "61440"],
                thorough: &["16", "256", "1024", "4096", "16384"],
            },
        ),
        super::ENDS,
        axes::DIRECTION,
        axes::RATE,
        axes::SEGMENTATION,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["direction", "rate_mbit"] },
        FullFactorial { from: Profile::Thorough, axes: &["direction", "segmentation"] },
    ],
    blocking: true,
    limit: Limit::Link,
    replaces: &["bw_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &far::SERVICE, measure },
    ..crate::texts::net::UDP_BANDWIDTH
};

fn measure(case: &mut Case) -> Result<()> {
    let (sends, flow) = axes::flow(|axis| case.param(axis))?;
    // A message that the kernel cuts or joins is no longer.
    case.may_fill(1 << 16)?;
    if sends { near::send(case, flow) } else { near::receive(case, flow) }
}
