//! Weeks of which it is known what happened: that is told, and nothing else.

use std::time::Duration;

use super::made_up::{EVERY_S, MadeUpWeek, TURNS_OF_HOUR};
use super::*;
use crate::words;

fn is_within_a_turn(one: &str, turn: usize) -> bool {
    let of = |turn: usize| Timestamp::parse("2026-11-02T00:00:00Z").unwrap().seconds() + (turn as u64 * EVERY_S) as i64;
    (Timestamp::parse(one).unwrap().seconds() - of(turn)).unsigned_abs() <= EVERY_S
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
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
    assert_eq!(found.course, Some(Course { part_s: EVERY_S as f64, parts: 18 }));
    let is_slow = |lost: &Option<f64>| lost.is_some_and(|lost| lost > 0.4);
    for one in found.subjects.iter().filter(|one| one.subject.key.starts_with("cpu")) {
        let slow: Vec<usize> = (0..18).filter(|part| is_slow(&one.course[*part])).collect();
        assert_eq!(slow, [8, 9], "{one:?}");
    }
}

#[test]
fn a_program_that_stays_and_a_link_that_is_freed_beside_it_are_two_changes_each_with_its_cause() {
    for seed in 0..5 {
        let mut turns = MadeUpWeek { seed, ..MadeUpWeek::default() }.turns();
        turns.truncate(40);
        let slow = |turn: &mut Turn, group: &str, by: f64| {
            let of_group = turn.values.iter_mut().filter(|(subject, _)| subject.key.starts_with(group));
            of_group.for_each(|(_, value)| *value *= by);
        };
        for (index, turn) in turns.iter_mut().enumerate() {
            // The link is slow until two turns after a program has begun that stays.
            if index < 22 {
                slow(turn, "disk", 9.0);
                turn.facts.insert("queue".into(), (words("queue"), "tbf".into()));
            }
            if index >= 20 {
                slow(turn, "memory", 1.5);
                turn.company.others = Some(0.5);
            }
        }
        let found = over_time(turns).unwrap();
        let [program, link] = &found.changes[..] else { panic!("seed {seed}: {:#?}", found.changes) };
        assert!(is_within_a_turn(&program.since, 20) && program.is_slower(), "{program:?}");
        assert!(program.subjects.iter().all(|one| one.subject.key.starts_with("memory")), "{program:?}");
        assert_eq!(program.together.iter().map(|one| one.cause).collect::<Vec<_>>(), [Cause::Others]);
        assert!(is_within_a_turn(&link.since, 22) && !link.is_slower(), "{link:?}");
        assert!(link.subjects[0].subject.key.starts_with("disk") && link.facts[0].from == "tbf", "{link:?}");
    }
}

#[test]
fn a_quota_that_comes_and_goes_is_told_though_no_value_tells_of_it() {
    let mut turns = MadeUpWeek { seed: 3, ..MadeUpWeek::default() }.turns();
    turns.truncate(33);
    for (index, turn) in turns.iter_mut().enumerate() {
        let quota = if (20..25).contains(&index) { "0.3" } else { "none" };
        turn.facts.insert("quota".into(), (words("CPU quota"), quota.into()));
    }
    let found = over_time(turns).unwrap();
    assert!(found.changes.is_empty() && found.episodes.is_empty(), "{:?} {:?}", found.changes, found.episodes);
    let [begins, ends] = &found.facts[..] else { panic!("{:?}", found.facts) };
    assert!(is_within_a_turn(&begins.since, 20) && is_within_a_turn(&ends.since, 25), "{:?}", found.facts);
    assert_eq!((begins.facts[0].to.as_str(), ends.facts[0].from.as_str()), ("0.3", "0.3"));
}

/// Turns, what is how many times slower in them, the share that others use, and the share of the time spent waiting.
type Happened = (std::ops::Range<usize>, &'static [(&'static str, f64)], Option<f64>, f64);

#[test]
fn three_episodes_of_a_short_watch_are_told_each_with_what_came_with_it() {
    // A burner hits one value; a quota that cannot be seen hits two, one of which a slow link hits again.
    let happened: [Happened; 3] = [
        (6..11, &[("disk.s0", 25.0)], Some(0.54), 0.11),
        (16..20, &[("memory.s0", 9.0), ("syscall.s0", 3.2)], None, 0.2),
        (24..29, &[("syscall.s0", 8.2)], None, 0.01),
    ];
    for seed in 0..5 {
        let mut turns = MadeUpWeek { seed, ..MadeUpWeek::default() }.turns();
        turns.truncate(33);
        turns.iter_mut().for_each(|turn| turn.company.throttled = None);
        for (places, slower, others, waited) in &happened {
            for turn in &mut turns[places.clone()] {
                for (key, times) in *slower {
                    turn.values
                        .iter_mut()
                        .filter(|(subject, _)| subject.key == *key)
                        .for_each(|(_, value)| *value *= times);
                }
                turn.company.others = others.or(turn.company.others);
                turn.company.waited = Some(*waited);
            }
        }
        // Behind the slow link it is a little slower than before, and the first turn of that began before the link was slow.
        for turn in &mut turns[29..] {
            turn.values
                .iter_mut()
                .filter(|(subject, _)| subject.key == "syscall.s0")
                .for_each(|(_, value)| *value *= 1.1);
        }
        for turn in &mut turns[25..29] {
            turn.facts.insert("host.loopback.queue".to_owned(), (words("loopback queue"), "tbf".to_owned()));
        }
        let found = over_time(turns).unwrap();
        let places: Vec<(usize, usize)> = found.episodes.iter().map(|one| one.place).collect();
        // The rest may be told, but as one of its own.
        assert!(places.iter().skip(3).all(|(first, _)| *first >= 29), "seed {seed}: {places:?}");
        let told = &found.episodes[..3];
        for ((first, end), (true_places, ..)) in places.iter().zip(&happened) {
            let is_near = first.abs_diff(true_places.start) <= 1 && end.abs_diff(true_places.end) <= 1;
            assert!(is_near, "seed {seed}: {places:?}");
        }
        let causes: Vec<Vec<Cause>> =
            told.iter().map(|one| one.together.iter().map(|one| one.cause).collect()).collect();
        assert_eq!(causes, [vec![Cause::Others], vec![Cause::Waited], vec![]], "seed {seed}");
        let facts = told.iter().map(|one| one.facts.iter().map(|fact| fact.to.as_str()).collect::<Vec<_>>());
        assert_eq!(facts.collect::<Vec<_>>(), [vec![], vec![], vec!["tbf"]], "seed {seed}");
        let known = [Cause::Steal, Cause::Others, Cause::CoreShared, Cause::LastCache, Cause::Waited];
        assert_eq!(found.recorded, known);
    }
}

