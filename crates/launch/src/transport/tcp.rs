//! A place that a `hostmark serve` leads to: this program dials it, and nothing is copied.

use std::path::PathBuf;

use super::Started;
use crate::dial::DIAL;
use crate::program::{Programs, command};
use crate::supervise::{Supervised, Terms};
use crate::transport_error::TransportError;

/// What a typed place of this kind begins with.
pub const TCP: &str = "tcp:";

/// A server, and what lets us in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// HOST:PORT, of which HOST may be a name, an address of IPv4, or one of IPv6 in brackets.
    pub address: String,
    /// The file with its token.
    pub token_file: PathBuf,
}

impl Tcp {
    /// The address that was typed as `tcp:HOST:PORT` or `tcp:HOST`; none where it is no address.
    pub fn address(typed: &str, port: u16) -> Option<String> {
        let rest = typed.strip_prefix(TCP)?;
        let (host, ending) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (address, ending) = inner.split_once(']')?;
                address.parse::<std::net::Ipv6Addr>().ok()?;
                (format!("[{address}]"), ending)
            }
            None => {
                let (host, ending) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
                let is_named = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                let is_host = !host.is_empty() && host.chars().all(is_named) && !host.starts_with(['-', '.']);
                (is_host.then(|| host.to_owned())?, ending)
            }
        };
        let port = match ending.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse::<u16>().ok()?,
            None if ending.is_empty() => port,
            _ => return None,
        };
        (port > 0).then(|| format!("{host}:{port}"))
    }

    /// Starts the process that leads there. The agent is the server's, and so is its program.
    pub(crate) fn start(&self, programs: &Programs, terms: Terms) -> Result<Started, TransportError> {
        let mut command = command(programs.own());
        command.arg(DIAL).arg(&self.address).arg(&self.token_file);
        let process = Supervised::start(command, terms)?;
        Ok(Started { process, digest: None, has_copied: false, is_static: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_people_write_it() {
        let of = |typed: &str| Tcp::address(typed, 7).unwrap_or_default();
        assert_eq!(of("tcp:db-17"), "db-17:7");
        assert_eq!(of("tcp:db-17:99"), "db-17:99");
        assert_eq!(of("tcp:10.0.0.1:99"), "10.0.0.1:99");
        assert_eq!(of("tcp:[::1]:99"), "[::1]:99");
        assert_eq!(of("tcp:[fe80::1]"), "[fe80::1]:7");
        for wrong in [
            "tcp:",
            "tcp::9",
            "db-17:9",
            "tcp:a:",
            "tcp:a:0",
            "tcp:a:65536",
            "tcp:a:+9",
            "tcp:::1",
            "tcp:[::1",
            "tcp:[x]:9",
            "tcp:[::1]9",
            "tcp:a b:9",
            "tcp:-a:9",
            "tcp:a:9:9",
            "tcp:../x:9",
            "tcp:ä:9",
        ] {
            assert_eq!(of(wrong), "", "{wrong}");
        }
    }
}
