//! A way between two hosts that takes its time and loses packets: their Ethernet frames go in datagrams (VXLAN, RFC 7348) through
//! a process at a third host, which passes them on when they are due, but for every nth.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::networks::Networks;

/// The port of VXLAN.
const PORT: u16 = 4789;
/// The two hosts, and the one between them, as the bridge knows them.
const ENDS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];
const BETWEEN: &str = "192.0.2.3";
/// What the relay is told by.
const DELAY: &str = "RELAY_DELAY_US";
const LOSES: &str = "RELAY_LOSES_EACH";
/// The two hosts as the relayed way knows them: kept for documentation (RFC 5737).
pub const OVER_THERE: &str = "198.51.100.2";

/// The relay under way.
pub struct Relay(Child);

impl Relay {
    /// Between hosts 1 and 2 of three: each frame takes so long, and every `loses`th is lost (0: none). `test` is the name of
    /// a test of the same file that calls [`serve`]. An error says what this machine lacks.
    pub fn begin(networks: &Networks, test: &str, delay: Duration, loses: u32) -> Result<Relay, String> {
        for host in 1..=3 {
            // Room for the frames in datagrams.
            networks.run(0, &format!("ip link set port{host} mtu 1600"))?;
            networks.run(host, "ip link set wire mtu 1600")?;
        }
        networks.run(0, "ip link set hub mtu 1600")?;
        for host in 1..=2 {
            let over = format!(
                "ip link add over type vxlan id 7 local 192.0.2.{host} remote {BETWEEN} dstport {PORT} dev wire"
            );
            let up = format!(
                "ip address add 198.51.100.{host}/24 dev over && ip link set over mtu 1500 gso_max_segs 1 && ip link set over up"
            );
            // No faster than the relay, whose own buffer would lose packets; who sends waits for it.
            let slowly = "tc qdisc add dev over root tbf rate 20mbit burst 32kb limit 4mb";
            networks.run(host, &format!("{over} && {up} && {slowly}"))?;
        }
        let enter = networks.enter(3);
        let mut command = Command::new(&enter[0]);
        command.args(&enter[1..]).arg(std::env::current_exe().map_err(|error| error.to_string())?);
        command.args(["--exact", "--nocapture", test]);
        command.env(DELAY, delay.as_micros().to_string()).env(LOSES, loses.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().map(Relay).map_err(|error| error.to_string())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the relay does, at the host between: until its input ends.
pub fn serve() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(delay) = number(DELAY).map(Duration::from_micros) else { return };
    let loses = number(LOSES).unwrap_or(0);
    let socket = UdpSocket::bind((BETWEEN, PORT)).unwrap();
    let out = socket.try_clone().unwrap();
    let (frames, due) = mpsc::channel::<(Instant, SocketAddr, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut waiting = VecDeque::new();
        loop {
            while let Ok(frame) = due.try_recv() {
                waiting.push_back(frame);
            }
            match waiting.front() {
                None => waiting.extend(due.recv()),
                Some((at, to, frame)) => {
                    match at.checked_duration_since(now()) {
                        // To the point: a sleep wakes late.
                        Some(left) if left > Duration::from_millis(1) => {
                            std::thread::sleep(left - Duration::from_millis(1))
                        }
                        Some(_) => std::hint::spin_loop(),
                        None => {
                            let _ = out.send_to(frame, to);
                            waiting.pop_front();
                        }
                    }
                }
            }
        }
    });
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let (mut frame, mut taken) = ([0; 1 << 16], 0_u64);
    loop {
        let (length, from) = socket.recv_from(&mut frame).unwrap();
        let other = if from.ip().to_string() == ENDS[0] { ENDS[1] } else { ENDS[0] };
        taken += 1;
        if loses == 0 || !taken.is_multiple_of(loses) {
            let to = SocketAddr::new(other.parse().unwrap(), PORT);
            let mut frame = frame[..length].to_vec();
            sum(&mut frame);
            let _ = frames.send((now() + delay, to, frame));
        }
    }
}

/// Before a frame of IPv4 in a datagram lies so much: VXLAN's header, Ethernet's.
const HEADERS: usize = 8 + 14;

/// Writes the checksum of TCP or UDP (RFC 1071) into a frame: a kernel leaves it to the device, and here there is none.
fn sum(frame: &mut [u8]) {
    let Some(packet) = frame.get_mut(HEADERS..).filter(|packet| packet.first() == Some(&0x45)) else { return };
    let whole = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let (protocol, at) = (
        packet[9],
        match packet[9] {
            6 => 20 + 16,
            17 => 20 + 6,
            _ => return,
        },
    );
    if packet.len() < whole || whole < at + 2 {
        return;
    }
    packet[at..at + 2].fill(0);
    let words = packet[12..whole].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + u32::from(protocol) + (whole - 20) as u32;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    // For UDP 0 means that there is none.
    let checksum = if sum == 0xffff { 0xffff } else { !(sum as u16) };
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[expect(clippy::disallowed_methods, reason = "the relay's own time; nothing is measured with it")]
fn now() -> Instant {
    Instant::now()
}
