//! Several networks of one's own, joined by a bridge: what stands for hosts. Nothing of the machine's is touched, and nothing
//! is left when the processes that hold them end, which they do with this one.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hostmark_say::say;

/// What a network is held by, as words before a command that is to run in it.
const ENTER: [&str; 5] = ["nsenter", "--preserve-credentials", "-U", "-n", "-t"];

/// Hosts on one bridge, each with the interface `wire`.
pub struct Networks {
    /// The bridge's own, and those of the hosts.
    holders: Vec<Child>,
}

impl Networks {
    /// So many. An error says what this machine lacks for it.
    pub fn of(hosts: usize) -> Result<Networks, String> {
        let mut networks = Networks { holders: Vec::new() };
        networks.hold(&["unshare", "--user", "--map-root-user", "--net"].map(str::to_owned))?;
        networks.run(0, "ip link add hub type bridge && ip link set hub up")?;
        for host in 1..=hosts {
            let mut words: Vec<String> = networks.enter(0);
            // Of the same user namespace: each may then configure the others.
            words.retain(|word| word != "-n");
            words.extend(["unshare", "--net"].map(str::to_owned));
            networks.hold(&words)?;
            let pid = networks.holders[host].id();
            let port = format!("ip link add port{host} type veth peer name wire netns {pid}");
            networks.run(0, &format!("{port} && ip link set port{host} master hub up"))?;
            let address = |at: String| format!("ip address add {at} dev wire nodad");
            let addresses =
                format!("{} && {}", address(format!("192.0.2.{host}/24")), address(format!("2001:db8::{host}/64")));
            networks.run(host, &format!("ip link set lo up && {addresses} && ip link set wire up"))?;
        }
        Ok(networks)
    }

    /// The words that go before a command at a host, from 1.
    pub fn enter(&self, host: usize) -> Vec<String> {
        let pid = self.pid(host).to_string();
        ENTER.iter().map(|&word| word.to_owned()).chain([pid]).collect()
    }

    /// The same, at another of them: all are of one user namespace.
    pub fn enter_from_another(&self, host: usize) -> Vec<String> {
        let mut words = self.enter(host);
        words.retain(|word| word != "-U");
        words
    }

    /// The process that holds a host.
    pub fn pid(&self, host: usize) -> u32 {
        self.holders[host].id()
    }

    /// Runs a line of shell at a host, or at the bridge (0).
    pub fn run(&self, host: usize, script: &str) -> Result<(), String> {
        let enter = self.enter(host);
        match Command::new(&enter[0]).args(&enter[1..]).args(["sh", "-c", script]).output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(format!("{script}: {}", String::from_utf8_lossy(&output.stderr).trim())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn hold(&mut self, words: &[String]) -> Result<(), String> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["sh", "-c", "echo held; exec cat"]);
        // It ends with its input: also when this process is killed.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut holder = command.spawn().map_err(|error| format!("{}: {error}", words[0]))?;
        let mut line = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        self.holders.push(holder);
        if line == "held\n" {
            Ok(())
        } else {
            Err(say!("{words} cannot make a network of its own", words = words.join(" ")).to_string())
        }
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}
