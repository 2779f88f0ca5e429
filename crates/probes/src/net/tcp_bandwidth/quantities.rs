//! What stands beside the rate of streams: what both ends take for it, and what the kernel tells of the connections.

use hostmark_engine::prelude::*;

use super::account::FarReport;
use crate::context_switches::{MIB, SWITCHES, WAKE_UPS};
use crate::net::{RECEIVER_CPUS, SENDER_CPUS};
use crate::workloads::machine::busy::Account;
use crate::workloads::machine::switches::Switches;
use crate::workloads::network::tcp_info::TcpInfo;

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

/// Gives the case the rates of the two directions of one sample, bytes a nanosecond.
pub fn give_rates(case: &mut Case, [received, sent]: [f64; 2]) -> Result<()> {
    case.also(RECEIVE_RATE.name, [received * 1e9])?;
    case.also(SEND_RATE.name, [sent * 1e9])
}

/// Gives the case what the sending and the receiving process kept busy.
pub fn give_cpus(case: &mut Case, sender: Option<f64>, receiver: Option<f64>) -> Result<()> {
    case.also(SENDER_CPUS.name, sender)?;
    case.also(RECEIVER_CPUS.name, receiver)
}

/// Gives the case the turns that both ends took for so many bytes.
pub fn give_turns(case: &mut Case, accounts: impl Iterator<Item = Account>, bytes: u64) -> Result<()> {
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
pub fn give_cpu_time(case: &mut Case, near: (u64, u64), reports: &[FarReport], bytes: u64) -> Result<()> {
    let each = |ns: f64, bytes: u64| (bytes > 0).then(|| ns / bytes as f64);
    case.also(NEAR_CPU.name, each(near.0 as f64, near.1))?;
    case.also(FAR_CPU.name, each(reports.iter().map(|report| report.account.cpu_ns() as f64).sum(), bytes))
}

/// Gives the case what the kernels of the senders tell of connections that carried `bytes` together and lasted about
/// `passed_ns` each: the sum of what was sent again, and the mean of the rest.
pub fn give_info(case: &mut Case, infos: &[TcpInfo], bytes: u64, passed_ns: u64) -> Result<()> {
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
