//! Tests with arbitrary lines of a far host.

use hostmark_analysis::constants;
use hostmark_engine::plan::TableCell;
use hostmark_launch::agent::parse;
use hostmark_model::{CaseRecord, Event, Exit, JsonLine, Outcome, PathBytes, ProbeInfo, Profile, ReasonCode};

use super::*;
use crate::command::garbled::garbled;
use crate::command::measure::MeasuredMachine;
use crate::command::measure::ready::Ready;
use crate::command::mutated::{Mutator, trials};
use crate::progress::constants_of;
use crate::world::SinceStart;

#[derive(Default)]
struct Nowhere(usize);

impl Keeper for Nowhere {
    fn begins(&mut self, run: &mut Run, planned: &PlanLine, elsewhere: Elsewhere) -> Result<()> {
        assert!(!planned.cases.is_empty() || run.cases.is_empty());
        assert_eq!(elsewhere.place, [PathBytes(b"there".to_vec())]);
        run.name = "ours".into();
        Ok(())
    }

    fn round(&mut self, _: &RoundLine) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// Record of the values that a person sees, of probes that were named before.
#[derive(Default)]
struct RecordingObserver {
    probes: usize,
    values: Vec<(String, f64)>,
}

impl Observer for RecordingObserver {
    fn begins(&mut self, probes: &[ProbeInfo], _: &[CaseId]) {
        self.probes = probes.len();
    }

    fn value(&mut self, case: &CaseId, value: f64) {
        assert!(self.probes > 0);
        self.values.push((case.to_string(), value));
    }

