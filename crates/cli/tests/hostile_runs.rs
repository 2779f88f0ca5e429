//! A run that was measured on somebody's machine may say anything: whatever its values are, it is estimated and shown here,
//! by every format. 100 mutations of a real one, and each of its counts at the end of its range; `HOSTMARK_FUZZ=10000` asks for as many.

use std::collections::BTreeSet;

use hostmark_analysis::compare::{Comparison, History, Pool};
use hostmark_analysis::findings;
use hostmark_engine::{PastRound, estimate::reestimate};
use hostmark_model::{RoundLine, Run, load_run};
use hostmark_present::{RenderOptions, export};
use hostmark_probes::CATALOGUE;
use serde_json::Value;

use crate::mutated::{Mutator, trials};
use crate::support::{Home, ended, files};

/// A real run of some groups.
fn measured() -> Run {
    let home = Home::new();
    let (code, json, errors) =
        ended(&mut home.hostmark(&["run", "clock.loop", "signal", "ipc.round_trip@by=pipe", "--format", "json"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(files(home.data.path()).len(), 1);
    load_run(&json).unwrap()
}

/// Tries mutations of a document, and says which one was too much.
fn each(whole: &Value, seed: u64, mut tried: impl FnMut(&Value) -> bool) {
    let mut draw = Mutator::new(seed);
    let mut read = 0;
    for trial in 0..trials(100) {
        let mut document = whole.clone();
        draw.document(&mut document);
        let came = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tried(&document)));
        let Ok(could) = came else { panic!("trial {trial}: {:.3000}", document.to_string()) };
        read += usize::from(could);
    }
    // What a real run holds, and so how much of it bears a change, is another on each machine.
    assert!(read > trials(100) / 20, "only {read} could be read");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_run_is_estimated_again_and_shown_whatever_it_says() {
    let run = measured();
    let options = RenderOptions { verbose: true, ..RenderOptions::default() };
    each(&serde_json::to_value(&run).unwrap(), 1, |document| {
        let Ok(hostile) = serde_json::from_value::<Run>(document.clone()) else { return false };
        let made = reestimate::of_run(CATALOGUE, &hostile).0;
        let mut run = Run { cases: made.cases, lost_rounds: made.lost_rounds, ..hostile };
        run.findings = findings(&run);
        for format in export::FORMATS {
            format.render_one(&run, &options);
        }
        true
    });
}

/// The names of all whole numbers of a document.
fn names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            if whole_numbers(&mut value.clone()).next().is_some() {
                names.insert(name.clone());
            }
            self::names(value, names);
        }),
        Value::Array(list) => list.iter().for_each(|value| self::names(value, names)),
        _ => {}
    }
}

/// The whole numbers that a value is, or is a list of.
fn whole_numbers(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter_mut().filter(|value| value.is_u64())),
        value if value.is_u64() => Box::new(std::iter::once(value)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Sets all whole numbers that stand under a name.
fn set(document: &mut Value, name: &str, to: u64) {
    match document {
        Value::Object(map) => {
            map.get_mut(name).into_iter().flat_map(whole_numbers).for_each(|number| *number = to.into());
            map.values_mut().for_each(|value| set(value, name, to));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| set(value, name, to)),
        _ => {}
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn counts_at_the_end_of_their_range_are_added_and_shown() {
    let run = measured();
    let options = RenderOptions { verbose: true, ..RenderOptions::default() };
    let whole = serde_json::to_value(&run).unwrap();
    let mut all = BTreeSet::new();
    names(&whole, &mut all);
    assert!(all.contains("faults") && all.contains("counts") && all.len() > 30, "{all:?}");
    let mut too_much = Vec::new();
    for name in all {
        let hostile = |most: u64| {
            let mut document = whole.clone();
            set(&mut document, &name, most);
            serde_json::from_value::<Run>(document).ok()
        };
        let Some(hostile) = [u64::MAX, u32::MAX.into()].into_iter().find_map(hostile) else { continue };
        let came = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let made = reestimate::of_run(CATALOGUE, &hostile).0;
            let mut run = Run { cases: made.cases, lost_rounds: made.lost_rounds, ..hostile.clone() };
            run.findings = findings(&run);
            for format in export::FORMATS {
                format.render_one(&hostile, &options);
                format.render_one(&run, &options);
            }
            let two = [hostile.clone(), hostile.clone()];
            let pool = || Pool { name: "both", runs: &two };
            Comparison::of(pool(), &[pool()], &History::default(), 0.0);
        }));
        if came.is_err() {
            too_much.push(name);
        }
    }
    assert!(too_much.is_empty(), "{too_much:?}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_journal_is_estimated_whatever_its_rounds_say() {
    let run = measured();
    let home = Home::new();
    // The journal of a run that is killed: its rounds as they are written.
    let mut child = home.hostmark(&["run", "clock", "ipc"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let journal = || files(home.data.path()).pop();
    let text = loop {
        let text = journal().and_then(|journal| std::fs::read_to_string(journal).ok()).unwrap_or_default();
        if text.lines().count() > 12 || child.try_wait().unwrap().is_some() {
            break text;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let (_, rounds) = text.split_once('\n').unwrap();
    let lines: Vec<Value> = rounds.lines().filter_map(|line| serde_json::from_str(line).ok()).take(12).collect();
    assert!(lines.len() > 5);
    let cases: Vec<String> = run.cases.iter().map(|case| case.id.clone()).collect();
    each(&Value::Array(lines), 2, |document| {
        let Ok(lines) = serde_json::from_value::<Vec<RoundLine>>(document.clone()) else { return false };
        let rounds = lines.into_iter().map(PastRound::of).collect();
        let made = reestimate::of_journal(CATALOGUE, &run, &cases, rounds, |_| None).0;
        let mut run = Run { cases: made.cases, lost_rounds: made.lost_rounds, ..run.clone() };
        run.findings = findings(&run);
        for format in export::FORMATS {
            format.render_one(&run, &RenderOptions::default());
        }
        true
    });
}
