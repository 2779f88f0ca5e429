//! The verbs of a case, exactly, on a clock that moves when it is told.

use super::*;
use crate::clock::FakeClock;
use crate::sys::affinity;
use crate::sys::call::named;
use crate::sys::memory::Pages;
use crate::sys::process::{Peer, in_a_child};
use crate::sys::scratch::Private;

fn case(fake: &FakeClock, id: &str) -> Case {
    let clock = Clock::Fake(fake.clone());
    let job = Job { l1d_bytes: 0, llc_bytes: 0, llc_sum_bytes: 0, ..Job::bare(id, vec![0]) };
    let own = job.cases[0].clone();
    let precision = Precision::of(&clock);
    let part = WorkersPart { job, own, alike: "a.b".into(), copies: Copies::Alone };
    Case::new(id.parse().unwrap(), part, clock, precision, None, Interference::Blind)
}

fn values(case: &Case) -> Vec<f64> {
    let samples = case.yielded.samples.as_ref().unwrap();
    samples.ns.iter().zip(&samples.iterations).map(|(ns, &n)| ns / n as f64).collect()
}

#[test]
fn a_thread_that_is_bound_nowhere_is_one_however_many_cpus_it_may_use() {
    let of = |id: &str| {
        let mut case = case(&FakeClock::new(10), id);
        case.job.cpus = vec![2, 3];
        case.thread_cpus().len()
    };
    assert_eq!((of("a.b@bind=none"), of("a.b@threads=2,bind=cpu"), of("a.b@threads=2")), (1, 2, 2));
}

#[test]
fn operations_are_timed_exactly_each_of_several_and_rates_carry_their_amount() {
    let fake = FakeClock::new(10);
    let [mut one, mut several, mut rate] = [(); 3].map(|()| case(&fake, "a.b"));
    one.calls(|| fake.advance(150)).time().unwrap();
    several.calls(|| fake.advance(3200)).each(32).time().unwrap();
    rate.loops(|n| fake.advance(n * 32)).rate(4096).unwrap();
    for (case, ns, amount) in [(one, 150.0, 0), (several, 100.0, 0), (rate, 32.0, 4096)] {
        assert!(values(&case).iter().all(|&value| value == ns) && case.yielded.amount == amount, "{ns}");
    }
}

#[test]
fn beside_exact_samples_every_second_operation_is_in_the_histogram() {
    let fake = FakeClock::new(10);
    let mut case = case(&fake, "a.b");
    let mut done = 0_u64;
    case.calls(|| {
        done += 1;
        fake.advance(1000)
    })
    .singly()
    .time()
    .unwrap();
    // A reading of this clock takes 10 ns, one of which falls between start and end: in no sample, but in every single one.
    assert!(values(&case).iter().all(|&ns| ns == 1000.0));
    let histogram = case.yielded.histogram.as_ref().unwrap();
    assert_eq!(histogram.values, [1010]);
    let share = histogram.counts[0] as f64 / done as f64;
    assert!((0.4..0.6).contains(&share), "{share}");
}

#[test]
fn the_fastest_way_is_chosen_by_trials_and_reported_once() {
    let fake = FakeClock::new(10);
    let mut fresh = case(&fake, "a.b");
    let mut trials = Vec::new();
    let way = fresh.choose(4096, &["plain", "nt", "rep"], |way, times| {
        trials.push((way, times));
        fake.advance(times * [1000, 600, 900][way]);
    });
    assert_eq!(way, Ok(1));
    // A trial is two passes that take as long.
    assert!(trials.chunks(2).all(|pair| pair[0] == pair[1]), "{trials:?}");
    let (Choice { scope, way: name }, took_ns) = fresh.yielded.chosen.clone().unwrap();
    assert_eq!(scope, "a.b over 4096 bytes");
    let spent: u64 = trials.iter().map(|&(way, times)| times * [1000, 600, 900][way]).sum();
    assert!(name == "nt" && took_ns >= spent as f64, "{name} {took_ns}");
}

