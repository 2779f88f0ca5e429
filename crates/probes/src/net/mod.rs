//! Group net: both ends of network protocols. The far end is a process that is reached by its address alone, here or elsewhere.

use std::io;

use hostmark_engine::prelude::*;

use crate::authenticated::{PATIENCE, unanswered, wrong_answer};

mod data_path;
mod http;
mod open_loop;
mod rate_latency;
mod round_trip;
mod rpc;
mod tcp_bandwidth;
mod tcp_connect;
mod tcp_offload;
mod udp_bandwidth;

crate::group!("net": round_trip open_loop tcp_connect rpc http tcp_bandwidth rate_latency tcp_offload udp_bandwidth data_path);

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Network");

/// The service whose far end says whether a peer can be reached: it sends back each byte.
pub(crate) const REACHED: &str = round_trip::ECHO.name;

/// Further quantities of the round trips: the last two show stalls that most operations miss, as those of a quota in time slices.
const TAILS: &[Quantity] = &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::SUSTAINED];

/// CPUs that the sending process kept busy.
pub const SENDER_CPUS: Quantity =
    Quantity::given("sender_cpus", Unit::Ratio, Better::Lower, term!("CPUs busy with sending"));
/// CPUs that the receiving process kept busy.
pub const RECEIVER_CPUS: Quantity =
    Quantity::given("receiver_cpus", Unit::Ratio, Better::Lower, term!("CPUs busy with receiving"));

/// Protocol by which the two ends speak.
const PROTOCOL: Axis = Axis::ways("protocol", "tcp", Points::quick(&["tcp", "udp"]));
/// Placements of the two ends, from one CPU to the scheduler's choice.
const PLACEMENTS: &[&str] =
    &["same_cpu", "smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node", "free"];
/// CPUs of the two ends: the client on the first, the server on the other.
const ENDS: Axis =
    Axis::placements("cpus", "same_cpu", Points::quick(&["same_cpu"]).standard(PLACEMENTS.split_at(1).1));

/// Times exchanges one by one: the value is their median, and the percentiles are those of all.
fn exchanges(case: &mut Case, mut exchange: impl FnMut() -> io::Result<()>) -> Result<()> {
    case.timed(|clock| {
        let start = clock.start();
        exchange().map_err(unanswered)?;
        Ok(clock.end().since(start))
    })
    .singly()
    .time()
}
