//! UDP over what is no loopback: a wire with a rate, and ways on which datagrams are lost, delayed by none of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::prelude::*;
use crate::tcp_link::wire;
use crate::two_hosts::{at, beside};
use crate::under_way::measured;
use hostmark::self_check::limits;
use hostmark::self_check::limits::Networks;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// What a machine that is busy may take from a rate, and how often a test looks for a moment in which it is not.
const WITHIN: f64 = 0.02;
const LOOKS: usize = 15;
/// How often a far end leaves its CPU to others in a round in which hardly anybody uses it.
const MOST_SWITCHES: u64 = 20;
/// Bytes of a datagram, and of the frame that it is in as a queue counts it: with the headers of UDP, IPv4 and Ethernet.
const DATAGRAM: f64 = 1472.0;
const FRAME: f64 = DATAGRAM + 8.0 + 20.0 + 14.0;

#[derive(Debug)]
struct Round(Vec<Event>);

impl Round {
    /// The median of its samples, bytes a second.
    fn rate(&self) -> f64 {
        let samples = self.0.iter().find_map(|event| match event {
            Event::Samples { ns, iterations, amount, .. } => Some((ns, iterations, *amount as f64)),
            _ => None,
        });
        let (ns, iterations, amount) = samples.unwrap_or_else(|| panic!("{self:?}"));
        let mut rates: Vec<f64> = ns.iter().zip(iterations).map(|(ns, &n)| amount * n as f64 * 1e9 / ns).collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    }

    /// The mean of a further quantity.
    fn also(&self, wanted: &str) -> f64 {
        let values = self.0.iter().find_map(|event| match event {
            Event::Also { name, values } if name == wanted => Some(values),
            _ => None,
        });
        let values = values.unwrap_or_else(|| panic!("no {wanted}: {self:?}"));
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// What came to the receiver's host, bytes a second: also what its buffer had no room for, where others used its CPU.
    fn arrived(&self) -> f64 {
        let came = 1.0 - self.also("loss");
        self.also("packets") * DATAGRAM * (came + self.also("overrun")) / came
    }

    /// The share that was lost before.
    fn lost_on_the_way(&self) -> f64 {
        self.also("loss") - self.also("overrun")
    }

    fn note(&self, wanted: &str) -> Option<&str> {
        self.0.iter().find_map(|event| match event {
            Event::Note { key, value } if key == wanted => Some(value.as_str()),
            _ => None,
        })
    }

    /// Whether either end waited for a CPU that others used.
    fn is_disturbed(&self) -> bool {
        self.0.iter().any(|event| match event {
            Event::Done { noise } => noise.waited.is_none_or(|share| share > WITHIN),
            Event::Served(usage) => usage.involuntary_switches > MOST_SWITCHES,
            _ => false,
        })
    }

    fn failed(&self) -> Option<&str> {
        self.0.iter().find_map(|event| match event {
            Event::Failed { reason } => Some(&**reason),
            _ => None,
        })
    }
}

fn job(case: &str) -> Job {
    let cpus = hostmark_host::read_here().usable_cpus();
    let (Some(&first), Some(&last)) = (cpus.first(), cpus.last()) else { panic!("a CPU to run on") };
    let mut job = Job::bare(case, vec![first, last]);
    job.budget_ns = 300_000_000;
    job
}

/// What a worker says that has the job.
fn worked(command: &[&str], job: &Job) -> Round {
    let mut worker = Command::new(command[0]);
    worker.args(&command[1..]).arg("worker");
    Round(worker_events(worker, job))
}

/// A round of a case over a wire.
fn over(wire: &Networks, case: &str) -> Round {
    let ends = [1, 2].map(|host| limits::program_at(wire, host, PROGRAM));
    let [near, far] = [&ends[0], &ends[1]].map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut job = job(case);
    let ends = far_ends(&far, &job, &[limits::FAR]).expect("it listens").expect("the case has a far end");
    job.cases[0].far = ends.ends().to_vec();
    let mut round = worked(&near, &job);
    ends.finish(&mut round.0);
    round
}

fn flow(direction: &str, rate: &str, segmentation: &str) -> String {
    format!(
        "net.udp_bandwidth@datagram=1472,cpus=same_cache,direction={direction},rate_mbit={rate},segmentation={segmentation}"
    )
}

/// Looks until it is so, as a neighbour may disturb any of the looks; the last one tells what is wrong. None where others used
/// the CPUs in all of them: who waits for a CPU neither sends nor receives what a wire carries, and the kernel's own threads that
/// carry it wait as well.
fn sooner_or_later(look: impl Fn() -> Round, is_so: impl Fn(&Round) -> bool, what: &str) -> Option<Round> {
    let mut last = None;
    for _ in 0..LOOKS {
        let quiet = Quiet::begin();
        let round = look();
        if round.failed().is_none() && is_so(&round) {
            return Some(round);
        }
        if !round.is_disturbed() && !quiet.is_over() {
            last = Some(round);
        }
    }
    if let Some(round) = last {
        panic!("{what}: {round:?}");
    }
    skipped(&format!("others use the CPUs: {what} cannot be told"));
    None
}

fn is_near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() <= WITHIN
}