#[test]
fn what_an_earlier_round_chose_is_taken_without_trials() {
    let fake = FakeClock::new(10);
    let mut later = case(&fake, "a.b");
    let scopes = ["a.b over 4096 bytes", "a.b within 524288 bytes", "a.b within 16777216 bytes"];
    later.job.choices = scopes.map(|scope| Choice { scope: scope.into(), way: "nt".into() }).into();
    let never = |_, _| panic!("a trial");
    later.job.caches_bytes.insert(1, 1 << 20);
    later.job.llc_bytes = 32 << 20;
    // One choice holds for all sizes that the same part of the core's own cache holds, in the first cache for its own and in the last
    // for a power of two, and for no other.
    for bytes in [4096, 32_769, 512 << 10, (8 << 20) + 1, 16 << 20] {
        assert_eq!(later.choose(bytes, &["plain", "nt"], never), Ok(1));
    }
    assert!(later.yielded.chosen.is_none());
    for (bytes, scope) in [
        (8192, "a.b over 8192 bytes"),
        (32_768, "a.b over 32768 bytes"),
        ((512 << 10) + 1, "a.b within 786432 bytes"),
        ((1 << 20) + 1, "a.b within 2097152 bytes"),
        (64 << 20, "a.b within 67108864 bytes"),
        (128 << 20, "a.b beyond the caches"),
        (u64::MAX, "a.b beyond the caches"),
    ] {
        let mut other = case(&fake, "a.b");
        other.job = later.job.clone();
        assert_eq!(other.choose(bytes, &["plain", "nt"], |_, times| fake.advance(times * 1000)), Ok(0));
        assert_eq!(other.yielded.chosen.as_ref().unwrap().0.scope, scope);
    }
    // What is chosen for all values on an axis holds for each.
    let mut shared = case(&fake, "a.b@x=1,y=2");
    shared.alike = "a.b@x=1,y=2".into();
    shared.choose_for_all("x");
    assert_eq!(shared.choose(u64::MAX, &["plain", "nt"], |_, times| fake.advance(times * 1000)), Ok(0));
    assert_eq!(shared.yielded.chosen.as_ref().unwrap().0.scope, "a.b@y=2 beyond the caches");
    // No other kernel in its place: a round of other code than the others' is no round.
    assert!(matches!(later.choose(4096, &["plain", "rep"], never), Err(RoundError::Failed(_))));
    assert_eq!(case(&fake, "a.b").choose(4096, &["plain"], never), Ok(0));
    assert!(case(&fake, "a.b").choose(4096, &[], never).is_err());
}

#[test]
fn a_difference_is_exact_and_keeps_both_sides() {
    let fake = FakeClock::new(0);
    let timed = |ns: u64| {
        let fake = &fake;
        move |n| {
            fake.advance(n * ns);
            Ok::<(), RoundError>(())
        }
    };
    let mut beyond = case(&fake, "a.b");
    beyond.loops(timed(2000)).beyond(timed(800)).each(4).time().unwrap();
    assert!(values(&beyond).iter().all(|&ns| (ns - 300.0).abs() < 1e-9), "{:?}", values(&beyond));
    assert_eq!((beyond.yielded.also["whole"][0], beyond.yielded.also["overhead"][0]), (500.0, 200.0));
    // An overhead that is longer than the whole is told, not hidden.
    let mut below = case(&fake, "a.b");
    below.loops(timed(1900)).beyond(timed(2000)).each(1).time().unwrap();
    assert!(values(&below).iter().all(|&ns| (ns + 100.0).abs() < 1e-9), "{:?}", values(&below));
}

#[test]
fn observed_samples_are_kept_but_the_first_and_an_observed_rate_is_its_amount_over_the_time() {
    let fake = FakeClock::new(0);
    let mut turn = 0;
    let mut observed = |clock: &Clock| {
        turn += 1;
        let start = clock.start();
        fake.advance(if turn == 1 { 9_000_000 } else { 10_000_000 });
        Ok(clock.end().since(start))
    };
    let [mut time, mut rate] = [(); 2].map(|()| case(&fake, "a.b"));
    time.timed(&mut observed).time().unwrap();
    assert_eq!((values(&time), time.yielded.amount), (vec![10_000_000.0; 4], 0));
    rate.timed(&mut observed).rate(3).unwrap();
    assert_eq!((values(&rate)[0], rate.yielded.amount), (10_000_000.0, 3));
}

#[test]
fn a_search_keeps_what_was_found_tries_again_where_nothing_was_and_ends_with_the_reason() {
    let fake = FakeClock::new(0);
    let mut case = case(&fake, "a.b");
    let mut turn = 0;
    let searched = case.search(|_| {
        turn += 1;
        fake.advance(15_000_000);
        Ok((turn > 3).then_some(64.0))
    });
    searched.unwrap();
    assert_eq!((turn, values(&case)), (4, vec![64.0]));
    let nothing = self::case(&fake, "a.b").search(|_| {
        fake.advance(15_000_000);
        Ok(None)
    });
    assert!(matches!(nothing, Err(RoundError::Skipped(_))));
}

#[test]
fn axes_are_read_by_name_and_type() {
    let case = case(&FakeClock::new(1), "a.b@size=4096,kernel=avx2");
    assert_eq!(case.param::<u64>("size"), Ok(4096));
    assert_eq!(case.param::<String>("kernel"), Ok("avx2".into()));
    assert!(matches!(case.param::<u64>("kernel"), Err(RoundError::Failed(_))));
    assert!(matches!(case.param::<u64>("threads"), Err(RoundError::Failed(_))));
    assert!(matches!(case.cpus::<2>(), Err(RoundError::Skipped(_))));
}

#[test]
fn more_memory_than_allowed_is_skipped_with_both_sizes() {
    let mut case = case(&FakeClock::new(1), "a.b");
    let Err(RoundError::Skipped(reason)) = case.buffer(64 << 20, Pages::Base, None).map(drop) else { panic!() };
    assert!(reason.contains("64 MiB") && reason.contains("1 MiB"), "{reason}");
    assert_eq!(case.buffer(4096, Pages::Base, None).unwrap().bytes().len(), 4096);
}

