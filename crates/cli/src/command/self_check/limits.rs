//! Whole runs in surroundings of known properties, and the checks of what they find: networks of one's own joined by a bridge, a way
//! that takes its time and loses packets, a wire with a rate, a CPU quota.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io};

use hostmark_engine::sys::clock::{monotonic_ns, sleep};
use hostmark_engine::sys::control_group::GroupLimit;
use hostmark_launch::program::OWN;
use hostmark_model::{CaseRecord, FlagKind, Inputs, Measured, Message, Outcome, RoundRecord, Run, Text};
use hostmark_say::say;

use super::bench::Bench;
use super::{Attempt, Check, Known, Line, Unseen};
use crate::command::measure::inputs::scratch;
use crate::command::measure::{OwnRuns, own_file};
use crate::command::processes;

/// No further look begins after this time of a check.
const LIMIT: Duration = Duration::from_secs(5);
/// None begins after this time of the bench: a run in surroundings takes a while.
pub const LATEST: Duration = Duration::from_secs(41);

/// Largest error of a link's rate: a burst of some packets at either end of a sample.
const RATE_OFF: f64 = 0.03;
/// Largest error of a round trip beside the relay: two kernels, and processes that wake late.
const TRIP_OFF: f64 = 0.1;
/// Loss is counted in events that come by chance.
const LOSS_OFF: f64 = 2.0;
const QUOTA_OFF: f64 = 0.01;
const READS_OFF: f64 = 0.05;

/// The data of TCP in an Ethernet packet of 1500 bytes: without headers and timestamp. tbf counts a frame without what a real wire adds.
const PAYLOAD: f64 = 1448.0;
const FRAME: f64 = 1514.0;

/// The rate of a link, megabits a second.
pub const MBIT: u32 = 83;
/// The delay of a relay each way, and how many frames it passes on before it loses one.
pub const RELAYED: (Duration, u32) = (Duration::from_millis(2), 100);
/// A quota, per cent of one CPU.
pub const QUOTA_PERCENT: u8 = 30;
/// Reads a second from a disk.
pub const READS: u32 = 1000;

pub fn link(bench: &mut Bench, mbit: &Known<u32>, measure: &mut MeasureIn) -> Line {
    let wanted = f64::from(mbit.expected) * 1e6 / 8.0 * PAYLOAD / FRAME;
    let put_in =
        say!("a link of {expected} Mbit/s: {wanted:.2} MB/s of TCP", expected = mbit.expected, wanted = wanted / 1e6);
    let check = check("link", put_in, percent_off(RATE_OFF));
    in_surroundings(check, bench, Surroundings::Link { mbit: mbit.put }, &[BANDWIDTH], measure, |run| {
        let rate = measured(run, "net.tcp_bandwidth")?.estimate.stated();
        let back = Message::plain(format!("{:.2} MB/s", rate.value / 1e6));
        Some((back, is_within(rate.value, rate.of_this_run, wanted, RATE_OFF)))
    })
}

const BANDWIDTH: &str = "net.tcp_bandwidth@to=peer,cpus=two_hosts,congestion=default";
const ROUND_TRIP: &str = "net.round_trip@protocol=tcp,to=peer,cpus=two_hosts";

pub fn relayed(bench: &mut Bench, relay: &Known<(Duration, u32)>, measure: &mut MeasureIn) -> Line {
    let (delay, loses) = relay.expected;
    let trip_ms = 2e3 * delay.as_secs_f64();
    let put_in = say!("a link with a round trip of {trip_ms} ms that loses one frame in {loses}");
    let bound = say!("+{percent:.0} %; by a factor of {LOSS_OFF:.0}", percent = TRIP_OFF * 100.0);
    let (delay, loses) = relay.put;
    let surroundings = Surroundings::Relayed { delay, loses };
    in_surroundings(check("relay", put_in, bound), bench, surroundings, &[ROUND_TRIP, BANDWIDTH], measure, |run| {
        // The smallest: who wakes late only adds, and so does what is sent again.
        let trip = measured(run, "net.round_trip")?.estimate.min / 1e6;
        let resent = measured(run, "net.tcp_bandwidth")?.also.get("retransmits_per_gb")?.estimate.stated().value;
        let one_in = 1e9 / PAYLOAD / resent;
        let back = say!("{trip:.2} ms, one in {one_in:.0} sent again");
        let is_trip = (1.0..=1.0 + TRIP_OFF).contains(&(trip / trip_ms));
        let is_loss = (1.0 / LOSS_OFF..=LOSS_OFF).contains(&(one_in / f64::from(relay.expected.1)));
        Some((back, Ok(is_trip && is_loss)))
    })
}

