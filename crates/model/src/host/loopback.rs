//! What a packet meets that a machine sends to itself.

use serde::{Deserialize, Serialize};

use super::QueueingDiscipline;

/// The loopback interface of the network namespace that was measured in. What nobody told is absent, and not none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LoopbackFacts {
    /// Its largest packet; 65536 as the kernel makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u64>,
    /// What packets wait in before it takes them; `noqueue` as the kernel makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueingDiscipline>,
    /// Rules of nftables, iptables and ip6tables that its packets can meet; absent for who may not see them, as all but root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<u64>,
    /// Programs and classifiers that its packets meet: `xdp`, `clsact`, and the kinds of filter there (`tc bpf`), `tcx`, and those of the
    /// own control group (`cgroup bpf`). Absent where none was found and not all could be seen, as by all but root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
}

/// As the kernel makes it.
const USUAL_MTU_BYTES: u64 = 65536;
const NO_QUEUE: &str = "noqueue";
/// What 20 rules cost is a tenth of a round trip over loopback at most: each packet is held against one in some 20 ns.
const FEW_RULES: u64 = 20;

impl LoopbackFacts {
    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == LoopbackFacts::default()
    }

    /// The packet filter's rules, where they are too many to cost nothing.
    pub fn many_rules(&self) -> Option<u64> {
        self.filter_rules.filter(|rules| *rules >= FEW_RULES)
    }

    /// Its largest packet, where it is smaller than the kernel makes it.
    pub fn small_mtu(&self) -> Option<u64> {
        self.mtu_bytes.filter(|mtu| *mtu < USUAL_MTU_BYTES)
    }

    /// What packets wait in, where there is a queue.
    pub fn waits_in(&self) -> Option<&QueueingDiscipline> {
        self.queue.as_ref().filter(|queue| queue.kind != NO_QUEUE)
    }
}
