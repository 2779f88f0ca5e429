//! The page: what stands in it, what never does, how large it gets, and that it can be read by anybody.

use hostmark_analysis::compare::{Comparison, History, Pool, SAME};
use hostmark_model::{CpuFact, Lang, Outcome, Run, Unit};
use hostmark_present::RenderOptions;
use hostmark_present::export::{comparison, format_named};

use crate::compare::pages;
use crate::{synthetic, thorough};

fn page(runs: &[Run]) -> String {
    format_named("html").unwrap().render(runs, &RenderOptions::default()).unwrap()
}

/// Every tag of a page with its attributes, comments and the contents of scripts and styles apart.
fn tags(page: &str) -> Vec<&str> {
    let body = page.split_once("<body>").unwrap().1.rsplit_once("<script>").unwrap().0;
    body.match_indices('<').map(|(at, _)| body[at..].split_once('>').unwrap().0).collect()
}

/// Elements that have no end.
const VOID: [&str; 4] = ["<br", "<input", "<meta", "<img"];

/// Asserts that every element that begins ends, in the order that markup wants.
fn is_nested(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in tags(page) {
        let name = tag.split([' ', '\n', '/']).find(|part| part.len() > 1).unwrap_or("");
        if let Some(end) = tag.strip_prefix("</") {
            assert_eq!(open.pop(), Some(format!("<{end}").as_str()), "{tag}");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_of_every_run_is_well_formed() {
    let charts = thorough::with_charts(synthetic::plausible(), 2);
    let runs = [synthetic::empty(), synthetic::plausible(), charts, thorough::hostile(), thorough::odd()];
    for run in &runs {
        is_nested(&page(std::slice::from_ref(run)));
    }
    is_nested(&page(&runs));
}

#[test]
fn nothing_is_asked_of_any_network() {
    let page = page(&[thorough::with_charts(synthetic::plausible(), 4)]);
    for call in
        ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link", "<iframe", "<object"]
    {
        assert!(!page.contains(call), "{call}");
    }
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    // References stay inside the page.
    for href in page.split("href=\"").skip(1) {
        assert!(href.starts_with('#'), "{}", &href[..40.min(href.len())]);
    }
}

#[test]
fn no_picture_has_a_coordinate_that_is_no_number() {
    for runs in [vec![thorough::odd()], vec![synthetic::plausible(), thorough::odd()]] {
        let page = page(&runs);
        for tag in tags(&page) {
            for name in [" d=\"", " x=\"", " y=\"", " viewBox=\""] {
                let Some(value) = tag.split_once(name).map(|(_, rest)| rest.split('"').next().unwrap_or("")) else {
                    continue;
                };
                assert!(!value.contains("NaN") && !value.contains("inf"), "{tag}");
                assert!(value.len() < 60_000 && !value.contains("e+"), "{tag}");
            }
        }
    }
}

#[test]
fn a_topology_of_more_parts_than_bars_says_how_many_share_one() {
    let mut run = synthetic::plausible();
    let cpu = run.host.cpus[0].clone();
    run.host.cpus = (0..300).map(|id| CpuFact { id, siblings: vec![id], online: true, ..cpu.clone() }).collect();
    let page = page(&[run]);
    assert!(page.contains("CPU × 300 (3 a bar)") && page.contains("CPU 299"), "{page}");
}

#[test]
fn both_languages_stand_in_the_page_and_the_one_asked_for_is_shown() {
    let run = [synthetic::plausible()];
    for (lang, tag) in [(Lang::En, "en"), (Lang::Zh, "zh-CN")] {
        let options = RenderOptions { lang, ..RenderOptions::default() };
        let page = format_named("html").unwrap().render(&run, &options).unwrap();
        assert!(page.contains(&format!("<html lang=\"{tag}\">")));
        assert!(page.contains(&format!("value=\"{tag}\" checked")));
        assert!(page.contains("<span lang=\"en\">memory latency</span><span lang=\"zh-CN\">内存延迟</span>"));
    }
}

#[test]
fn every_case_has_a_row_with_its_value_or_the_reason_why_it_has_none() {
    let run = synthetic::plausible();
    let page = page(std::slice::from_ref(&run));
    let rows = (0..).take_while(|number| page.contains(&format!("<tr id=\"c{number}\""))).count();
    assert_eq!(rows, run.cases.len());
    for case in &run.cases {
        if let Outcome::Skipped { reason } | Outcome::Failed { reason } = &case.outcome {
            assert!(page.contains(&**reason), "{reason}");
        }
    }
    assert!(page.contains("FAILED: worker killed by SIGBUS in round 1"));
    assert!(!page.contains("<td></td><td"), "a cell is blank");
}

/// The charts that everybody wants, drawn for a machine of so many CPUs; those of the section that has all of them.
fn charts_for(cpus: usize) -> String {
    let page = page(&[thorough::with_charts(synthetic::plausible(), cpus)]);
    let part = |id: &str| {
        let from = page.split_once(&format!("<section id=\"{id}\"")).unwrap().1;
        from.split_once("</section>").unwrap().0
    };
    // The two that everybody wants stand beside the constants.
    for title in ["Memory latency by size", "Memory bandwidth by size"] {
        assert!(part("answer").contains(&format!("<span lang=\"en\">{title}</span>")), "{title}");
    }
    let charts = part("charts");
    for title in [
        "Memory latency by size and pattern",
        "Roofline",
        "Latency between nodes",
        "Memory latency by load",
        "Context switch by processes and footprint",
        "Percentiles: Communication",
    ] {
        assert!(charts.contains(&format!("<span lang=\"en\">{title}</span>")), "{title}");
    }
    charts.to_owned()
}

#[test]
fn of_two_cpus_no_map_of_one_pair_is_drawn_that_says_no_more_than_its_row() {
    assert!(!charts_for(2).contains("Core to core"));
}

#[test]
fn of_many_cpus_every_pair_is_drawn() {
    let charts = charts_for(64);
    let cores = charts.split_once("Core to core").unwrap().1.split_once("</figure>").unwrap().0;
    assert_eq!(cores.matches("class=\"m h").count(), 64 * 63);
    assert!(cores.contains("<title>CPU 0-1: "));
}

#[test]
fn the_levels_stand_in_the_chart_of_latency_with_what_the_host_reports() {
    let page = page(&[synthetic::plausible()]);
    let latency = page.split_once("Memory latency by size").unwrap().1.split_once("</figure>").unwrap().0;
    for level in ["L1d", "L2", "L3", "DRAM"] {
        assert!(latency.contains(&format!(">{level}</text>")), "{level}");
    }
    // The host reports another L3 than was measured: both borders are there.
    assert_eq!(latency.matches("class=\"m border\"").count(), 3);
    assert_eq!(latency.matches("class=\"m border claimed\"").count(), 1);
}

#[test]
fn a_roof_rises_with_the_bandwidth_and_ends_at_the_peak() {
    let page = page(&[thorough::with_charts(synthetic::plausible(), 2)]);
    let roof = page.split_once(">Roofline</span>").unwrap().1.split_once("</figure>").unwrap().0;
    let dram = roof.split_once("data-en=\"one core, DRAM\"").unwrap().1.split_once("</g>").unwrap().0;
    // What one core reads of memory, by 1/32 of an operation a byte; and the peak, at which all roofs end.
    let run = thorough::with_charts(synthetic::plausible(), 2);
    let memory = run.cases.iter().find(|case| case.id == "memory.hierarchy@level=dram").unwrap();
    let read = memory.measured().unwrap().also["read"].estimate.value();
    let slope = format!("{:.3}", read / 32.0 / 1e9);
    assert!(dram.contains(&format!("<title>0.031 flop/B: {}", &slope[..4])), "{read} {dram}");
    assert!(dram.contains("<title>64.000 flop/B: 50.0 GFLOP/s (peak of arithmetic)</title>"), "{dram}");
    let without = self::page(&[synthetic::plausible()]);
    assert!(!without.contains(">Roofline</span>"), "a roof without a peak");
}

#[test]
fn percentiles_are_drawn_through_the_values_that_the_tables_have() {
    let figure_of = |run| {
        let page = page(&[run]);
        page.split_once(">Percentiles: Communication</span>").unwrap().1.split_once("</figure>").unwrap().0.to_owned()
    };
    let mut run = synthetic::plausible();
    let figure = figure_of(run.clone());
    let case = run.cases.iter_mut().find(|case| case.id.starts_with("ipc.round_trip@")).unwrap();
    let values: Vec<u64> = (1000..3000).collect();
    let measured = case.measured_mut().unwrap();
    measured.histogram = Some(hostmark_model::Histogram { counts: vec![1; values.len()], values });
    let p99 = hostmark_analysis::format::amount(measured.also["p99"].estimate.value(), Unit::Nanoseconds);
    assert!(figure.contains(&format!("<title>99 %: {p99}")), "{p99} {figure}");
    // A histogram of all operations pooled over the rounds says something else.
    assert_eq!(figure_of(run), figure);
}

#[test]
fn a_reference_is_drawn_behind_and_named() {
    let mut run = synthetic::plausible();
    run.host.cpu.architecture = "x86_64".into();
    // The reference has an axis more.
    let probe = run.probes.iter_mut().find(|probe| probe.id == "memory.latency").unwrap();
    let axis = probe.axes[0].clone();
    probe.axes.push(hostmark_model::AxisInfo { name: "copies".into(), default: "1".into(), ..axis });
    let page = page(&[run]);
    let latency = page.split_once(">Memory latency by size</span>").unwrap().1.split_once("</figure>").unwrap().0;
    let bandwidth = page.split_once(">Memory bandwidth by size</span>").unwrap().1.split_once("</figure>").unwrap().0;
    let (line, legend) = latency.split_once("<ul").unwrap();
    assert!(line.contains("<path class=\"behind\" d=\"M"), "{line}");
    assert!(legend.contains("· Memory latency") || legend.contains("· memory latency"), "{legend}");
    for level in ["L1d", "L2", "L3", "DRAM"] {
        assert!(bandwidth.contains(&format!(">{level}</text>")), "{level}");
    }
    // The box of a range lies around the middle, and this machine's mark within the room.
    let strips: Vec<[f64; 3]> = (page.split("<i style=\"left:").skip(1))
        .map(|rest| {
            let mut numbers = rest.split('%').map(|text| text.rsplit(':').next().unwrap().parse().unwrap());
            [(); 3].map(|()| numbers.next().unwrap())
        })
        .collect();
    assert!(strips.len() >= 3, "{strips:?}");
    for [left, width, mark] in strips {
        assert!(width >= 0.0 && (left + width / 2.0 - 50.0).abs() < 0.2, "{left} {width}");
        assert!((0.0..=100.0).contains(&mark), "{mark}");
    }
}

#[test]
fn a_probe_that_no_chart_knows_by_name_is_drawn_by_its_axes() {
    let page = page(&[synthetic::plausible()]);
    let select = page.split_once("id=\"p-syscall.readiness\"").unwrap().1.split_once("</article>").unwrap().0;
    assert!(select.contains("select by descriptors"));
    assert!(
        select.contains("<title>100: 2.11 µs (95 %: 2.10 … 2.11)</title>") || select.contains("<title>100: 2.10 µs"),
        "{select}"
    );
    let mut run = synthetic::empty();
    run.probes.push(synthetic::probe(
        "new.thing",
        ("new thing", "新事物"),
        hostmark_model::Unit::BytesPerSecond,
        ("New", "新"),
        &[("amount", hostmark_model::AxisKind::Size, "4096")],
    ));
    run.cases.extend((12..20).map(|power| synthetic::value(&format!("new.thing@amount={}", 1u64 << power), 1e9)));
    let page = self::page(&[run]);
    let thing = page.split_once("id=\"p-new.thing\"").unwrap().1.split_once("</article>").unwrap().0;
    assert!(
        thing.contains("new thing by amount") && thing.contains(">256 KiB</text>") && thing.contains("0.5 GB/s</text>"),
        "{thing}"
    );
}

#[test]
fn what_a_finding_would_explain_is_one_click_away() {
    let page = page(&[synthetic::plausible()]);
    let of_page =
        |probe: &str| format!("<a href=\"#p-{probe}\"><code class=\"command\">hostmark explain {probe}</code></a>");
    let commands: Vec<&str> = page.split("<code class=\"command\">hostmark explain ").skip(1).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let probe = command.split_once('<').unwrap().0;
        assert_eq!(page.contains(&format!("id=\"p-{probe}\"")), page.contains(&of_page(probe)), "{probe}");
    }
    assert!(page.contains("\"><code class=\"command\">hostmark explain "), "no command leads anywhere");
}

#[test]
fn the_window_of_one_run_is_called_by_its_host_processor_and_day() {
    let run = synthetic::plausible();
    let model = run.host.cpu.named_model().unwrap();
    let day = run.started.split('T').next().unwrap();
    let page = page(std::slice::from_ref(&run));
    let title = page.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    for part in [run.host.hostname.as_str(), model.as_str(), day] {
        assert!(title.contains(part), "{title}");
    }
    assert!(title.ends_with(" · hostmark") && title.matches(" · ").count() == 3, "{title}");
}

#[test]
fn several_runs_stand_beside_each_other() {
    let mut other = synthetic::plausible();
    other.host.hostname = "db-18".into();
    other.cases.retain(|case| case.probe != "syscall.null");
    let page = page(&[synthetic::plausible(), other]);
    assert!(page.contains("<title>db-17, db-18 · hostmark</title>"));
    let null = page.split_once("id=\"p-syscall.null\"").unwrap().1.split_once("</article>").unwrap().0;
    assert_eq!(null.matches("not in this run&#39;s plan").count(), 2);
    let charts = page.split_once("<section id=\"charts\"").unwrap().1;
    let latency = charts.split_once("Memory latency by size").unwrap().1.split_once("</figure>").unwrap().0;
    for label in ["A pattern random", "B pattern random"] {
        assert!(latency.contains(&format!("data-en=\"{label}\"")), "{label}");
    }
}

#[test]
fn what_all_hosts_report_of_their_caches_is_marked_in_the_latency_of_several_runs() {
    let mut other = synthetic::plausible();
    let latency = |runs: &[Run]| {
        let page = page(runs);
        page.split_once("Memory latency by size").unwrap().1.split_once("</figure>").unwrap().0.to_owned()
    };
    let alike = latency(&[synthetic::plausible(), other.clone()]);
    let l2 = other.host.caches.iter().find(|cache| cache.level == 2).unwrap().size_bytes;
    let expected = |bytes: u64| format!("L2: reported {}", hostmark_model::size_text(bytes));
    assert!(alike.contains(&expected(l2)) && alike.contains("by what all these hosts report"), "{alike}");
    for cache in other.host.caches.iter_mut().filter(|cache| cache.level == 2) {
        cache.size_bytes *= 2;
    }
    let apart = latency(&[synthetic::plausible(), other]);
    assert!(!apart.contains(&expected(l2)) && !apart.contains(&expected(2 * l2)));
}

#[test]
fn a_comparison_is_a_forest_plot_and_a_table_of_every_case() {
    let side = |name: &str, factor: f64| {
        let near = |id: &str, value: f64| pages::rounds(id, &[value * 0.999, value, value * 1.0012]);
        let cases =
            vec![near("ipc.x@n=0", 88.1 * factor), near("ipc.x@n=1", 1620.0), near("net.x@n=0", 12.4e9 * factor)];
        pages::run(name, cases)
    };
    let (before, after) = (side("before", 1.0), side("<after>", 1.378));
    fn pool(run: &Run) -> Pool<'_> {
        Pool { name: &run.name, runs: std::slice::from_ref(run) }
    }
    let comparison = Comparison::of(pool(&before), &[pool(&after)], &History::default(), SAME);
    let alone = (comparison::format_named("html").unwrap().render)(&comparison, &RenderOptions::default());
    // Beside each other in a report, the first run is the base of the others.
    for page in [alone, page(&[before.clone(), after.clone()])] {
        is_nested(&page);
        let part = page.split_once("id=\"comparison\"").unwrap().1.split_once("</section>").unwrap().0;
        assert!(part.contains("&lt;after&gt;") && !part.contains("<after>"));
        let plot = part.split_once("<figure>").unwrap().1.split_once("</figure>").unwrap().0;
        assert_eq!(plot.matches("class=\"m\"").count(), 3, "{plot}");
        assert!(plot.contains("+38 % ▼ slower") && plot.contains("+38 % ▲ faster"), "{plot}");
        // What changed stands in the order of its size, apart from all others.
        let (changed, rest) = part.split_once("All other cases").unwrap();
        let rows: Vec<&str> =
            changed.matches("<tr class=\"slower\"").chain(changed.matches("<tr class=\"faster\"")).collect();
        assert!(rows.len() == 2 && rest.matches("<tr class=\"equal\"").count() == 1);
        for kind in ["slower", "faster", "equal"] {
            assert_eq!(part.matches(&format!("<tr class=\"{kind}\"")).count(), 1, "{kind}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn the_largest_run_stays_under_three_megabytes() {
    let run = thorough::thorough();
    assert!(run.cases.len() >= thorough::CASES);
    let page = page(&[run]);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    // Disturbed samples were not thinned away.
    assert!(page.contains("class=\"crosses\""));
    assert!(page.contains("of 3000 samples are shown"));
}

/// The relative luminance of a colour, as WCAG 2 defines it.
fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let wide: String =
        if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_owned() };
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn every_colour_can_be_distinguished_from_what_is_behind_it() {
    let style = include_str!("../src/html/templates/style.css");
    let colour = |name: &str, dark: usize| {
        let value = style.split_once(&format!("--{name}:light-dark(")).unwrap_or_else(|| panic!("{name}")).1;
        value.split_once(')').unwrap().0.split(',').nth(dark).unwrap().to_owned()
    };
    for dark in [0, 1] {
        for ground in ["bg", "soft", "warnbg"] {
            for text in ["text", "dim", "link", "warn", "bad"] {
                let ratio = contrast(&colour(text, dark), &colour(ground, dark));
                assert!(ratio >= 4.5, "{text} on {ground}, dark {dark}: {ratio:.2}");
            }
        }
        for series in 0..6 {
            let ratio = contrast(&colour(&format!("c{series}"), dark), &colour("bg", dark));
            assert!(ratio >= 4.5, "series {series}, dark {dark}: {ratio:.2}");
        }
        // Numbers in the cells of a heat map: dark ones on the light half, light ones on the dark half.
        for shade in 0..7 {
            let on = match (dark, shade) {
                (0, 0..4) | (1, 3..7) => "#10151a",
                _ => "#ffffff",
            };
            let ratio = contrast(on, &colour(&format!("h{shade}"), dark));
            assert!(ratio >= 4.5, "shade {shade}, dark {dark}: {ratio:.2}");
        }
    }
}
