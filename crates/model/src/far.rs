//! Far ends, the other halves of what is measured between two parties: how they are started, reached, asked and accounted for, and the
//! directories that each makes for itself alone.

use std::fmt::{self, Debug, Formatter};
use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{HostReport, NetworkPath, Params, Reason};

/// Secret of those who may use a far end: 128 random bits, for one round.
#[derive(Clone, Copy)]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// Bytes of one.
    pub const BYTES: usize = 16;

    /// The one of these bytes.
    pub const fn of(bytes: [u8; Nonce::BYTES]) -> Nonce {
        Nonce(bytes)
    }

    /// Returns the bytes to send to the other end.
    pub fn told(&self) -> &[u8; Nonce::BYTES] {
        &self.0
    }

    /// Tells whether `told` is this nonce, in a time that does not depend on how much of it was right.
    #[inline]
    pub fn is(&self, told: &[u8]) -> bool {
        told.len() == self.0.len() && black_box(self.0.iter().zip(told).fold(0, |all, (a, b)| all | (a ^ b))) == 0
    }
}

impl PartialEq for Nonce {
    fn eq(&self, other: &Nonce) -> bool {
        self.is(&other.0)
    }
}

impl Eq for Nonce {}

impl Debug for Nonce {
    /// A secret is in no message.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce")
    }
}

impl Serialize for Nonce {
    /// Writes 32 hexadecimal digits.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Nonce {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Nonce, D::Error> {
        let text = String::deserialize(from)?;
        let is_whole = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| is_whole);
        let number = number.ok_or_else(|| serde::de::Error::custom("a nonce has 32 hexadecimal digits"))?;
        Ok(Nonce(number.to_be_bytes()))
    }
}

/// A far end as its client reaches it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarEnd {
    /// Address on which it listens.
    pub address: SocketAddr,
    /// Nonce that it has to be sent first.
    pub nonce: Nonce,
}

/// Job of a far end's process, as a line of JSON: one service, until its input ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceJob {
    /// [`PROTOCOL`](crate::PROTOCOL).
    pub protocol: u32,
    /// Process id of who started it: one whose parent is another ends at once.
    pub parent: u32,
    /// The service's name.
    pub service: String,
    /// The point of the case that it serves.
    pub params: Params,
    /// Addresses of the machine that it is on, of which it listens at the first that can be had.
    pub at: Vec<IpAddr>,
    /// Nonce that its clients have to present.
    pub nonce: Nonce,
    /// The CPUs that it may use; none: as the scheduler decides.
    pub cpus: Vec<usize>,
    /// Memory that it may fill, bytes.
    pub memory_bytes: u64,
    /// Number of its kind that serve the same case.
    pub copies: u64,
    /// Longest set-up, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// The run's directory for files.
    pub scratch: Scratch,
    /// Name of its own directory in that one; who started it removes it afterwards.
    pub folder: String,
}

/// What a far end has used from the moment at which it listened until its end, by its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FarUsage {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// How often it slept, and was woken later.
    pub voluntary_switches: u64,
    /// How often another process took its place.
    pub involuntary_switches: u64,
    /// Page faults.
    pub faults: u64,
}

/// Request to a peer. One round is served at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerRequest {
    /// Addresses by which it may be reached. Answer: [`PeerAnswer::Addresses`].
    Addresses,
    /// Facts of the machine. Answer: [`PeerAnswer::Facts`].
    Facts,
    /// The way to an address. Answer: [`PeerAnswer::Path`].
    Path {
        /// The address.
        to: IpAddr,
    },
    /// Start far ends, and tell when all listen. Answer: [`PeerAnswer::Serving`] or [`PeerAnswer::Unserved`].
    Serve(ServeRequest),
    /// End them. Answer: [`PeerAnswer::Served`].
    Enough,
}

/// Far ends that a round needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServeRequest {
    /// The service's name.
    pub service: String,
    /// The point of the case.
    pub params: Params,
    /// Own addresses of the peer, of which they listen at the first that can be had.
    pub at: Vec<IpAddr>,
    /// Nonces that the clients have to present: one for each far end. The connecting side chooses, so that an impostor of the
    /// peer cannot choose what a connection begins with.
    pub nonces: Vec<Nonce>,
    /// True where each keeps to a CPU of its own; else the scheduler places them.
    pub is_bound: bool,
    /// Memory that they may fill together, bytes.
    pub memory_bytes: u64,
    /// Longest set-up, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// Longest silence once they serve, milliseconds: after that they are ended.
    pub silent_ms: u64,
}

/// Answer of a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerAnswer {
    /// Addresses by which it may be reached, the best known first.
    Addresses(Vec<IpAddr>),
    /// Facts of the machine.
    Facts(Box<HostReport>),
    /// The way.
    Path(Box<NetworkPath>),
    /// All far ends listen.
    Serving {
        /// Addresses on which they listen, in order.
        at: Vec<SocketAddr>,
    },
    /// Refusal to serve.
    Unserved {
        /// True where the machine lacks something; else something went wrong.
        is_skipped: bool,
        /// Reason of the refusal.
        #[serde(flatten)]
        reason: Reason,
    },
    /// Report of far ends that were ended.
    Served {
        /// Notes that they recorded: key and value.
        notes: Vec<(String, String)>,
        /// Usage of each, where it reported it, or the reason of its failure.
        said: Vec<Result<Option<FarUsage>, Reason>>,
    },
}

/// A path as the kernel takes it: bytes, which need not be UTF-8 and may hold a newline. In JSON an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PathBytes(pub Vec<u8>);

/// Directory of a run's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scratch {
    /// A directory that this run made, which belongs to its user and which no other may enter.
    Made {
        /// Path when it was made. Writers of the directory above can move it: the path counts only when it is on
        /// this device and has this inode.
        path: PathBytes,
        /// The device that it lies on.
        device: u64,
        /// Inode on that device.
        inode: u64,
    },
    /// Reason why there is none: a sentence that ends with what to do.
    Missing(Reason),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_read_back_as_it_was_written_and_nothing_else_is_one() {
        let nonce = Nonce::of([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        let written = serde_json::to_string(&nonce).unwrap();
        assert_eq!(written, "\"000102030405060708090a0b0c0d0eff\"");
        assert_eq!(serde_json::from_str::<Nonce>(&written).unwrap(), nonce);
        for other in
            ["\"\"", "\"12\"", "\"+00102030405060708090a0b0c0d0eff\"", "5", "\"g00102030405060708090a0b0c0d0eff\""]
        {
            assert!(serde_json::from_str::<Nonce>(other).is_err(), "{other}");
        }
        assert_eq!(format!("{nonce:?}"), "Nonce");
    }
}