pub fn quota(bench: &mut Bench, percent: &Known<u8>, measure: &mut MeasureIn) -> Line {
    let wanted = f64::from(percent.expected) / 100.0;
    let put_in = say!("a CPU quota of {wanted:.2} CPUs");
    let bound = say!("±{QUOTA_OFF}, and most rounds were stopped");
    let surroundings = Surroundings::Quota { percent: percent.put };
    in_surroundings(check("quota", put_in, bound), bench, surroundings, &["clock.loop"], measure, |run| {
        let quota = run.host.limits.cpu_quota.unwrap_or(f64::INFINITY);
        let rounds = &measured(run, "clock.loop")?.rounds;
        let is_stopped = |round: &&RoundRecord| round.throttled.is_some_and(|throttled| throttled.periods > 0);
        let stopped = rounds.iter().filter(is_stopped).count();
        let count = rounds.len();
        let back = say!("{quota:.2} CPUs, {stopped} of {count} rounds stopped");
        Some((back, Ok((quota - wanted).abs() <= QUOTA_OFF && 2 * stopped > count)))
    })
}

pub fn disk(bench: &mut Bench, reads: &Known<u32>, measure: &mut MeasureIn) -> Line {
    let wanted = f64::from(reads.expected);
    let put_in = say!("a disk limited to {wanted} reads a second");
    let surroundings = Surroundings::Disk { reads_a_second: reads.put };
    let filters = ["disk.direct_io@op=read,pattern=random,block=4096,depth=1"];
    in_surroundings(check("disk", put_in, percent_off(READS_OFF)), bench, surroundings, &filters, measure, |run| {
        let rate = measured(run, "disk.direct_io")?.also.get("sustained")?.estimate.stated();
        let back = Message::plain(format!("{:.0} /s", rate.value));
        Some((back, is_within(rate.value, rate.of_this_run, wanted, READS_OFF)))
    })
}

fn percent_off(off: f64) -> Message {
    Text { en: format!("±{:.0} %", off * 100.0), zh: format!("±{:.0}%", off * 100.0) }.into()
}

fn check(id: &'static str, put_in: Message, bound: Message) -> Check {
    // The run is another program to this one, and says itself who disturbed it.
    Check { id, put_in, bound, limit: LIMIT, puts_others_in: true }
}

/// Tells whether a rate lies within the bound. Rounds whose interval reaches into the bound, where their median does not, tell nothing: what
/// limits a rate does so in every round, and what else uses the disk or the link does not.
pub(super) fn is_within(rate: f64, interval: Option<(f64, f64)>, wanted: f64, off: f64) -> Result<bool, Message> {
    let (least, most) = (wanted * (1.0 - off), wanted * (1.0 + off));
    match interval {
        _ if (least..=most).contains(&rate) => Ok(true),
        Some((low, high)) if low <= most && high >= least => Err(disturbed()),
        _ => Ok(false),
    }
}

fn disturbed() -> Message {
    term!("other programs disturbed it; rerun later").into()
}

/// Looks at a run in surroundings: what came back, and whether that lies within the bound.
fn in_surroundings(
    check: Check,
    bench: &mut Bench,
    surroundings: Surroundings,
    filters: &[&str],
    measure: &mut MeasureIn,
    judged: impl Fn(&Run) -> Option<(Message, Result<bool, Message>)>,
) -> Line {
    check.judge(bench, |bench| {
        if bench.elapsed() >= LATEST {
            return Err(Message::from(term!("no time is left")).into());
        }
        let run = measure(surroundings, filters)?;
        let (back, is_within) = judged(&run).ok_or_else(|| without_value(&run))?;
        let has_others = run.cases.iter().filter_map(CaseRecord::measured).any(is_disturbed);
        let is_within = match is_within {
            Ok(false) if has_others => Err(disturbed()),
            is_within => is_within,
        };
        Ok(Attempt { back, is_within })
    })
}

fn is_disturbed(measured: &Measured) -> bool {
    measured.flags.iter().any(|flag| flag.kind == FlagKind::Contended)
}

fn measured<'a>(run: &'a Run, probe: &str) -> Option<&'a Measured> {
    run.cases.iter().find(|case| case.probe == probe)?.measured()
}

fn without_value(run: &Run) -> Unseen {
    let reason = run.cases.iter().find_map(|case| match &case.outcome {
        Outcome::Skipped { reason } | Outcome::Failed { reason } => Some(reason),
        _ => None,
    });
    let without = || Message::from(term!("the run has no value")).into();
    reason.map_or_else(without, Unseen::from)
}

/// A run in them that takes longer is given up.
const LONGEST_RUN: Duration = Duration::from_secs(15);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Surroundings {
    /// A link to a second host of so many megabits a second.
    Link { mbit: u32 },
    /// One that takes so long each way and loses every `loses`th frame; 0 stands for none.
    Relayed { delay: Duration, loses: u32 },
    /// Percent of one CPU.
    Quota { percent: u8 },
    /// Reads a second from the disk of the scratch directory.
    Disk { reads_a_second: u32 },
}

/// A run of these filters in surroundings, or why there is none.
pub type MeasureIn<'a> = dyn FnMut(Surroundings, &[&str]) -> Result<Run, String> + 'a;

