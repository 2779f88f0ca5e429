//! Two hosts with a wire between them: network namespaces joined by a pair of virtual interfaces, whose queues keep to a rate.

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Kept for documentation (RFC 5737): no real network has it.
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// Ends with its standard input, and so do the process of the far network and both networks.
const SCRIPT: &str = r#"
set -e
exec 3<&0
ip link set lo up
unshare --net sh -c 'read end' <&3 >/dev/null 2>&1 &
far=$!
turns=0
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
    turns=$((turns + 1))
    [ $turns -lt 2000 ]
done
ip link add near address 02:00:00:00:00:01 type veth peer name far address 02:00:00:00:00:02 netns $far
ip addr add 192.0.2.1/24 dev near
ip link set near up
# A full queue would drop what asks for these.
ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev near nud permanent
nsenter -t $far -n sh -c 'ip link set lo up && ip addr add 192.0.2.2/24 dev far && ip link set far up &&
    ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev far nud permanent'
tc qdisc add dev near root tbf $0
nsenter -t $far -n tc qdisc add dev far root tbf $0
echo $far
read end <&3
"#;

/// The wire. It is gone when this is dropped, or when the test has ended in any way.
pub struct Wire {
    holder: Child,
    _input: ChildStdin,
    far: String,
}

impl Wire {
    /// Both ends of it send by a token bucket (tc-tbf(8)) that is set so, as `rate 83mbit burst 32kbit limit 64kb`; else why there is none.
    pub fn with_rate(tbf: &str) -> Result<Wire, String> {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", SCRIPT, tbf]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.spawn().map_err(|error| format!("unshare: {error}"))?;
        let input = holder.stdin.take().expect("it is piped");
        let mut far = String::new();
        BufReader::new(holder.stdout.take().expect("it is piped")).read_line(&mut far).map_err(|e| e.to_string())?;
        if far.trim().is_empty() {
            drop(input);
            let mut said = String::new();
            holder.stderr.take().expect("it is piped").read_to_string(&mut said).map_err(|e| e.to_string())?;
            let _ = holder.wait();
            return Err(said.trim().to_owned());
        }
        Ok(Wire { holder, _input: input, far: far.trim().to_owned() })
    }

    /// The command before a program that runs at the near end.
    pub fn near(&self) -> Vec<String> {
        entering(&self.holder.id().to_string())
    }

    /// The same at the far end.
    pub fn far(&self) -> Vec<String> {
        entering(&self.far)
    }
}

fn entering(process: &str) -> Vec<String> {
    ["nsenter", "-t", process, "--user", "--preserve-credentials", "--net"].map(str::to_owned).to_vec()
}

impl Drop for Wire {
    fn drop(&mut self) {
        // The shells wait for the end of their input, which a kill of the first one does not keep from the other.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
