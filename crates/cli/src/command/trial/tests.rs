//! Tests of the turns, with a party that measures nothing, on a clock that it moves.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Error;

use super::*;

const TAKES: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Clock(Cell<Duration>);

impl Wall for Clock {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}

#[derive(Default)]
struct Shown(Vec<String>);

impl Observer for Shown {
    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration) {
        self.0.push(format!("{case}: {done}/{all}, {} s", left.as_secs()));
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    IsAsked,
    Stops,
    Fails,
    IsUnprepared,
    StaysChanged,
    FailsAndStaysChanged,
}

#[derive(Default)]
struct Mock {
    clock: Rc<Clock>,
    done: Vec<String>,
    /// Sides and seeds, in order.
    taken: Vec<(usize, u32)>,
    /// The turn that has trouble.
    trouble: Option<(usize, Trouble)>,
    signal: Arc<AtomicUsize>,
    /// Resolved at this many rounds.
    resolved_at: Option<usize>,
    looks: Vec<usize>,
}

impl Mock {
    fn has(&self, turn: usize, any: &[Trouble]) -> bool {
        self.trouble.is_some_and(|(at, trouble)| at == turn && any.contains(&trouble))
    }
}

impl TakesTurns for Mock {
    type Run = u32;

    fn prepare(&mut self, turn: &Turn) -> Result<()> {
        self.done.push(format!("prepare {}", turn.side));
        if self.has(turn.done, &[Trouble::IsUnprepared]) {
            return Err(Error::msg("unprepared"));
        }
        Ok(())
    }

    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, u32)>> {
        self.done.push(format!("measure {}", turn.side));
        observer.round("case", 3, 7, TAKES);
        self.clock.0.set(self.clock.elapsed() + TAKES);
        self.taken.push((turn.side, turn.seed));
        if self.has(turn.done, &[Trouble::IsAsked, Trouble::Stops]) {
            self.signal.store(15, Ordering::Relaxed);
        }
        if self.has(turn.done, &[Trouble::Fails, Trouble::FailsAndStaysChanged]) {
            return Err(Error::msg("failed"));
        }
        let is_whole = !self.has(turn.done, &[Trouble::Stops]);
        Ok(is_whole.then(|| (format!("{} {}", turn.side, turn.round), turn.round)))
    }

    fn put_back(&mut self) -> Result<()> {
        self.done.push("put back".into());
        if self.has(self.taken.len() - 1, &[Trouble::StaysChanged, Trouble::FailsAndStaysChanged]) {
            return Err(Error::msg("changed by others"));
        }
        Ok(())
    }

    fn is_resolved(&mut self, runs: &[Vec<u32>]) -> bool {
        self.looks.push(runs[0].len());
        self.resolved_at == Some(runs[0].len())
    }
}

fn taken(mock: &mut Mock, sides: usize, rounds: Rounds, seed: u64) -> (Result<Taken<u32>>, Shown) {
    let stop = StopRequest::mock(&mock.signal).unwrap();
    let side = |side: usize| Side { label: ["a", "b", "c"][side].into(), place: ["here", "", ""][side].into() };
    let sides = (0..sides).map(side).collect();
    let trial = Trial { sides, rounds, seed: Some(seed), limit: TAKES, keep: None, stop: &stop };
    let (mut shown, clock) = (Shown::default(), Rc::clone(&mock.clock));
    (trial.turns(seed, mock, &*clock, &mut shown), shown)
}

#[test]
fn each_round_has_every_side_once_in_any_order_and_with_one_seed() {
    let mut mock = Mock::default();
    let all = taken(&mut mock, 3, Rounds::Fixed(40), 1).0.unwrap();
    assert_eq!(all.runs, vec![(0..40).collect::<Vec<u32>>(); 3]);
    assert_eq!(all.stopped, None);
    let mut orders = BTreeSet::new();
    let mut seeds = BTreeSet::new();
    for round in mock.taken.chunks(3) {
        assert_eq!(round.iter().map(|(side, _)| side).collect::<BTreeSet<_>>().len(), 3, "{round:?}");
        assert!(round.iter().all(|(_, seed)| *seed == round[0].1), "{round:?}");
        orders.insert(round.iter().map(|(side, _)| *side).collect::<Vec<_>>());
        seeds.insert(round[0].1);
    }
    assert_eq!((orders.len(), seeds.len()), (6, 40), "every order occurs, and no seed twice");
    let order = |sides, seed| {
        let mut mock = Mock::default();
        taken(&mut mock, sides, Rounds::Fixed(40), seed).0.unwrap();
        mock.taken
    };
    assert_eq!(order(3, 1), mock.taken, "the seed settles it");
    assert_ne!(order(3, 2), mock.taken);
    let first: BTreeSet<usize> = order(2, 1).chunks(2).map(|round| round[0].0).collect();
    assert_eq!(first.len(), 2, "both orders of two sides occur");
}

