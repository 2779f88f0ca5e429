//! Files that are nearly right, through the commands that read some, in one process: none panics, takes seconds or fills memory.
//! `HOSTMARK_FUZZ=1000000` asks for as many; `HOSTMARK_SEEDS` names a directory of further files, those of other tools called FORMAT-….

use std::panic::{AssertUnwindSafe, catch_unwind};

use hostmark_analysis::compare::{Comparison, History, Pool};
use hostmark_analysis::findings;
use hostmark_analysis::fleet::planted::MadeUp;
use hostmark_engine::PastRound;
use hostmark_engine::estimate::outcomes;
use hostmark_model::RoundLine;
use hostmark_present::{RenderOptions, export};
use rustix::time::{ClockId, clock_gettime};

use crate::garbled_text::{OUTPUTS, garbled_text};
use crate::mutated::{Mutator, trials};
use crate::prelude::*;
use crate::whole_runs::{killed_at, stopped};

/// The most CPU time and memory that any file may cost: what is over them has no end that a person would wait for.
const LIMIT: (Duration, u64) = (Duration::from_secs(5), 1 << 20);

#[derive(Default)]
struct Seeds {
    runs: Vec<String>,
    journals: Vec<String>,
    outputs: Vec<(String, String)>,
    hosts: Vec<Value>,
}

impl Seeds {
    fn of(home: &Home) -> Seeds {
        let mut seeds = Seeds::default();
        for filters in
            [&["clock.loop", "syscall.null"][..], &["memory.read@size=4K,64M"], &["ipc.round_trip@by=pipe", "net.rpc"]]
        {
            stopped(home, &[&["run"], filters].concat(), 4);
            home.mocked(&[&["run"], filters].concat());
        }
        seeds.outputs = OUTPUTS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let further = std::env::var_os("HOSTMARK_SEEDS").map(|directory| files(Path::new(&directory)));
        for file in files(home.data.path()).into_iter().chain(further.unwrap_or_default()) {
            let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
            let name = file.file_name().unwrap().to_string_lossy();
            let tool = hostmark_import::FORMATS.iter().find(|format| name.starts_with(&format!("{}-", format.name)));
            match tool {
                Some(tool) => seeds.outputs.push((tool.name.to_owned(), text)),
                None if name.ends_with(".jsonl") => seeds.journals.push(text),
                None => seeds.runs.push(text),
            }
        }
        for host in 0..6 {
            let mut run: Value = serde_json::from_str(&MadeUp::usual(6, 1).run(host, 0)).unwrap();
            run["cases"].as_array_mut().unwrap().truncate(12);
            seeds.hosts.push(run);
        }
        seeds
    }

    /// Writes this trial's files, and gives the words of a command that reads them.
    fn command(&self, draw: &mut Mutator, at: &Path) -> Vec<String> {
        let path = |name: &str| at.join(name).display().to_string();
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let input = path("input");
        match draw.below(8) {
            0..4 => {
                let (tool, text) = &self.outputs[draw.below(self.outputs.len())];
                fs::write(&input, garbled_text(draw, text)).unwrap();
                words(&["import", tool, &input, "--out", &path("imported")])
            }
            4 | 5 => {
                let of = if draw.below(5) == 0 { &self.journals } else { &self.runs };
                let text = &of[draw.below(of.len())];
                fs::write(&input, changed(draw, text)).unwrap();
                let format = export::FORMATS[draw.below(export::FORMATS.len())].name;
                let option = draw.one(&["--verbose", "--full", "--reestimate", "--redact", "--quiet"]);
                let second = draw.one(&["last", &path("imported"), &input]).to_owned();
                let further = if draw.below(4) == 0 { vec![second] } else { Vec::new() };
                [words(&["report", &input, "--format", format, option]), further].concat()
            }
            6 => {
                let base = &self.runs[draw.below(self.runs.len())];
                fs::write(&input, changed(draw, base)).unwrap();
                let mut new: Value = serde_json::from_str(base).unwrap();
                new["id"] = "another".into();
                fs::write(path("other"), new.to_string()).unwrap();
                let format = draw.one(&["table", "markdown", "html", "json"]);
                let option = draw.one(&["--strict", "--verbose", "--threshold=0"]);
                let both = [input, path("other")];
                let side = draw.below(2);
                let (base, new) = (both[side].as_str(), both[1 - side].as_str());
                match draw.below(8) {
                    0 => words(&["compare", new, "--against", "x220", "--format", format, option]),
                    _ => words(&["compare", base, new, "--format", format, option]),
                }
            }
            _ => {
                let _ = fs::create_dir(path("fleet"));
                for (host, run) in self.hosts.iter().enumerate() {
                    let mut run = run.clone();
                    if draw.below(3) == 0 {
                        draw.document(&mut run);
                    }
                    fs::write(path(&format!("fleet/{host}.json")), run.to_string()).unwrap();
                }
                let format = draw.one(&["table", "html", "markdown", "json", "jsonl", "prometheus"]);
                words(&["fleet", "report", &path("fleet"), "--format", format, draw.one(&["--check", "--verbose"])])
            }
        }
    }
}

