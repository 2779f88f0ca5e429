//! Answers of a worker, on a catalogue of probes that go right and wrong; apart from dying with its parent.

use std::time::Duration;

use hostmark_model::{Better, DisturbanceFlags, Histogram, Unit};

use super::*;
use crate::case::Case;
use crate::fixture::PLAIN;
use crate::probe::{Group, Measure, Need, Probe, Quantity};
use crate::skip::skipped;

const LOSS: Quantity = Quantity::given("loss", Unit::Ratio, Better::Lower, PLAIN.title);

const fn measuring(measure: fn(&mut Case) -> Result<()>) -> Probe {
    Probe { measure: Measure::Run(measure), ..PLAIN }
}

static CATALOGUE: Catalogue = &[&Group {
    name: "try",
    shares_worker: false,
    probes: &[
        ("fine", &measuring(fine)),
        ("rate", &measuring(rate)),
        ("panics", &measuring(panics)),
        ("skips", &measuring(|_| Err(RoundError::skipped(ReasonCode::MissingFile, "no such device")))),
        ("fails", &measuring(|case| case.calls(|| Err::<(), _>(std::io::Error::other("refused"))).time())),
        ("says", &measuring(says)),
        ("sleeps", &measuring(|case| case.calls(|| std::thread::sleep(Duration::from_micros(20))).each(2).time())),
        ("twice", &measuring(|case| fine(case).and_then(|()| fine(case)))),
        ("below_zero", &measuring(below_zero)),
        ("nothing", &measuring(|_| Ok(()))),
        ("elided", &measuring(|case| case.loops(|_| ()).time())),
        ("more", &Probe { also: &[LOSS, Quantity::CORE_CYCLES], ..measuring(more) }),
        ("nan", &Probe { also: &[LOSS], ..measuring(|case| case.also("loss", [f64::NAN]).and_then(|()| fine(case))) }),
        ("filled", &Probe { also: &[Quantity::CORE_CYCLES], ..measuring(filled) }),
        ("undeclared", &measuring(more)),
        ("tails", &measuring(tails)),
        ("whole", &Probe { also: &[Quantity::MEAN, Quantity::SUSTAINED], ..measuring(tails) }),
        ("whole_rate", &Probe { unit: Unit::BytesPerSecond, also: &[Quantity::SUSTAINED_BYTES], ..measuring(rate) }),
        ("command", &Probe { needs: &[Need::Command], ..measuring(fine) }),
        ("derived", &Probe { measure: Measure::Derive { from: &[], derive: |_, _| Vec::new() }, ..PLAIN }),
        ("placed", &Probe { axes: &[crate::fixture::CPUS], ..measuring(placed) }),
        ("entered", &measuring(entered)),
        ("entered_too", &measuring(entered)),
    ],
}];

fn count(n: u64) {
    for turn in 0..n {
        std::hint::black_box(turn);
    }
}

fn fine(case: &mut Case) -> Result<()> {
    case.note("kernel", "black_box");
    case.loops(count).time()
}

fn rate(case: &mut Case) -> Result<()> {
    case.loops(count).rate(64)
}

fn panics(case: &mut Case) -> Result<()> {
    std::fs::write(case.scratch_dir()?.join("file"), "left behind")?;
    panic!("over the edge of {}", 7)
}

fn entered(case: &mut Case) -> Result<()> {
    case.scratch_dir()?;
    fine(case)
}

/// A difference of times whose lesser part was interrupted in every third sample.
fn below_zero(case: &mut Case) -> Result<()> {
    let mut taken = 0;
    case.search(|_| {
        taken += 1;
        Ok(Some(if taken % 3 == 0 { -958_000.0 } else { 7_000.0 }))
    })
}

fn more(case: &mut Case) -> Result<()> {
    case.also("loss", [0.5])?;
    fine(case)?;
    case.also("loss", [0.25, 0.125])
}