#[test]
fn a_course_has_a_part_for_every_turn_as_far_as_there_is_room_and_none_of_a_day() {
    let turns = MadeUpWeek::default().turns();
    for (count, parts, turns_of_part) in [(40, 40, 1), (48, 48, 1), (49, 25, 2), (143, 48, 3)] {
        let found = over_time(turns[..count].to_vec()).unwrap();
        assert_eq!(found.course, Some(Course { part_s: (turns_of_part * EVERY_S) as f64, parts }), "{count}");
        let course = &found.subjects[0].course;
        assert!(course.len() == parts && course.iter().all(Option::is_some), "{count}: {course:?}");
    }
    assert_eq!(over_time(turns[..150].to_vec()).unwrap().course, None);
}

#[test]
fn a_hot_processor_is_named_where_sensors_tell_and_only_if_it_is_much_hotter() {
    let causes = |usual: Option<f64>, then: Option<f64>| {
        let mut turns = MadeUpWeek::default().turns();
        turns.truncate(60);
        for (index, turn) in turns.iter_mut().enumerate() {
            let is_hot = (30..36).contains(&index);
            turn.values.iter_mut().filter(|_| is_hot).for_each(|(_, value)| *value *= 1.4);
            // Some degrees of scatter.
            turn.company.celsius = if is_hot { then } else { usual }.map(|celsius| celsius + (index % 4) as f64);
        }
        let found = over_time(turns).unwrap();
        let [episode] = &found.episodes[..] else { panic!("{:?}", found.episodes) };
        episode.together.iter().map(|one| (one.cause, one.then)).collect::<Vec<_>>()
    };
    assert_eq!(causes(Some(60.0), Some(92.0)), [(Cause::Temperature, 94.0)]);
    for (usual, then) in [(Some(60.0), Some(64.0)), (None, None), (None, Some(92.0))] {
        assert_eq!(causes(usual, then), [], "{usual:?} {then:?}");
    }
}

#[test]
fn a_watch_that_was_killed_has_a_gap_and_no_episode_of_it() {
    let later = |turns: &mut [Turn], hours: u64| {
        turns.iter_mut().for_each(|turn| turn.started = turn.started.after(Duration::from_secs(3600 * hours)));
    };
    let with_boot = |turns: &mut [Turn], boot: &str| {
        let fact = |turn: &mut Turn| turn.facts.insert("host.boot_id".to_owned(), (words("boot"), boot.to_owned()));
        turns.iter_mut().for_each(|turn| _ = fact(turn));
    };
    let mut turns = MadeUpWeek::default().turns();
    turns.truncate(60);
    with_boot(&mut turns[..40], "a");
    with_boot(&mut turns[40..], "b");
    later(&mut turns[40..], 5);
    let found = over_time(turns.clone()).unwrap();
    assert!(found.episodes.is_empty() && found.changes.is_empty() && found.bursts.is_empty(), "{found:?}");
    assert_eq!(found.every_s, EVERY_S as f64);
    let [gap] = &found.gaps[..] else { panic!("{:?}", found.gaps) };
    assert_eq!((gap.seconds, gap.restarted), (5.0 * 3600.0, Some(true)));
    assert!(is_within_a_turn(&gap.from, 39) && is_within_a_turn(&gap.to, 40 + 5 * TURNS_OF_HOUR), "{gap:?}");
    // What is slow up to the gap ends there, and what is slow on both sides of it lasted as long as its turns.
    for (slow, seconds, end) in [(34..40, 3600.0, 40), (37..43, 3600.0, 43 + 5 * TURNS_OF_HOUR)] {
        let mut turns = turns.clone();
        turns[slow].iter_mut().flat_map(|turn| &mut turn.values).for_each(|(_, value)| *value *= 1.5);
        let found = over_time(turns).unwrap();
        let [episode] = &found.episodes[..] else { panic!("{:?}", found.episodes) };
        assert!(episode.seconds == seconds && is_within_a_turn(&episode.to, end), "{episode:?}");
        assert_eq!(found.gaps.len(), 1);
    }
    // Turns of over a week ago are thinned to one an hour: there are that gap twice, and the one between.
    let mut all: Vec<Turn> = turns.iter().step_by(TURNS_OF_HOUR).cloned().collect();
    later(&mut turns, 8 * 24);
    all.extend(turns.clone());
    let found = over_time(all).unwrap();
    assert_eq!((found.gaps.len(), found.every_s), (3, EVERY_S as f64));
    // Runs that were put together have no distance to keep.
    turns.iter_mut().for_each(|turn| turn.series = None);
    assert!(over_time(turns).unwrap().gaps.is_empty());
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
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
