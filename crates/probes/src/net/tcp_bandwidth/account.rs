//! What an end of a stream has used and seen of it, as it tells the other.

use std::io::{self, Read};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::workloads::machine::busy::{self, Account};
use crate::workloads::network::tcp_info::{self, TcpInfo};

/// What the far end tells when its client has had enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarReport {
    /// What carrying the streams took.
    pub account: Account,
    /// What its buffer has room for at the end, bytes: the one to send from, where it sent.
    pub buffer: u64,
    /// Whether the kernel told of MSG_ZEROCOPY that it copied after all; none where it told nothing.
    pub copied: Option<bool>,
    /// Its connection as the kernel has it, where it sent.
    pub sent: Option<TcpInfo>,
}

impl FarReport {
    /// As bytes for the client.
    pub fn to_bytes(self) -> Vec<u8> {
        let flags = [self.copied.map_or(2, u8::from), self.sent.is_some().into()];
        let info = self.sent.unwrap_or_default().to_bytes();
        [&self.account.to_bytes()[..], &self.buffer.to_le_bytes(), &flags, &info].concat()
    }

    /// What comes over the connection that is kept for this.
    pub fn receive(mut stream: TcpStream) -> io::Result<FarReport> {
        let (mut account, mut buffer, mut flags) = ([0; busy::WIRE_BYTES], [0; 8], [0; 2]);
        let mut info = [0; tcp_info::WIRE_BYTES];
        for part in [&mut account[..], &mut buffer, &mut flags, &mut info] {
            stream.read_exact(part).call("recvfrom")?;
        }
        Ok(FarReport {
            account: Account::from_bytes(&account),
            buffer: u64::from_le_bytes(buffer),
            copied: (flags[0] < 2).then_some(flags[0] == 1),
            sent: (flags[1] == 1).then(|| TcpInfo::from_bytes(&info)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::workloads::network::local;

    #[test]
    fn what_is_reported_is_received() {
        let account = Account::of(|| Ok::<(), io::Error>(())).unwrap();
        let info = TcpInfo { retransmits: Some(7), ..TcpInfo::default() };
        for (copied, sent) in [(None, None), (Some(true), Some(info)), (Some(false), Some(TcpInfo::default()))] {
            let (_listener, near, mut far) = local::tcp_pair().unwrap();
            let report = FarReport { account, buffer: 4096, copied, sent };
            far.write_all(&report.to_bytes()).unwrap();
            assert_eq!(FarReport::receive(near).unwrap(), report);
        }
    }
}
