//! Contention found on synthetic counters.

use std::cell::RefCell;

use super::*;

/// A machine of two CPUs whose time goes on as a test says.
#[derive(Default)]
struct Fake(RefCell<Counters>);

#[derive(Default, Clone)]
struct Counters {
    at: Duration,
    busy: [Duration; 2],
    own: Duration,
    /// CPU time of the worker that lives on.
    kept: Duration,
}

impl Meters for Fake {
    fn cpus(&self) -> Option<CpuTimes> {
        let Counters { at, busy, .. } = self.0.borrow().clone();
        let line = |cpu: usize| {
            let (busy, idle) = (busy[cpu].as_millis() / 10, (at - busy[cpu]).as_millis() / 10);
            format!("cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 0 0\n")
        };
        CpuTimes::of(&format!("{}{}", line(0), line(1)), at.as_nanos() as u64)
    }

    fn own_ns(&self) -> Option<u64> {
        Some(self.0.borrow().own.as_nanos() as u64)
    }

    fn other_ns(&self, pid: u32) -> Option<u64> {
        (pid == 7).then(|| self.0.borrow().kept.as_nanos() as u64)
    }
}

impl Wall for Fake {
    fn elapsed(&self) -> Duration {
        self.at()
    }
}

impl Fake {
    /// Advances by `ms`: `busy_ms` used by anyone on each CPU, and `own_ms` by this run's processes on any.
    fn pass(&self, ms: u64, busy_ms: [u64; 2], own_ms: u64) {
        let mut counters = self.0.borrow_mut();
        counters.at += Duration::from_millis(ms);
        counters.own += Duration::from_millis(own_ms);
        for (busy, ms) in counters.busy.iter_mut().zip(busy_ms) {
            *busy += Duration::from_millis(ms);
        }
    }

    fn at(&self) -> Duration {
        self.0.borrow().at
    }
}

/// The CPUs of a round, what anyone used of each CPU, and what was its own.
type Round = (&'static [usize], [u64; 2], u64);

/// Rounds of 250 ms of the cases 0, 1, 2 …
fn judged(rounds: &[Round]) -> Vec<Judged> {
    let fake = Fake::default();
    let mut blocks = Blocks::new(&fake);
    let mut judged = Vec::new();
    for (case, &(cpus, busy_ms, own_ms)) in rounds.iter().enumerate() {
        blocks.begin(fake.at());
        fake.pass(250, busy_ms, own_ms);
        judged.extend(blocks.end(fake.at(), vec![(case, 3)], cpus));
    }
    judged.extend(blocks.rest());
    judged
}

fn shares(judged: &[Judged]) -> Vec<(usize, f64)> {
    judged.iter().map(|(case, _, others)| (*case, (others.share * 1e3).round() / 1e3)).collect()
}

#[test]
fn what_others_used_while_something_ran_is_known_unless_that_was_too_short() {
    let fake = Fake::default();
    let during = |ms: u64| others_during(&fake, &fake, 1, || fake.pass(ms, [0, ms * 7 / 10], ms * 4 / 10)).1;
    assert!(during(1000).is_some_and(|others| (others.share - 0.3).abs() < 0.001), "{:?}", during(1000));
    assert_eq!(during(100), None);
}

#[test]
fn what_neither_ours_nor_idle_used_is_that_of_others_for_every_round_of_the_block() {
    let found = judged(&[(&[1, 1][..], [0, 250], 125); 4]);
    assert_eq!(shares(&found), [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5)]);
    assert!(found.iter().all(|(_, place, others)| *place == 3 && others.error < 0.05), "{found:?}");
    // Alone on the machine, busy or not.
    assert!(shares(&judged(&[(&[1][..], [0, 250], 250); 4])).iter().all(|(_, share)| *share == 0.0));
    assert!(shares(&judged(&[(&[1][..], [0, 40], 40); 4])).iter().all(|(_, share)| *share == 0.0));
}

#[test]
fn a_cpu_that_the_case_does_not_use_is_none_of_its_business() {
    let found = judged(&[
        (&[1], [250, 100], 100),
        (&[0, 1], [250, 100], 100),
        (&[1], [250, 100], 100),
        (&[1], [250, 100], 100),
    ]);
    let of_pair = found[1].2;
    assert!(of_pair.share > 0.8 && found[0].2.share == 0.0, "{found:?}");
}

