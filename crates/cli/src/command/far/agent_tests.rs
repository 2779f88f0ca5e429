//! An agent that is told anything, and one that nobody hears.

use std::io::Write;
use std::time::Duration;

use hostmark_model::{
    AgentAnswer, Inputs, JsonLine, Nonce, Params, PeerRequest, Profile, ReasonCode, RoundLine, ServeRequest,
};

use super::*;
use crate::command::garbled::garbled;
use crate::command::mutated::{Mutator, trials};

/// An inbox with this in it, and the end behind it.
fn inbox(bytes: &[u8]) -> Inbox {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    Inbox::of(file.into())
}

fn session(bytes: &[u8]) -> AgentSession {
    let (serving, idle) = (Serving::default(), Duration::from_secs(40));
    AgentSession { inbox: Some(inbox(bytes)), greeted: false, served: None, serving, idle }
}

fn request(begun: Option<Box<BegunRun>>) -> RunRequest {
    let (filters, inputs) = (vec!["clock".to_owned()], Inputs { cpus: Some("0".into()), ..Inputs::default() });
    let set = vec!["size=4K".to_owned()];
    RunRequest { filters, profile: Profile::Quick, seed: Some(7), set, table: None, inputs, via: Vec::new(), begun }
}

/// Far ends that a peer is asked for.
fn served() -> ServeRequest {
    ServeRequest {
        service: "echo".into(),
        params: Params(vec![("copies".into(), "1".into())]),
        at: vec![[127, 0, 0, 1].into()],
        nonces: vec![Nonce::of([7; 16])],
        is_bound: true,
        memory_bytes: 1 << 20,
        setup_ns: 1_000_000_000,
        silent_ms: 1,
    }
}

/// Lines of a parent; `last` asks to measure.
fn lines() -> Vec<String> {
    let machine = MeasuredMachine::local(Some(OWN.into()), &[]).unwrap();
    let fresh = RunRequest { set: Vec::new(), ..request(None) };
    let ready = Ready::fresh(&fresh, machine.facts(&fresh.inputs), &machine, &SinceStart::now()).unwrap();
    let cases: Vec<String> = ready.plan.cases.iter().map(|case| case.id.to_string()).collect();
    let round = RoundLine {
        case: cases[0].clone(),
        round: 0,
        cpus: vec![0],
        until_ns: 7,
        spent_ns: 5,
        granted_ns: 3,
        events: vec![hostmark_model::Event::Skipped { reason: ReasonCode::NotApplicable.because("r") }],
    };
    let begun = BegunRun { run: ready.run, cases, rounds: 1 };
    let requests = [
        AgentRequest::Hello { protocol: AGENT_PROTOCOL },
        AgentRequest::Past(round),
        AgentRequest::Acknowledge { lines: 1 },
        AgentRequest::Stop,
        AgentRequest::Kept { run: "last".into() },
        AgentRequest::Idle { ms: 60_000 },
        AgentRequest::Relayed(Err(say!("lost"))),
        AgentRequest::Peer(PeerRequest::Addresses),
        AgentRequest::Peer(PeerRequest::Path { to: [192, 0, 2, 1].into() }),
        AgentRequest::Peer(PeerRequest::Enough),
        AgentRequest::Peer(PeerRequest::Serve(served())),
        AgentRequest::Run(Box::new(request(None))),
        AgentRequest::Run(Box::new(request(Some(Box::new(begun))))),
    ];
    requests.iter().map(|request| request.to_line().unwrap()).collect()
}

/// Hears a session to its end, and plans what is asked for in it, but measures nothing.
fn requests_of(mut session: AgentSession, plans: &mut usize) -> usize {
    let mut taken = 0;
    while let Ok(Next::Request(request)) = session.next_request() {
        taken += 1;
        let AgentRequest::Run(mut request) = request else { continue };
        let begun = request.begun.take();
        let Ok(past) = session.past(begun.as_deref()) else { continue };
        let _ = layers(&request);
        *plans += 1;
        // A plan takes a thousand times as long as a line.
        if !plans.is_multiple_of(50) {
            continue;
        }
        match begun {
            Some(begun) => drop(ready::planned_before(&begun.run)),
            None => drop(ready::planned(&request, hostmark_host::read_here(), uuid::Uuid::now_v7())),
        }
        drop(past);
    }
    taken
}

#[test]
fn whatever_a_session_is_an_agent_reads_or_refuses_it() {
    let lines = lines();
    let mut draw = Mutator::new(0xbadc_0ffe);
    let (mut tried, mut taken, mut plans) = (0, 0, 0);
    while tried < trials(2000) {
        let count = 1 + draw.below(12);
        tried += count;
        let mut said: Vec<u8> = lines[0].clone().into_bytes();
        for _ in 0..count {
            // Some as they are: else no session comes far. Half of those ask to measure, which most of what is read is about.
            match draw.below(6) {
                0 => said.extend(lines[draw.below(lines.len())].bytes()),
                1 => said.extend(lines[lines.len() - 1 - draw.below(2)].bytes()),
                _ => said.extend([garbled(&mut draw, &lines), b"\n".to_vec()].concat()),
            }
        }
        said.truncate(said.len() - draw.below(3));
        taken += requests_of(session(&said), &mut plans);
    }
    assert!(taken > tried / 20 && plans > tried / 200, "{taken} {plans} of {tried}");
}

#[test]
fn a_session_that_ends_at_any_byte_ends_in_peace() {
    let lines = lines();
    let whole = lines[..4].concat();
    for end in 0..whole.len() {
        let taken = requests_of(session(&whole.as_bytes()[..end]), &mut 0);
        assert_eq!(taken, whole[..end].matches('\n').count());
    }
}

#[test]
fn a_line_without_an_end_and_an_input_without_one_are_refused() {
    let error = inbox(&vec![b' '; LONGEST + 2]).next(Duration::from_secs(60)).unwrap_err().to_string();
    assert!(error.contains("a line has no end; start anew"), "{error}");
}

const LONGEST: usize = hostmark_model::LONGEST_AGENT_LINE;

#[test]
fn who_reads_nothing_is_given_up_and_reported_no_more() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut outbox = Outbox::new(write.into(), Duration::from_millis(100)).unwrap();
    let long = AgentAnswer::Wants { peer: "x".repeat(1 << 20), request: PeerRequest::Enough };
    for _ in 0..2 {
        assert_eq!(outbox.say(&long).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    }
    drop(read);
}
