//! Probe net.tcp_bandwidth: how fast bytes go through TCP connections, by direction, message, method, placement and streams.

mod account;
mod congestion;
mod direction;
mod far;
mod flows;
mod measure;
mod method;
mod quantities;
mod receiver;
mod settle;
mod terms;
mod window;

use hostmark_engine::prelude::*;
use measure::measure;
use quantities::ALSO;

pub use direction::Direction;
pub use far::StreamsFarEnd;
pub use flows::Flows;
pub use receiver::Receiver;
pub use terms::StreamOptions;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: ALSO,
    related: &["net.rate_latency", "net.tcp_offload", "ipc.bandwidth", "net.tcp", "net.udp_bandwidth"],
    axes: &[
        Axis::size(
            "message",
            "65536",
            Points::Listed {
                quick: &["65536"],
                standard: &["1", "64", "1024", "4096", "16384", "131072", "262144", "1048576", "10485760"],
                thorough: &["8192", "32768", "4194304"],
            },
        ),
        direction::AXIS,
        method::AXIS,
        Axis::near_and_free("cpus"),
        Axis::threads("streams", Points::OfHost(streams)).sharing_cpus(flows::PER_CPU),
        window::AXIS,
        congestion::AXIS,
        window::BLOCK,
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
    replaces: &["bw_tcp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &far::STREAMS, measure },
    ..crate::texts::net::TCP_BANDWIDTH
};

/// How many streams, by profile: powers of two, and as many as there are CPUs.
fn streams(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    let powers = (1..u64::BITS).map(|power| 1 << power).take_while(|&streams| streams < all);
    match profile {
        Profile::Quick => vec![1],
        _ => [1].into_iter().chain(powers).chain([all.max(1)]).collect(),
    }
}
