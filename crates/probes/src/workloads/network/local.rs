//! Sockets that reach no further than this machine, made call by call: an error says which of the calls it was.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::workloads::call::Call;

/// Addresses that no other host reaches.
pub const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// Connections that may wait to be accepted: more than any probe makes at once.
const WAITING: i32 = 128;

fn socket(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).call("socket")
}

pub fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// What can be made at the first of these addresses at which it can be made; else why it cannot at the first.
fn at_first<T>(addresses: &[IpAddr], make: impl Fn(IpAddr) -> io::Result<T>) -> io::Result<T> {
    let mut first = None;
    for &address in addresses {
        match make(address) {
            Ok(made) => return Ok(made),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

/// A socket at any free port of an address, and its address.
fn bound(address: IpAddr, kind: SocketType) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = socket(family(address), kind)?;
    if kind == SocketType::STREAM {
        sockopt::set_socket_reuseaddr(&socket, true).call("setsockopt")?;
    }
    rustix::net::bind(&socket, &SocketAddr::new(address, 0)).call("bind")?;
    let address = rustix::net::getsockname(&socket).call("getsockname")?;
    let address = SocketAddr::try_from(address).call("getsockname")?;
    Ok((socket, address))
}

/// A socket that accepts connections at the first of these addresses that can be had, and its address.
pub fn tcp_listener(addresses: &[IpAddr]) -> io::Result<(TcpListener, SocketAddr)> {
    at_first(addresses, |address| {
        let (listener, address) = bound(address, SocketType::STREAM)?;
        rustix::net::listen(&listener, WAITING).call("listen")?;
        Ok((listener.into(), address))
    })
}

/// A socket that receives datagrams at the first of these addresses that can be had, and its address.
pub fn udp_socket(addresses: &[IpAddr]) -> io::Result<(UdpSocket, SocketAddr)> {
    at_first(addresses, |address| {
        let (socket, address) = bound(address, SocketType::DGRAM)?;
        Ok((socket.into(), address))
    })
}

/// A socket that exchanges datagrams with one address alone.
pub fn udp_connected(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket(family(address.ip()), SocketType::DGRAM)?;
    rustix::net::connect(&socket, &address).call("connect")?;
    Ok(socket.into())
}

/// Both ends of a connection over loopback, and what accepted it.
pub fn tcp_pair() -> io::Result<(TcpListener, TcpStream, TcpStream)> {
    let (listener, address) = tcp_listener(&LOOPBACK)?;
    let near = socket(family(address.ip()), SocketType::STREAM)?;
    rustix::net::connect(&near, &address).call("connect")?;
    let near = TcpStream::from(near);
    let ours = near.local_addr().call("getsockname")?;
    loop {
        let (far, theirs) = listener.accept().call("accept4")?;
        // Whoever else has come is let go.
        if theirs == ours {
            return Ok((listener, near, far));
        }
    }
}

/// A socket that accepts connections at a file, which is made.
pub fn unix_listener(path: &Path) -> io::Result<UnixListener> {
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM)?;
    rustix::net::bind(&listener, &SocketAddrUnix::new(path)?).call("bind")?;
    rustix::net::listen(&listener, WAITING).call("listen")?;
    Ok(listener.into())
}

/// A connection to a socket's file.
pub fn unix_stream(path: &Path) -> io::Result<UnixStream> {
    let stream = socket(AddressFamily::UNIX, SocketType::STREAM)?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(path)?).call("connect")?;
    Ok(stream.into())
}

/// A socket for datagrams at a file, which is made.
pub fn unix_datagram(path: &Path) -> io::Result<UnixDatagram> {
    let socket = socket(AddressFamily::UNIX, SocketType::DGRAM)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?).call("bind")?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::workloads::call::failed;

    #[test]
    fn what_is_sent_on_loopback_arrives() {
        let (_listener, mut near, mut far) = tcp_pair().unwrap();
        near.write_all(b"x").unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        for at in LOOPBACK {
            // A machine may have one of them alone.
            let Ok((other, address)) = udp_socket(&[at]) else { continue };
            let one = udp_connected(address).unwrap();
            one.send(&byte).unwrap();
            assert_eq!((other.recv(&mut byte).unwrap(), byte), (1, *b"x"));
        }
    }

    #[test]
    fn the_first_address_that_can_be_had_is_taken() {
        // Kept for documentation: no machine has it.
        let nowhere: IpAddr = "192.0.2.1".parse().unwrap();
        let (_listener, address) = tcp_listener(&[nowhere, LOOPBACK[0], LOOPBACK[1]]).unwrap();
        assert!(address.ip().is_loopback());
        let (_socket, address) = udp_socket(&[nowhere, LOOPBACK[0], LOOPBACK[1]]).unwrap();
        assert!(address.ip().is_loopback());
        assert_eq!(failed(&udp_socket(&[nowhere]).unwrap_err()), Some("bind"));
        assert!(tcp_listener(&[]).is_err());
    }

    #[test]
    fn the_call_that_failed_is_reported() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("socket");
        let call = |error: io::Error| failed(&error);
        assert_eq!(unix_stream(&path).map_err(call).unwrap_err(), Some("connect"));
        let _listener = unix_listener(&path).unwrap();
        unix_stream(&path).unwrap();
        assert_eq!(unix_listener(&path).map_err(call).unwrap_err(), Some("bind"));
        assert_eq!(unix_datagram(&path).map_err(call).unwrap_err(), Some("bind"));
    }
}
