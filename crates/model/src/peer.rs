//! What a machine is asked at which far ends of a run serve that is measured on another one, and what it answers.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::{FarUsage, HostReport, NetworkPath, Nonce, Params, Reason};

/// What a peer is asked. One round is served at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerRequest {
    /// By which addresses it may be reached. Answer: [`PeerAnswer::Addresses`].
    Addresses,
    /// What the machine is. Answer: [`PeerAnswer::Facts`].
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
    /// What the clients of each have to know: one for each far end. Who will connect chooses, so that whoever answers for the
    /// peer cannot choose what a connection begins with.
    pub nonces: Vec<Nonce>,
    /// Whether each keeps to a CPU of its own; else the scheduler places them.
    pub is_bound: bool,
    /// Memory that they may fill together, bytes.
    pub memory_bytes: u64,
    /// How long their set-up may take, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// How long nobody may say anything once they serve, milliseconds: after that they are ended.
    pub silent_ms: u64,
}

/// What a peer answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerAnswer {
    /// By which addresses it may be reached, the best known first.
    Addresses(Vec<IpAddr>),
    /// What the machine is.
    Facts(Box<HostReport>),
    /// The way.
    Path(Box<NetworkPath>),
    /// All far ends listen.
    Serving {
        /// Where they listen, in order.
        at: Vec<SocketAddr>,
    },
    /// There are none.
    Unserved {
        /// Whether the machine lacks something; else something went wrong.
        is_skipped: bool,
        /// Why.
        #[serde(flatten)]
        reason: Reason,
    },
    /// They are ended.
    Served {
        /// What they recorded: key and value.
        notes: Vec<(String, String)>,
        /// Of each what it has used, where it said so, or why it failed.
        said: Vec<Result<Option<FarUsage>, Reason>>,
    },
}
