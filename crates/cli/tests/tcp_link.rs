//! TCP between two networks joined by a wire of a known rate: what is told is what passes, whoever sends, and a far end that
//! dies is no value.

use std::process::Child;

use hostmark::self_check::limits;
use hostmark::self_check::limits::{FAR, Networks, program_at};
use hostmark_engine::worker::far::FarEnds;

use crate::prelude::*;

/// How far a value may be off: a burst of some packets at either end of a sample.
const OFF: f64 = 0.02;
/// How far apart rounds may be.
const SPREAD: f64 = 0.03;
/// Rounds of which one has to be undisturbed.
const ROUNDS: usize = 10;
/// No round tells of more than this share of the wire: a sender's buffers are a multiple of what passes in a sample.
const MOST: f64 = 1.2;

const TCP: &str = "net.tcp_bandwidth@message=65536,direction=receive,method=write,cpus=free,streams=1,window=default,\
                   congestion=reno,block=65536";
const LOADED: &str = "net.rate_latency@load=receive,cpus=free";

/// A wire of this rate between networks of one's own; none where none can be had.
pub fn wire(rate: &str) -> Option<Networks> {
    let skip = |reason: &String| skipped(&format!("no wire between networks of one's own: {reason}"));
    limits::with_rate(rate).inspect_err(skip).ok()
}

/// A wire of so many megabits a second, with a queue of 50 ms at most.
fn of(mbit: u32) -> Option<Networks> {
    wire(&format!("rate {mbit}mbit burst 32kb latency 50ms"))
}

/// Bytes that have passed the near end of a wire, either way.
fn passed(wire: &Networks) -> u64 {
    let table = fs::read_to_string(format!("/proc/{}/net/dev", wire.pid(1))).unwrap();
    let counters = table.lines().find_map(|line| line.trim_start().strip_prefix("wire:")).unwrap();
    // What was received, and eight columns further what was sent.
    counters.split_whitespace().step_by(8).map(|bytes| bytes.parse::<u64>().unwrap()).sum()
}

/// The data of TCP that passes at so many megabits a second, bytes a second: of an Ethernet packet of 1500 bytes with its header
/// those that are no header and no timestamp. tbf counts a frame without what a real wire adds.
fn goodput(mbit: u32) -> f64 {
    f64::from(mbit) * 1e6 / 8.0 * 1448.0 / 1514.0
}

/// A round under way at the near end of a wire, opposite a far end at the other.
struct Round {
    far: FarEnds,
    worker: Child,
}

impl Round {
    fn start(wire: &Networks, case: &str, budget: Duration) -> Round {
        let mut job = Job::bare(case, hostmark_host::read_here().usable_cpus());
        (job.budget_ns, job.memory_bytes) = (budget.as_nanos() as u64, 1 << 26);
        let far = program_at(wire, 2, PROGRAM);
        let far: Vec<&str> = far.iter().map(String::as_str).collect();
        let far = far_ends(&far, &job, &[FAR]).unwrap().expect("the case has a far end");
        job.cases[0].far = far.ends().to_vec();
        let near = program_at(wire, 1, PROGRAM);
        let mut command = Command::new(&near[0]);
        let mut worker =
            command.args(&near[1..]).arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let line = serde_json::to_string(&job).unwrap() + "\n";
        worker.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        Round { far, worker }
    }

    fn events(self) -> Vec<Event> {
        let output = self.worker.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut events: Vec<Event> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        self.far.finish(&mut events);
        events
    }
}

/// What a round came to: the mean of its samples, in the probe's unit, and the medians of what stands beside.
struct Came {
    amount: u64,
    operations: f64,
    ns: f64,
    also: BTreeMap<String, f64>,
}

impl Came {
    fn of(case: &str, events: &[Event]) -> Came {
        assert!(matches!(events.last(), Some(Event::Done { .. })), "{case}: {events:?}");
        let mut came = Came { amount: 0, operations: 0.0, ns: 0.0, also: BTreeMap::new() };
        for event in events {
            match event {
                Event::Samples { ns, iterations, amount, .. } => {
                    came.amount = *amount;
                    came.operations = iterations.iter().map(|&n| n as f64).sum();
                    came.ns = ns.iter().sum();
                }
                Event::Also { name, values } => {
                    let mut values = values.clone();
                    values.sort_by(f64::total_cmp);
                    came.also.insert(name.clone(), values[values.len() / 2]);
                }
                _ => {}
            }
        }
        came
    }

    fn rate(&self) -> f64 {
        self.operations * self.amount as f64 / self.ns * 1e9
    }
}

fn measured(wire: &Networks, case: &str, budget: Duration) -> Came {
    Came::of(case, &Round::start(wire, case, budget).events())
}

fn with(case: &str, from: &str, to: &str) -> String {
    assert!(case.contains(from));
    case.replace(from, to)
}

/// One of some rounds tells of the whole of the wire, and none of much more: an end that waits for its CPU leaves the wire idle,
/// or finds at once what came meanwhile.
fn is_full(wire: &Networks, case: &str, off: f64, share: impl Fn(&Came) -> f64) {
    let (mut shares, quiet) = (Vec::new(), Quiet::begin());
    while shares.len() < ROUNDS {
        let share = share(&measured(wire, case, Duration::from_millis(1500)));
        quiet.holds(share < MOST, || format!("{case}: {share}"));
        if (share - 1.0).abs() < off {
            return;
        }
        shares.push(share);
    }
    quiet.holds(false, || format!("{case}: {shares:?}"));
}

