//! The data path of TCP: each number of the model by hand, the slowest process, what is missing, and the very text.

pub mod named;

use named::{Busy, case_of, one_cpu, two_cpus, value};

use crate::prelude::*;
use crate::synthetic::golden;

fn shown(run: &Run, lang: Lang) -> String {
    let options = RenderOptions { lang, width: 100, ..RenderOptions::default() };
    format_named("data-path").unwrap().render(std::slice::from_ref(run), &options).unwrap()
}

fn en(run: &Run) -> String {
    shown(run, Lang::En)
}

/// The row of a path in the table whose title begins so.
#[track_caller]
fn row(text: &str, title: &str, path: &str) -> String {
    let of_table = text.lines().skip_while(|line| !line.starts_with(title)).skip(1);
    let mut rows = of_table.take_while(|line| !line.is_empty());
    let row = rows.find(|line| line.trim_start().split("  ").next() == Some(path));
    row.unwrap_or_else(|| panic!("no {path} under {title}: {text}")).trim().to_owned()
}

/// The cells behind the label.
#[track_caller]
fn expected(text: &str, path: &str) -> Vec<String> {
    let row = row(text, "Measured and expected", path);
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1).map(str::to_owned).collect()
}

/// What stands under the heading of a pipeline, its lines joined.
#[track_caller]
fn section(text: &str, path: &str) -> String {
    let is_head =
        |line: &&str| line.starts_with(path) && (line.len() == path.len() || line[path.len()..].starts_with(':'));
    let mut lines = text.lines().skip_while(|line| !is_head(line));
    assert!(lines.next().is_some(), "{path} is not drawn: {text}");
    let body: Vec<&str> = lines.skip(1).take_while(|line| !line.starts_with("---")).collect();
    body.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A range as the view shows it.
fn range(low: f64, high: f64) -> String {
    let shown = if high >= 1e9 { format!("{:.3}", low / 1e9) } else { format!("{:.0}", low / 1e6) };
    let low = if low >= 1e9 { format!("{:.2}", low / 1e9) } else { shown };
    format!("{low} … {}", value(high))
}

/// What is said of the usual pipeline of a changed run on two CPUs.
fn section_of(change: &dyn Fn(&mut Run)) -> String {
    let mut run = two_cpus();
    change(&mut run);
    section(&en(&run), "zero_pipe_socket_null")
}

fn remove(run: &mut Run, path: &str) {
    let before = run.cases.len();
    run.cases.retain(|case| case.params.get("path") != Some(path));
    assert!(run.cases.len() < before, "{path}");
}

fn change(run: &mut Run, path: &str, change: impl FnOnce(&mut Measured)) {
    let case = run.cases.iter_mut().find(|case| case.params.get("path") == Some(path)).unwrap();
    let measured = case.measured_mut().unwrap();
    change(measured);
}

fn set_also(run: &mut Run, path: &str, name: &str, value: f64) {
    change(run, path, |measured| measured.also.get_mut(name).unwrap().estimate.typical = value);
}

#[test]
fn the_view_of_both_languages() {
    let mut run = one_cpu();
    run.cases.extend(two_cpus().cases);
    golden("data-path-en.txt", &shown(&run, Lang::En));
    golden("data-path-zh.txt", &shown(&run, Lang::Zh));
}

#[test]
fn on_one_cpu_the_times_of_single_stages_add_up_and_counting_crossings_gives_a_part_of_the_rate_of_tcp() {
    let text = en(&one_cpu());
    let head = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let by_copies = "By copies alone TCP would give 2.00 GB/s × 6 / 2 = 6.00 GB/s; alone it gives 3.12 GB/s.";
    assert!(head.contains(by_copies), "{text}");
    let error = |rate: f64, measured: f64| {
        format!("{:+.0} %", (rate / measured - 1.0) * 100.0).replace('-', "−").replace("+0 %", "0 %")
    };
    // By hand: ns of a byte in source + pipes + socket, the socket by where pipes stand; and crossings, of which TCP alone, at 0.32 ns,
    // has two.
    for (path, time, crossings, measured) in [
        ("zero_pipe_socket_null", 0.02 + 0.2 + 0.25, 6.0, 2.0e9),
        ("file_pipe_socket_null", 0.05 + 0.2 + 0.25, 6.0, 2.0e9),
        ("file_socket_null", 0.05 + 0.32, 4.0, 2.6e9),
        ("zero_pipe_socket_pipe_null", 0.02 + 0.2 + 0.5 + 0.2, 8.0, 1.1e9),
        ("zero_pipe_socket_pipe_pipe_null", 0.02 + 0.2 + 0.5 + 0.2 + 0.2, 10.0, 0.88e9),
        ("memory_socket_pipe_memory", 0.32 + 0.2, 4.0, 1.6e9),
    ] {
        let (rate, counted) = (1e9 / time, 1e9 / 0.32 * 2.0 / crossings);
        let all = [value(measured), value(rate), error(rate, measured), value(counted), error(counted, measured)];
        assert_eq!(expected(&text, path)[..5], all, "{path}");
    }
}

#[test]
fn on_two_cpus_the_forecast_reaches_from_one_after_another_to_all_at_once() {
    let text = en(&two_cpus());
    // One after another: 1 / (0.02 + 0.4 + 0.5); at once: the second process reads the pipe (0.15) and writes to TCP (0.1),
    // the first takes 0.02 + 0.1, the last 0.4: the last is the slowest, for 2 CPUs would give 2 / 0.77 of all.
    let cells = expected(&text, "zero_pipe_socket_null");
    assert_eq!(cells[1..3], [range(1e9 / 0.92, 1e9 / 0.4), "within".to_owned()]);
    // Five processes: the CPUs are the limit, 2 / (0.77 + 2 × 0.25); measured above it.
    let cells = expected(&text, "zero_pipe_socket_pipe_pipe_null");
    let (low, high) = (1e9 / (0.02 + 3.0 * 0.4 + 0.5), 2e9 / (0.77 + 2.0 * 0.25));
    let error = format!("{:.0} %", (high / 2.5e9 - 1.0) * 100.0).replace('-', "−");
    assert_eq!(cells[1..3], [range(low, high), error]);
    // Measured below the low end.
    let mut slow = two_cpus();
    change(&mut slow, "zero_pipe_socket_null", |measured| measured.estimate.typical = 1e9);
    assert_eq!(expected(&en(&slow), "zero_pipe_socket_null")[2], "+9 %");
}

#[test]
fn ways_of_tcp_that_were_measured_on_two_cpus_widen_the_range() {
    let mut run = two_cpus();
    let stage = |path, rate, cpu: [f64; 2]| {
        let busy = cpu.map(|ns| Busy::kernel(ns * rate / 1e9));
        case_of(path, 2, rate, "memory>socket copy; socket>memory copy", &busy)
    };
    run.cases.push(stage("memory_socket_memory_close", 2e9, [0.1, 0.2]));
    run.cases.push(stage("memory_socket_memory_behind", 1e9, [0.2, 0.5]));
    // The slowest way takes 1 ns of a byte. With the cheapest all processes take 0.02 + 0.1 + 0.15 + 0.1 + 0.2 of CPU time.
    let cells = expected(&en(&run), "zero_pipe_socket_null");
    assert_eq!(cells[1], range(1e9 / 1.42, 2e9 / 0.57));
}

#[test]
fn on_two_cpus_the_scheduler_may_keep_all_on_one() {
    let mut run = one_cpu();
    run.cases.extend(two_cpus().cases);
    let text = en(&run);
    let of_two = text.split("Measured and expected: On 2 CPUs").nth(1).unwrap();
    // One CPU gives 1 / 1.12 of five processes, more than one hop after another on two, 1 / 1.72: that stays.
    assert!(of_two.contains(&range(1e9 / 1.72, 2e9 / 1.27)), "{of_two}");
    change(&mut run, "memory_pipe_memory", |measured| measured.estimate.typical = 1e9);
    let text = en(&run);
    let of_two = text.split("Measured and expected: On 2 CPUs").nth(1).unwrap();
    // With pipes of 1 ns one CPU gives less: 1 / (0.02 + 3 × 1 + 0.5).
    assert!(of_two.contains(&range(1e9 / 3.52, 2e9 / 1.27)), "{of_two}");
}

#[test]
fn processes_that_wait_for_a_cpu_beside_an_idle_one_are_reported() {
    let with = |delay: f64, busy: f64| {
        section_of(&|run| {
            set_also(run, "zero_pipe_socket_null", "stage1_run_delay", delay);
            set_also(run, "zero_pipe_socket_null", "busy_cpus", busy);
        })
    };
    let sentence = "0.50 processes wait for a CPU at any time, while 1.00 of 2 CPUs are idle";
    assert!(with(0.5, 1.0).contains(sentence), "{}", with(0.5, 1.0));
    assert!(!with(0.5, 1.8).contains("at any time") && !with(0.2, 1.0).contains("at any time"));
    // A CPU that others use is not idle.
    let used = section_of(&|run| {
        set_also(run, "zero_pipe_socket_null", "stage1_run_delay", 0.5);
        set_also(run, "zero_pipe_socket_null", "busy_cpus", 1.0);
        change(run, "zero_pipe_socket_null", |measured| {
            measured.rounds.iter_mut().for_each(|round| round.others = Some(Others { share: 0.42, error: 0.02 }));
        });
    });
    assert!(!used.contains("at any time"));
    // One CPU alone has none beside it.
    let mut idle = one_cpu();
    set_also(&mut idle, "zero_pipe_socket_null", "busy_cpus", 0.5);
    assert!(!section(&en(&idle), "zero_pipe_socket_null").contains("at any time"));
}

#[test]
fn a_cold_file_that_is_faster_than_its_disk_came_from_a_cache_below() {
    let may_be = "may hold the file, which was written just before";
    let unsure = "answered (the hypervisor's, the device's) is unknown";
    let words = |run: &Run| en(run).split_whitespace().collect::<Vec<_>>().join(" ");
    let slower = words(&one_cpu());
    assert!(!slower.contains(may_be) && !slower.contains(unsure), "{slower}");
    let mut faster = one_cpu();
    change(&mut faster, "cold_file_null", |measured| measured.estimate = synthetic::estimate(1.4e9, 0.01));
    assert!(words(&faster).contains(may_be), "{}", words(&faster));
    faster.cases.retain(|case| case.probe != "disk.direct_io");
    assert!(words(&faster).contains(unsure) && !words(&faster).contains(may_be), "{}", words(&faster));
}

#[test]
fn what_other_programs_had_of_a_cpu_is_named_beside_what_the_pipeline_had() {
    let mut run = one_cpu();
    for (name, value) in
        [("stage1_kernel", 0.12), ("stage2_kernel", 0.21), ("stage3_kernel", 0.16), ("busy_cpus", 0.49)]
    {
        set_also(&mut run, "zero_pipe_socket_null", name, value);
    }
    let before = section(&en(&run), "zero_pipe_socket_null");
    assert!(!before.contains("other programs"), "{before}");
    // It waited for the only CPU beyond the 0.28 that the other two had of it.
    set_also(&mut run, "zero_pipe_socket_null", "stage2_run_delay", 0.76);
    set_also(&mut run, "zero_pipe_socket_null", "stage2_read_wait", 0.76);
    let text = en(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, _) = text.split_once(" By copies alone").unwrap();
    assert!(head.ends_with("keep 0.49 of 1 CPU busy and other programs at least 0.48."), "{head}");
    let section = section(&en(&run), "zero_pipe_socket_null");
    assert!(section.contains("0.49 of 1 CPU busy and other programs at least 0.48,"), "{section}");
    assert!(section.contains("since other programs have it too"), "{section}");
}

#[test]
fn a_single_stage_that_was_not_measured_is_named() {
    let mut run = one_cpu();
    remove(&mut run, "memory_socket_memory_close");
    remove(&mut run, "memory_pipe_memory");
    let text = en(&run);
    let row = row(&text, "Measured and expected", "zero_pipe_socket_null");
    assert!(
        row.contains("–(")
            && text.contains("not measured or not believed: memory_pipe_memory, memory_socket_memory_close"),
        "{text}"
    );
    assert!(text.contains("not measured or not believed: memory_pipe_memory\n"), "{text}");
    assert!(!section(&text, "zero_pipe_socket_null").contains("A byte's time"), "{text}");
    // The others stand.
    assert_eq!(expected(&text, "file_socket_null")[1], value(1e9 / 0.37));
    let zh = shown(&run, Lang::Zh);
    assert!(zh.contains("未测量或不可信：memory_pipe_memory, memory_socket_memory_close"), "{zh}");
}

#[test]
fn a_single_stage_that_cannot_be_believed_is_none() {
    let mut run = one_cpu();
    let flag = Flag::new(FlagKind::Implausible, "over what memory moves");
    change(&mut run, "memory_pipe_memory", |measured| measured.flags.push(flag));
    let text = en(&run);
    assert!(text.contains("not measured or not believed: memory_pipe_memory\n"), "{text}");
    assert!(text.contains("memory_pipe_memory: implausible: over what memory moves"), "{text}");
}

#[test]
fn the_slowest_process_is_the_one_that_waits_least_for_its_neighbours() {
    let (of, usual) = (section_of, section_of(&|_| ()));
    assert!(usual.contains("Slowest: 3 nc -l. It waits 5.0 % of the time for its neighbours"), "{usual}");
    assert!(usual.contains("95 % of the time it works in the kernel") && usual.contains("[3]*"), "{usual}");
    // The last waits longer than the second.
    let set = |run: &mut Run, name: &str, value| set_also(run, "zero_pipe_socket_null", name, value);
    let other = of(&|run| set(run, "stage3_read_wait", 0.9));
    assert!(other.contains("Slowest: 2 nc.") && other.contains("[2]*"), "{other}");
    // What it waits for a CPU is no wait for neighbours.
    let delayed = of(&|run| {
        set(run, "stage1_run_delay", 0.69);
        set(run, "stage1_user", 0.01);
    });
    assert!(delayed.contains("Slowest: 1 dd. It waits 1.0 % of the time"), "{delayed}");
    assert!(delayed.contains("69 % of the time it could run and has no CPU"), "{delayed}");
    // Nor is what the first waits to read, for before it stands no process; nor what the last waits to write.
    let source = of(&|run| {
        set(run, "stage1_read_wait", 0.7);
        set(run, "stage1_write_wait", 0.0);
    });
    assert!(
        source.contains("Slowest: 1 dd.") && source.contains("70 % of the time it waits for its source"),
        "{source}"
    );
    let sink = of(&|run| set(run, "stage3_write_wait", 0.9));
    assert!(sink.contains("Slowest: 3 nc -l."), "{sink}");
    // Works in user space.
    let user = of(&|run| {
        set(run, "stage3_user", 0.6);
        set(run, "stage3_kernel", 0.35);
    });
    assert!(user.contains("60 % of the time it works in user space"), "{user}");
    // Two that cannot be told apart.
    let tied = of(&|run| {
        set(run, "stage2_read_wait", 0.08);
        set(run, "stage2_write_wait", 0.0);
    });
    assert!(!usual.contains("hardly better") && tied.contains("2 nc is hardly better (8.0 %)"), "{tied}");
}

#[test]
fn a_full_cpu_is_reported() {
    let text = en(&one_cpu());
    assert!(section(&text, "zero_pipe_socket_null").contains("The CPU is full"), "{text}");
    let mut idle = one_cpu();
    set_also(&mut idle, "zero_pipe_socket_null", "busy_cpus", 0.85);
    assert!(!section(&en(&idle), "zero_pipe_socket_null").contains("The CPU is full"));
}

#[test]
fn an_error_over_15_percent_is_reported_with_what_stands_beside() {
    let at = |rate: f64, busy: f64, switches: f64| {
        let mut run = one_cpu();
        change(&mut run, "zero_pipe_socket_null", |measured| measured.estimate.typical = rate);
        set_also(&mut run, "zero_pipe_socket_null", "busy_cpus", busy);
        set_also(&mut run, "zero_pipe_socket_null", "stage1_switches", switches);
        section(&en(&run), "zero_pipe_socket_null")
    };
    // 2.13e9 are expected. The single stages take 0.47 ns of CPU time, and 20 + 2 switches: here 5 + 5 + the first's.
    let near = at(1.86e9, 1.0, 5.0);
    assert!(!near.contains("off by"), "{near}");
    let idle = at(1.7e9, 0.8, 5.0);
    assert!(idle.contains("off by +25 %. Seen beside: 0.20 of 1 CPU idle."), "{idle}");
    let switches = at(1.7e9, 0.8, 15.0);
    assert!(switches.contains("idle; 25.0 switches for each MiB, of the single stages 22.0."), "{switches}");
    let time = at(1.7e9, 1.0, 5.0);
    assert!(time.contains("Seen beside: 0.588 ns of CPU time a byte, of the single stages 0.470 (+25 %)."), "{time}");
    let nothing = at(1.7e9, 0.97 * 0.82 * 1.2, 5.0);
    assert!(nothing.contains("off by +25 %"), "{nothing}");
}

#[test]
fn what_was_measured_with_one_thing_changed_stands_beside() {
    let mut run = one_cpu();
    run.cases.extend(two_cpus().cases);
    let text = en(&run);
    let lines = section(&text, "zero_pipe_socket_null");
    // 2.5 and 2.6 over 2.0; the second CPU gives 2.2.
    let expected = "Changed here, as measured: a process less (file_socket_null) 2.60 GB/s (×1.30); splice \
                    (zero_pipe_splice_socket_null) 2.50 GB/s (×1.25); 2 CPUs 2.20 GB/s (×1.10).";
    assert!(lines.contains(expected), "{lines}");
    // What foregoes a copy has nothing to change in that, and a rate that cannot be believed is no advice.
    let mut two_ways = one_cpu();
    let of_sendfile = |case: &&CaseRecord| case.params.get("path") == Some("file_sendfile_socket_null");
    let mut splice = two_ways.cases.iter().find(of_sendfile).unwrap().clone();
    splice.params = splice.params.with("path", "file_splice_socket_null");
    two_ways.cases.push(splice);
    assert!(!section(&en(&two_ways), "file_splice_socket_null").contains("Changed here"));
    let mut doubted = one_cpu();
    let flag = Flag::new(FlagKind::Implausible, "too fast");
    change(&mut doubted, "zero_pipe_splice_socket_null", |measured| measured.flags.push(flag));
    assert!(!section(&en(&doubted), "zero_pipe_socket_null").contains("(zero_pipe_splice_socket_null)"));
    for (path, has, has_not) in [
        ("file_socket_null", "sendfile (file_sendfile_socket_null) 3.12 GB/s (×1.20)", "process less"),
        ("zero_pipe_socket_pipe_null", "(zero_pipe_socket_null)", "(file_pipe_socket_null)"),
        ("memory_socket_pipe_memory", "a process less (memory_socket_memory)", "(memory_pipe_memory) 5"),
        ("zero_pipe_socket_pipe_pipe_null", "a process less (zero_pipe_socket_pipe_null)", "(zero_pipe_socket_null)"),
    ] {
        let lines = section(&text, path);
        assert!(lines.contains(has) && !lines.contains(has_not), "{lines}");
    }
    let mut larger = one_cpu();
    let mut other =
        larger.cases.iter().find(|case| case.params.get("path") == Some("zero_pipe_socket_null")).unwrap().clone();
    other.id = other.id.replace("block=65536", "block=262144");
    other.params = other.params.with("block", "262144");
    larger.cases.push(other);
    assert!(section(&en(&larger), "zero_pipe_socket_null").contains("blocks of 256 KiB 2.00 GB/s (×1.00)"));
}

#[test]
fn without_copies_nothing_is_forecast_and_fewer_arrows_are_double() {
    let text = en(&one_cpu());
    let splice = section(&text, "zero_pipe_splice_socket_null");
    assert!(splice.contains("/dev/zero => [1] => pipe -> [2] -> TCP => [3]* -> /dev/null"), "{splice}");
    assert!(splice.contains("3 copies and 5 crossings of each byte"), "{splice}");
    assert!(expected(&text, "zero_pipe_splice_socket_null")[1].starts_with("no model"), "{text}");
    assert!(text.contains("no model for its calls"), "{text}");
    let copied = section(&text, "memory_zero_copy_socket_memory");
    assert!(copied.contains("[1]* => TCP => [2]"), "{copied}");
    let mut run = one_cpu();
    change(&mut run, "memory_zero_copy_socket_memory", |measured| {
        measured.notes.insert("zero_copy".into(), "not copied".into());
    });
    assert!(section(&en(&run), "memory_zero_copy_socket_memory").contains("[1]* -> TCP => [2]"));
}

#[test]
fn runs_with_few_paths_none_or_failed_ones_are_reported_as_they_are() {
    let few = |paths: &[&str]| {
        let mut run = one_cpu();
        run.cases.retain(|case| case.params.get("path").is_some_and(|path| paths.contains(&path)));
        run
    };
    let text = en(&few(&["zero_pipe_socket_null", "memory_socket_memory"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "2.00 GB/s through dd | nc → nc -l > /dev/null (64 KiB blocks, no poll), 3.12 GB/s TCP alone";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("not measured or not believed: zero_null,"), "{text}");
    // TCP alone, or a pipeline alone.
    assert!(en(&few(&["memory_socket_memory"])).contains("3.12 GB/s TCP alone"));
    let alone = en(&few(&["zero_pipe_socket_null"]));
    assert!(alone.contains("2.00 GB/s through dd") && expected(&alone, "zero_pipe_socket_null")[3] == "–", "{alone}");
    let mut failed = few(&["zero_pipe_socket_null", "memory_socket_memory"]);
    failed.cases[0].outcome = Outcome::Failed { reason: ReasonCode::ProcessDied.because("worker killed by SIGBUS") };
    failed.cases[1].outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
    let text = en(&failed);
    assert!(text.contains("failed: worker killed by SIGBUS") && text.contains(": skipped: no time left"), "{text}");
    // Where one reason keeps all of a setting, it stands there once.
    let mut lacking = one_cpu();
    let mut two = two_cpus().cases;
    let needs = Outcome::Skipped { reason: ReasonCode::TooFewCpus.because("needs 2 CPUs") };
    two.iter_mut().for_each(|case| case.outcome = needs.clone());
    lacking.cases.extend(two);
    let text = en(&lacking);
    assert!(
        text.contains("On 2 CPUs, blocks of 64 KiB\n---------------------------\nskipped: needs 2 CPUs\n"),
        "{text}"
    );
    assert_eq!(text.matches("needs 2 CPUs").count(), 1);
    let empty = en(&synthetic::plausible());
    assert!(empty.contains("hostmark run --table data-path") && empty.lines().count() <= 2, "{empty}");
    // Without notes and further quantities the rate stands alone.
    let mut bare = few(&["zero_pipe_socket_null", "memory_socket_memory"]);
    change(&mut bare, "zero_pipe_socket_null", |measured| measured.notes.clear());
    assert!(en(&bare).contains("the run does not name its processes"));
    let mut lacking = few(&["zero_pipe_socket_null", "memory_socket_memory"]);
    change(&mut lacking, "zero_pipe_socket_null", |measured| measured.also.clear());
    let text = en(&lacking);
    assert!(section(&text, "zero_pipe_socket_null").contains("[3]") && !text.contains("Slowest"), "{text}");
    // A remark on a value stands with it.
    let mut flagged = one_cpu();
    let flag = Flag::new(FlagKind::Contended, "in 2 of 3 rounds");
    change(&mut flagged, "zero_pipe_socket_null", |measured| measured.flags.push(flag));
    assert!(
        section(&en(&flagged), "zero_pipe_socket_null").contains("! other programs used its CPUs: in 2 of 3 rounds")
    );
}

#[test]
fn the_congestion_control_is_reported_and_what_pacing_means() {
    let with = |control: &str| {
        let mut run = one_cpu();
        change(&mut run, "zero_pipe_socket_null", |measured| {
            measured.notes.insert("congestion_control".into(), control.into());
        });
        en(&run)
    };
    assert!(!en(&one_cpu()).contains("Congestion control"));
    assert!(with("cubic").contains("Congestion control of TCP: cubic.\n"));
    assert!(with("bbr").contains("Congestion control of TCP: bbr. bbr paces what it sends"));
}

#[test]
fn intervals_of_what_each_process_took_are_shown_where_all_is() {
    let run = one_cpu();
    let options = RenderOptions { verbose: true, width: 100, ..RenderOptions::default() };
    let text = format_named("data-path").unwrap().render(std::slice::from_ref(&run), &options).unwrap();
    assert!(text.contains("kernel 20 % (20 % … 20 %)"), "{text}");
    assert!(!en(&run).contains("kernel 20 % (20 %"));
}