    fn round(&mut self, case: &str, _: usize, _: usize, _: Duration) {
        assert!(!case.chars().any(hostmark_analysis::escape::steers) && case.len() < 20 * LONGEST_CASE);
    }
}

fn request() -> RunRequest {
    let (filters, inputs) = (vec!["clock".to_owned()], hostmark_model::Inputs::default());
    RunRequest { filters, profile: Profile::Quick, seed: Some(7), inputs, ..RunRequest::default() }
}

/// Lines of an agent from its plan to its run.
fn lines() -> Vec<String> {
    let machine = MeasuredMachine::local(Some("hostmark".into()), &[]).unwrap();
    let ready = Ready::fresh(&request(), hostmark_host::read_here(), &machine, &SinceStart::now()).unwrap();
    let cases: Vec<String> = ready.plan.cases.iter().map(|case| case.id.to_string()).collect();
    let round = |round| RoundLine {
        case: cases[0].clone(),
        round,
        cpus: vec![0],
        until_ns: 7,
        spent_ns: 5,
        granted_ns: 3,
        events: vec![Event::Failed { reason: ReasonCode::CheckFailed.because("r") }],
    };
    let record = CaseRecord {
        id: cases[0].clone(),
        probe: "clock.loop".into(),
        params: Default::default(),
        outcome: Outcome::Failed { reason: ReasonCode::CheckFailed.because("r") },
    };
    let whole = Run { cases: vec![record], ..ready.run.clone() };
    let step = AgentAnswer::Step { case: cases[0].clone(), done: 0, all: 9, left_ms: 1 };
    let answers = [
        AgentAnswer::Plan { run: Box::new(ready.run), cases: cases.clone() },
        step,
        AgentAnswer::Round(round(0)),
        AgentAnswer::Value { case: cases[0].clone(), value: 1.5 },
        AgentAnswer::Round(round(1)),
        AgentAnswer::Run(Box::new(whole)),
    ];
    answers.iter().map(|answer| answer.to_line().unwrap()).collect()
}

/// Result of these lines: the number of rounds kept, and the run.
fn received(lines: &[String]) -> (usize, Result<Option<Run>>) {
    received_by(&mut RecordingObserver::default(), lines)
}

/// The same, where somebody watches.
fn received_by(shown: &mut RecordingObserver, lines: &[String]) -> (usize, Result<Option<Run>>) {
    let place = Target::of(vec!["there".into()], "there".to_owned(), None);
    let mut keeper = Nowhere::default();
    let (wanted, rounds) = (Wanted::of(&request()), HashSet::new());
    let mut remote = RemoteRun { place: &place, keeper: &mut keeper, wanted, planned: None, rounds, sink_lost: None };
    let mut come = Ok(None);
    for line in lines {
        let Ok(answer) = parse(line) else { break };
        come = remote.take(answer, "00", shown);
        if !matches!(come, Ok(None)) {
            break;
        }
    }
    (keeper.0, come)
}

#[test]
fn a_run_is_followed_from_its_plan_to_its_end() {
    let (rounds, run) = received(&lines());
    assert_eq!((rounds, run.unwrap().unwrap().name.as_str()), (2, "ours"));
}

#[test]
fn constants_are_shown_as_they_become_known() {
    let mut shown = RecordingObserver::default();
    assert!(received_by(&mut shown, &lines()).1.unwrap().is_some());
    assert!(matches!(&shown.values[..], [(case, 1.5)] if case.starts_with("clock.")), "{:?}", shown.values);
}

#[test]
fn what_is_watched_are_cases_of_the_plan() {
    let machine = MeasuredMachine::local(Some("hostmark".into()), &[]).unwrap();
    let everything = RunRequest { filters: Vec::new(), ..request() };
    let plan = Ready::fresh(&everything, hostmark_host::read_here(), &machine, &SinceStart::now()).unwrap().plan;
    let watched: Vec<CaseId> = constants_of(&plan.probes()).into_iter().map(|one| one.case).collect();
    let cells = constants::cases().filter(|of| of.name.is_some()).map(|of| TableCell { probe: of.probe, at: of.at });
    let planned: Vec<&CaseId> = cells.filter_map(|cell| plan.case_at(cell)).map(|case| &case.id).collect();
    assert!(planned.len() > 8, "{planned:?}");
    assert!(planned.iter().all(|case| watched.contains(case)), "{planned:?} {watched:?}");
}

#[test]
fn what_was_not_asked_for_or_comes_twice_is_refused() {
    let lines = lines();
    let [plan, step, round, value, _, run] = &lines[..] else { panic!() };
    let of = |said: &[&String]| received(&said.iter().map(|line| (*line).clone()).collect::<Vec<_>>());
    let refused = |said: &[&String]| {
        let error = of(said).1.unwrap_err();
        assert_eq!(crate::command::exit_of(&error), Exit::ResourceLost);
        assert!(error.to_string().ends_with("said what was not asked for; look at what runs there"), "{error}");
    };
    refused(&[round]);
    refused(&[step]);
    refused(&[value]);
    refused(&[run]);
    refused(&[plan, plan]);
    // A round that comes again and again would fill the disk.
    refused(&[plan, round, round]);
    refused(&[plan, &round.replace("\"case\":\"", "\"case\":\"x")]);
    let other = |from: &str, to: &str| run.replace(from, to);
    for changed in [
        other("\"profile\":\"quick\"", "\"profile\":\"thorough\""),
        other("\"filters\":[\"clock\"]", "\"filters\":[]"),
        other("\"seed\":7", "\"seed\":8"),
        other("hostmark.run/1", "hostmark.run/2"),
        run.replacen("\"id\":\"0", "\"id\":\"f", 1),
    ] {
        assert_ne!(*run, changed);
        refused(&[plan, &changed]);
    }
    // What it says of itself chooses neither how it is shown nor what it goes on with.
    refused(&[&plan.replacen("\"settings\":{", "\"settings\":{\"table\":\"pipe\",", 1).replacen(
        "\"table\":null,",
        "",
        1,
    )]);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_an_agent_says_is_taken_or_refused() {
    let lines = lines();
    let mut draw = Mutator::new(0xfa6);
    let (mut tried, mut taken, mut whole) = (0, 0, 0);
    while tried < trials(2000) {
        let said: Vec<String> = lines
            .iter()
            // Most lines of a session stay as they are, so that many a session comes to its end.
            .map(|line| match draw.below(6) {
                0 => {
                    tried += 1;
                    String::from_utf8_lossy(&garbled(&mut draw, &lines)).into_owned()
                }
                1 => {
                    tried += 1;
                    String::from_utf8_lossy(&garbled(&mut draw, std::slice::from_ref(line))).into_owned()
                }
                _ => line.clone(),
            })
            .collect();
        let (rounds, run) = received(&said);
        taken += rounds;
        if let Ok(Some(run)) = run {
            assert_eq!(run.name, "ours");
            whole += 1;
        }
    }
    assert!(taken > tried / 100 && whole > tried / 200, "{taken} {whole} of {tried}");
}

#[test]
fn a_machine_is_planned_for_and_shown_whatever_it_says_of_itself() {
    let whole = serde_json::to_value(hostmark_host::read(&hostmark_host::Root::here())).unwrap();
    let mut draw = Mutator::new(0x4057);
    let mut planned = 0;
    for trial in 0..trials(2000) / 20 {
        let mut document = whole.clone();
        draw.document(&mut document);
        let Ok(host) = serde_json::from_value::<hostmark_model::HostFacts>(document.clone()) else { continue };
        let came = std::panic::catch_unwind(|| {
            let report = hostmark_analysis::findings::host::host_report(host.clone(), Default::default());
            hostmark_present::render::host::host(&report, &hostmark_present::RenderOptions::default());
            if crate::command::measure::ready::is_machine(&host) {
                let id = uuid::Uuid::now_v7();
                drop(crate::command::measure::ready::planned(
                    &RunRequest { filters: Vec::new(), ..request() },
                    host,
                    id,
                ));
            }
        });
        assert!(came.is_ok(), "trial {trial}: {document}");
        planned += 1;
    }
    assert!(planned > trials(2000) / 100, "{planned}");
}
