//! Far ends that follow a script: what is made of what they say.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use hostmark_launch::WorkerLink;

use super::*;
use crate::fixture::{BETWEEN, PLAIN};
use crate::mock::MockWall;
use crate::probe::{Axis, Points, Probe};
const LISTED: Points = Points::quick(&[]);
static PLACED: Probe =
    Probe { axes: &[Axis::placements("cpus", "same_cpu", LISTED), Axis::threads("streams", LISTED)], ..BETWEEN };
static SHARED: Probe = Probe { axes: &[Axis::threads("streams", LISTED).sharing_cpus(2)], ..BETWEEN };
static COPIED: Probe = Probe { axes: &[Axis::copies(hostmark_model::Profile::Quick)], ..BETWEEN };

/// Far end with scripted events, and then the answer that there are no more.
struct Scripted {
    script: VecDeque<Received>,
    calls: Rc<RefCell<Vec<&'static str>>>,
}

impl WorkerLink for Scripted {
    fn receive(&mut self, _: Duration) -> Received {
        self.script.pop_front().unwrap_or(Received::TimedOut)
    }

    fn is_starved(&mut self, _: Duration) -> bool {
        false
    }

    fn end(&mut self) {
        self.calls.borrow_mut().push("end");
    }
}

impl ServiceLink for Scripted {
    fn close_stdin(&mut self) {
        self.calls.borrow_mut().push("no more");
    }
}

fn line(event: &Event) -> Received {
    Received::Line(serde_json::to_string(event).unwrap())
}

fn listening() -> Received {
    line(&Event::Listening { address: "[::1]:7".parse().unwrap() })
}

/// Starts one that says this.
fn started(script: &[Received], calls: &Rc<RefCell<Vec<&'static str>>>) -> Result<FarEnds, Missing> {
    let open = |job: &ServiceJob| -> io::Result<Box<dyn ServiceLink>> {
        assert_eq!((job.service.as_str(), job.at.as_slice(), job.memory_bytes), ("nobody", &LOOPBACK[..], 10));
        Ok(Box::new(Scripted { script: script.iter().cloned().collect(), calls: calls.clone() }))
    };
    let scratch = Scratch::Missing(ReasonCode::MissingFile.because("no"));
    let wanted = FarRequest {
        service: "nobody",
        params: &Params::default(),
        cpus: vec![vec![1]],
        at: &LOOPBACK,
        memory_bytes: 10,
        setup_ns: 0,
        scratch: &scratch,
        folder: "round-0",
        nonces: &[],
    };
    let wall = MockWall::default();
    let waiting = Waiting { wall: &wall, patience: Duration::from_secs(5), limit: Duration::from_secs(60) };
    FarEnds::start(&open, &wanted, waiting)
}

/// The events of a round that ended so, opposite a far end that says this after it listens.
fn finished(last: Event, says: Received) -> Vec<Event> {
    let calls = Rc::default();
    let far = started(&[listening(), says], &calls).ok().unwrap();
    assert_eq!(far.ends()[0].address, "[::1]:7".parse().unwrap());
    let mut events = vec![last];
    far.finish(&mut events);
    assert_eq!(*calls.borrow(), ["no more", "end"]);
    events
}

fn failed(code: ReasonCode, text: &str) -> Event {
    Event::Failed { reason: code.because(text) }
}

fn done() -> Event {
    Event::Done { noise: Default::default() }
}

#[test]
fn what_a_far_end_has_used_joins_the_round() {
    let no = || failed(ReasonCode::CheckFailed, "no");
    let served = Event::Served(FarUsage { cpu_ns: 5, ..FarUsage::default() });
    assert_eq!(finished(done(), line(&served)), [served.clone(), done()]);
    assert_eq!(finished(no(), line(&served)), [served, no()]);
    // It says nothing of itself: the round stands.
    assert_eq!(finished(done(), Received::TimedOut), [done()]);
}

#[test]
fn a_far_end_that_failed_is_why_the_round_did() {
    let code = ReasonCode::Permission;
    let says = || line(&failed(code, "accept4: no"));
    let calls = "another process of the case ended: accept4: no";
    assert_eq!(finished(done(), says()), [failed(code, calls)]);
    assert_eq!(
        finished(failed(ReasonCode::ConnectionLost, "it is gone"), says()),
        [failed(code, &format!("{calls} (it is gone)"))]
    );
    let killed = Received::Ended("was ended by signal 9".into());
    assert_eq!(finished(done(), killed), [failed(ReasonCode::ProcessDied, "the far end was ended by signal 9")]);
}

#[test]
fn one_that_does_not_listen_costs_the_round() {
    let missing = |script: &[Received]| {
        let calls = Rc::default();
        let missing = started(script, &calls).err().unwrap();
        assert_eq!(*calls.borrow(), ["end"]);
        missing
    };
    let failed = |code: ReasonCode, text: &str| Missing::Round(RoundError::failed(code, text));
    let skipped = RoundError::skipped(ReasonCode::NoPeer, "no address");
    assert_eq!(missing(&[line(&skipped.clone().into())]), Missing::Round(skipped));
    assert_eq!(missing(&[Received::Ended("died".into())]), failed(ReasonCode::ProcessDied, "the far end died"));
    assert_eq!(missing(&[]), failed(ReasonCode::TimedOut, "the far end did not listen within 5 s"));
    assert_eq!(missing(&[Received::Interrupted]), Missing::Interrupted);
    let other = failed(ReasonCode::Protocol, "the far end wrote what none says before it listens");
    assert_eq!(missing(&[Received::Line("?".into())]), other);
    assert_eq!(missing(&[line(&done())]), other);
}

#[test]
fn there_is_a_far_end_for_each_copy_and_each_stream() {
    let cpus = |probe: &'static Probe, id: &str| {
        cpus_of(&Entry { group: "net", name: "any", shares_worker: false, probe }, &id.parse().unwrap(), &[3, 5, 6])
    };
    assert_eq!(cpus(&PLACED, "net.any@cpus=same_cache,streams=1"), [vec![6]]);
    assert_eq!(cpus(&PLACED, "net.any@cpus=free,streams=1"), [vec![3, 5, 6]]);
    assert_eq!(cpus(&PLACED, "net.any@cpus=same_cache,streams=2"), [vec![3], vec![5]]);
    let shared = cpus(&SHARED, "net.any@streams=5");
    assert_eq!(shared, [vec![3], vec![5], vec![6], vec![3], vec![5]]);
    assert_eq!(cpus(&SHARED, "net.any@streams=1000000").len(), 6);
    assert_eq!(cpus(&PLACED, "net.any@cpus=same_cache,streams=5").len(), 3);
    assert_eq!(cpus(&COPIED, "net.any@copies=3"), [vec![3], vec![5], vec![6]]);
    assert!(cpus(&PLAIN, "net.any").is_empty());
}
