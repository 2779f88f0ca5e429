//! Axis congestion: what decides how fast a sender may send.

use std::str::FromStr;

use hostmark_engine::prelude::*;
use rustix::fd::AsFd;

use crate::workloads;

/// The axis: reno is in every kernel, and never paces.
pub const AXIS: Axis = Axis::choice(
    "congestion",
    "default",
    Points::Listed { quick: &["default", "reno"], standard: &["cubic", "bbr"], thorough: &[] },
);

/// The algorithm that a sender uses: the system's where none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Congestion(Option<String>);

impl FromStr for Congestion {
    type Err = Message;

    fn from_str(name: &str) -> std::result::Result<Congestion, Message> {
        Ok(Congestion((name != AXIS.default).then(|| name.to_owned())))
    }
}

impl Congestion {
    /// Sets it for a socket and what it accepts. Skipped where the kernel has not loaded it, and where it is the system's own.
    pub fn set(&self, socket: &impl AsFd) -> Result<()> {
        let Some(wanted) = &self.0 else { return Ok(()) };
        let of_system = workloads::network::socket::congestion_control(socket)?;
        if *wanted == of_system {
            return Err(RoundError::skipped(
                ReasonCode::NotApplicable,
                say!("{wanted} is the system's own: congestion=default measures it"),
            ));
        }
        let loaded = workloads::network::socket::congestion_controls()?;
        if !loaded.contains(wanted) {
            let loaded = loaded.join(", ");
            return Err(RoundError::skipped(
                ReasonCode::Kernel,
                say!("the kernel has not loaded {wanted}, only {loaded}: modprobe tcp_{wanted}"),
            ));
        }
        let refused = |error| RoundError::lacking(say!("only root may use {wanted} here"), &error);
        workloads::network::socket::set_congestion_control(socket, wanted).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::workloads::network::socket;

    fn set(name: &str) -> Result<String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        name.parse::<Congestion>().unwrap().set(&listener)?;
        Ok(socket::congestion_control(&listener).unwrap())
    }

    #[test]
    fn what_the_system_has_is_measured_once_and_nothing_is_loaded() {
        let of_system = set("default").unwrap();
        assert!(set(&of_system).unwrap_err().to_string().contains("congestion=default"));
        let other = if of_system == "reno" { None } else { Some("reno") };
        assert!(other.is_none_or(|name| set(name).unwrap() == name));
        let before = socket::congestion_controls().unwrap();
        assert!(set("no_such").unwrap_err().to_string().contains("has not loaded no_such"));
        assert_eq!(socket::congestion_controls().unwrap(), before);
    }
}