#[test]
fn over_a_wire_with_a_rate_loss_begins_at_that_rate_both_ways() {
    let _alone = alone();
    // The burst lasts longer than a timer of a busy machine is late.
    for (megabits, burst) in [(83, "16kb"), (419, "64kb")] {
        let Some(wire) = wire(&format!("rate {megabits}mbit burst {burst} limit 64kb")) else { return };
        let goodput = f64::from(megabits) * 1e6 / 8.0 * DATAGRAM / FRAME;
        for direction in ["receive", "send"] {
            let below = megabits * 9 / 10;
            let what = format!("{direction} below {megabits} Mbit/s");
            let wanted = f64::from(below) * 1e6 / 8.0;
            // A sender whose CPU others use gives up what it is behind.
            let is_whole = |round: &Round| {
                let sent = round.also("sent");
                round.lost_on_the_way() < 1e-6
                    && is_near(round.arrived(), sent)
                    && (0.5 * wanted..1.01 * wanted).contains(&sent)
            };
            sooner_or_later(|| over(&wire, &flow(direction, &below.to_string(), "none")), is_whole, &what);
            let above =
                [((megabits * 3 / 2).to_string(), "none"), ("max".to_owned(), "none"), ("max".to_owned(), "gso")];
            // At many datagrams a second a sender whose CPU others use does not reach more than the wire's rate.
            let from = if megabits > 100 { 1 } else { 0 };
            for (rate, segmentation) in above.into_iter().skip(from) {
                let what = format!("{direction} {rate} {segmentation} over {megabits} Mbit/s, goodput {goodput}");
                let above = sooner_or_later(
                    || over(&wire, &flow(direction, &rate, segmentation)),
                    |round| {
                        let (arrived, lost) = (round.arrived(), round.lost_on_the_way());
                        let expected = 1.0 - arrived / round.also("sent");
                        is_near(arrived, goodput) && lost > 0.05 && (lost - expected).abs() < 0.05
                    },
                    &what,
                );
                let Some(above) = above else { continue };
                assert_eq!(above.note("path_mtu"), Some("1500"));
                assert_eq!(above.note("fragments"), None);
            }
        }
    }
}

#[test]
fn a_queue_that_lets_the_sender_wait_is_distinguished_from_one_that_drops() {
    let _alone = alone();
    // It holds more than a socket may have under way.
    let Some(wire) = wire("rate 83mbit burst 16kb limit 8mb") else { return };
    let goodput = 83e6 / 8.0 * DATAGRAM / FRAME;
    for direction in ["receive", "send"] {
        let is_so = |round: &Round| is_near(round.rate(), goodput) && round.lost_on_the_way() < 1e-6;
        let what = format!("{direction} max, held back");
        let held = sooner_or_later(|| over(&wire, &flow(direction, "max", "none")), is_so, &what);
        let Some(held) = held else { continue };
        assert!(held.also("held_back") > 0.5, "{held:?}");
        assert_eq!(held.note("sender"), Some("held back"));
    }
    // What needs several packets is told, and cannot be cut by the kernel.
    let large = flow("send", "max", "none").replace("1472", "8192");
    assert_eq!(over(&wire, &large).note("fragments"), Some("6"));
}

#[test]
fn no_sample_of_a_run_is_faster_than_its_link() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let Some(wire) = wire("rate 250mbit burst 64kb latency 50ms") else { return };
    let (home, there) = (Home::new(), beside(&wire, 2));
    let arguments = ["run", "net.udp_bandwidth@to=peer", "--peer", &there, "--set", "direction=receive,send"];
    let run = measured(&mut at(&home, &wire, 1, &arguments));
    let queue = run.peers[0].path.as_ref().and_then(|path| path.queue.as_ref()).unwrap();
    assert_eq!(queue.bits_per_s, Some(250_000_000));
    let cases: Vec<_> = run.cases.iter().filter_map(|case| Some((&case.id, case.measured()?))).collect();
    assert_eq!(cases.len(), 2, "{:?}", run.cases);
    for (id, measured) in cases {
        let is_impossible = measured.flags.iter().any(|flag| flag.kind == FlagKind::Implausible);
        assert!(!is_impossible, "{id}: {:?}", measured.samples);
        let share = measured.estimate.typical / (250e6 / 8.0 * DATAGRAM / FRAME);
        quiet.holds((share - 1.0).abs() < 0.03, || format!("{id}: {share} {:?}", measured.samples));
    }
}

/// A way for datagrams on which each hundredth is lost, or all behind the first ones.
struct Lossy {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
}

/// Which datagrams are lost of those that go one way, by their number.
type Loses = fn(u64) -> bool;

