//! Fleets with known truth: who is odd is found with the cause, who is not is left alone, and no file breaks the report.

use hostmark_present::export::fleet::{FORMATS, format_named};

use hostmark_analysis::fleet::planted::{MadeUp, Planted};

use crate::prelude::*;

fn options(lang: Lang) -> RenderOptions {
    RenderOptions { width: 100, color: false, lang, verbose: true }
}

fn gathered(made_up: &MadeUp) -> Gathering {
    let mut gathering = Gathering::new(&[]);
    for host in 0..made_up.hosts {
        gathering.read(&format!("{host}.json"), made_up.run(host, 0).as_bytes());
    }
    gathering
}

fn text(fleet: &Fleet, format: &str, lang: Lang) -> String {
    let mut text = String::new();
    (format_named(format).unwrap().write)(fleet, &options(lang), &mut |part| text += part);
    text
}

fn odd(fleet: &Fleet) -> Vec<&str> {
    let mut names: Vec<&str> = fleet.odd().map(|(_, host)| host.name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn each_planted_cause_is_found_with_its_hosts_and_its_group() {
    let planted = [
        (Planted::Quota, "host.limits.cpu_quota", None),
        (Planted::Modules, "host.memory.total_bytes", Some("memory")),
        (Planted::HugePages, "host.memory.transparent_huge_pages", Some("paging")),
        (Planted::Mitigations, "host.kernel.vulnerabilities.spectre_v2", Some("syscall")),
    ];
    for (planted, key, group) in planted {
        let made_up = MadeUp { odd: 5, shift: 0.2, planted, ..MadeUp::usual(60, 7) };
        let fleet = Fleet::of(&gathered(&made_up));
        assert_eq!(odd(&fleet), (0..5).map(MadeUp::name).collect::<Vec<String>>(), "{planted:?}");
        let cause = fleet.causes.first().unwrap();
        assert!(cause.p.unwrap() < 0.01 && cause.odd == (5, 5) && cause.others == (0, 55), "{cause:?}");
        let (kind, host) = fleet.odd().next().unwrap();
        assert!(host.reasons.iter().any(|reason| reason.key == key), "{planted:?}: {:?}", host.reasons);
        if let Some(group) = group {
            assert_eq!(kind.groups[host.odd_groups[0]].name, group);
            assert!(host.odd_cases.iter().take(5).all(|case| case.id.starts_with(group)), "{:?}", host.odd_cases);
            let place = host.groups[host.odd_groups[0]].unwrap();
            assert!((-0.25..-0.15).contains(&place.change), "{place:?}");
        }
    }
}

#[test]
fn one_odd_host_of_eight_is_reported_with_what_it_alone_has() {
    let made_up = MadeUp { odd: 1, shift: 0.5, planted: Planted::Quota, ..MadeUp::usual(8, 3) };
    let fleet = Fleet::of(&gathered(&made_up));
    assert_eq!(odd(&fleet), ["node00000"]);
    let (_, host) = fleet.odd().next().unwrap();
    let quota = host.reasons.iter().find(|reason| reason.key == "host.limits.cpu_quota").unwrap();
    assert_eq!((quota.value.en.as_str(), quota.usual.en.as_str(), quota.others, quota.of), ("4", "none", 0, 7));
}

#[test]
fn fewer_than_five_hosts_of_a_kind_have_no_verdict_and_it_is_said() {
    let made_up = MadeUp { kinds: 3, odd: 1, shift: 0.5, ..MadeUp::usual(12, 1) };
    let fleet = Fleet::of(&gathered(&made_up));
    assert_eq!((fleet.kinds.len(), fleet.judged, fleet.odd().count()), (3, 0, 0));
    assert!(text(&fleet, "table", Lang::En).contains("no verdict: 4 hosts, and it takes 5 to tell what is usual"));
    assert!(text(&fleet, "table", Lang::Zh).contains("不作判定：只有 4 台"));
}

#[test]
fn kinds_are_distinguished_by_their_facts_and_judged_together() {
    let made_up = MadeUp { kinds: 2, odd: 2, shift: 0.3, planted: Planted::Modules, ..MadeUp::usual(40, 2) };
    let fleet = Fleet::of(&gathered(&made_up));
    assert_eq!((fleet.kinds.len(), fleet.judged), (2, 40));
    assert_eq!(odd(&fleet), ["node00000", "node00002"]);
    assert!(fleet.causes.iter().all(|cause| cause.p.is_none() && cause.odd == (2, 2)), "{:?}", fleet.causes);
    assert!(text(&fleet, "table", Lang::En).contains("shared by 2 of 2 outliers, 0 of 38 others"));
}

#[test]
fn several_runs_of_a_host_report_what_it_scatters_by_itself() {
    let made_up = MadeUp::usual(10, 4);
    let mut gathering = gathered(&made_up);
    (0..10).for_each(|host| gathering.read(&format!("{host}-again.json"), made_up.run(host, 1).as_bytes()));
    let fleet = Fleet::of(&gathering);
    assert_eq!((fleet.runs, fleet.hosts()), (20, 10));
    let disk = fleet.kinds[0].groups.iter().find(|group| group.name == "disk").unwrap();
    let (between, within) = (disk.between.unwrap(), disk.within.unwrap());
    assert!((0.005..0.02).contains(&within) && between > 1.5 * within, "{between} {within}");
}

#[test]
fn a_host_that_slows_down_from_run_to_run_drifts() {
    let made_up = MadeUp::usual(5, 9);
    let mut gathering = Gathering::new(&[]);
    for host in 0..5 {
        for run in 0..8 {
            let slower = MadeUp { odd: 5, shift: 0.02 * run as f64, planted: Planted::HugePages, ..made_up };
            let of = if host == 0 { slower } else { made_up };
            gathering.read(&format!("{host}-{run}.json"), of.run(host, run).as_bytes());
        }
    }
    let fleet = Fleet::of(&gathering);
    let [drift] = fleet.drifts.as_slice() else { panic!("{:?}", fleet.drifts) };
    assert_eq!((drift.host.as_str(), drift.group.as_str(), drift.runs), ("node00000", "paging", 8));
    assert!((-0.2..-0.08).contains(&drift.change), "{drift:?}");
}

/// The run of a host with something of it replaced.
fn changed(made_up: &MadeUp, host: usize, pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut run = made_up.run(host, 0);
    for (from, to) in pairs {
        assert!(run.contains(from), "{from}");
        run = run.replace(from, to);
    }
    run.into_bytes()
}

#[test]
fn what_is_no_whole_run_of_this_version_is_a_row_with_its_reason() {
    let made_up = MadeUp::usual(6, 5);
    let mut gathering = gathered(&made_up);
    let whole = made_up.run(0, 0);
    gathering.read("torn.json", &whole.as_bytes()[..whole.len() / 2]);
    gathering.read("newer.json", whole.replace("hostmark.run/1", "hostmark.run/2").as_bytes());
    gathering.read("foreign.json", br#"{"name": "package", "version": "1.0"}"#);
    gathering.read("list.json", b"[1, 2, 3]");
    gathering.read("bytes.json", &[0xff, 0xfe, 0x00]);
    gathering.read("empty.json", b"");
    gathering.read("copy.json", whole.as_bytes());
    gathering.read("deep.json", "[".repeat(100_000).as_bytes());
    let fleet = Fleet::of(&gathering);
    assert_eq!(fleet.runs, 6);
    let reasons: Vec<String> = fleet.unread.iter().map(|file| format!("{} {}", file.file, file.reason.en)).collect();
    for (file, part) in [
        ("torn.json", "is truncated"),
        ("newer.json", "newer hostmark"),
        ("foreign.json", "no schema"),
        ("list.json", "not a hostmark run"),
        ("bytes.json", "not text"),
        ("empty.json", "is empty"),
        ("copy.json", "is the same run as 0.json"),
        ("deep.json", "not a hostmark run"),
    ] {
        assert!(reasons.iter().any(|reason| reason.starts_with(file) && reason.contains(part)), "{file}: {reasons:#?}");
    }
    for format in ["table", "html", "markdown", "json"] {
        assert!(text(&fleet, format, Lang::Zh).contains("不完整（在第 1 行中断）"), "{format}");
    }
}

#[test]
fn two_hosts_of_one_name_are_distinguished() {
    let made_up = MadeUp::usual(8, 6);
    let mut gathering = gathered(&made_up);
    // Another machine of the same name, which ran at the same time.
    let twin =
        changed(&made_up, 0, &[("\"00000000-0000-4000", "\"77777777-0000-4000"), ("-7000-8000-", "-7000-8001-")]);
    gathering.read("twin.json", &twin);
    // And one of other hardware.
    let other = changed(&made_up, 1, &[("Example 0", "Example 9"), ("-7000-8000-", "-7000-8002-")]);
    gathering.read("other.json", &other);
    let fleet = Fleet::of(&gathering);
    let names: Vec<&str> = fleet
        .kinds
        .iter()
        .flat_map(|kind| &kind.hosts)
        .filter(|host| host.shares_name)
        .map(|host| host.name.as_str())
        .collect();
    assert_eq!((fleet.hosts(), names.len()), (10, 4));
    for part in ["boot 00000000", "boot 77777777", "Example 0", "Example 9"] {
        assert!(names.iter().any(|name| name.contains(part)), "{part}: {names:?}");
    }
}

#[test]
fn a_name_steers_no_terminal_and_no_page_in_any_format() {
    let made_up = MadeUp { odd: 1, shift: 0.5, ..MadeUp::usual(8, 8) };
    let hostile = "\\u001b[31m</script><b>\\u202e|`x`\\n=1";
    let mut gathering = Gathering::new(&[]);
    for host in 0..8 {
        let run = match host {
            0 => changed(&made_up, 0, &[("node00000", hostile), ("Not affected", hostile), ("0x", hostile)]),
            _ => made_up.run(host, 0).into_bytes(),
        };
        gathering.read(&format!("\u{1b}[2J{host}.json"), &run);
    }
    gathering.read("\u{1b}[2Jtorn.json", b"{");
    let fleet = Fleet::of(&gathering);
    assert_eq!(fleet.odd().count(), 1);
    for format in FORMATS {
        for lang in [Lang::En, Lang::Zh] {
            let text = text(&fleet, format.name, lang);
            let steers = |c: char| c != '\n' && hostmark_analysis::escape::steers(c);
            assert!(!text.contains(steers), "{}", format.name);
            if format.name == "html" {
                assert_eq!(text.matches("</script>").count(), 2);
                assert!(!text.contains("<b>\\u"), "{}", format.name);
            }
        }
    }
}

#[test]
fn a_host_that_lies_about_its_facts_and_values_harms_only_itself() {
    let made_up = MadeUp::usual(10, 10);
    let mut gathering = gathered(&made_up);
    let usual = Fleet::of(&gathering);
    let lies = [
        ("\"total_bytes\":274877906944", "\"total_bytes\":18446744073709551615"),
        ("\"packages\":1", "\"packages\":18446744073709551615"),
        ("-7000-8000-", "-7000-8003-"),
        ("node00003", "liar"),
        ("\"ci_low\"", "\"ci_low\":-1e308,\"ignored\""),
    ];
    gathering.read("liar.json", &changed(&made_up, 3, &lies));
    let fleet = Fleet::of(&gathering);
    assert_eq!((fleet.kinds.len(), fleet.judged), (2, 10));
    assert_eq!(odd(&usual), odd(&fleet));
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn the_page_of_many_hosts_is_small_and_reads_without_a_script() {
    let made_up = MadeUp { odd: 10, shift: 0.3, planted: Planted::Modules, ..MadeUp::usual(300, 11) };
    let fleet = Fleet::of(&gathered(&made_up));
    let page = text(&fleet, "html", Lang::En);
    // Of a thousand, 3 MB.
    assert!(page.len() < 300 * 3_000, "{}", page.len());
    let without = page.split("<script").next().unwrap();
    for host in 0..10 {
        assert!(without.contains(&format!("<a href=\"#h0-{host}\">")), "{host}");
    }
    assert!(without.contains("DIMMs") && without.contains("内存条"), "reasons");
    assert_eq!(without.matches("<tr id=\"h0-").count(), 300);
    // The name of SVG is an address that nobody asks for.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for from in ["http://", "https://", "src=", "@import"] {
        assert!(!page.contains(from), "{from}");
    }
}

#[test]
fn programs_read_what_people_read() {
    let made_up = MadeUp { odd: 2, shift: 0.4, ..MadeUp::usual(20, 12) };
    let fleet = Fleet::of(&gathered(&made_up));
    let json: serde_json::Value = serde_json::from_str(&text(&fleet, "json", Lang::En)).unwrap();
    assert_eq!((json["schema"].as_str(), json["judged"].as_u64()), (Some("hostmark.fleet/1"), Some(20)));
    assert_eq!(json["kinds"][0]["hosts"][0]["is_odd"], true);
    let lines = text(&fleet, "jsonl", Lang::En);
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 20 * 240);
    let slow: Vec<&serde_json::Value> =
        lines.iter().filter(|line| line["odd"] == true && line["case"] == "cpu.p0@n=0").collect();
    assert_eq!(slow.len(), 2);
    for line in slow {
        let (value, median) = (line["value"].as_f64().unwrap(), line["median"].as_f64().unwrap());
        assert!((1.0 / (1.0 + line["change"].as_f64().unwrap()) - value / median).abs() < 1e-5, "{line}");
        assert!((1.5..1.9).contains(&(value / median)), "{line}");
    }
    let metrics = text(&fleet, "prometheus", Lang::En);
    assert!(metrics.contains("hostmark_fleet_odd_hosts{kind=\"Example 0, 8 CPUs, 256 GiB, native\"} 2"), "{metrics}");
    assert_eq!((metrics.matches("hostmark_fleet_host_odd{").count(), metrics.ends_with("\n# EOF\n")), (20, true));
    let markdown = text(&fleet, "markdown", Lang::Zh);
    assert!(markdown.contains("## 离群主机") && markdown.contains("| node00000 |"), "{markdown}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn only_the_cases_that_are_asked_for_judge() {
    let made_up = MadeUp { odd: 2, shift: 0.4, planted: Planted::Modules, ..MadeUp::usual(20, 13) };
    let of = |filter: &str| {
        let mut gathering = Gathering::new(&[filter.to_owned()]);
        (0..20).for_each(|host| gathering.read(&format!("{host}"), made_up.run(host, 0).as_bytes()));
        let fleet = Fleet::of(&gathering);
        (gathering.has_cases(), fleet.odd().count())
    };
    assert_eq!(
        (of("memory"), of("memory.p1"), of("cpu"), of("nothing")),
        ((true, 2), (true, 2), (true, 0), (false, 0))
    );
}

/// A tournament of these hosts: what each way carries, as a factor of what is usual.
fn tournament(made_up: &MadeUp, carries: impl Fn(usize, usize) -> f64) -> FleetRun {
    let mut estimate = load_run(&made_up.run(0, 0)).unwrap().cases.remove(0).measured().unwrap().estimate.clone();
    let name = |host: usize| format!("engine-{host}");
    let mut pairs = Vec::new();
    for (from, to) in (0..made_up.hosts).flat_map(|from| (0..made_up.hosts).map(move |to| (from, to))) {
        if from == to {
            continue;
        }
        // No two values are the same, as no two are that were measured.
        let factor = carries(from, to) * (1.0 + ((from * 7 + to * 13) % 11) as f64 / 1000.0);
        let mut of = |value: f64| {
            (estimate.typical, estimate.quiet) = (value, None);
            estimate.clone()
        };
        let (bandwidth, round_trip) = (Some(of(1e9 * factor)), Some(of(1e5 / factor)));
        pairs.push(FleetPair { from: name(from), to: name(to), turn: 0, bandwidth, round_trip, failed: None });
    }
    let hosts = (0..made_up.hosts).map(|host| FleetHost {
        host: name(host),
        state: HostState::Measured,
        reason: None,
        elapsed_s: None,
        file: format!("{host}.json"),
    });
    let request = FleetRequest { profile: Profile::Quick, filters: Vec::new(), set: Vec::new(), seed: None };
    let text = |text: &str| text.to_owned();
    let (schema, engine, started) = (text("hostmark.fleet_run/1"), text("hosts"), text("2026-01-01T00:00:00Z"));
    FleetRun { schema, engine, started, request, hosts: hosts.collect(), pairs }
}

fn met(made_up: &MadeUp, carries: impl Fn(usize, usize) -> f64) -> Fleet {
    let mut gathering = gathered(made_up);
    gathering.pairs(&tournament(made_up, carries), str::to_owned);
    Fleet::of(&gathering)
}

#[test]
fn a_slow_link_is_its_hosts_and_a_slow_way_is_that_of_two() {
    let made_up = MadeUp::usual(8, 3);
    let fleet = met(&made_up, |_, _| 1.0);
    assert!(odd(&fleet).is_empty());
    let between = fleet.between.as_ref().unwrap();
    assert!((between.measured, between.apart.len(), between.failed.len()) == (56, 0, 0), "{between:?}");
    assert!(text(&fleet, "table", Lang::En).contains("56 measured, both ways counted: none is worse"));

    let fleet = met(&made_up, |from, _| if from == 5 { 0.4 } else { 1.0 });
    let (_, host) = fleet.odd().next().unwrap();
    assert!(fleet.odd().count() == 1 && host.file == "5.json", "{host:?}");
    assert!(host.odd_cases.iter().any(|case| case.id == "net.pairs@direction=send"), "{:?}", host.odd_cases);
    assert!(host.odd_cases.iter().all(|case| case.id != "net.pairs@direction=receive"), "{:?}", host.odd_cases);
    assert!(fleet.between.unwrap().apart.is_empty());

    let fleet = met(&made_up, |from, to| if (from, to) == (2, 6) { 0.5 } else { 1.0 });
    assert!(odd(&fleet).is_empty());
    let between = fleet.between.as_ref().unwrap();
    assert_eq!(between.apart.len(), 2);
    for apart in &between.apart {
        assert!((apart.from.as_str(), apart.to.as_str()) == ("engine-2", "engine-6"), "{apart:?}");
        assert!((-0.52..-0.48).contains(&apart.change), "{apart:?}");
    }
    for format in ["table", "markdown", "html"] {
        for lang in [Lang::En, Lang::Zh] {
            assert!(text(&fleet, format, lang).contains("engine-2 → engine-6"), "{format}");
        }
    }
}

#[test]
fn a_tournament_that_says_anything_is_reported_or_left_out() {
    let made_up = MadeUp::usual(6, 3);
    let mut fleet = tournament(&made_up, |_, _| 1.0);
    for (pair, value) in fleet.pairs.iter_mut().zip([f64::NAN, 0.0, -1.0, f64::INFINITY, 1e308, 5e-324]) {
        pair.bandwidth.as_mut().unwrap().typical = value;
    }
    fleet.pairs[7].failed = Some("\u{1b}[31mred\n<b>".into());
    fleet.pairs[8].from = "\u{1b}]0;x\u{7}".into();
    fleet.hosts[2].file = "../../etc/passwd".into();
    let mut gathering = gathered(&made_up);
    gathering.pairs(&fleet, str::to_owned);
    let fleet = Fleet::of(&gathering);
    assert_eq!(fleet.between.as_ref().unwrap().failed.len(), 1);
    for format in FORMATS {
        let text = text(&fleet, format.name, Lang::En);
        assert!(!text.contains('\u{1b}') && !text.contains("red\n<b>"), "{}", format.name);
    }
}