/// A run or a journal, changed in its values or in its bytes.
fn changed(draw: &mut Mutator, text: &str) -> Vec<u8> {
    if draw.below(4) == 0 {
        return garbled_text(draw, text);
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = draw.below(lines.len());
    if let Ok(mut value) = serde_json::from_str(&lines[line]) {
        draw.document(&mut value);
        lines[line] = value.to_string();
    }
    lines.join("\n").into_bytes()
}

/// What this process may have at most until the next call, in KiB: the peak since the last one.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let _ = fs::write("/proc/self/clear_refs", "5");
    peak.trim_end_matches("kB").trim().parse().unwrap()
}

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_a_file_says_every_command_answers_soon() {
    let home = Home::new();
    let seeds = Seeds::of(&home);
    let (mut ends, mut slowest, mut largest) = (BTreeMap::new(), Default::default(), Default::default());
    let mut too_much = Vec::new();
    let first = std::env::var("HOSTMARK_FUZZ_FIRST").map_or(0, |first| first.parse().unwrap());
    for trial in first..first + trials(1000) {
        let mut words = seeds.command(&mut Mutator::new(trial as u64), home.scratch.path());
        words.extend(["--lang".to_owned(), ["en", "zh"][trial % 2].to_owned()]);
        let command = home.hostmark(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let (before_kib, began) = (peak_kib(), cpu_time());
        let answer = catch_unwind(AssertUnwindSafe(|| in_process(&command)));
        let (taken, kib) = (cpu_time() - began, peak_kib());
        let (code, output, errors) = answer.unwrap_or((101, String::new(), String::new()));
        let is_clean = |text: &str| !text.contains(['\u{1b}', '\u{202e}', '\0', '\r']);
        // Standard error is for sentences: those of a refusal begin with the program's name.
        let is_handled = matches!(code, 0 | 1 | 3 | 6) || errors.starts_with("hostmark: ");
        if !matches!(code, 0..=4 | 6) || taken > LIMIT.0 || kib > before_kib + LIMIT.1 || !is_handled {
            too_much.push((trial, code, taken, kib, words.join(" ")));
        } else if !is_clean(&output) || !is_clean(&errors) {
            too_much.push((trial, 27, taken, kib, words.join(" ")));
        }
        *ends.entry((words[0].clone(), code)).or_insert(0) += 1;
        slowest = (taken, trial, words.join(" ")).max(slowest);
        largest = (kib, trial, words.join(" ")).max(largest);
        if too_much.len() > 9 {
            break;
        }
    }
    let shown = format!("{ends:?}\nslowest: {slowest:?}\nmost memory: {largest:?} KiB\n");
    assert!(too_much.is_empty(), "{shown}{too_much:#?}");
    crate::serve::show(&shown);
    let of = |name: &str| ends.get(&(name.to_owned(), 0)).is_some_and(|&count: &usize| count > 10);
    assert!(["report", "compare", "import", "fleet"].iter().all(|&name| of(name)), "{shown}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn commands_take_time_in_proportion_to_the_cases_of_a_run() {
    const FEW: usize = 2000;
    let home = Home::new();
    home.mocked(&["run", "memory.read@size=4K"]);
    let one: Value = serde_json::from_slice(&fs::read(&files(home.data.path())[0]).unwrap()).unwrap();
    let [few, many] = [FEW, 4 * FEW].map(|count| {
        let mut run = one.clone();
        let case = one["cases"][0].clone();
        let cases = (1..=count).map(|number| {
            let (mut case, size) = (case.clone(), (4096 * number).to_string());
            case["id"] = case["id"].as_str().unwrap().replace("size=4096", &format!("size={size}")).into();
            case["params"]["size"] = size.into();
            case
        });
        run["cases"] = cases.collect();
        // Another machine measured the other: its last cache is larger.
        ["", "0"].map(|other| {
            let id = format!("{}{other}", run["id"].as_str().unwrap());
            run["id"] = id.into();
            run["host"]["hostname"] = format!("db-{count}{other}").into();
            if let Some(cache) = run["host"]["caches"].as_array_mut().and_then(|caches| caches.last_mut()) {
                cache["size_bytes"] = (cache["size_bytes"].as_u64().unwrap() * 2).into();
            }
            let path = home.scratch.path().join(format!("{count}{other}.json"));
            fs::write(&path, run.to_string()).unwrap();
            path.display().to_string()
        })
    });
    let time = |words: &str, [file, other]: &[String; 2]| {
        let words = words.replace("FILE", file).replace("OTHER", other);
        let command = home.hostmark(&words.split(' ').collect::<Vec<_>>());
        let began = cpu_time();
        let (code, _, errors) = in_process(&command);
        assert!(matches!(code, 0 | 1 | 3), "{words}: {errors}");
        (cpu_time() - began).as_secs_f64()
    };
    for words in [
        "report FILE --format answer",
        "report FILE --format table",
        "report FILE --format markdown",
        "report FILE --format html",
        "report FILE OTHER",
        "report FILE --reestimate",
        "report FILE --format json --redact",
        "reference check FILE",
        "compare FILE OTHER",
    ] {
        // Where pairs of cases are looked at, it is 16. A neighbour that slows one of both is not there three times.
        let times = (0..3).map(|_| time(words, &many) / time(words, &few)).find(|times| *times < 8.0);
        crate::serve::show(&format!("{words}: {times:.1?}\n"));
        assert!(times.is_some(), "{words}: four times the cases take over eight times as long, three times in a row");
    }
}

/// A real run of some groups.
fn measured() -> Run {
    let home = Home::new();
    let (code, json, errors) =
        home.says(&["run", "clock.loop", "signal", "ipc.round_trip@by=pipe", "--format", "json"]);
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
        let made = outcomes::of_run(CATALOGUE, &hostile).0;
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
            let made = outcomes::of_run(CATALOGUE, &hostile).0;
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
    killed_at(&home, &["run", "clock", "ipc"], 14);
    let text = fs::read_to_string(&files(home.data.path())[0]).unwrap();
    let (_, rounds) = text.split_once('\n').unwrap();
    let lines: Vec<Value> = rounds.lines().filter_map(|line| serde_json::from_str(line).ok()).take(12).collect();
    assert!(lines.len() > 5);
    let cases: Vec<String> = run.cases.iter().map(|case| case.id.clone()).collect();
    each(&Value::Array(lines), 2, |document| {
        let Ok(lines) = serde_json::from_value::<Vec<RoundLine>>(document.clone()) else { return false };
        let rounds = lines.into_iter().map(PastRound::of).collect();
        let made = outcomes::of_journal(CATALOGUE, &run, &cases, rounds, |_| None).0;
        let mut run = Run { cases: made.cases, lost_rounds: made.lost_rounds, ..run.clone() };
        run.findings = findings(&run);
        for format in export::FORMATS {
            format.render_one(&run, &RenderOptions::default());
        }
        true
    });
}