impl Lossy {
    fn to(far: SocketAddr, there: Loses, back: Loses) -> Lossy {
        let (near, beyond) = (UdpSocket::bind((V4, 0)).unwrap(), UdpSocket::bind((V4, 0)).unwrap());
        beyond.connect(far).unwrap();
        let (address, ends) = (near.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let client = Arc::new(AtomicU64::new(0));
        for is_there in [true, false] {
            let (near, beyond) = (near.try_clone().unwrap(), beyond.try_clone().unwrap());
            let (ends, client) = (Arc::clone(&ends), Arc::clone(&client));
            let loses = if is_there { there } else { back };
            let from = if is_there { &near } else { &beyond };
            from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            std::thread::spawn(move || {
                let (mut count, mut datagram) = (0, vec![0; 1 << 16]);
                while !ends.load(Ordering::Relaxed) {
                    let got = if is_there { near.recv_from(&mut datagram) } else { beyond.recv_from(&mut datagram) };
                    let Ok((bytes, from)) = got else { continue };
                    count += 1;
                    if is_there {
                        client.store(from.port().into(), Ordering::Relaxed);
                    }
                    if loses(count) {
                        continue;
                    }
                    let port = client.load(Ordering::Relaxed) as u16;
                    let _ = match is_there {
                        true => beyond.send(&datagram[..bytes]),
                        false => near.send_to(&datagram[..bytes], (V4, port)),
                    };
                }
            });
        }
        Lossy { address, ends }
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// A round of a case on a way that loses so.
fn lossy(case: &str, there: Loses, back: Loses) -> Round {
    let mut job = job(case);
    let ends = far_ends(&[PROGRAM], &job, &[V4]).expect("it listens").expect("the case has a far end");
    let ways: Vec<Lossy> = ends.ends().iter().map(|end| Lossy::to(end.address, there, back)).collect();
    job.cases[0].far = ends.ends().to_vec();
    for (end, way) in job.cases[0].far.iter_mut().zip(&ways) {
        end.address = way.address;
    }
    let mut round = worked(&[PROGRAM], &job);
    ends.finish(&mut round.0);
    round
}

const NONE: Loses = |_| false;
/// Not the first: that is the nonce.
const HUNDREDTH: Loses = |count| count % 100 == 50;
const FIRST: Loses = |count| count == 1;
const ALL_BUT_FIRST: Loses = |count| count > 1;

const ROUND_TRIPS: [&str; 4] = [
    "net.round_trip@protocol=udp,cpus=same_cache,copies=1",
    "net.rpc@protocol=udp,cpus=same_cache",
    "net.open_loop@load=50,protocol=udp,outstanding=1,rate=auto,cpus=same_cache",
    "net.open_loop@load=50,protocol=udp,outstanding=16,rate=2000,cpus=same_cache",
];

#[test]
fn a_request_that_is_lost_is_counted_and_no_time_of_it() {
    let _alone = alone();
    for case in ROUND_TRIPS {
        for (there, back) in [(HUNDREDTH, NONE), (NONE, HUNDREDTH)] {
            // A round has some hundred requests: one lost more or less is a part of a percent.
            let is_so = |round: &Round| (0.004..0.03).contains(&round.also("lost"));
            sooner_or_later(|| lossy(case, there, back), is_so, case);
        }
        let whole = lossy(case, NONE, NONE);
        assert_eq!(whole.also("lost"), 0.0, "{case}");
    }
}

#[test]
fn the_share_of_datagrams_that_is_lost_on_the_way_is_reported() {
    let _alone = alone();
    for direction in ["receive", "send"] {
        // So slow that the way loses no others.
        let case = flow(direction, "20", "none");
        let lost = |round: &Round| round.also("loss");
        let is_so = |round: &Round| (0.006..0.014).contains(&lost(round));
        sooner_or_later(|| lossy(&case, HUNDREDTH, HUNDREDTH), is_so, direction);
        sooner_or_later(|| lossy(&case, NONE, NONE), |round| lost(round) == 0.0, direction);
    }
}

#[test]
fn a_nonce_or_its_answer_that_is_lost_is_sent_again() {
    let _alone = alone();
    for case in ROUND_TRIPS
        .into_iter()
        .chain([flow("receive", "20", "none"), flow("send", "20", "none")].iter().map(String::as_str))
    {
        for (there, back) in [(FIRST, NONE), (NONE, FIRST)] {
            let round = lossy(case, there, back);
            assert_eq!(round.failed(), None, "{case}: {round:?}");
            assert!(round.0.iter().any(|event| matches!(event, Event::Done { .. })), "{case}: {round:?}");
        }
    }
}

#[test]
fn where_all_is_lost_the_round_fails_and_says_so() {
    let _alone = alone();
    let none_answered = "the far end did not answer within 2 s";
    for case in ROUND_TRIPS {
        assert_eq!(lossy(case, NONE, ALL_BUT_FIRST).failed(), Some(none_answered), "{case}");
    }
    let received = lossy(&flow("receive", "20", "none"), NONE, ALL_BUT_FIRST);
    let said = received.failed().unwrap_or_default();
    assert!(said.starts_with("no datagram came within 2 s: look for a packet filter"), "{received:?}");
    // What is asked comes through, and no datagram.
    let sent = lossy(&flow("send", "20", "none"), ALL_BUT_FIRST, NONE);
    let said = sent.failed().unwrap_or_default();
    assert!(said.starts_with("the far end did not say within 5 s"), "{sent:?}");
}
