//! A TCP connection within network namespaces of its own, with interfaces as a case wants them; the host's are never touched.

use std::ffi::CStr;
use std::fs;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hostmark_engine::prelude::sys::namespaces;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::IoSlice;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use crate::workloads::call::Call;
use crate::workloads::network::link::{self, Feature, Packets};
use crate::workloads::network::socket;
use crate::workloads::network::tcp_info::TcpInfo;
use crate::workloads::process::Peer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// The loopback interface: what is sent comes back, and is never joined.
    Lo,
    /// A pair of virtual Ethernet interfaces between two namespaces, as containers have them.
    Veth,
}

/// Settings for the connection's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub device: Device,
    /// Bytes of a packet on the wire at most.
    pub mtu: u32,
    /// True where the interface takes packets of many segments whole.
    pub tso: bool,
    /// Size of TCP's packets, where that is not the system's.
    pub packets: Option<Packets>,
    /// True where received packets are joined again.
    pub gro: bool,
}

/// A connection from a child, which sends without pause until this is dropped.
#[derive(Debug)]
pub struct OwnConnection {
    peer: Peer,
    stream: TcpStream,
    device: Device,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets with data that the interface brought.
    pub packets: u64,
    /// The same as TCP got them: joined ones are one.
    pub joined: u64,
}

const LO: &CStr = c"lo";
const SENDS: &CStr = c"sends";
const RECEIVES: &CStr = c"receives";
/// Kept for documentation (RFC 5737): no real network has it.
const SENDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// Congestion control that is in every kernel, for everybody.
pub const CONGESTION: &str = "reno";
/// Longest wait for the child to make all this.
const PATIENCE: Duration = Duration::from_secs(5);

impl OwnConnection {
    /// Starts a child bound to `cpus` that sends `message` over and over. An error says what the kernel refuses.
    pub fn spawn(wanted: Wanted, message: &[u8], cpus: &[usize]) -> io::Result<OwnConnection> {
        let (here, there) = UnixStream::pair().call("socketpair")?;
        let peer = Peer::spawn(cpus, || match set_up(wanted) {
            Ok((mut sends, receives)) => {
                hand_over(&there, receives)?;
                loop {
                    sends.write_all(message).call("sendto")?;
                }
            }
            Err(error) => {
                (&there).write_all(error.to_string().as_bytes()).call("write")?;
                there.shutdown(std::net::Shutdown::Write).call("shutdown")?;
                loop {
                    std::thread::park();
                }
            }
        })?;
        drop(there);
        here.set_read_timeout(Some(PATIENCE)).call("setsockopt")?;
        let stream = TcpStream::from(taken_over(&here)?);
        stream.set_read_timeout(Some(PATIENCE)).call("setsockopt")?;
        Ok(OwnConnection { peer, stream, device: wanted.device })
    }