/// Runs this program, whose file that is, in them.
pub fn measure_in(program: &Path, surroundings: Surroundings, filters: &[&str]) -> Result<Run, String> {
    // Behind other words the link to one's own program is another's.
    let program = match program == Path::new(OWN) {
        true => &own_file().map_err(|error| crate::language::spoken(&error))?,
        false => program,
    };
    let between = |networks: &Networks, address: &str| {
        let before: Vec<OsString> = networks.enter(1).into_iter().map(OsString::from).collect();
        let peer = networks.enter_from_another(2).join(" ");
        printed(&mut OwnRuns::of(program).map_err(in_words)?, &before, filters, &["--peer", &peer, "--via", address])
    };
    match surroundings {
        Surroundings::Link { mbit } => {
            let link = with_rate(&format!("rate {mbit}mbit burst 32kb latency 50ms"))?;
            between(&link, &FAR.to_string())
        }
        Surroundings::Relayed { delay, loses } => {
            let networks = Networks::of(3)?;
            let _relay = Relay::begin(&networks, program, delay, loses)?;
            between(&networks, OVER_THERE)
        }
        Surroundings::Quota { percent } => limited(program, &GroupLimit::CpuPercent(percent), filters),
        Surroundings::Disk { reads_a_second: a_second } => {
            let disk = disk_of(&scratch(&Inputs::default()))
                .ok_or_else(|| say!("the scratch directory lies on no disk of its own").to_string())?;
            limited(program, &GroupLimit::Reads { disk, a_second }, filters)
        }
    }
}

fn in_words(error: anyhow::Error) -> String {
    error.to_string()
}

fn limited(program: &Path, limit: &GroupLimit, filters: &[&str]) -> Result<Run, String> {
    let mut runs = OwnRuns::of(program).map_err(in_words)?;
    let group = processes::limited(limit, &mut runs.janitor)?;
    let run = printed(&mut runs, &processes::words(&group), filters, &[]);
    // One that cannot be removed yet stays in the janitor's charge.
    let _ = group.remove();
    run
}

fn printed(runs: &mut OwnRuns, before: &[OsString], filters: &[&str], more: &[&str]) -> Result<Run, String> {
    let process = runs.begin(before, filters.iter().chain(more).copied(), None)?;
    runs.printed(process, LONGEST_RUN)
}

/// The numbers, major and minor, of the disk that holds a directory; none where it lies on no disk of its own, as on a tmpfs.
pub fn disk_of(directory: &Path) -> Option<(u32, u32)> {
    let device = fs::metadata(directory).ok()?.dev();
    let name = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let place = fs::canonicalize(format!("/sys/dev/block/{name}")).ok()?;
    let whole = if place.join("partition").exists() { place.parent()? } else { &place };
    let text = fs::read_to_string(whole.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Command that enters a network namespace, before a command that is to run in it.
const ENTER: [&str; 5] = ["nsenter", "--preserve-credentials", "-U", "-n", "-t"];

/// Hosts on one bridge, each with the interface `wire`.
pub struct Networks {
    /// The bridge's own, and those of the hosts.
    holders: Vec<Child>,
}

impl Networks {
    /// Creates so many networks. An error says what this machine lacks for it.
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
    fn enter_from_another(&self, host: usize) -> Vec<String> {
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

/// The word that starts it; no command for people.
pub const NAME: &str = "relay";

const PORT: u16 = 4789;
/// The two hosts, and the one between them, as the bridge knows them.
const ENDS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];
const BETWEEN: &str = "192.0.2.3";
/// The two hosts as the relayed way knows them: kept for documentation (RFC 5737).
pub const OVER_THERE: &str = "198.51.100.2";

pub struct Relay(Child);

impl Relay {
    /// Starts a relay between hosts 1 and 2 of three: each frame takes `delay`, and every `loses`th is lost (0: none). `program` is ours.
    /// An error says what this machine lacks.
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

/// Relays frames, at the host between, until its input ends: the words are the delay, µs, and the frame that is lost.
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
    std::thread::Builder::new().spawn(move || {
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
                        left if left > Duration::from_millis(1) => sleep(left - Duration::from_millis(1)),
                        left if left > Duration::ZERO => std::hint::spin_loop(),
                        _ => {
                            let _ = out.send_to(frame, to);
                            waiting.pop_front();
                        }
                    }
                }
            }
        }
    })?;
    std::thread::Builder::new().spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    })?;
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

pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// Both ends send by a token bucket (tc-tbf(8)) that is set so, as `rate 83mbit burst 32kbit limit 64kb`; else why there is none.
pub fn with_rate(tbf: &str) -> Result<Networks, String> {
    let networks = Networks::of(2)?;
    for host in [1, 2] {
        networks.run(host, &format!("tc qdisc add dev wire root tbf {tbf}"))?;
    }
    Ok(networks)
}

pub fn program_at(networks: &Networks, host: usize, program: &str) -> Vec<String> {
    networks.enter(host).into_iter().chain([program.to_owned()]).collect()
}
