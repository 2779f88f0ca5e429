//! Far ends: a service starts by the same door for a run and for whoever stands for an agent, over either family of addresses,
//! and serves nobody who does not know its nonce.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::ChildStdin;

use hostmark_engine::RoundError;
use hostmark_engine::plan::{Request, plan};
use hostmark_engine::sys::scratch::Private;
use hostmark_engine::worker::far::{FarEnds, LOOPBACK, Missing};
use hostmark_model::{
    AgentAnswer, AgentRequest, FarEnd, FarUsage, JsonLine, Nonce, Params, PathBytes, PeerAnswer, PeerRequest,
    RoundLine, RunRequest, ServeRequest,
};

use crate::prelude::*;

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
        let (far, end) = started(TCP, at);
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
        let (far, end) = started(&TCP.replace("tcp", "udp"), at);
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
            let mut events = worker_events(Home::new().hostmark(&["worker"]), &job);
            events.drain(..events.len() - 1);
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
    let events = worker_events(Home::new().hostmark(&["worker"]), &job(TCP));
    let Some(Event::Failed { reason }) = events.last() else { panic!("{events:?}") };
    assert_eq!(**reason, format!("the job cannot be meant: it has 0 far ends, and {TCP} needs 1"));
}

#[test]
fn no_address_to_listen_at_is_skipped_with_the_reason() {
    // Kept for documentation: no machine has it.
    let nowhere: IpAddr = "192.0.2.1".parse().unwrap();
    for case in [TCP, &TCP.replace("tcp", "udp")] {
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
    command.args(apart).args([PROGRAM, "run", "net.round_trip", "net.http", "--format", "json"]);
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

const HELLO: &str = "{\"hello\":{\"protocol\":3}}\n";

struct Agent {
    home: Home,
    child: Running,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Agent {
    fn start() -> Agent {
        let home = Home::with_short_timeouts();
        let mut command = home.hostmark(&["agent"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Agent { home, child: Running(child), input, output }
    }

    /// One that has been greeted.
    fn greeted() -> Agent {
        let mut agent = Agent::start();
        agent.send(HELLO);
        assert!(matches!(agent.next_answer(), Some(AgentAnswer::Hello { .. })));
        agent
    }

    fn send(&mut self, text: &str) {
        let _ = self.input.as_mut().unwrap().write_all(text.as_bytes());
    }

    fn ask(&mut self, request: &AgentRequest) {
        self.send(&request.to_line().unwrap());
    }

    fn next_answer(&mut self) -> Option<AgentAnswer> {
        let mut line = String::new();
        (self.output.read_line(&mut line).unwrap() > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// All that it still says, once it has been told all; it has ended, and nothing is left.
    fn rest(&mut self) -> (Option<i32>, Vec<AgentAnswer>) {
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        assert!(within(SOON, || self.child.try_wait().unwrap().is_some()));
        let code = self.child.wait().unwrap().code();
        assert!(within(SOON, || processes(&self.home).is_empty()), "{:?}", processes(&self.home));
        assert!(files(self.home.scratch.path()).is_empty());
        (code, said.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    /// The sentence with which it refuses, and its exit code.
    fn refuses(&mut self) -> (String, i32) {
        let (code, said) = self.rest();
        let [AgentAnswer::Error(why)] = &said[..] else { panic!("{code:?} {said:?}") };
        assert_eq!(code, Some(i32::from(why.exit)));
        assert!(why.sentence.contains("; "), "{why:?}");
        (why.sentence.clone(), i32::from(why.exit))
    }
}

fn request() -> RunRequest {
    let (filters, inputs) = (vec!["clock.loop".to_owned()], Inputs::default());
    RunRequest { filters, profile: Profile::Quick, inputs, ..RunRequest::default() }
}

#[test]
fn what_is_no_greeting_is_refused_with_a_sentence() {
    for (input, why) in [
        ("garbage\n", "a line is no request"),
        ("\n", "a line is no request"),
        ("\u{0}\u{0}\n", "a line is no request"),
        ("\"facts\"\n", "the first line is no greeting"),
        ("{\"hello\":{\"protocol\":4294967295}}\n", ""),
        ("{\"hello\":{\"protocol\":4294967296}}\n", "a line is no request"),
        ("{\"hello\":{\"protocol\":3}}\n{\"past\":{}}\n", ""),
    ] {
        let mut agent = Agent::start();
        agent.send(input);
        let (code, said) = agent.rest();
        let Some(AgentAnswer::Error(said)) = said.last() else { panic!("{input} {said:?}") };
        assert!((code, said.exit) == (Some(2), 2) && said.sentence.contains(why), "{input} {said:?}");
    }
}

#[test]
fn a_run_of_what_is_not_there_is_refused_and_nothing_is_left() {
    let inputs = Inputs::default;
    let scratch = |path: &[u8]| Inputs { scratch: Some(PathBytes(path.to_vec())), ..inputs() };
    for wanted in [
        RunRequest { filters: vec!["\u{1b}[31m\n".into()], ..request() },
        RunRequest { filters: vec!["x".repeat(1 << 20)], ..request() },
        RunRequest { set: vec!["size=99999999999999999999".into()], ..request() },
        RunRequest { set: vec!["=".into(); 1000], ..request() },
        RunRequest { table: Some("../table".into()), ..request() },
        RunRequest { inputs: scratch(b"/nonexistent/\xff\n"), ..request() },
        RunRequest { inputs: scratch(b"/dev/null"), ..request() },
        RunRequest { inputs: scratch(b"\0"), ..request() },
        RunRequest { inputs: Inputs { cpus: Some("0-4294967295".into()), ..inputs() }, ..request() },
        RunRequest { inputs: Inputs { cpus: Some("99999".into()), ..inputs() }, ..request() },
        RunRequest { inputs: Inputs { isolate: vec!["chroot\n".into()], ..inputs() }, ..request() },
    ] {
        let mut agent = Agent::greeted();
        agent.ask(&AgentRequest::Run(Box::new(wanted.clone())));
        let (sentence, exit) = agent.refuses();
        assert!(matches!(exit, 2 | 4), "{sentence} {exit}");
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn past_rounds_that_fit_nowhere_end_no_agent_without_a_word() {
    // A run that is under way, cut short by the end of its link.
    let mut agent = Agent::greeted();
    agent.ask(&AgentRequest::Run(Box::new(request())));
    let Some(AgentAnswer::Plan { run, cases }) = agent.next_answer() else { panic!() };
    let round = loop {
        if let Some(AgentAnswer::Round(line)) = agent.next_answer() {
            break line;
        }
    };
    agent.input = None;
    assert!(agent.rest().0.is_some());
    let hostile = [
        vec![RoundLine { case: "no.case".into(), ..round.clone() }],
        vec![RoundLine { round: u32::MAX, cpus: vec![usize::MAX; 100], ..round.clone() }],
        vec![RoundLine { until_ns: u64::MAX, spent_ns: u64::MAX, granted_ns: u64::MAX, ..round.clone() }; 9],
        vec![RoundLine { events: Vec::new(), ..round.clone() }],
    ];
    for past in hostile {
        let begun = hostmark_model::BegunRun { run: (*run).clone(), cases: cases.clone(), rounds: past.len() };
        let settings = &run.settings;
        let mut agent = Agent::greeted();
        let wanted = RunRequest { seed: Some(settings.seed), begun: Some(Box::new(begun)), ..request() };
        agent.ask(&AgentRequest::Run(Box::new(wanted)));
        past.iter().for_each(|line| agent.ask(&AgentRequest::Past(line.clone())));
        agent.next_answer();
        agent.ask(&AgentRequest::Stop);
        let mut lines = 1;
        let last = loop {
            let answer = agent.next_answer();
            lines += 1;
            match answer {
                Some(AgentAnswer::Run(_) | AgentAnswer::Error(_)) | None => break answer,
                Some(_) => agent.ask(&AgentRequest::Acknowledge { lines }),
            }
        };
        assert!(matches!(last, Some(AgentAnswer::Run(_) | AgentAnswer::Error(_))), "{past:?}");
        agent.ask(&AgentRequest::Acknowledge { lines });
        agent.send("\"bye\"\n");
        assert!(agent.rest().0.is_some_and(|code| code < 6), "{past:?}");
    }
}

#[test]
fn fewer_past_rounds_than_were_reported_are_a_lost_link() {
    let mut agent = Agent::greeted();
    agent.ask(&AgentRequest::Run(Box::new(request())));
    let Some(AgentAnswer::Plan { run, cases }) = agent.next_answer() else { panic!() };
    for rounds in [1, usize::MAX] {
        let begun = Some(Box::new(hostmark_model::BegunRun { run: (*run).clone(), cases: cases.clone(), rounds }));
        let mut agent = Agent::greeted();
        agent.ask(&AgentRequest::Run(Box::new(RunRequest { begun, ..request() })));
        agent.input = None;
        let (sentence, exit) = agent.refuses();
        assert_eq!(exit, if rounds == 1 { 5 } else { 2 }, "{sentence}");
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn words_that_make_no_sense_in_a_run_end_it() {
    let acknowledge = |lines| AgentRequest::Acknowledge { lines }.to_line().unwrap();
    for input in ["garbage\n", "\"facts\"\n", &acknowledge(u64::MAX), "\"stop\"\n\"stop\"\n\"stop\"\n", "\"bye\"\n"] {
        let mut agent = Agent::greeted();
        agent.ask(&AgentRequest::Run(Box::new(RunRequest { filters: vec!["memory".into()], ..request() })));
        assert!(matches!(agent.next_answer(), Some(AgentAnswer::Plan { .. })));
        agent.send(input);
        let (code, _) = agent.rest();
        // What a run that was stopped says comes before the end.
        assert!(matches!(code, Some(0 | 5)), "{input} {code:?}");
    }
}

const TCP: &str = "net.round_trip@protocol=tcp,cpus=same_cpu,copies=1";
const NONCE: Nonce = Nonce::of([7; 16]);

/// Far ends of the round trip.
fn served() -> ServeRequest {
    ServeRequest {
        service: "echo".into(),
        params: Params::default(),
        at: vec![std::net::Ipv4Addr::LOCALHOST.into()],
        nonces: vec![NONCE],
        is_bound: true,
        memory_bytes: 0,
        setup_ns: 0,
        silent_ms: 0,
    }
}

fn asks(agent: &mut Agent, request: PeerRequest) -> PeerAnswer {
    agent.ask(&AgentRequest::Peer(request));
    match agent.next_answer() {
        Some(AgentAnswer::Peer(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_serves_one_round_after_the_other_and_leaves_nothing() {
    let mut agent = Agent::greeted();
    for parties in [1, 3] {
        let nonces: Vec<Nonce> = (0..parties).map(|party| Nonce::of([party; 16])).collect();
        let PeerAnswer::Serving { at } =
            asks(&mut agent, PeerRequest::Serve(ServeRequest { nonces: nonces.clone(), ..served() }))
        else {
            panic!("nobody serves");
        };
        assert_eq!(at.len(), nonces.len());
        for (address, nonce) in at.iter().zip(&nonces) {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(&[&nonce.told()[..], b"x"].concat()).unwrap();
            let mut back = [0; 17];
            stream.read_exact(&mut back).unwrap();
            assert_eq!(back[..], [&nonce.told()[..], b"x"].concat());
        }
        let PeerAnswer::Served { said, .. } = asks(&mut agent, PeerRequest::Enough) else { panic!("no account") };
        assert!(said.len() == at.len() && said.iter().all(|said| matches!(said, Ok(Some(_)))), "{said:?}");
        assert!(at.iter().all(|address| std::net::TcpStream::connect(address).is_err()), "somebody still listens");
    }
    // None are there to be ended.
    assert_eq!(asks(&mut agent, PeerRequest::Enough), PeerAnswer::Served { notes: vec![], said: vec![] });
    let unknown = ServeRequest { service: "../none".into(), ..served() };
    assert!(matches!(asks(&mut agent, PeerRequest::Serve(unknown)), PeerAnswer::Unserved { is_skipped: false, .. }));
    // An address that is not its own: it listens at all, and who asked knows how it is reached.
    let elsewhere = ServeRequest { at: vec![[192, 0, 2, 77].into()], ..served() };
    let PeerAnswer::Serving { at } = asks(&mut agent, PeerRequest::Serve(elsewhere)) else { panic!("nobody serves") };
    assert!(at[0].ip().is_unspecified());
    agent.input = None;
    assert_eq!(agent.rest(), (Some(0), vec![]));
}

#[test]
fn a_peer_refuses_what_no_run_asks_for() {
    for request in [
        ServeRequest { nonces: Vec::new(), ..served() },
        ServeRequest { nonces: vec![NONCE; 1 << 16], ..served() },
        ServeRequest { at: Vec::new(), ..served() },
    ] {
        let mut agent = Agent::greeted();
        agent.ask(&AgentRequest::Peer(PeerRequest::Serve(request)));
        assert!(agent.refuses().0.contains("far ends at"));
    }
    // A second round before the first has ended.
    let mut agent = Agent::greeted();
    assert!(matches!(asks(&mut agent, PeerRequest::Serve(served())), PeerAnswer::Serving { .. }));
    agent.ask(&AgentRequest::Peer(PeerRequest::Serve(served())));
    assert!(agent.refuses().0.contains("before the last one had ended"));
}
