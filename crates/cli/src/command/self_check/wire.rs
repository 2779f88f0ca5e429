//! Two hosts with a wire between them that keeps to a rate.

use std::net::{IpAddr, Ipv4Addr};

use super::networks::Networks;

/// The far host's address on it.
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// Both ends send by a token bucket (tc-tbf(8)) that is set so, as `rate 83mbit burst 32kbit limit 64kb`; else why there is none.
pub fn with_rate(tbf: &str) -> Result<Networks, String> {
    let networks = Networks::of(2)?;
    for host in [1, 2] {
        networks.run(host, &format!("tc qdisc add dev wire root tbf {tbf}"))?;
    }
    Ok(networks)
}

/// The words that start a program at a host.
pub fn program_at(networks: &Networks, host: usize, program: &str) -> Vec<String> {
    networks.enter(host).into_iter().chain([program.to_owned()]).collect()
}