#[test]
fn rounds_end_when_a_look_resolves_all_at_the_last_look_or_when_there_is_no_time_for_another() {
    let of = |resolved_at, minutes: u64| {
        let mut mock = Mock { resolved_at, ..Mock::default() };
        let at_most = Duration::from_secs(60 * minutes);
        let all = taken(&mut mock, 2, Rounds::Until { looks: &[2, 4, 8], at_most }, 1).0.unwrap();
        assert_eq!(all.runs[0].len(), all.runs[1].len());
        (all.runs[0].len(), mock.looks)
    };
    assert_eq!(of(Some(4), 60), (4, vec![2, 4]));
    assert_eq!(of(Some(3), 60), (8, vec![2, 4, 8]), "3 is no look");
    // Each round takes 20 s: the fourth would end after 80 s.
    assert_eq!(of(None, 1), (3, vec![2]));
    assert_eq!(of(None, 0).0, 1, "the first round is taken whatever the time");
    let mut mock = Mock { resolved_at: Some(2), ..Mock::default() };
    assert_eq!(taken(&mut mock, 2, Rounds::Fixed(3), 1).0.unwrap().runs[1].len(), 3);
    assert!(mock.looks.is_empty(), "a fixed number has no looks");
}

#[test]
fn a_request_to_stop_begins_no_further_turn_and_a_turn_that_it_cut_short_is_none() {
    for (trouble, whole) in [(Trouble::IsAsked, 4), (Trouble::Stops, 3)] {
        let mut mock = Mock { trouble: Some((3, trouble)), ..Mock::default() };
        let all = taken(&mut mock, 2, Rounds::Fixed(5), 1).0.unwrap();
        assert_eq!(all.runs.iter().map(Vec::len).sum::<usize>(), whole);
        assert_eq!(all.stopped, Some(15));
        assert_eq!((mock.taken.len(), mock.done.len()), (4, 12), "{:?}", mock.done);
        assert_eq!(mock.done[11], "put back");
    }
    // Asked during the last turn, it finds all measured.
    let mut mock = Mock { trouble: Some((3, Trouble::IsAsked)), ..Mock::default() };
    assert_eq!(taken(&mut mock, 2, Rounds::Fixed(2), 1).0.unwrap().stopped, None);
}

#[test]
fn whatever_fails_is_put_back_and_what_could_not_be_is_reported_first() {
    let cases = [
        (Trouble::Fails, "failed", 3),
        (Trouble::IsUnprepared, "unprepared", 2),
        (Trouble::StaysChanged, "changed by others", 3),
        (Trouble::FailsAndStaysChanged, "changed by others", 3),
    ];
    for (trouble, error, steps) in cases {
        let mut mock = Mock { trouble: Some((1, trouble)), ..Mock::default() };
        let found = taken(&mut mock, 2, Rounds::Fixed(5), 1).0.err().unwrap();
        assert_eq!(found.to_string(), error);
        assert_eq!(mock.done.len(), 3 + steps, "{error}: {:?}", mock.done);
        assert_eq!(mock.done.last().unwrap(), "put back", "{error}");
    }
}

#[test]
fn progress_counts_turns_and_expects_the_rest_to_take_as_long_as_those_before() {
    let shown = taken(&mut Mock::default(), 2, Rounds::Fixed(2), 1).1.0;
    let turns: Vec<&str> = shown.iter().map(|line| line.split_once(": ").unwrap().1).collect();
    // Before each turn the turns that are left; within it what its run says and the turns after it.
    let before = ["0/4, 40 s", "1/4, 30 s", "2/4, 20 s", "3/4, 10 s"];
    assert_eq!(turns, before.into_iter().flat_map(|line| [line, line]).collect::<Vec<_>>());
    for (at, side) in [("a 1/2 here", "a 1/2 case"), ("b 2/2", "b 2/2 case")] {
        let at = shown.iter().position(|line| line.starts_with(&format!("{at}:"))).unwrap();
        assert!(shown[at + 1].starts_with(side), "{shown:?}");
    }
    let looks = taken(&mut Mock::default(), 2, Rounds::Until { looks: &[1, 3], at_most: TAKES * 9 }, 1).1.0;
    let all: Vec<&str> = looks.iter().map(|line| line.split(['/', ',']).nth(2).unwrap()).collect();
    assert_eq!(all, ["2", "2", "2", "2", "6", "6", "6", "6", "6", "6", "6", "6"], "{looks:?}");
}

#[test]
fn runs_are_kept_as_they_end_and_those_of_an_earlier_trial_stay() {
    let at = tempfile::tempdir().unwrap();
    let directory = at.path().join("new/kept");
    let mut mock = Mock { trouble: Some((3, Trouble::Fails)), ..Mock::default() };
    let stop = StopRequest::mock(&mock.signal).unwrap();
    let sides = || ["x", "y"].map(|label| Side { label: label.into(), place: String::new() }).into();
    let trial = |keep| Trial { sides: sides(), rounds: Rounds::Fixed(2), seed: None, limit: TAKES, keep, stop: &stop };
    assert!(trial(Some(&directory)).run(&mut mock).is_err());
    let (last, _) = mock.taken[3];
    let kept = |side: usize, round: u32| {
        std::fs::read_to_string(directory.join(stem(["x", "y"][side], round)).with_extension("json"))
    };
    for (side, round) in [(0, 0), (1, 0), (1 - last, 1)] {
        assert_eq!(kept(side, round).unwrap().trim(), format!("{side} {round}"));
    }
    assert!(kept(last, 1).is_err());
    let mut mock = Mock::default();
    let error = trial(Some(&directory)).run(&mut mock).err().unwrap().to_string();
    assert!(error.contains("holds runs of an earlier trial") && mock.done.is_empty(), "{error}");
    assert_eq!(trial(None).run(&mut mock).unwrap().runs, [[0, 1], [0, 1]], "nothing is kept where nobody asks for it");
}
