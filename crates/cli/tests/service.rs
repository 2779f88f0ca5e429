//! Far ends: a service starts by the same door for a run and for whoever stands for an agent, over either family of addresses,
//! and serves nobody who does not know its nonce.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use hostmark_engine::RoundError;
use hostmark_engine::plan::{Request, plan};
use hostmark_engine::sys::scratch::Private;
use hostmark_engine::worker::far::{FarEnds, LOOPBACK, Missing};
use hostmark_model::{Event, FarEnd, FarUsage, Job, Nonce, Outcome, Profile, load_run};
use hostmark_probes::CATALOGUE;

use crate::far::far_ends;
use crate::skip::skipped;
use crate::support::{Home, PROGRAM};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
/// Far longer than an answer takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Long enough to see that none comes.
const MOMENT: Duration = Duration::from_millis(200);
const STRANGER: Nonce = Nonce::of([7; 16]);

fn has(family: IpAddr) -> bool {
    UdpSocket::bind((family, 0)).is_ok()
}

fn job(case: &str) -> Job {
    let cpu = hostmark_host::single(&hostmark_host::read_here()).expect("a CPU to run on");
    Job::bare(case, vec![cpu, cpu])
}

/// The only far end of a case that listens at this address.
fn started(case: &str, at: IpAddr) -> (FarEnds, FarEnd) {
    let far = far_ends(&[PROGRAM], &job(case), &[at]).expect("it listens").expect("the case has a far end");
    let [end] = far.ends() else { panic!("{case} has {} far ends", far.ends().len()) };
    assert_eq!(end.address.ip(), at);
    let end = end.clone();
    (far, end)
}

/// What it says that it used, in a round that came to nothing else.
fn used(far: FarEnds) -> FarUsage {
    let mut events = Vec::new();
    far.finish(&mut events);
    match events.as_slice() {
        [Event::Served(usage)] => *usage,
        other => panic!("{other:?}"),
    }
}

fn connected(address: SocketAddr, nonce: Nonce) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(nonce.told()).unwrap();
    stream
}

#[test]
fn a_service_that_an_agent_starts_serves_who_knows_its_nonce() {
    for at in [V4, V6].into_iter().filter(|&at| has(at)) {
        let (far, end) = started("net.tcp@cpus=same_cpu,copies=1", at);
        let mut stranger = connected(end.address, STRANGER);
        stranger.write_all(b"x").ok();
        assert!(!matches!(stranger.read(&mut [0]), Ok(1..)), "a stranger is answered");
        let mut known = connected(end.address, end.nonce);
        let mut answer = *end.nonce.told();
        known.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *end.nonce.told(), "who knows it is told so");
        let mut byte = [0];
        for sent in 0..100 {
            known.write_all(&[sent]).unwrap();
            known.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [sent]);
        }
        // It waited for most bytes: asleep, or after it had to leave the CPU to who sends them.
        let used = used(far);
        assert!(used.cpu_ns > 0 && used.voluntary_switches + used.involuntary_switches > 10, "{used:?}");
        assert_eq!(known.read(&mut byte).unwrap(), 0);
    }
}

#[test]
fn a_service_of_datagrams_answers_no_address_that_did_not_send_its_nonce() {
    for at in [V4, V6].into_iter().filter(|&at| has(at)) {
        let (far, end) = started("net.udp@cpus=same_cpu,copies=1", at);
        let socket = || {
            let socket = UdpSocket::bind((at, 0)).unwrap();
            socket.connect(end.address).unwrap();
            socket
        };
        let answer = |socket: &UdpSocket, patience, sent: &[u8]| {
            let mut back = [0; 32];
            socket.set_read_timeout(Some(patience)).unwrap();
            socket.send(sent).unwrap();
            socket.recv(&mut back).ok().map(|bytes| back[..bytes].to_vec())
        };
        let (stranger, known) = (socket(), socket());
        for sent in [&b"x"[..], STRANGER.told()] {
            assert_eq!(answer(&stranger, MOMENT, sent), None);
        }
        assert_eq!(answer(&known, PATIENCE, end.nonce.told()), Some(end.nonce.told().to_vec()));
        assert_eq!(answer(&known, PATIENCE, b"y"), Some(b"y".to_vec()));
        // The nonce is used up: whoever has seen it comes too late.
        assert_eq!(answer(&stranger, MOMENT, end.nonce.told()), None);
        assert_eq!(answer(&known, PATIENCE, b"z"), Some(b"z".to_vec()));
        used(far);
    }
}

