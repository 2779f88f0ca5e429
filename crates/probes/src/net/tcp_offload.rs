//! Probe net.tcp_offload: what it is worth that packets pass whole, in network namespaces of its own.

use std::cell::Cell;

use hostmark_engine::prelude::*;

use super::tcp_bandwidth::Receiver;
use crate::context_switches::{ContextSwitches, SWITCHES, WAKE_UPS};
use crate::workloads::network::link::Packets;
use crate::workloads::network::own_network::{CONGESTION, Device, OwnConnection, Wanted};

pub static PROBE: Probe = Probe {
    also: &[
        Quantity::SUSTAINED_BYTES,
        Quantity::given("packet_bytes", Unit::Bytes, Better::Higher, term!("bytes per packet on the interface")),
        Quantity::given("joined_bytes", Unit::Bytes, Better::Higher, term!("bytes per packet that TCP receives")),
        SWITCHES,
        WAKE_UPS,
    ],
    axes: &[
        Axis::choice("device", "lo", Points::quick(&["lo"]).standard(&["veth"])),
        Axis::choice(
            "offload",
            "all",
            Points::quick(&["all"]).standard(&["big", "no_tso", "no_gso", "no_gro", "none"]),
        ),
        Axis::count("mtu", "1500", Points::quick(&["1500"]).standard(&["9000", "65536"])),
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::quick(&["same_cpu"]).standard(&["same_cache"]).thorough(&[
                "smt_sibling",
                "other_cache",
                "other_node",
                "free",
            ]),
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["device", "offload"] }],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::net::TCP_OFFLOAD)
};

const MESSAGE_BYTES: u64 = 64 << 10;
/// Bytes of an iteration: the two ends take turns many times, also where a packet costs ten microseconds.
const STEP_BYTES: u64 = 4 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let device = match case.param::<String>("device")?.as_str() {
        "veth" => Device::Veth,
        _ => Device::Lo,
    };
    let offload: Offload = case.param("offload")?;
    if let Some(other) = offload.same_as(device) {
        return Err(RoundError::not_applicable(say!("lo never joins packets: offload={other} is the same here")));
    }
    let wanted = offload.wanted(device, case.param("mtu")?);
    let message = case.buffer(MESSAGE_BYTES, Pages::Base, None)?;
    let theirs = crate::ipc::other_party(case)?;
    let connection = OwnConnection::spawn(wanted, message.bytes(), &theirs)
        .or_lacking(|| say!("a network of its own cannot be set up so"))?;
    let mut receiver = Receiver::of(connection.stream().try_clone().call("fcntl")?, MESSAGE_BYTES)?;
    case.note("congestion_control", CONGESTION);
    let (turns, moved) = (ContextSwitches::begin(Some(connection.sender())), Cell::new(0_u64));
    let before = connection.passed()?;
    case.loops(|steps| {
        let bytes = steps * STEP_BYTES;
        turns.moved(bytes);
        moved.set(moved.get() + bytes);
        receiver.receive(bytes).map_err(super::unanswered)
    })
    .rate(STEP_BYTES)?;
    let passed = before.zip(connection.passed()?).map(|(before, after)| after.since(before));
    if let Some(passed) = passed {
        let per = |packets: u64| (packets > 0).then(|| moved.get() as f64 / packets as f64);
        case.also("packet_bytes", per(passed.packets))?;
        case.also("joined_bytes", per(passed.joined))?;
    }
    turns.give(case)
}

named! {
    /// Offload setting: where a stream is cut to packets of one MTU, and whether it is joined again before TCP receives it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Offload {
        /// Nowhere: packets of up to 64 KiB pass whole.
        All = "all",
        /// The same of packets of up to 512 KiB (BIG TCP).
        Big = "big",
        /// The kernel splits them at the interface (GSO), and the receiver joins them (GRO).
        NoTso = "no_tso",
        /// TCP makes one at a time, and the receiver joins them.
        NoGso = "no_gso",
        /// The kernel splits them at the interface, and nobody joins them.
        NoGro = "no_gro",
        /// TCP makes one at a time, and nobody joins them.
        None = "none",
    }
}

/// Largest size that the kernel takes: GSO_MAX_SIZE.
const BIG_BYTES: u32 = 8 * 65535;

impl Offload {
    /// Returns the interface settings for it.
    pub fn wanted(self, device: Device, mtu: u32) -> Wanted {
        let tso = matches!(self, Offload::All | Offload::Big);
        let gro = !matches!(self, Offload::NoGro | Offload::None);
        let packets = match self {
            Offload::NoGso | Offload::None => Some(Packets::Single),
            Offload::Big => Some(Packets::Large(BIG_BYTES)),
            Offload::All | Offload::NoTso | Offload::NoGro => None,
        };
        Wanted { device, mtu, tso, packets, gro }
    }

    /// Returns the value that tells the same over this device, where there is one: it is not measured then.
    fn same_as(self, device: Device) -> Option<&'static str> {
        match (device, self) {
            (Device::Lo, Offload::NoTso) => Some("no_gro"),
            (Device::Lo, Offload::NoGso) => Some("none"),
            _ => None,
        }
    }
}