#[test]
fn goodput_is_that_of_the_wire_whoever_sends() {
    let _alone = alone();
    for mbit in [83, 419] {
        let Some(wire) = of(mbit) else { return };
        // Both ends send at the slower rate alone: at the faster one the queues of two CPUs are what is measured.
        let both = (mbit == 83).then_some(("both", 2.0));
        for (direction, times) in [("receive", 1.0), ("send", 1.0)].into_iter().chain(both) {
            let case = with(TCP, "direction=receive", &format!("direction={direction}"));
            let expected = times * goodput(mbit);
            // The acknowledgements of each share the way with the data of the other: one of 66 bytes for two packets at most.
            let off = if direction == "both" { OFF + 66.0 / (2.0 * 1514.0) } else { OFF };
            is_full(&wire, &case, off, |came| came.rate() / expected);
        }
    }
}

#[test]
fn streams_and_methods_share_the_wire() {
    let _alone = alone();
    let mbit = 131;
    let Some(wire) = of(mbit) else { return };
    let two = with(TCP, "streams=1", "streams=2");
    for case in [two.clone(), with(&two, "direction=receive", "direction=send")] {
        is_full(&wire, &case, OFF, |came| came.rate() / goodput(mbit));
    }
    for method in ["sendfile", "splice", "zero_copy"] {
        let case = with(&with(TCP, "direction=receive", "direction=send"), "method=write", &format!("method={method}"));
        is_full(&wire, &case, OFF, |came| came.rate() / goodput(mbit));
    }
}

#[test]
fn four_streams_on_fewer_cpus_share_the_wire() {
    let _alone = alone();
    for (mbit, burst) in [(250, "64kb"), (1000, "256kb")] {
        let Some(wire) = wire(&format!("rate {mbit}mbit burst {burst} latency 50ms")) else { return };
        for direction in ["receive", "send"] {
            let case =
                with(&with(TCP, "streams=1", "streams=4"), "direction=receive", &format!("direction={direction}"));
            let quiet = Quiet::begin();
            let share = |_| measured(&wire, &case, Duration::from_millis(1500)).rate() / goodput(mbit);
            let mut shares: Vec<f64> = (0..3).map(share).collect();
            shares.sort_by(f64::total_cmp);
            let (least, most) = (shares[0], shares[2]);
            let is_so = least > 1.0 - OFF && most < 1.0 + OFF && most - least < SPREAD;
            quiet.holds(is_so, || format!("{case}: {shares:?}"));
        }
    }
}

#[test]
fn a_far_end_that_dies_midway_is_no_value() {
    let _beside = beside();
    let Some(wire) = of(83) else { return };
    let bulk = ["receive", "send", "both"].map(|value| with(TCP, "direction=receive", &format!("direction={value}")));
    for case in bulk.into_iter().chain([LOADED.to_owned()]) {
        let before = passed(&wire);
        let Round { far, worker } = Round::start(&wire, &case, Duration::from_secs(20));
        assert!(within(SOON, || passed(&wire) > before + (2 << 20)), "{case}: nothing passes");
        drop(far);
        let output = worker.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().map(|line| serde_json::from_str(line).unwrap());
        let Some(Event::Failed { reason }) = last else { panic!("{case}: {text}") };
        assert!(reason.starts_with("the far end is gone"), "{case}: {reason}");
    }
}

#[test]
fn a_receiver_that_finds_a_full_buffer_is_no_faster_than_its_wire() {
    let _beside = beside();
    let mbit = 83;
    let Some(wire) = of(mbit) else { return };
    let mut round = Round::start(&wire, TCP, Duration::from_secs(2));
    let pid = Pid::from_child(&round.worker);
    // What comes meanwhile is read at once. Noise only takes from what the wire lets through.
    while round.worker.try_wait().unwrap().is_none() {
        for (signal, ms) in [(Signal::STOP, 200), (Signal::CONT, 50)] {
            kill_process(pid, signal).unwrap();
            std::thread::sleep(Duration::from_millis(ms));
        }
    }
    let events = round.events();
    let share = Came::of(TCP, &events).rate() / goodput(mbit);
    let Some(Event::Samples { ns, .. }) = events.iter().find(|event| matches!(event, Event::Samples { .. })) else {
        panic!("{events:?}")
    };
    // All of a frame, and a bucket that is full at first: 32 KiB of 3 MB.
    assert!(ns.len() == 1 && share < 1514.0 / 1448.0 * 1.02, "{share} {ns:?}");
}

#[test]
fn a_request_behind_a_bulk_flow_waits_for_the_queue_of_the_wire() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let mbit = 47;
    let Some(wire) = of(mbit) else { return };
    for load in ["receive", "send", "both"] {
        let case = with(LOADED, "load=receive", &format!("load={load}"));
        let came = measured(&wire, &case, Duration::from_secs(1));
        let [idle, added, rate] = ["idle", "added", "rate"].map(|name| came.also[name]);
        // The kernel keeps a millisecond's worth of each stream in the queue; that has room for 50 ms, each way.
        quiet.holds((5e5..101e6).contains(&added), || format!("{load}: {:?}", came.also));
        quiet.holds(idle < added, || format!("{load}: {:?}", came.also));
        let times = if load == "both" { 2.0 } else { 1.0 };
        let share = rate / goodput(mbit) / times;
        quiet.holds((0.8..1.0 + OFF).contains(&share), || format!("{load}: {share} {:?}", came.also));
    }
}
