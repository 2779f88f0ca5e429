//! The far end of streams: it sends or receives without pause, as long as its client stays.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use super::terms::{Sender, StreamOptions};
use crate::authenticated::{AuthenticatedListener, gone};
use crate::workloads::machine::busy::{self, Account};
use crate::workloads::network::socket::{self, NAME_BYTES, name_of};
use crate::workloads::network::tcp_info::{self, TcpInfo};

/// Carries the streams of whoever is admitted, one client after the other.
pub static STREAMS: Service = Service { name: "tcp_streams", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let terms = StreamOptions::of(|axis| serving.param(axis))?;
    let mut far = StreamsFarEnd::new(serving, &terms)?;
    let message = far.message(serving)?;
    let door = far.open(serving)?;
    let sender = far.sender(&message)?;
    loop {
        let (account, _) = door.admit()?;
        far.carry(&door, account, sender.as_ref())?;
    }
}

pub struct StreamsFarEnd<'a> {
    terms: &'a StreamOptions,
    block: Vec<u8>,
}

impl StreamsFarEnd<'_> {
    /// Returns a far end that carries streams so.
    pub fn new<'a>(serving: &Serving, terms: &'a StreamOptions) -> Result<StreamsFarEnd<'a>> {
        // Of where it receives; else whoever asks for a block of any size has none of it here.
        let block = if terms.direction.sends() {
            serving.may_fill(terms.block)?;
            terms.block()?
        } else {
            vec![1]
        };
        Ok(StreamsFarEnd { terms, block })
    }

    /// Returns the message that it sends; one byte where it sends nothing.
    pub fn message(&self, serving: &mut Serving) -> Result<Buffer> {
        serving.buffer(if self.terms.direction.receives() { self.terms.message } else { 1 }, Pages::Base)
    }

    /// Returns the sender of the message, where one is sent.
    pub fn sender<'m>(&self, message: &'m Buffer) -> Result<Option<Sender<'m>>> {
        let sends = self.terms.direction.receives();
        Ok(if sends { Some(Sender::new(self.terms.method, message.bytes())?) } else { None })
    }

    pub fn open(&self, serving: &mut Serving) -> Result<AuthenticatedListener> {
        AuthenticatedListener::open_with(serving, |listener| self.terms.set_listener(listener))
    }

    /// Admits the streams of a client and carries them until it has had enough; over `control` it hears what that took.
    pub fn carry(
        &mut self,
        door: &AuthenticatedListener,
        mut control: TcpStream,
        sender: Option<&Sender>,
    ) -> Result<()> {
        let admit = |sends| -> io::Result<Option<TcpStream>> {
            let (stream, _) = door.admit()?;
            // Whoever is gone by now has no stream.
            Ok(begin(&stream, sends).is_ok().then_some(stream))
        };
        let from_here = if self.terms.direction.receives() { Some(admit(true)?) } else { None };
        let to_here = if self.terms.direction.sends() { Some(admit(false)?) } else { None };
        let (Some(from_here), Some(to_here)) = (all(from_here), all(to_here)) else { return Ok(()) };
        let mut copied = None;
        let mut send = |stream: &TcpStream| match sender {
            Some(sender) => gone(sender.send_for_ever(stream, &mut copied)),
            None => Ok(()),
        };
        let block = &mut self.block;
        let mut count = |stream: &TcpStream| gone(tcp_info::receive_and_report(stream, block));
        let account = Account::of(|| match (&from_here, &to_here) {
            (Some(from_here), None) => send(from_here),
            (None, Some(to_here)) => count(to_here),
            (Some(from_here), Some(to_here)) => std::thread::scope(|scope| {
                let sending = std::thread::Builder::new().spawn_scoped(scope, || send(from_here)).call("clone")?;
                count(to_here)?;
                sending.join().unwrap_or(Ok(()))
            }),
            (None, None) => Ok(()),
        })?;
        let buffer = match (&from_here, &to_here) {
            (Some(stream), _) => socket::send_buffer(stream)?,
            (None, Some(stream)) => socket::receive_buffer(stream)?,
            (None, None) => 0,
        };
        let sent = from_here.as_ref().map(TcpInfo::of).transpose()?;
        let all = FarReport { account, buffer, copied, sent };
        Ok(gone(control.write_all(&all.to_bytes()).call("sendto"))?)
    }
}

/// Returns `None` where a stream is wanted and there is none.
fn all(stream: Option<Option<TcpStream>>) -> Option<Option<TcpStream>> {
    match stream {
        Some(None) => None,
        Some(stream) => Some(stream),
        None => Some(None),
    }
}

/// Bytes before the data that tell how the far end carries it: the size of its buffer, and the name of its congestion control.
const BEGIN_BYTES: usize = 8 + NAME_BYTES;

fn begin(mut stream: &TcpStream, sends: bool) -> io::Result<()> {
    let mut control = [0; BEGIN_BYTES];
    let (buffer, name) = control.split_at_mut(8);
    let bytes = if sends { socket::send_buffer(stream)? } else { socket::receive_buffer(stream)? };
    buffer.copy_from_slice(&bytes.to_le_bytes());
    let congestion = socket::congestion_control(stream)?;
    name.iter_mut().zip(congestion.bytes()).for_each(|(place, byte)| *place = byte);
    stream.write_all(&control).call("sendto")?;
    if sends {
        // As in any bulk transfer: what a message leaves of a packet goes with the next one.
        stream.set_nodelay(false).call("setsockopt")?;
    }
    Ok(())
}

/// Reads the far end's report when a stream begins: the size of its buffer, bytes, and its congestion control.
pub fn begun(mut stream: &TcpStream) -> io::Result<(u64, String)> {
    let (mut buffer, mut congestion) = ([0; 8], [0; NAME_BYTES]);
    for part in [&mut buffer[..], &mut congestion] {
        stream.read_exact(part).call("recvfrom")?;
    }
    Ok((u64::from_le_bytes(buffer), name_of(&congestion)))
}

/// Report of the far end when its client has had enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarReport {
    pub account: Account,
    /// Size of its buffer at the end, bytes: the send buffer, where it sent.
    pub buffer: u64,
    /// True where the kernel told of MSG_ZEROCOPY that it copied after all; `None` where it told nothing.
    pub copied: Option<bool>,
    /// Connection as the kernel has it, where it sent.
    pub sent: Option<TcpInfo>,
}

impl FarReport {
    pub fn to_bytes(self) -> Vec<u8> {
        let flags = [self.copied.map_or(2, u8::from), self.sent.is_some().into()];
        let info = self.sent.unwrap_or_default().to_bytes();
        [&self.account.to_bytes()[..], &self.buffer.to_le_bytes(), &flags, &info].concat()
    }

    /// Reads the report from the connection that is kept for this.
    pub fn receive(mut stream: TcpStream) -> io::Result<FarReport> {
        let (mut account, mut buffer, mut flags) = ([0; busy::WIRE_BYTES], [0; 8], [0; 2]);
        let mut info = [0; tcp_info::TCP_INFO_BYTES];
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