/// What has a far end of datagrams begin to send, and what asks it to stop and tell.
fn words(kind: u64) -> Vec<u8> {
    [u64::MAX, kind << 56, 0, 0, 0, 0, 0, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes).collect()
}

#[test]
fn a_flow_of_datagrams_goes_to_the_address_that_sent_the_nonce_alone() {
    for at in [V4, V6].into_iter().filter(|&at| has(at)) {
        let case =
            "net.udp_bandwidth@datagram=1000,cpus=same_cpu,direction=receive,rate_mbit=8,segmentation=none".to_owned();
        for direction in ["receive", "send"] {
            let (far, end) = started(&case.replace("receive", direction), at);
            let socket = || {
                let socket = UdpSocket::bind((at, 0)).unwrap();
                socket.connect(end.address).unwrap();
                socket
            };
            let comes = |socket: &UdpSocket, patience| {
                let mut back = [0; 2000];
                socket.set_read_timeout(Some(patience)).unwrap();
                socket.recv(&mut back).ok().map(|bytes| back[..bytes].to_vec())
            };
            let (stranger, known) = (socket(), socket());
            for sent in [&STRANGER.told()[..], &end.nonce.told()[..15], &words(1), &words(2), &[0; 1000]] {
                stranger.send(sent).unwrap();
            }
            assert_eq!(comes(&stranger, MOMENT), None, "{direction}");
            known.send(end.nonce.told()).unwrap();
            assert_eq!(comes(&known, PATIENCE), Some(end.nonce.told().to_vec()));
            known.send(&words(1)).unwrap();
            if direction == "receive" {
                assert_eq!(comes(&known, PATIENCE).map(|datagram| datagram.len()), Some(1000));
            }
            // The nonce is used up, and nobody else stops what goes on or hears of it.
            for sent in [&end.nonce.told()[..], &words(2)] {
                // The kernel may say that nobody is there for it.
                let _ = stranger.send(sent);
            }
            assert_eq!(comes(&stranger, MOMENT), None, "{direction}");
            if direction == "receive" {
                while known.set_nonblocking(true).is_ok() && known.recv(&mut [0; 2000]).is_ok() {}
                known.set_nonblocking(false).unwrap();
                assert_eq!(comes(&known, PATIENCE).map(|datagram| datagram.len()), Some(1000), "it still sends");
            }
            known.send(&words(2)).unwrap();
            let account = std::iter::from_fn(|| comes(&known, PATIENCE)).find(|message| message.len() == 80);
            assert!(account.is_some_and(|account| account[..8] == [0xff; 8]), "{direction}");
            used(far);
        }
    }
}

