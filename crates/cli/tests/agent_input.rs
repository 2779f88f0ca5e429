//! `hostmark agent` as a process, told what no parent says: it answers with a sentence or ends, and leaves nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Stdio};

use hostmark_model::{
    AgentAnswer, AgentRequest, Inputs, JsonLine, Nonce, Params, PathBytes, PeerAnswer, PeerRequest, Profile, RoundLine,
    RunRequest, ServeRequest,
};

use crate::processes::{SOON, processes, within};
use crate::support::{Home, Running, ended, files};

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
fn whoever_says_nothing_more_is_left_in_peace() {
    for input in [
        "",
        "{",
        "{\"hello\"",
        HELLO,
        "{\"hello\":{\"protocol\":3}}\n\"by",
        "{\"hello\":{\"protocol\":3}}\n\"bye\"\n\"stop",
    ] {
        let mut agent = Agent::start();
        agent.send(input);
        agent.input = None;
        assert_eq!(agent.rest().0, Some(0), "{input}");
    }
}

#[test]
fn an_agent_that_nobody_talks_to_ends_in_peace() {
    assert_eq!(ended(Home::new().hostmark(&["agent"]).stdin(Stdio::null())), (0, String::new(), String::new()));
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

const NONCE: Nonce = Nonce::of([7; 16]);

/// Far ends of the round trip.
fn served() -> ServeRequest {
    ServeRequest {
        service: "tcp_echo".into(),
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
