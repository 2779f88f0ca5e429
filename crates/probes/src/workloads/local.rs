//! Sockets that reach no further than this machine, made call by call: an error says which of the calls it was.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::call::Call;

/// Any free port of loopback, which no other host reaches.
const LOOPBACK: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
/// Connections that may wait to be accepted: more than any probe makes at once.
const WAITING: i32 = 128;

fn socket(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).call("socket")
}

/// The address that the kernel has given a socket on loopback.
fn address(socket: &OwnedFd) -> io::Result<SocketAddrV4> {
    let address = rustix::net::getsockname(socket).call("getsockname")?;
    SocketAddrV4::try_from(address).call("getsockname")
}

/// A socket that accepts connections on loopback, and its address.
pub fn tcp_listener() -> io::Result<(TcpListener, SocketAddrV4)> {
    let listener = socket(AddressFamily::INET, SocketType::STREAM)?;
    sockopt::set_socket_reuseaddr(&listener, true).call("setsockopt")?;
    rustix::net::bind(&listener, &LOOPBACK).call("bind")?;
    rustix::net::listen(&listener, WAITING).call("listen")?;
    let address = address(&listener)?;
    Ok((listener.into(), address))
}

/// A socket that receives datagrams on loopback, and its address.
pub fn udp_socket() -> io::Result<(UdpSocket, SocketAddrV4)> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM)?;
    rustix::net::bind(&socket, &LOOPBACK).call("bind")?;
    let address = address(&socket)?;
    Ok((socket.into(), address))
}

/// Both ends of a connection over loopback, and what accepted it.
pub fn tcp_pair() -> io::Result<(TcpListener, TcpStream, TcpStream)> {
    let (listener, address) = tcp_listener()?;
    let near = socket(AddressFamily::INET, SocketType::STREAM)?;
    rustix::net::connect(&near, &address).call("connect")?;
    let (far, _) = listener.accept().call("accept4")?;
    Ok((listener, near.into(), far))
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
        let ((one, _), (other, address)) = (udp_socket().unwrap(), udp_socket().unwrap());
        one.send_to(&byte, address).unwrap();
        assert_eq!((other.recv(&mut byte).unwrap(), byte), (1, *b"x"));
    }

    #[test]
    fn the_call_that_failed_is_told() {
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
