//! The values of axis offload: where TCP's data is split into packets, and whether they are joined again.

use std::str::FromStr;

use hostmark_engine::prelude::{Message, say};

use crate::workloads::network::link::Packets;
use crate::workloads::network::own_network::{Device, Wanted};

/// Where a stream is cut to packets of one MTU, and whether it is joined again before TCP receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Nowhere: packets of up to 64 KiB pass whole.
    All,
    /// The same of packets of up to 512 KiB (BIG TCP).
    Big,
    /// The kernel splits them at the interface (GSO), and the receiver joins them (GRO).
    NoTso,
    /// TCP makes one at a time, and the receiver joins them.
    NoGso,
    /// The kernel splits them at the interface, and nobody joins them.
    NoGro,
    /// TCP makes one at a time, and nobody joins them.
    None,
}

/// What the kernel takes at most: GSO_MAX_SIZE.
const BIG_BYTES: u32 = 8 * 65535;

impl FromStr for Offload {
    type Err = Message;

    fn from_str(name: &str) -> Result<Offload, Message> {
        Ok(match name {
            "all" => Offload::All,
            "big" => Offload::Big,
            "no_tso" => Offload::NoTso,
            "no_gso" => Offload::NoGso,
            "no_gro" => Offload::NoGro,
            "none" => Offload::None,
            _ => return Err(say!("there is no offload '{name}'")),
        })
    }
}

impl Offload {
    /// How the interfaces are set for it.
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

    /// Why it is not measured over this device: another value tells the same there.
    pub fn same_as(self, device: Device) -> Option<&'static str> {
        match (device, self) {
            (Device::Lo, Offload::NoTso) => Some("no_gro"),
            (Device::Lo, Offload::NoGso) => Some("none"),
            _ => None,
        }
    }
}