#[test]
fn what_one_cpu_cannot_have_held_was_ours_on_another_one() {
    // A thread of the kernel that spins for the case on CPU 0; and a pair that keeps both CPUs busy.
    let polled = judged(&[
        (&[1], [250, 250], 500),
        (&[0, 1], [250, 250], 500),
        (&[1], [250, 250], 500),
        (&[0], [250, 250], 500),
    ]);
    assert!(shares(&polled).iter().all(|(_, share)| *share == 0.0), "{polled:?}");
    // What runs before it is bound may have run here: that is in the error and not in the share.
    let elsewhere =
        judged(&[(&[1], [5, 245], 250), (&[1], [5, 245], 250), (&[1], [5, 245], 250), (&[0, 1], [5, 245], 250)]);
    let others = elsewhere[3].2;
    assert!(others.share - others.error <= 0.0, "{others:?}");
}

#[test]
fn what_is_left_of_a_run_is_judged_with_the_block_before_and_a_very_short_run_not_at_all() {
    let mut rounds: Vec<Round> = vec![(&[1], [0, 250], 250); 4];
    rounds.push((&[1], [0, 250], 0));
    assert_eq!(shares(&judged(&rounds)), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 0.2)]);
    assert_eq!(shares(&judged(&[(&[1][..], [0, 250], 0); 2])), [(0, 1.0), (1, 1.0)]);
    assert!(judged(&[(&[1], [0, 250], 0)]).is_empty());
}

#[test]
fn time_between_rounds_is_ours_wherever_it_was_spent() {
    let fake = Fake::default();
    let mut blocks = Blocks::new(&fake);
    let mut found = Vec::new();
    for case in 0..4 {
        blocks.begin(fake.at());
        fake.pass(200, [0, 200], 200);
        found.extend(blocks.end(fake.at(), vec![(case, 0)], &[1]));
        fake.pass(100, [0, 100], 100);
    }
    assert!(found.len() == 4 && found.iter().all(|(.., others)| others.share == 0.0), "{found:?}");
}

#[test]
fn what_a_worker_that_is_kept_used_is_ours_until_it_ends_and_afterwards() {
    let fake = Fake::default();
    let mut blocks = Blocks::new(&fake);
    let mut found = Vec::new();
    for case in 0..8 {
        if case == 6 {
            let mut counters = fake.0.borrow_mut();
            let kept = std::mem::take(&mut counters.kept);
            counters.own += kept;
            blocks.keep(None);
        }
        blocks.begin(fake.at());
        let is_kept = case < 6;
        fake.pass(250, [0, 250], if is_kept { 0 } else { 250 });
        if is_kept {
            fake.0.borrow_mut().kept += Duration::from_millis(250);
            blocks.keep(Some(7));
        }
        found.extend(blocks.end(fake.at(), vec![(case, 0)], &[1]));
    }
    assert!(found.len() == 8 && found.iter().all(|(.., others)| others.share == 0.0), "{found:?}");
    // One of which the kernel tells nothing is no other's, and not ours either.
    blocks.keep(Some(8));
    blocks.begin(fake.at());
    fake.pass(2000, [0, 2000], 0);
    assert!(blocks.end(fake.at(), vec![(9, 0)], &[1]).is_empty());
}

#[test]
fn a_round_is_disturbed_when_it_waited_for_what_others_used() {
    let used = |share: f64, error: f64| Some(Others { share, error });
    assert!(is_contended(&[1, 1], used(0.5, 0.1), Some(0.3)));
    assert!(!is_contended(&[1, 1], used(0.14, 0.1), Some(0.3)), "explained by the error");
    assert!(!is_contended(&[1], used(0.5, 0.1), Some(0.001)), "others ran while it slept");
    assert!(is_contended(&[0, 1], used(0.5, 0.1), Some(0.001)), "its other thread may have waited");
    assert!(is_contended(&[1], used(0.5, 0.1), None) && !is_contended(&[1], None, Some(0.5)));
}