/// What a worker says last that has the job.
fn last_event(job: &Job) -> Event {
    let mut worker = Command::new(PROGRAM).arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let line = serde_json::to_string(job).unwrap() + "\n";
    worker.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let output = worker.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.lines().last().expect("a last event")).unwrap()
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_probe_of_two_parties_measures_over_either_family() {
    let host = hostmark_host::read_here();
    let request = Request {
        filters: vec!["net".into()],
        profile: Profile::Standard,
        seed: 1,
        set: vec![],
        inputs: Default::default(),
    };
    let mut cases = plan(CATALOGUE, &host, request).unwrap().cases;
    // The default of each probe, and where a far end does something else.
    let others = [
        "connection=close",
        "protocol=udp",
        "streams=2",
        "copies=2",
        "cpus=free",
        "method=zero_copy",
        "segmentation=gso",
        "rate_mbit=100",
        "outstanding=64",
        "direction=send",
        "direction=both",
        "load=send",
        "load=both",
    ];
    // A far end refuses a congestion control that the kernel has not loaded, or that is the system's own.
    cases.retain(|case| case.id.params.get("congestion").is_none_or(|name| name == "default"));
    cases.retain(|case| case.skip.is_none() && case.entry.probe.service().is_some());
    cases.retain(|case| case.is_default || others.iter().any(|other| case.id.to_string().contains(other)));
    let scratch = Private::make(&std::env::temp_dir()).unwrap();
    let mut done = 0;
    for at in [V4, V6].into_iter().filter(|&at| has(at)) {
        for case in &cases {
            let id = case.id.to_string();
            let mut job = Job::bare(&id, case.cpus.clone());
            job.budget_ns = 2_000_000;
            job.environment.scratch = scratch.entry().unwrap();
            let far = far_ends(&[PROGRAM], &job, &[at]).unwrap().unwrap_or_else(|| panic!("{id} has no far end"));
            job.cases[0].far = far.ends().to_vec();
            let count = far.ends().len();
            let mut events = vec![last_event(&job)];
            far.finish(&mut events);
            assert!(matches!(events.last(), Some(Event::Done { .. })), "{id} at {at}: {events:?}");
            let served = events.iter().filter(|event| matches!(event, Event::Served(_))).count();
            assert_eq!(served, count, "{id} at {at}: {events:?}");
            done += 1;
        }
    }
    assert!(done >= 9, "{done} rounds of {} cases", cases.len());
    scratch.remove().unwrap();
}

#[test]
fn a_worker_without_its_far_end_says_so() {
    let Event::Failed { reason } = last_event(&job("net.tcp@cpus=same_cpu,copies=1")) else { panic!() };
    assert_eq!(&*reason, "the job cannot be meant: it has 0 far ends, and net.tcp@cpus=same_cpu,copies=1 needs 1");
}

#[test]
fn no_address_to_listen_at_is_skipped_with_the_reason() {
    // Kept for documentation: no machine has it.
    let nowhere: IpAddr = "192.0.2.1".parse().unwrap();
    for case in ["net.tcp@cpus=same_cpu,copies=1", "net.udp@cpus=same_cpu,copies=1"] {
        match far_ends(&[PROGRAM], &job(case), &[nowhere]) {
            Err(Missing::Round(RoundError::Skipped(reason))) => {
                assert!(reason.starts_with("cannot open a socket at 192.0.2.1: bind: "), "{reason}");
            }
            Err(other) => panic!("{case}: {other:?}"),
            Ok(_) => panic!("{case} listens"),
        }
    }
}

/// Network of one's own, in which only the newer family has a loopback address.
const WITHOUT_V4: &str = "ip link set lo up && ip address del 127.0.0.1/8 dev lo && exec \"$0\" \"$@\"";

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_machine_without_the_older_loopback_address_is_measured_over_the_newer() {
    let apart = ["--user", "--map-root-user", "--net", "sh", "-c", WITHOUT_V4];
    let can = Command::new("unshare").args(apart).arg("true").output();
    if !has(V6) || !can.is_ok_and(|output| output.status.success()) {
        return skipped("no network of one's own is available here, or no address of the newer family");
    }
    let home = Home::new();
    let mut command = home.start("unshare");
    command.args(apart).args([PROGRAM, "run", "net.tcp", "net.udp", "net.http", "--format", "json"]);
    let output = command.output().unwrap();
    let run = load_run(&String::from_utf8(output.stdout).unwrap()).unwrap();
    for case in &run.cases {
        assert!(matches!(case.outcome, Outcome::Measured(_)), "{}: {:?}", case.id, case.outcome);
        let rounds = &case.measured().unwrap().rounds;
        assert!(rounds.iter().all(|round| round.far.len() == 1 && round.far[0].cpu_ns > 0), "{}", case.id);
    }
    assert_eq!(run.cases.len(), 3);
    assert_eq!(LOOPBACK, [V4, V6]);
}

#[test]
fn a_service_started_by_hand_says_who_starts_it() {
    let output = Home::new().hostmark(&["service"]).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("a service is started by a run") && errors.ends_with("; use hostmark run\n"), "{errors}");
}