fn tails(case: &mut Case) -> Result<()> {
    case.timed(|clock| {
        let start = clock.start();
        count(100);
        Ok(clock.end().since(start))
    })
    .singly()
    .time()
}

fn filled(case: &mut Case) -> Result<()> {
    case.also("cycles", [1.0])?;
    fine(case)
}

fn placed(case: &mut Case) -> Result<()> {
    case.note("allowed", affinity::allowed()?.len());
    fine(case)
}

fn job(case: &str) -> Job {
    Job { budget_ns: 3_000_000, llc_bytes: 0, llc_sum_bytes: 0, ..Job::bare(case, affinity::allowed().unwrap()) }
}

/// The events of an job, greeting apart, as they are read from the worker's lines; the greeting is checked.
fn events_of(job: Job) -> Vec<Event> {
    // On a thread of its own, which a round binds to its CPU.
    let thread = std::thread::spawn(move || {
        let mut output = Vec::new();
        respond(CATALOGUE, job, &mut &b""[..], &mut output).unwrap();
        String::from_utf8(output).unwrap()
    });
    let text = thread.join().unwrap();
    assert!(text.ends_with('\n'));
    let mut events: Vec<Event> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.remove(0), Event::Hello { protocol: PROTOCOL, pid: std::process::id() });
    events
}