#[test]
fn a_scratch_directory_is_removed_with_its_contents() {
    let base = tempfile::tempdir().unwrap();
    let run = Private::make(base.path()).unwrap();
    let mut case = case(&FakeClock::new(1), "a.b");
    case.job.environment.scratch = run.entry().unwrap();
    let before = std::env::current_dir().unwrap();
    let path = case.scratch_dir().unwrap();
    std::fs::create_dir_all(path.join("a/b")).unwrap();
    std::fs::write(path.join("a/b/file"), "x").unwrap();
    let inside = base.path().read_dir().unwrap().next().unwrap().unwrap().path();
    assert!(inside.join("round-0/a/b/file").exists());
    case.clean();
    assert_eq!(inside.read_dir().unwrap().count(), 0);
    assert_eq!(std::env::current_dir().unwrap(), before);
    run.remove().unwrap();
}

#[test]
fn a_round_without_a_directory_is_skipped_with_the_reason() {
    let mut case = case(&FakeClock::new(1), "a.b");
    case.job.environment.memory_scratch =
        hostmark_model::Scratch::Missing(ReasonCode::MissingFile.because("no memory here"));
    assert_eq!(
        case.scratch_dir(),
        Err(RoundError::skipped(ReasonCode::MissingFile, "no directory here; name one by --scratch"))
    );
    let Err(RoundError::Skipped(reason)) = case.memory_dir() else { panic!() };
    assert!(reason.contains("no memory here") && reason.contains("no directory here"), "{reason}");
}

#[test]
fn a_directory_that_another_has_put_in_the_place_of_the_run_s_is_not_used() {
    let base = tempfile::tempdir().unwrap();
    let run = Private::make(base.path()).unwrap();
    let mut case = case(&FakeClock::new(1), "a.b");
    case.job.environment.scratch = run.entry().unwrap();
    let path = base.path().read_dir().unwrap().next().unwrap().unwrap().path();
    std::fs::rename(&path, base.path().join("moved")).unwrap();
    for link in [false, true] {
        match link {
            true => std::os::unix::fs::symlink(base.path().join("moved"), &path).unwrap(),
            false => std::fs::create_dir(&path).unwrap(),
        }
        assert!(matches!(case.scratch_dir(), Err(RoundError::Skipped(reason)) if reason.contains("cannot be used")));
        let _ = std::fs::remove_dir(&path);
    }
}

#[test]
fn a_body_that_fails_is_reported_by_every_verb_and_not_measured() {
    let fake = FakeClock::new(10);
    // It takes no time, as what returns at once with an error does.
    let refused = |_: u64| Err::<(), _>(named("futex", std::io::Error::from_raw_os_error(libc::EIO)));
    let reason = RoundError::from(refused(1).unwrap_err());
    assert_eq!(case(&fake, "a.b").loops(refused).time(), Err(reason.clone()));
    assert_eq!(case(&fake, "a.b").loops(refused).rate(1), Err(reason.clone()));
    let cpu = [Cpu(affinity::allowed().unwrap()[0])];
    assert_eq!(case(&fake, "a.b").workers(&cpu, |_| Ok(refused)).rate(1), Err(reason.clone()));
    assert_eq!(case(&fake, "a.b").workers(&cpu, |_| Ok(refused)).time(), Err(reason.clone()));
}

#[test]
fn what_went_on_without_a_party_that_failed_is_not_measured() {
    in_a_child(|| {
        let fake = FakeClock::new(10);
        let _peer = Peer::spawn(&affinity::allowed()?, || Err(named("fcntl", std::io::ErrorKind::Other.into())))?;
        exit_message::settle();
        let measured = case(&fake, "a.b").calls(|| fake.advance(1000)).time();
        assert_eq!(
            measured,
            Err(RoundError::failed(ReasonCode::ProcessDied, "another process of the case ended: fcntl: other error"))
        );
        Ok(())
    });
}

#[test]
fn workers_that_share_the_time_of_one_take_as_many_times_as_long() {
    let cpus = affinity::allowed().unwrap();
    let wait_10_us = |n: u64| {
        let until = crate::clock::monotonic_ns() + 10_000 * n;
        while crate::clock::monotonic_ns() < until {}
    };
    let mut case = case(&FakeClock::new(1), "a.b");
    case.clock = Clock::MonotonicRaw;
    match case.workers(&[Cpu(cpus[0]), Cpu(*cpus.last().unwrap())], |_| Ok(wait_10_us)).time() {
        Err(RoundError::Skipped(disturbed)) => return crate::skip::skipped(&disturbed),
        timed => timed.unwrap(),
    }
    // Each takes 10 µs, though together they are done with one every 5; busy neighbours can only add.
    let best = values(&case).into_iter().fold(f64::INFINITY, f64::min);
    assert!(best >= 9_500.0, "{best}");
    assert_eq!(case.yielded.amount, 0);
}