    pub fn sender(&self) -> u32 {
        self.peer.pid()
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Counts the packets so far; `None` where /proc does not tell.
    pub fn passed(&self) -> io::Result<Option<Passed>> {
        // Over lo acknowledgements come by too.
        let acknowledged = match self.device {
            Device::Lo => TcpInfo::of(&self.stream)?.segments_out.unwrap_or(0),
            Device::Veth => 0,
        };
        let name = match self.device {
            Device::Lo => LO,
            Device::Veth => RECEIVES,
        };
        let text = |file| fs::read_to_string(format!("/proc/{}/net/{file}", self.peer.pid())).ok();
        let Some((interfaces, protocols)) = text("dev").zip(text("snmp")) else { return Ok(None) };
        let passed = received(&interfaces, name).zip(counter(&protocols, "Tcp:", "InSegs"));
        let data = |count: u64| count.saturating_sub(acknowledged);
        Ok(passed.map(|(packets, joined)| Passed { packets: data(packets), joined: data(joined) }))
    }
}

impl Passed {
    /// Returns what passed after an earlier state.
    pub fn since(self, earlier: Passed) -> Passed {
        Passed {
            packets: self.packets.saturating_sub(earlier.packets),
            joined: self.joined.saturating_sub(earlier.joined),
        }
    }
}

/// Packets that an interface received, of /proc/net/dev.
fn received(interfaces: &str, name: &CStr) -> Option<u64> {
    let name = name.to_str().ok()?;
    let text = interfaces.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// A counter of /proc/net/snmp: a line of names, and a line of numbers.
fn counter(protocols: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = protocols.lines().filter(|line| line.starts_with(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    names.split_whitespace().zip(numbers.split_whitespace()).find(|(known, _)| *known == name)?.1.parse().ok()
}

/// Makes both ends of a connection in networks of this process' own: the sender, and the receiver.
fn set_up(wanted: Wanted) -> io::Result<(TcpStream, TcpStream)> {
    namespaces::unshare_network()?;
    if wanted.device == Device::Lo {
        prepare(LO, wanted)?;
        link::bring_up(LO)?;
        let listener = listen(Ipv4Addr::LOCALHOST)?;
        let receives = TcpStream::connect(listener.local_addr().call("getsockname")?).call("connect")?;
        return Ok((listener.accept().call("accept4")?.0, receives));
    }
    let receiving = namespaces::network()?;
    namespaces::unshare_network()?;
    let sending = namespaces::network()?;
    link::make_pair(SENDS, RECEIVES, &receiving)?;
    prepare(SENDS, wanted)?;
    link::set_address(SENDS, SENDER)?;
    link::bring_up(SENDS)?;
    let listener = listen(SENDER)?;
    namespaces::enter_network(&receiving)?;
    prepare(RECEIVES, wanted)?;
    link::set(RECEIVES, Feature::Gro, wanted.gro)?;
    link::set_address(RECEIVES, RECEIVER)?;
    link::bring_up(RECEIVES)?;
    link::settle(RECEIVES)?;
    namespaces::enter_network(&sending)?;
    link::settle(SENDS)?;
    // It stays where the packets arrive: there they are counted.
    namespaces::enter_network(&receiving)?;
    let receives = TcpStream::connect(listener.local_addr().call("getsockname")?).call("connect")?;
    Ok((listener.accept().call("accept4")?.0, receives))
}

/// Accepts connections that are not paced, whatever the system has: a congestion control that paces hides what packets cost.
fn listen(address: Ipv4Addr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, 0)).call("bind")?;
    socket::set_congestion_control(&listener, CONGESTION)?;
    Ok(listener)
}

/// Applies the settings of both ends of a wire.
fn prepare(name: &CStr, wanted: Wanted) -> io::Result<()> {
    link::set_mtu(name, wanted.mtu)?;
    link::set(name, Feature::Tso, wanted.tso)?;
    wanted.packets.map_or(Ok(()), |packets| link::set_packets(name, packets))
}

fn hand_over(to: &UnixStream, stream: TcpStream) -> io::Result<()> {
    let handed = [stream.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    control.push(SendAncillaryMessage::ScmRights(&handed));
    rustix::net::sendmsg(to, &[IoSlice::new(b"\0")], &mut control, SendFlags::empty()).call("sendmsg").map(drop)
}

/// The descriptor that the child hands over; else what it says.
fn taken_over(from: &UnixStream) -> io::Result<OwnedFd> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let mut text = [0_u8; 512];
    let got = {
        let mut into = [rustix::io::IoSliceMut::new(&mut text)];
        rustix::net::recvmsg(from, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC).call("recvmsg")?.bytes
    };
    let handed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    handed.ok_or_else(|| {
        let mut said = text[..got].to_vec();
        let _ = (&mut &*from).take(512).read_to_end(&mut said);
        io::Error::other(String::from_utf8_lossy(&said).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::skip::skipped;
    use crate::workloads::affinity;
    use crate::workloads::process::in_a_child;

    const PLAIN: Wanted = Wanted { device: Device::Lo, mtu: 1500, tso: true, packets: None, gro: true };
    static MESSAGE: [u8; 64 << 10] = [7; 64 << 10];
    /// An Ethernet packet of 1500 bytes has so many of data, beside headers and a timestamp.
    const SEGMENT: f64 = 1448.0;

    /// Bytes per packet on the interface, and per packet that TCP got; none where no network may be made.
    fn packets(wanted: Wanted) -> io::Result<Option<[f64; 2]>> {
        if OwnConnection::spawn(PLAIN, &MESSAGE, &affinity::allowed()?).is_err() {
            return Ok(None);
        }
        let own = OwnConnection::spawn(wanted, &MESSAGE, &affinity::allowed()?)?;
        let before = own.passed()?.expect("/proc tells");
        let mut read = vec![0; 32 << 20];
        own.stream().read_exact(&mut read)?;
        assert!(read.iter().all(|byte| *byte == 7));
        let passed = own.passed()?.expect("/proc tells").since(before);
        Ok(Some([passed.packets, passed.joined].map(|packets| read.len() as f64 / packets as f64)))
    }

    fn assert_packets(wanted: Wanted, is_so: impl Fn([f64; 2]) -> bool) {
        in_a_child(|| {
            match packets(wanted)? {
                Some(sizes) => assert!(is_so(sizes), "{wanted:?}: {sizes:?}"),
                None => skipped("no network namespace can be made here"),
            }
            Ok(())
        });
    }

    #[test]
    fn packets_pass_whole_or_one_segment_at_a_time_as_wanted() {
        for device in [Device::Lo, Device::Veth] {
            let plain = Wanted { device, ..PLAIN };
            assert_packets(plain, |[packet, joined]| packet > 10.0 * SEGMENT && joined > 10.0 * SEGMENT);
            let cut = Wanted { tso: false, gro: false, ..plain };
            // What was sent and is not yet read counts too.
            let is_single = |[packet, joined]: [f64; 2]| {
                [packet, joined].iter().all(|size| *size <= SEGMENT + 1.0 && *size > SEGMENT / 2.0)
            };
            assert_packets(cut, is_single);
            assert_packets(Wanted { packets: Some(Packets::Single), ..cut }, is_single);
        }
    }

    #[test]
    fn what_was_cut_is_joined_again_where_the_receiver_does_so() {
        let cut = Wanted { device: Device::Veth, tso: false, ..PLAIN };
        assert_packets(cut, |[packet, joined]| packet <= SEGMENT + 1.0 && joined > 4.0 * packet);
    }

    /// The names of this namespace's interfaces, and what those that always exist are set to.
    fn interfaces() -> io::Result<(Vec<String>, Vec<u32>)> {
        let mut names: Vec<String> = fs::read_dir("/sys/class/net")?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()?;
        names.sort();
        let mut settings = vec![link::mtu(LO)?];
        for feature in [Feature::Tso, Feature::Gro] {
            settings.push(link::has(LO, feature)?.into());
        }
        settings.extend(link::limits(LO)?);
        Ok((names, settings))
    }

    #[test]
    fn the_interfaces_outside_stay_as_they_are_and_none_is_left() {
        in_a_child(|| {
            let before = interfaces()?;
            let network = namespaces::network()?.metadata()?;
            let may = OwnConnection::spawn(PLAIN, &MESSAGE, &affinity::allowed()?).is_ok();
            for device in [Device::Lo, Device::Veth] {
                for packets in [Packets::Single, Packets::Large(4 * 65535)] {
                    let wanted = Wanted { device, mtu: 9000, tso: false, packets: Some(packets), gro: false };
                    let own = OwnConnection::spawn(wanted, &MESSAGE, &affinity::allowed()?);
                    // Not every kernel has packets over 64 KiB.
                    assert!(!may || packets != Packets::Single || own.is_ok(), "{own:?}");
                    assert_eq!(interfaces()?, before, "while {wanted:?} is there: {own:?}");
                    drop(own);
                    assert_eq!(interfaces()?, before, "after {wanted:?}");
                }
            }
            // This process has not gone anywhere either.
            let inode = std::os::unix::fs::MetadataExt::ino;
            assert_eq!(inode(&namespaces::network()?.metadata()?), inode(&network));
            Ok(())
        });
    }

    #[test]
    fn where_no_network_may_be_made_the_reason_says_so() {
        in_a_child(|| {
            let users = rustix::thread::UnshareFlags::NEWUSER;
            // SAFETY: the table of open files stays as it is.
            if unsafe { rustix::thread::unshare_unsafe(users) }.is_err() {
                skipped("no user namespace can be made here");
                return Ok(());
            }
            if fs::write("/proc/sys/user/max_net_namespaces", "0").is_err() {
                skipped("a user namespace has no limits of its own here");
                return Ok(());
            }
            let refused = OwnConnection::spawn(PLAIN, &MESSAGE, &affinity::allowed()?).unwrap_err().to_string();
            assert!(refused.starts_with("unshare: "), "{refused}");
            Ok(())
        });
    }

    #[test]
    fn counters_are_read_by_name() {
        let interfaces = "Inter-|   Receive\n face |bytes    packets errs\n    lo:   10       3    0\nsends: 5 4 0\n";
        assert_eq!([LO, SENDS, RECEIVES].map(|name| received(interfaces, name)), [Some(3), Some(4), None]);
        let protocols = "Ip: InReceives\nIp: 9\nTcp: RtoMin InSegs\nTcp: 200 77\n";
        assert_eq!(counter(protocols, "Tcp:", "InSegs"), Some(77));
        assert_eq!(counter(protocols, "Tcp:", "OutSegs"), None);
    }
}
