//! A way between two hosts that takes its time and loses packets: their Ethernet frames go in datagrams (VXLAN, RFC 7348) through
//! a process at a third host, which passes them on when they are due, but for every nth.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use hostmark_engine::sys::clock::monotonic_ns;
use hostmark_say::say;

use super::networks::Networks;

/// The word that starts it; no command for people.
pub const NAME: &str = "relay";

/// The port of VXLAN.
const PORT: u16 = 4789;
/// The two hosts, and the one between them, as the bridge knows them.
const ENDS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];
const BETWEEN: &str = "192.0.2.3";
/// The two hosts as the relayed way knows them: kept for documentation (RFC 5737).
pub const OVER_THERE: &str = "198.51.100.2";

/// The relay under way.
pub struct Relay(Child);

impl Relay {
    /// Between hosts 1 and 2 of three: each frame takes so long, and every `loses`th is lost (0: none). `program` is this one's file. An
    /// error says what this machine lacks.
    pub fn begin(networks: &Networks, program: &Path, delay: Duration, loses: u32) -> Result<Relay, String> {
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
        command.args(&enter[1..]).arg(program).args([NAME, &delay.as_micros().to_string(), &loses.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut relay = command.spawn().map(Relay).map_err(|error| error.to_string())?;
        let mut line = String::new();
        if let Some(output) = relay.0.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        if line == "\n" { Ok(relay) } else { Err(say!("the relay could not be started").to_string()) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the relay does, at the host between, until its input ends: the words are the delay, µs, and which frame is lost.
pub fn serve(words: &[OsString]) -> ExitCode {
    let _ = rustix::thread::set_name(c"hm-relay");
    let number = |at: usize| words.get(at)?.to_str()?.parse::<u64>().ok();
    let (Some(delay), Some(loses)) = (number(0).map(Duration::from_micros), number(1)) else {
        return ExitCode::FAILURE;
    };
    // Who waits for this line sends nothing before it.
    let is_there = || io::stdout().write_all(b"\n").and_then(|()| io::stdout().flush()).is_ok();
    match pass_on(delay, loses, is_there) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn pass_on(delay: Duration, loses: u64, is_there: impl FnOnce() -> bool) -> io::Result<()> {
    let socket = UdpSocket::bind((BETWEEN, PORT))?;
    let out = socket.try_clone()?;
    let (frames, due) = mpsc::channel::<(u64, SocketAddr, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut waiting = VecDeque::new();
        loop {
            while let Ok(frame) = due.try_recv() {
                waiting.push_back(frame);
            }
            match waiting.front() {
                None => waiting.extend(due.recv()),
                Some((at, to, frame)) => {
                    match Duration::from_nanos(at.saturating_sub(monotonic_ns())) {
                        // To the point: a sleep wakes late.
                        left if left > Duration::from_millis(1) => std::thread::sleep(left - Duration::from_millis(1)),
                        left if left > Duration::ZERO => std::hint::spin_loop(),
                        _ => {
                            let _ = out.send_to(frame, to);
                            waiting.pop_front();
                        }
                    }
                }
            }
        }
    });
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
    if !is_there() {
        return Ok(());
    }
    let (mut frame, mut taken) = ([0; 1 << 16], 0_u64);
    loop {
        let (length, from) = socket.recv_from(&mut frame)?;
        let other = if from.ip().to_string() == ENDS[0] { ENDS[1] } else { ENDS[0] };
        taken += 1;
        if loses == 0 || !taken.is_multiple_of(loses) {
            let Ok(other) = other.parse() else { continue };
            let mut frame = frame[..length].to_vec();
            sum(&mut frame);
            let _ = frames.send((monotonic_ns() + delay.as_nanos() as u64, SocketAddr::new(other, PORT), frame));
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
