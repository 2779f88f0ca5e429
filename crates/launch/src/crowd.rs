//! Who makes room at a door where too many wait.

use std::collections::HashMap;
use std::net::IpAddr;

/// Connections at most that wait at one door.
pub const MOST_AT_DOOR: usize = 256;

/// Which of those who wait, the oldest first, makes room for another: the oldest of the network that most of them are of. So one
/// network that fills the door has no one else's connection ended. None where nobody waits.
pub fn who_makes_room(from: impl Iterator<Item = Option<IpAddr>>) -> Option<usize> {
    let networks: Vec<Option<[u8; 8]>> = from.map(|from| from.map(network)).collect();
    let mut counts = HashMap::new();
    for of in &networks {
        *counts.entry(of).or_insert(0_usize) += 1;
    }
    let most = counts.values().copied().max();
    networks.iter().position(|of| most == counts.get(of).copied())
}

/// What counts as one party: an address of IPv4, or what one host has of IPv6 at least.
fn network(address: IpAddr) -> [u8; 8] {
    let mut network = [0; 8];
    match address.to_canonical() {
        IpAddr::V4(address) => network[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => network.copy_from_slice(&address.octets()[..8]),
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_network_that_most_are_of_makes_room() {
        let of = |waiting: &[&str]| who_makes_room(waiting.iter().map(|from| from.parse().ok()));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["10.0.0.1"]), Some(0));
        assert_eq!(of(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2"]), Some(1));
        // A host has 64 bits of IPv6, and one of IPv4 may come as one of IPv6.
        assert_eq!(of(&["10.0.0.1", "fd00::1:0:0:0:1", "fd00::2:0:0:0:1", "fd00::2:0:0:0:2"]), Some(2));
        assert_eq!(of(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.2"]), Some(1));
        // Who cannot be told apart is of one network.
        assert_eq!(of(&["10.0.0.1", "nowhere", "gone"]), Some(1));
    }
}
