//! A wire of a known rate between two networks of a test's own: nothing of the machine's is touched, and nothing is left when
//! the processes that hold them end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Kept for documentation (RFC 5737): no real network has them.
pub const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
/// An Ethernet packet of 1500 bytes with its header, and what it has of data beside headers and a timestamp.
const FRAME_BYTES: f64 = 1514.0;
const SEGMENT_BYTES: f64 = 1448.0;

/// Two networks, each held by a process, and an interface in each.
pub struct Wire {
    holders: Vec<Child>,
    folder: tempfile::TempDir,
}

impl Wire {
    /// A wire whose packets pass at `mbit` megabits a second in either direction, with a queue of 50 ms at most. An error
    /// says what this machine lacks for it.
    pub fn of(mbit: u32) -> Result<Wire, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut wire = Wire { holders: Vec::new(), folder };
        let apart = ["unshare", "--user", "--map-root-user", "--net"];
        wire.hold(&apart.map(str::to_owned))?;
        let user = ["nsenter", "--preserve-credentials", "-U", "-t"].map(str::to_owned);
        let own = [wire.holders[0].id().to_string(), "unshare".into(), "--net".into()];
        wire.hold(&[&user[..], &own].concat())?;
        let [near, far] = [0, 1].map(|end| wire.enter(end));
        let pid = wire.holders[1].id();
        let shape = |name| format!("tc qdisc add dev {name} root tbf rate {mbit}mbit burst 32kb latency 50ms");
        let up = |name, own: IpAddr| {
            let shape = shape(name);
            format!("ip link set lo up && ip address add {own}/24 dev {name} && ip link set {name} up && {shape}")
        };
        let joined = format!("ip link add near type veth peer name far netns {pid} && {}", up("near", NEAR));
        run(&near, &joined)?;
        run(&far, &up("far", FAR))?;
        Ok(wire)
    }

    fn hold(&mut self, words: &[String]) -> Result<(), String> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["sh", "-c", "echo held; exec cat"]);
        // It ends with its input: also when this test is killed.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = command.spawn().map_err(|error| format!("{}: {error}", words[0]))?;
        let mut line = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        self.holders.push(holder);
        if line == "held\n" { Ok(()) } else { Err(format!("{} cannot make a network of its own", words.join(" "))) }
    }

    /// The words that go before a command at an end, 0 or 1.
    fn enter(&self, end: usize) -> Vec<String> {
        let pid = self.holders[end].id().to_string();
        ["nsenter", "--preserve-credentials", "-U", "-n", "-t", &pid].map(str::to_owned).to_vec()
    }

    /// A program that is `program` at an end, 0 or 1.
    pub fn program(&self, end: usize, program: &str) -> PathBuf {
        let path = self.folder.path().join(format!("at-{end}"));
        let enter = self.enter(end).join(" ");
        fs::write(&path, format!("#!/bin/sh\nexec {enter} '{program}' \"$@\"\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

fn run(enter: &[String], script: &str) -> Result<(), String> {
    let output = Command::new(&enter[0]).args(&enter[1..]).args(["sh", "-c", script]).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{script}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(error.to_string()),
    }
}

/// The data of TCP that passes at so many megabits a second, bytes a second: tbf counts a frame without what a real wire adds.
pub fn goodput(mbit: u32) -> f64 {
    f64::from(mbit) * 1e6 / 8.0 * SEGMENT_BYTES / FRAME_BYTES
}
