//! `hostmark watch` on a mock of the machine: its turns are kept as one series, which a report shows over time.

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{ProbeInfo, Unit, counted};

use crate::commands::printed;
use crate::prelude::*;
use crate::whole_runs::{killed_at, stopped};

fn turns(home: &Home, series: &str) -> Vec<PathBuf> {
    let directory = home.data.path().join("hostmark/series").join(series);
    let mut all = files(&directory);
    all.sort();
    all
}

fn run(file: &Path) -> Run {
    load_run(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn each_turn_is_a_kept_run_of_one_series_and_is_told_as_it_ends() {
    let home = Home::new();
    let [metrics, lines] = ["turns.prom", "turns.jsonl"].map(|name| home.scratch.path().join(name));
    let (metrics_name, lines_name) = (metrics.to_str().unwrap(), lines.to_str().unwrap());
    let line = ["watch", "clock", "--every", "10m", "--for", "30m", "--series", "night"];
    let out = printed(&home, &[&line[..], &["--prometheus", metrics_name, "--jsonl", lines_name]].concat());
    assert!(out.contains("series night: a turn every 10m until ") && out.contains(": 1.7 % of one CPU"), "{out}");
    let kept = turns(&home, "night");
    assert_eq!((kept.len(), out.matches(" turn ").count()), (3, 4), "{out}");
    for file in &kept {
        let run = run(file);
        let series = run.series.unwrap();
        assert_eq!((series.name.as_str(), series.every_s), ("night", 600.0));
        assert_eq!(Some(run.name.as_str()), file.file_stem().unwrap().to_str());
    }
    assert!(fs::read_to_string(&metrics).unwrap().contains("series=\"night\""));
    let count = |run: Run| run.cases.len();
    let cases: usize = kept.iter().map(|file| count(run(file))).sum();
    assert_eq!(fs::read_to_string(&lines).unwrap().lines().count(), cases);
    // It is none of the runs that a person means by `last`, and is told of.
    let listed = printed(&home, &["runs"]);
    assert!(listed.contains("series night: 3 turns"), "{listed}");
    // One of a name goes on, and is not begun again.
    let (code, _, error) = home.mocked(&line);
    assert!(code == 2 && error.contains("--resume night"), "{error}");
    printed(&home, &["watch", "--resume", "night", "--for", "10m"]);
    let kept = turns(&home, "night");
    assert_eq!((kept.len(), run(&kept[3]).settings.filters), (4, vec!["clock".to_owned()]));
    printed(&home, &["watch", "clock", "--series", "night", "--once"]);
    assert_eq!(turns(&home, "night").len(), 5);
}

#[test]
fn ctrl_c_ends_it_without_the_turn_under_way() {
    let home = Home::new();
    // Within the second turn: a turn has seven rounds at most.
    let (code, out, error) = stopped(&home, &["watch", "clock.loop", "--series", "s"], 9);
    assert_eq!((code, error.as_str()), (130, ""), "{out}");
    let kept = turns(&home, "s");
    assert!(!kept.is_empty() && kept.iter().all(|file| run(file).interrupted.is_none()), "{out}");
    assert!(out.contains(&format!("{} kept in ", counted(kept.len(), "turn"))), "{out}");
}

#[test]
fn one_that_was_killed_goes_on_with_its_count_and_pace() {
    let home = Home::new();
    let begin = ["watch", "clock.loop", "--series", "s", "--every", "1m", "--max-cpu", "20"];
    // In its first turn: there is no series yet, and it may be begun again.
    killed_at(&home, &begin, 3);
    let (code, _, error) = home.mocked(&["watch", "--resume", "s"]);
    assert!(turns(&home, "s").is_empty() && code == 2 && error.contains("begin a new one"), "{error}");
    // In a later one, of which nothing is kept.
    killed_at(&home, &begin, 9);
    let kept = turns(&home, "s");
    assert!(!kept.is_empty() && kept.iter().all(|file| run(file).interrupted.is_none()));
    // As often as it was, though that takes more than a watch may by itself.
    let out = printed(&home, &["watch", "--resume", "s", "--for", "2m"]);
    let first = kept.len() + 1;
    assert!(out.contains("a turn every 1m until") && out.contains(&format!("turn {first}: ")), "{out}");
    assert!(out.contains("2 turns kept"), "{out}");
    let all = turns(&home, "s");
    assert!(all.starts_with(&kept) && all.len() == kept.len() + 2, "{all:?}");
    let (code, _, error) = home.mocked(&["watch", "--resume", "s", "--max-cpu", "2", "--for", "2m"]);
    assert!(code == 2 && error.contains("--every 8m20s or longer"), "{error}");
    // Whatever a file says, no time is longer than one that a person may give.
    let mut last: Value = serde_json::from_str(&fs::read_to_string(&all[all.len() - 1]).unwrap()).unwrap();
    for every_s in [1e300, -60.0, 0.0] {
        last["series"]["every_s"] = every_s.into();
        fs::write(&all[all.len() - 1], last.to_string()).unwrap();
        let (code, _, error) = home.mocked(&["watch", "--resume", "s", "--for", "1h"]);
        assert!(code == 2 && error.contains("begin a new one"), "{every_s}: {code} {error}");
    }
}

#[test]
fn old_turns_are_thinned_to_one_an_hour_and_one_a_day_and_all_of_them_to_a_size() {
    let home = Home::new();
    let once = ["watch", "clock.loop", "--series", "s", "--once"];
    printed(&home, &once);
    let [now] = &turns(&home, "s")[..] else { panic!() };
    let at = |name: &str| now.with_file_name(name);
    let days_ago = |days: i64| {
        let began = Timestamp::parse(&run(now).started).unwrap().days_before(days).unwrap().to_string();
        began[..10].replace('-', "")
    };
    let [fresh, hourly, daily] = [3, 20, 90].map(days_ago);
    for day in [&fresh, &hourly, &daily] {
        for time in ["000000", "001000", "010000", "011000"] {
            fs::copy(now, at(&format!("{day}T{time}Z-host-0000.json"))).unwrap();
        }
    }
    fs::write(at("20200101-notes.json"), "{}").unwrap();
    printed(&home, &once);
    let names = || {
        turns(&home, "s")
            .iter()
            .map(|file| file.file_name().unwrap().to_string_lossy()[..15].to_owned())
            .collect::<Vec<_>>()
    };
    let stays = |day: &str, times: &[&str]| times.iter().map(|time| format!("{day}T{time}")).collect::<Vec<_>>();
    let whole = stays(&fresh, &["000000", "001000", "010000", "011000"]);
    let old = [stays(&daily, &["000000"]), stays(&hourly, &["000000", "010000"]), whole].concat();
    assert_eq!((&names()[..1], &names()[1..8], names().len()), (&["20200101-notes.".to_owned()][..], &old[..], 10));
    printed(&home, &[&once[..], &["--max-size", "1K"]].concat());
    assert_eq!(names().len(), 2, "the newest stays, and what is no turn");
}

#[test]
fn a_turn_that_cannot_be_kept_is_told_and_the_watch_goes_on() {
    let home = Home::new();
    let arguments = ["watch", "clock.loop", "--for", "20m", "--series", "s", "--prometheus", "/dev/full"];
    let (code, out, error) = home.mocked(&arguments);
    let sentence = "hostmark: /dev/full could not be written (write: No space left on device (os error 28)); make room or free the path: \
                    the watch goes on";
    assert_eq!((code, error.lines().collect::<Vec<_>>()), (5, vec![sentence; 2]), "{out}");
    assert!(out.contains("2 turns kept in"), "{out}");
    assert_eq!(turns(&home, "s").len(), 2);
    let next = printed(&home, &["watch", "clock.loop", "--series", "s", "--once"]);
    assert!(next.contains("turn 3: "), "a timer's turn follows those before it: {next}");
}

#[test]
fn the_units_that_it_prints_are_units() {
    let home = Home::new();
    let metrics = home.scratch.path().join("a b.prom");
    let arguments = ["watch", "memory", "--series", "n", "--print-timer", "--prometheus", metrics.to_str().unwrap()];
    let text = printed(&home, &arguments);
    assert!(!home.data.path().join("hostmark").exists(), "nothing is measured");
    let (service, timer) = text.split_once("\n# /etc/systemd/system/hostmark-watch-n.timer").unwrap();
    assert!(service.contains("watch memory --series n --once --every 10m"), "{service}");
    assert!(timer.contains("OnUnitActiveSec=10m"), "{timer}");
    let directory = tempfile::tempdir().unwrap();
    let paths = ["service", "timer"].map(|kind| directory.path().join(format!("hostmark-watch-n.{kind}")));
    fs::write(&paths[0], service).unwrap();
    fs::write(&paths[1], format!("#{timer}")).unwrap();
    match Command::new("systemd-analyze").args(["verify", "--man=no"]).args(&paths).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(_) => skipped("there is no systemd-analyze"),
    }
}

/// A series of this name and so many turns, ten minutes apart from this time on, in which the slow ones take twice as long.
fn series(home: &Home, name: &str, count: usize, slow: std::ops::Range<usize>) {
    printed(home, &["watch", "clock.loop", "--series", name, "--once"]);
    let [first] = &turns(home, name)[..] else { panic!("one turn") };
    let text = fs::read_to_string(first).unwrap();
    let directory = first.parent().unwrap().to_owned();
    fs::remove_file(first).unwrap();
    for turn in 0..count {
        let mut run: Value = serde_json::from_str(&text).unwrap();
        run["started"] = format!("2026-11-02T{:02}:{:02}:00Z", turn / 6, turn % 6 * 10).into();
        run["finished"] = format!("2026-11-02T{:02}:{:02}:10Z", turn / 6, turn % 6 * 10).into();
        run["hottest_celsius"] = if slow.contains(&turn) { 91.5 } else { 60.0 }.into();
        // Some percent of noise.
        let times = (1.0 + 0.002 * (turn * 7 % 5) as f64) * if slow.contains(&turn) { 2.0 } else { 1.0 };
        for case in run["cases"].as_array_mut().unwrap() {
            let estimate = &mut case["outcome"]["measured"]["estimate"];
            let value = estimate["typical"].as_f64().unwrap();
            *estimate = serde_json::json!({
                "typical": value * times, "ci_low": value * times, "ci_high": value * times, "confidence": 0.95,
                "method": "order_statistics", "min": value, "max": value, "mean": value, "stddev": 0.0, "mad": 0.0,
                "best_round": value, "n": 1, "rounds": 5
            });
        }
        fs::write(directory.join(format!("turn-{turn:03}.json")), run.to_string()).unwrap();
    }
}

#[test]
fn a_report_of_a_series_answers_how_steady_the_machine_is() {
    let home = Home::new();
    series(&home, "s", 5, 0..0);
    let (code, _, error) = home.mocked(&["report", "s"]);
    assert!(code == 2 && error.contains("5 turns"), "{error}");
    fs::remove_dir_all(home.data.path().join("hostmark/series/s")).unwrap();
    series(&home, "s", 60, 30..33);
    let text = printed(&home, &["report", "s"]);
    let first = text.lines().find(|line| !line.is_empty()).unwrap();
    assert!(first.contains("steady: figures are near their best (10 %) 95 % of the time"), "{text}");
    assert!(text.contains("2026-11-02T05:00:00Z … 2026-11-02T05:30:00Z"), "{text}");
    assert!(text.contains("2.0") && text.contains("TIME OF DAY") && !text.contains("GAPS"), "{text}");
    assert!(text.contains("together with hotter processors: 92 °C, else 60 °C"), "{text}");
    let chinese = printed(&home, &["report", "s", "--lang", "zh"]);
    assert!(chinese.contains("稳定：95 % 的时间") || chinese.contains("稳定：95% 的时间"), "{chinese}");
    let json: Value = serde_json::from_str(&printed(&home, &["report", "s", "--format", "json"])).unwrap();
    assert_eq!(json["schema"], "hostmark.over-time/1");
    assert_eq!(json["episodes"][0]["turns"], 3);
    let page = printed(&home, &["report", "s", "--format", "html"]);
    assert!(page.contains("<pre>") && page.contains("05:30:00Z"));
    // Turns that are missing are none that are slow.
    for turn in 50..53 {
        fs::remove_file(home.data.path().join(format!("hostmark/series/s/turn-{turn:03}.json"))).unwrap();
    }
    let text = printed(&home, &["report", "s", "--format", "markdown", "--verbose"]);
    let gap = "no turn between 2026-11-02T08:10:00Z and 2026-11-02T08:50:00Z, 30 min overdue";
    assert!(text.contains(gap), "{text}");
    // Any runs of one host may be shown so, and a format of single runs is refused.
    let pattern = format!("{}/hostmark/series/s/turn-0[0-9]*", home.data.path().display());
    assert!(home.mocked(&["report", &pattern, "--over-time"]).0 == 2);
    let pattern = format!("{}/hostmark/series/s/turn-0*.json", home.data.path().display());
    assert!(printed(&home, &["report", &pattern, "--over-time"]).contains("57 turns"));
    let (code, _, error) = home.mocked(&["report", "s", "--format", "csv"]);
    assert!(code == 2 && error.contains("table, markdown, html, json"), "{error}");
}

#[test]
fn two_series_are_compared_hour_by_hour() {
    let home = Home::new();
    series(&home, "old", 48, 0..0);
    series(&home, "new", 60, 0..60);
    let (code, out, error) = home.mocked(&["compare", "old", "new"]);
    assert_eq!((code, error.as_str()), (1, ""), "{out}");
    assert!(
        out.starts_with("1 slower, 0 faster") && out.contains("by 8 hours of the day") && out.contains("−50 %"),
        "{out}"
    );
    let (code, out, _) = home.mocked(&["compare", "old", "old", "--format", "json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, json["subjects"][0]["verdict"].as_str()), (0, Some("same")), "{out}");
    for format in ["markdown", "html"] {
        let (code, out, _) = home.mocked(&["compare", "new", "old", "--format", format, "--lang", "zh"]);
        assert!(code == 0 && out.contains("变快 1"), "{out}");
    }
}

/// The names of metrics in a text.
fn metrics(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut all: Vec<&str> = words.filter(|word| word.starts_with("hostmark_")).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Tells whether a metric is a quantity that a mock may lack: it has no far ends, its cache levels are those that this host's sizes show,
/// and STREAM's arrays follow from the last cache.
fn may_lack(name: &str) -> bool {
    let is_it = |info: &ProbeInfo| {
        let also = info.also.iter().map(|also| (format!("_{}", also.name), also.unit));
        (info.id.starts_with("net.") || ["memory.hierarchy", "memory.stream"].contains(&&*info.id))
            && also.chain([(String::new(), info.unit)]).any(|(quantity, unit)| {
                let unit = if unit == Unit::BytesPerSecond { "bytes_per_second" } else { "seconds" };
                name == format!("hostmark_{}{quantity}_{unit}", info.id.replace('.', "_"))
            })
    };
    entries(CATALOGUE).any(|entry| is_it(&entry.info()))
}

#[test]
fn the_alert_rules_and_the_dashboard_name_metrics_that_a_turn_has() {
    let home = Home::new();
    let file = home.scratch.path().join("turn.prom");
    printed(&home, &["watch", "--series", "s", "--once", "--prometheus", file.to_str().unwrap()]);
    let written = fs::read_to_string(&file).unwrap();
    let known = metrics(&written);
    let monitoring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/monitoring");
    let [rules, dashboard] =
        ["hostmark.rules.yml", "grafana.json"].map(|name| fs::read_to_string(monitoring.join(name)).unwrap());
    for text in [&rules, &dashboard] {
        let named = metrics(text);
        assert!(named.len() > 10);
        let unknown: Vec<&&str> = named.iter().filter(|name| !known.contains(name) && !may_lack(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().iter().all(|panel| panel["targets"][0]["expr"].is_string()));
}
