//! Weeks of which it is known what happened: that is told, and nothing else.

use super::made_up::{EVERY_S, MadeUpWeek, TURNS_OF_HOUR};
use super::*;

fn is_within_a_turn(one: &str, turn: usize) -> bool {
    let of = |turn: usize| Timestamp::parse("2026-11-02T00:00:00Z").unwrap().seconds() + (turn as u64 * EVERY_S) as i64;
    (Timestamp::parse(one).unwrap().seconds() - of(turn)).unsigned_abs() <= EVERY_S
}

#[test]
fn a_week_with_credits_a_neighbour_and_a_new_kernel_is_told_as_such() {
    let (credits, kernel) = (3 * TURNS_OF_HOUR, 600);
    for seed in 0..5 {
        let week = MadeUpWeek { seed, credits: Some(credits), neighbour: true, kernel: Some(kernel) };
        let found = over_time(week.turns()).unwrap();
        let groups = |subjects: &mut dyn Iterator<Item = &Subject>| {
            let mut groups: Vec<String> = subjects.map(|one| one.key.split('.').next().unwrap().to_owned()).collect();
            groups.sort();
            groups.dedup_by(|one, other| one == other);
            groups
        };
        let [burst] = &found.bursts[..] else { panic!("seed {seed}: {:?}", found.bursts) };
        assert_eq!(groups(&mut burst.subjects.iter().map(|(subject, _)| subject)), ["cpu"]);
        assert!((burst.fast_s - (credits as u64 * EVERY_S) as f64).abs() <= EVERY_S as f64, "{burst:?}");
        assert!(burst.subjects.iter().all(|(_, times)| (2.3..2.7).contains(times)), "{burst:?}");
        assert_eq!(burst.together.iter().map(|one| one.cause).collect::<Vec<_>>(), [Cause::Steal]);
        let [change] = &found.changes[..] else { panic!("seed {seed}: {:?}", found.changes) };
        assert!(is_within_a_turn(&change.since, kernel), "{}", change.since);
        assert_eq!(groups(&mut change.subjects.iter().map(|one| &one.subject)), ["syscall"]);
        assert!(change.subjects.iter().all(|one| (0.8..0.87).contains(&one.times)), "{change:?}");
        assert_eq!(change.facts[0].to, "6.12.9");
        let nights: Vec<&Episode> = found.episodes.iter().collect();
        assert_eq!(nights.len(), 7, "seed {seed}: {:?}", nights.iter().map(|one| one.place).collect::<Vec<_>>());
        for (day, night) in nights.iter().enumerate() {
            assert!(is_within_a_turn(&night.from, (24 * day + 2) * TURNS_OF_HOUR), "{night:?}");
            assert!(is_within_a_turn(&night.to, (24 * day + 4) * TURNS_OF_HOUR), "{night:?}");
            // What jumps to and fro by itself may be slow for as long.
            let is_steady = |one: &&Subject| !one.key.starts_with("twofold");
            assert_eq!(groups(&mut night.subjects.iter().map(|one| &one.subject).filter(is_steady)), ["memory"]);
            let causes: Vec<Cause> = night.together.iter().map(|one| one.cause).collect();
            assert_eq!(causes, [Cause::CoreShared, Cause::LastCache]);
        }
        let [nightly] = &found.nightly[..] else { panic!("{:?}", found.nightly) };
        assert!(nightly.days == 7 && (nightly.begins_s - 7200.0).abs() <= EVERY_S as f64, "{nightly:?}");
        assert_eq!(found.steadiness, Steadiness::Unsteady);
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn quiet_weeks_have_no_episode_but_five_of_a_hundred() {
    let what = |seed: u64| {
        let found = over_time(MadeUpWeek { seed: 1000 + seed, ..MadeUpWeek::default() }.turns()).unwrap();
        let is_any = !(found.episodes.is_empty() && found.changes.is_empty() && found.bursts.is_empty());
        let places: Vec<(usize, usize)> = found.episodes.iter().map(|one| one.place).collect();
        is_any.then(|| format!("{seed}: {places:?}, {} changes, {} bursts", found.changes.len(), found.bursts.len()))
    };
    let told: Vec<String> = (0..100).filter_map(what).collect();
    assert!(told.len() <= 5, "{told:#?}");
}

#[test]
fn few_turns_say_nothing_and_a_short_watch_finds_its_burner() {
    let mut turns = MadeUpWeek::default().turns();
    assert!(over_time(turns[..LEAST_TURNS - 1].to_vec()).is_none());
    // Three hours, of which two turns are half as fast.
    turns.truncate(18);
    for turn in &mut turns[8..10] {
        turn.values.iter_mut().for_each(|(_, value)| *value *= 2.0);
        turn.company.others = Some(0.5);
    }
    let found = over_time(turns).unwrap();
    let [episode] = &found.episodes[..] else { panic!("{:?}", found.episodes) };
    assert!(episode.turns == 2 && is_within_a_turn(&episode.from, 8), "{episode:?}");
    assert_eq!(episode.together.iter().map(|one| one.cause).collect::<Vec<_>>(), [Cause::Others]);
}

#[test]
fn two_weeks_are_the_same_until_one_is_of_a_slower_machine() {
    let week = |seed| MadeUpWeek { seed, ..MadeUpWeek::default() }.turns();
    let mut wrong = 0;
    for seed in 0..20 {
        let found = compared(week(seed), week(100 + seed)).unwrap();
        assert!(found.by_hour && found.blocks == 24);
        let is_wrong = |one: &&ComparedSubject| matches!(one.verdict, SeriesVerdict::Slower | SeriesVerdict::Faster);
        wrong += usize::from(found.subjects.iter().any(|one| is_wrong(&one)));
    }
    assert!(wrong <= 1, "{wrong} of 20");
    // The second has a neighbour for two hours a night, whom the other hours do not hide, and slower system calls.
    let new = MadeUpWeek { seed: 200, kernel: Some(0), neighbour: true, ..MadeUpWeek::default() };
    let found = compared(week(1), new.turns()).unwrap();
    for one in &found.subjects {
        let is_slower = one.subject.key.starts_with("syscall");
        assert_eq!(one.verdict == SeriesVerdict::Slower, is_slower, "{one:?}");
        assert!(!is_slower || (one.change + 1.0 / 6.0).abs() < 0.02, "{one:?}");
    }
    // Three hours at different times of day are held together by their parts.
    let found = compared(week(1)[..18].to_vec(), new.turns()[60..78].to_vec()).unwrap();
    assert!(!found.by_hour && found.blocks == 8);
}