fn failed(case: &str) -> String {
    match events_of(job(case)).as_slice() {
        [Event::Failed { reason }] => reason.text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_round_that_goes_well_is_notes_samples_done() {
    let events = events_of(job("try.fine"));
    let [
        Event::Note { key, value },
        Event::Samples { ns, iterations, amount, disturbance_flags },
        Event::Done { noise },
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((key.as_str(), value.as_str(), *amount), ("kernel", "black_box", 0));
    assert!(!ns.is_empty() && ns.len() == iterations.len() && ns.len() == disturbance_flags.len());
    assert!(ns.iter().all(|ns| ns.is_finite()) && iterations.iter().all(|&iterations| iterations > 0));
    let known = 15 | DisturbanceFlags::FORBIDDEN;
    assert!(disturbance_flags.iter().all(|&flags| flags & !known == 0 && flags & DisturbanceFlags::MIGRATED == 0));
    assert!(noise.iterations > 1 && noise.resolution_ns > 0.0 && noise.core_hz.is_some_and(|hz| hz > 1e7));
    // Every sample lies between two looks.
    let [[0, _], after @ ..] = noise.looks.as_slice() else { panic!("{:?}", noise.looks) };
    assert_eq!(after.iter().map(|[samples, _]| samples).sum::<u64>(), ns.len() as u64);
    assert!(noise.looks.iter().all(|[_, adds]| *adds > 0) && noise.shared.is_none());
}

#[test]
fn a_sample_below_zero_is_reported_with_its_mark() {
    let events = events_of(job("try.below_zero"));
    let [Event::Samples { ns, disturbance_flags, .. }, Event::Done { .. }] = events.as_slice() else {
        panic!("{events:?}")
    };
    let marked = |flags: u8| !DisturbanceFlags(flags).is_possible();
    assert!(ns.iter().zip(disturbance_flags).all(|(&ns, &flags)| marked(flags) == (ns < 0.0)), "{events:?}");
    assert!(ns.iter().any(|&ns| ns < 0.0) && ns.iter().any(|&ns| ns > 0.0));
}

#[test]
fn counters_of_the_kernel_tell_the_switches_of_an_operation_beside_its_time_and_only_where_they_are_wanted() {
    let switches = |counters| {
        let mut job = job("try.sleeps");
        job.environment.inputs.counters = counters;
        let events = events_of(job);
        let samples = events.iter().filter(|event| matches!(event, Event::Samples { .. })).count();
        assert_eq!(samples, 1, "{events:?}");
        events.into_iter().find_map(|event| match event {
            Event::Also { name, values } if name == "context_switches" => Some(values),
            _ => None,
        })
    };
    assert_eq!(switches(false), None);
    let Some(counted) = switches(true) else { return skipped("the kernel lets nobody here count switches") };
    // A sleep is one; each operation is half of it. Others may add theirs.
    assert!(counted.len() == 1 && (0.5..1.0).contains(&counted[0]), "{counted:?}");
}

#[test]
fn every_operation_of_a_round_is_reported_as_a_histogram() {
    let events = events_of(job("try.tails"));
    let [Event::Samples { ns, iterations, .. }, Event::Histogram(histogram), Event::Done { noise }] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    let operations: u64 = histogram.counts.iter().sum();
    assert!(iterations.iter().all(|&iterations| iterations == 1));
    // All of every batch but the last, which the end of the time may cut short.
    assert!(operations >= noise.iterations * (ns.len() as u64 - 1), "{operations} {noise:?}");
    assert!(histogram.values.is_sorted() && histogram.values.len() == histogram.counts.len());
    let (first, last) = (histogram.values[0] as f64, *histogram.values.last().unwrap() as f64);
    assert!(ns.iter().all(|&ns| ns > first * 0.99 && ns < last * 1.01), "{first} {last} {ns:?}");
    // What nobody looks at meanwhile is looked at before and after, which makes no clock of it.
    assert!(
        matches!(noise.looks[..], [[0, before], [0, after]] if before.min(after) > 0) && noise.core_hz.is_none(),
        "{noise:?}"
    );
}

#[test]
fn the_mean_and_the_sustained_rate_are_those_of_all_operations() {
    let quantity_of = |id: &str, wanted: &str| {
        let events = events_of(job(id));
        let of_name = |event: &Event| match event {
            Event::Also { name, values } if name == wanted => Some(values.clone()),
            _ => None,
        };
        let values = events.iter().find_map(of_name).unwrap_or_else(|| panic!("{wanted}: {events:?}"));
        (values[0], events)
    };
    let (mean, events) = quantity_of("try.whole", "mean");
    let histogram = events.iter().find_map(|event| match event {
        Event::Histogram(histogram) => Some(histogram),
        _ => None,
    });
    let each = |histogram: &Histogram| {
        let sum: f64 =
            histogram.values.iter().zip(&histogram.counts).map(|(&ns, &count)| ns as f64 * count as f64).sum();
        sum / histogram.counts.iter().sum::<u64>() as f64
    };
    // The histogram has whole nanoseconds.
    assert!((mean - each(histogram.unwrap())).abs() <= 0.5 + 1e-3 * mean, "{mean}");
    // What passes between operations is in the rate alone.
    let (sustained, _) = quantity_of("try.whole", "sustained");
    assert!(sustained > 0.0);
    let (bytes, events) = quantity_of("try.whole_rate", "sustained");
    let rates: Vec<f64> = events
        .iter()
        .find_map(|event| match event {
            Event::Samples { ns, iterations, amount, .. } => {
                Some(ns.iter().zip(iterations).map(|(ns, &n)| *amount as f64 * n as f64 * 1e9 / ns).collect())
            }
            _ => None,
        })
        .unwrap();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    assert!(bytes > 0.5 * least && bytes < 2.0 * most, "{bytes} {rates:?}");
}

#[test]
fn further_quantities_are_reported_before_the_end_with_all_their_values() {
    let events = events_of(job("try.more"));
    let [.., Event::Also { name, values }, Event::Done { .. }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((name.as_str(), values.as_slice()), ("loss", [0.5, 0.25, 0.125].as_slice()));
}

#[test]
fn a_quantity_that_is_not_declared_or_no_number_fails_the_round() {
    let undeclared = |name: &str| format!("the probe declares no quantity '{name}' that it measures itself");
    assert_eq!(failed("try.undeclared"), undeclared("loss"));
    assert_eq!(failed("try.filled"), undeclared("cycles"));
    assert_eq!(failed("try.nan"), "the quantity 'loss' came to NaN, which is no finite number");
}

#[test]
fn the_cases_of_a_job_are_done_in_its_sequence_each_to_its_own_end() {
    let of_one = job("try.fine").cases;
    let with = |id: &str| JobCase { id: id.to_owned(), ..of_one[0].clone() };
    let cases = ["try.rate", "try.fails", "try.skips", "try.other", "try.fine"].map(with).to_vec();
    let events = events_of(Job { cases, ..job("") });
    let ends: Vec<&Event> = events.iter().filter(|event| event.is_last()).collect();
    let [Event::Done { .. }, Event::Failed { reason }, Event::Skipped { .. }, Event::Failed { .. }, Event::Done { .. }] =
        ends.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!(&**reason, "refused");
    let amounts: Vec<u64> = events
        .iter()
        .filter_map(|event| if let Event::Samples { amount, .. } = event { Some(*amount) } else { None })
        .collect();
    assert_eq!(amounts, [64, 0]);
    assert!(matches!(events.last(), Some(Event::Done { .. })));
}

#[test]
fn a_directory_that_a_case_could_not_remove_is_in_no_other_cases_way() {
    let base = tempfile::tempdir().unwrap();
    let run = crate::sys::scratch::Private::make(base.path()).unwrap();
    let of_one = job("try.entered").with(|job| job.environment.scratch = run.entry().unwrap());
    let inside = base.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let left = inside.join(&of_one.folder);
    std::fs::create_dir(&left).unwrap();
    let too = JobCase { id: "try.entered_too".into(), ..of_one.cases[0].clone() };
    let events = events_of(of_one.with(|job| job.cases.push(too)));
    let ends: Vec<&Event> = events.iter().filter(|event| event.is_last()).collect();
    let [Event::Skipped { reason }, Event::Done { .. }] = ends.as_slice() else { panic!("{events:?}") };
    assert!(reason.contains("mkdirat: File exists"), "{reason}");
    assert_eq!(inside.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>(), [left]);
}

#[test]
fn a_case_whose_input_was_not_given_is_skipped_by_the_worker_too() {
    let reason = ReasonCode::MissingOption.because("no command was given: name one by --command");
    assert_eq!(events_of(job("try.command")), [Event::Skipped { reason }]);
    let given = |job: &mut Job| job.environment.inputs.command = vec!["true".into()];
    assert!(matches!(events_of(job("try.command").with(given)).last(), Some(Event::Done { .. })));
}

#[test]
fn what_goes_wrong_is_reported_and_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let run = crate::sys::scratch::Private::make(base.path()).unwrap();
    let panics = events_of(job("try.panics").with(|job| job.environment.scratch = run.entry().unwrap()));
    assert_eq!(panics, [Event::Failed { reason: ReasonCode::Internal.because("panicked: over the edge of 7") }]);
    let inside = base.path().read_dir().unwrap().next().unwrap().unwrap().path();
    assert_eq!(inside.read_dir().unwrap().count(), 0);
    assert_eq!(failed("try.fails"), "refused");
    assert_eq!(failed("try.twice"), "the probe measured twice in one round");
    assert_eq!(failed("try.nothing"), "the probe ended without measuring anything");
    assert_eq!(failed("try.elided"), "the operation takes no time, however often it is done");
    assert_eq!(failed("try.derived"), "a derived probe has no rounds");
    assert_eq!(failed("try.other"), "the worker knows no probe 'try.other'");
    assert_eq!(failed("nonsense"), "'nonsense' is not of the form group.probe");
    assert_eq!(
        events_of(job("try.skips")),
        [Event::Skipped { reason: ReasonCode::MissingFile.because("no such device") }]
    );
}

#[test]
fn jobs_that_follow_are_done_by_the_same_worker_and_end_with_its_input() {
    let first = job("try.fine").with(|job| job.is_followed = true);
    let further = [first.clone(), first.clone()].map(|job| serde_json::to_string(&job).unwrap() + "\n").concat();
    let written = std::thread::spawn(move || {
        let mut output = Vec::new();
        respond(CATALOGUE, first, &mut further.as_bytes(), &mut output).map(|()| String::from_utf8(output).unwrap())
    });
    let text = written.join().unwrap().unwrap();
    let of_kind = |kind: &str| text.lines().filter(|line| line.contains(kind)).count();
    assert_eq!((of_kind("\"hello\""), of_kind("\"done\"")), (1, 3), "{text}");
}

#[test]
fn a_job_of_another_protocol_is_refused() {
    let events = events_of(job("try.fine").with(|job| job.environment.protocol += 1));
    let reason = ReasonCode::Protocol.because("the job is of protocol 4, and this worker speaks 3");
    assert_eq!(events, [Event::Failed { reason }]);
}

#[test]
fn a_cpu_that_cannot_be_had_is_no_failure() {
    let events = events_of(Job { cpus: vec![1 << 16], ..job("try.fine") });
    assert!(matches!(events.as_slice(), [Event::Skipped { reason }] if reason.contains("65536")), "{events:?}");
}

#[test]
fn the_thread_stays_on_its_cpu_unless_the_scheduler_decides() {
    let allowed = |case: &str| match events_of(job(case)).first() {
        Some(Event::Note { value, .. }) => value.parse::<usize>().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(allowed("try.placed@cpus=same_cpu"), 1);
    assert_eq!(allowed("try.placed@cpus=free"), affinity::allowed().unwrap().len());
}

#[test]
fn a_warm_up_of_a_cpu_is_done_and_nothing_else() {
    let cpus = affinity::allowed().unwrap();
    let events = events_of(Job { cpus: vec![cpus[0]], ..job("") });
    assert!(matches!(events.as_slice(), [Event::Done { .. }]), "{events:?}");
}

#[test]
fn a_job_from_anyone_but_the_parent_is_not_answered() {
    // A thread of its own: it is left with a parent-death signal, and ends.
    let written = std::thread::spawn(|| {
        let line = serde_json::to_string(&job("try.fine").with(|job| job.environment.parent = u32::MAX)).unwrap();
        let mut output = Vec::new();
        serve(CATALOGUE, &mut line.as_bytes(), &mut output).map(|()| output)
    });
    assert_eq!(written.join().unwrap().unwrap(), b"");
}

#[test]
fn garbage_is_an_error() {
    for line in ["", "\n", "{}", "not json\n", r#"{"protocol":1,"case":"try.fine"}"#] {
        let mut output = Vec::new();
        assert!(serve(CATALOGUE, &mut line.as_bytes(), &mut output).is_err(), "{line}");
        assert!(output.is_empty());
    }
}

/// A case in which a child ends, and says why.
fn says(_: &mut Case) -> Result<()> {
    exit_message::prepare().call("sigaction")?;
    exit_message::say("no memory");
    Err(RoundError::skipped(ReasonCode::ProcessDied, "a child ended"))
}

#[test]
fn after_the_last_words_of_a_child_no_other_case_is_measured() {
    crate::sys::process::in_a_child(|| {
        let mut all = job("try.fine");
        let own = |id: &str| JobCase { id: id.into(), ..all.cases[0].clone() };
        all.cases = vec![own("try.fine"), own("try.says"), own("try.fine")];
        let mut events_of = Vec::new();
        for_each_case(CATALOGUE, &all, |events| {
            events_of.push(events.last().cloned());
            Ok(())
        })?;
        let text = "another process of the case ended: no memory (a child ended)";
        let reason = ReasonCode::ProcessDied.because(text);
        assert!(matches!(events_of[0], Some(Event::Done { .. })), "{events_of:?}");
        assert_eq!(events_of[1..], [Some(Event::Skipped { reason })]);
        Ok(())
    });
}
