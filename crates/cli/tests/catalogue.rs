//! Laws of the catalogue: what every probe keeps, on every host and in every profile, and its table in the documents.

use std::collections::HashSet;
use std::fmt::Write;

use hostmark_analysis::Spoken;
use hostmark_analysis::findings::RULES;
use hostmark_analysis::format::unit_name;
use hostmark_analysis::labels::{ProbeLabels, axis_name};
use hostmark_analysis::lmbench::programs;
use hostmark_engine::plan::{Plan, Request, plan};
use hostmark_engine::probe::{Axis, CoreBound, Entry, Limit, Measure, Points, find};
use hostmark_model::{AxisKind, Lang, Params, Unit, typed_value};
use hostmark_present::html::FIGURES;

use crate::golden;
use crate::machine::Machine;
use crate::prelude::*;

/// Work of one thread that waits for no other and is not the core's own all the same, by reason.
const BEYOND_THE_CORE: &[(&str, &[&str])] = &[
    ("the memory of a node", &["memory.numa_bandwidth", "memory.interleave"]),
    ("a core that slept, a clock's step", &["cpu.ramp", "clock.resolution"]),
    ("pages, which the kernel clears and returns", &["paging.collapse", "paging.mmap", "paging.unmap"]),
    ("files, which no cache of a core holds", &["file.create_delete", "file.read_small", "file.io_uring"]),
    ("files as large as memory", &["file.reread", "file.open_reread", "file.mmap_reread", "file.mmap_open_reread"]),
    ("what others leave of a core", &["sched.noise"]),
    ("a hypervisor, and what it calls", &["virt.exit", "virt.port", "virt.timer"]),
];

const PROFILES: [Profile; 3] = [Profile::Quick, Profile::Standard, Profile::Thorough];
pub fn guest() -> HostFacts {
    Machine::named("guest of 2").facts()
}

/// A guest, a large server, and a small machine that tells nothing of its caches.
fn hosts() -> [HostFacts; 3] {
    let mut small = Machine::named("one CPU").facts();
    small.caches.clear();
    small.nodes.clear();
    small.memory.pmd_page_bytes = None;
    [guest(), Machine::named("16 caches, NPS4").facts(), small]
}

pub fn planned(host: &HostFacts, profile: Profile) -> Plan {
    plan(
        CATALOGUE,
        host,
        Request { filters: Vec::new(), profile, seed: 1, set: Vec::new(), inputs: Default::default() },
    )
    .expect("the whole catalogue can be planned")
}

fn ids(plan: &Plan) -> Vec<String> {
    plan.cases.iter().map(|case| case.id.to_string()).collect()
}

fn points(axis: &Axis, host: &HostFacts, profile: Profile) -> Vec<String> {
    match axis.points {
        Points::Listed { quick, standard, thorough } => {
            let lists = [quick, standard, thorough];
            let upto = PROFILES.iter().position(|known| *known == profile).unwrap_or(0);
            lists[..=upto].iter().flat_map(|list| list.iter().map(|&point| point.to_owned())).collect()
        }
        Points::OfHost(of_host) => of_host(host, profile).iter().map(u64::to_string).collect(),
        Points::NamesOfHost(of_host) => of_host(host, profile),
        Points::NodePairs => {
            hostmark_host::node_pairs(host, profile).iter().map(|[cpus, memory]| format!("{cpus}-{memory}")).collect()
        }
    }
}

fn axes() -> impl Iterator<Item = (Entry, &'static Axis)> {
    entries(CATALOGUE).flat_map(|entry| entry.probe.axes.iter().map(move |axis| (entry, axis)))
}

fn repeated<T: Clone + std::hash::Hash + Eq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| !seen.insert(value.clone())).collect()
}

#[test]
fn what_one_thread_does_without_waiting_is_core_bound_or_is_known_to_lie_beyond_the_core() {
    let beyond: Vec<&str> = BEYOND_THE_CORE.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    for entry in entries(CATALOGUE) {
        let (id, probe) = (entry.id(), entry.probe);
        let is_work = matches!(probe.unit, Unit::Nanoseconds | Unit::BytesPerSecond | Unit::OperationsPerSecond);
        let has_several = probe.axes.iter().any(|axis| match axis.kind {
            AxisKind::Placement => true,
            AxisKind::Threads => axis.default != "1",
            _ => false,
        });
        let may_be = is_work && !has_several && !probe.blocking && matches!(probe.measure, Measure::Run(_));
        let is_known = beyond.contains(&id.as_str());
        let is_declared = !matches!(probe.core_bound, CoreBound::No);
        assert_eq!(is_declared, may_be && !is_known, "{id}");
        assert!(may_be || !is_known, "{id} needs no reason");
    }
    assert!(beyond.iter().all(|id| find(CATALOGUE, id).is_some()));
    let bytes = |id: &str, params: &[(&str, &str)]| match find(CATALOGUE, id).unwrap().probe.core_bound {
        CoreBound::Within(bytes) => {
            bytes(&Params(params.iter().map(|(key, at)| (key.to_string(), at.to_string())).collect()))
        }
        _ => None,
    };
    assert_eq!(bytes("cpu.front_end", &[("size", "16384")]), Some(16384.0));
    assert_eq!(bytes("memory.page_walk", &[("apart", "table"), ("pages", "8192")]), Some(1048576.0));
    assert_eq!(bytes("syscall.io_uring", &[("submission", "polled")]), None);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_case_of_every_host_reads_back_as_a_case_id() {
    for host in hosts() {
        for case in planned(&host, Profile::Thorough).cases {
            assert_eq!(case.id.to_string().parse(), Ok(case.id));
        }
    }
}

#[test]
fn probes_and_their_axes_and_quantities_have_names_of_their_own() {
    assert_eq!(repeated(entries(CATALOGUE).map(|entry| entry.id())), Vec::<String>::new());
    for entry in entries(CATALOGUE) {
        let (id, probe) = (entry.id(), entry.probe);
        // The word of the setting of CPUs is no axis.
        let axes = probe.axes.iter().map(|axis| axis.name).chain(["cpu"]);
        assert_eq!(repeated(axes), Vec::<&str>::new(), "{id}");
        assert_eq!(repeated(probe.also.iter().map(|quantity| quantity.name)), Vec::<&str>::new(), "{id}");
        assert!(probe.also.iter().all(|quantity| !quantity.name.is_empty()), "{id}");
        assert!(probe.revision >= 1, "{id}");
    }
}

#[test]
fn the_points_of_each_axis_are_part_of_the_next_profiles() {
    for host in hosts() {
        for (entry, axis) in axes() {
            let of = |profile| points(axis, &host, profile).into_iter().collect::<BTreeSet<String>>();
            let [quick, standard, thorough] = PROFILES.map(of);
            assert!(quick.is_subset(&standard), "{} {}: {quick:?} {standard:?}", entry.id(), axis.name);
            assert!(standard.is_subset(&thorough), "{} {}: {standard:?} {thorough:?}", entry.id(), axis.name);
        }
    }
}

/// The block sizes, KiB, and strides, bytes, of the tables that server evaluations with this kind of probes print.
#[test]
fn the_sizes_of_well_known_tables_are_points_of_the_thorough_profile() {
    const BLOCKS: &[u64] =
        &[4, 8, 16, 32, 48, 64, 128, 192, 256, 512, 1024, 2048, 2560, 3072, 4096, 8192, 16384, 32768, 65536, 131_072];
    const MESSAGES: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];
    const BUFFERS: &[u64] = &[
        1, 4, 16, 32, 48, 64, 128, 160, 192, 224, 256, 320, 448, 512, 576, 768, 832, 1024, 1280, 1536, 1792, 2048,
        2304, 2560, 3072, 3328, 3584, 4096, 4352, 5120, 6144, 6400, 7168, 8192,
    ];
    let kib = |sizes: &[u64]| sizes.iter().map(|kib| kib << 10).collect::<Vec<u64>>();
    let tables = [
        ("memory.read", "size", kib(BLOCKS)),
        ("memory.write", "size", kib(BLOCKS)),
        ("memory.copy", "size", kib(BLOCKS)),
        ("ipc.bandwidth", "message", kib(MESSAGES)),
        ("memory.latency", "size", kib(BUFFERS)),
        ("memory.latency", "pattern", vec![64, 128, 256, 512, 1024, 4096, 8192, 16384]),
    ];
    for (probe, axis, wanted) in tables {
        let (_, axis) = axes().find(|(entry, known)| entry.id() == probe && known.name == axis).expect(probe);
        let have: HashSet<String> = points(axis, &guest(), Profile::Thorough).into_iter().collect();
        let missing: Vec<u64> = wanted.into_iter().filter(|point| !have.contains(&point.to_string())).collect();
        assert!(missing.is_empty(), "{probe} {}: {missing:?}", axis.name);
    }
}

#[test]
fn an_axis_has_its_default_among_points_that_are_numbers_where_it_counts_each_listed_once() {
    for (entry, axis) in axes() {
        let name = format!("{} {}", entry.id(), axis.name);
        let all = points(axis, &guest(), Profile::Thorough);
        assert!(all.iter().any(|point| point == axis.default), "{name}: {all:?}");
        if let Points::Listed { .. } = axis.points {
            assert_eq!(repeated(all.clone()), Vec::<String>::new(), "{name}");
        }
        if matches!(axis.kind, AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies) {
            // A default may be a word, as `auto`.
            let is_fit = |point: &String| point == axis.default || point.parse::<u64>().is_ok_and(|value| value > 0);
            assert!(all.iter().all(is_fit), "{name}: {all:?}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn the_cases_of_each_profile_are_part_of_the_next_ones() {
    for host in hosts() {
        let of = |profile| ids(&planned(&host, profile)).into_iter().collect::<BTreeSet<String>>();
        let [quick, standard, thorough] = PROFILES.map(of);
        let missing: Vec<_> = quick.difference(&standard).chain(standard.difference(&thorough)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn no_case_is_planned_twice_and_a_probes_default_stands_first() {
    for host in hosts() {
        let plan = planned(&host, Profile::Thorough);
        assert_eq!(repeated(ids(&plan)), Vec::<String>::new());
        for cases in plan.cases.chunk_by(|one, other| one.id.probe == other.id.probe) {
            assert!(cases[0].is_default, "{}", cases[0].id);
        }
        assert_eq!(repeated(plan.cases.chunk_by(|a, b| a.id.probe == b.id.probe).map(|c| &c[0].id.probe)).len(), 0);
    }
}

/// The points of an axis that are the same on every host.
fn listed(axis: &Axis) -> impl Iterator<Item = &'static str> {
    let parts = match axis.points {
        Points::Listed { quick, standard, thorough } => [quick, standard, thorough],
        _ => [&[][..]; 3],
    };
    parts.into_iter().flatten().copied()
}

#[test]
fn whatever_a_probe_names_exists() {
    for entry in entries(CATALOGUE) {
        let (id, probe) = (entry.id(), entry.probe);
        let axis = |name: &str| probe.axes.iter().find(|axis| axis.name == name);
        if let Limit::RisingOf(_, (name, values)) = probe.limit {
            let points: Vec<&str> = axis(name).into_iter().flat_map(listed).collect();
            assert!(values.iter().all(|value| points.contains(value)), "{id}: {name}");
        }
        if let Some(name) = probe.limit.rising() {
            let kind = axis(name).map(|axis| axis.kind);
            assert!(
                matches!(kind, Some(AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies)),
                "{id}: {name}"
            );
        }
        for (name, value) in probe.adds.into_iter().flatten() {
            assert!(axis(name).is_some_and(|axis| listed(axis).any(|point| point == *value)), "{id}: {name}={value}");
            assert_eq!(probe.unit, Unit::OperationsPerSecond, "{id}: its samples are adds a second");
        }
        if let Limit::OperationsPerCycle(most) = probe.limit {
            let mut named = most.iter().filter(|(word, _)| !word.is_empty());
            let is_point = |word: &str| probe.axes.iter().any(|axis| listed(axis).any(|point| point == word));
            assert!(named.all(|(word, _)| is_point(word)), "{id}: {most:?}");
        }
        if probe.limit == Limit::Switch {
            assert!(probe.axes.iter().any(|axis| axis.kind == AxisKind::Placement), "{id}");
        }
        for name in probe.full_factorial.iter().flat_map(|full_factorial| full_factorial.axes) {
            assert!(entry.axes().iter().any(|axis| axis.name == *name), "{id}: {name}");
        }
        if let Measure::Derive { from, .. } = probe.measure {
            for named in from {
                let source =
                    find(CATALOGUE, named.probe).unwrap_or_else(|| panic!("{id}: there is no {}", named.probe));
                assert!(source.probe.measure.in_worker().is_some(), "{id}: {} is derived too", source.id());
                for name in named.axes().unwrap_or_default() {
                    let known = source.probe.axes.iter().any(|axis| axis.name == *name);
                    assert!(known, "{id}: {} has no axis {name}", source.id());
                }
            }
        }
    }
}

#[test]
fn every_probe_that_a_finding_reads_or_a_chart_shows_exists() {
    let of_rules = RULES.iter().map(|rule| (rule.id, rule.probes));
    for (name, probes) in of_rules.chain(FIGURES.iter().map(|figure| (figure.id, figure.probes))) {
        assert!(probes.iter().all(|id| find(CATALOGUE, id).is_some()), "{name}: one of {probes:?} does not exist");
    }
}

#[test]
fn a_probe_is_related_to_others_and_says_how_it_differs_from_the_programs_of_lmbench_that_it_replaces() {
    for entry in entries(CATALOGUE) {
        let (id, related, replaces) = (entry.id(), entry.probe.related, entry.probe.replaces);
        assert!((1..=5).contains(&related.len()), "{id}: {related:?}");
        assert_eq!(repeated(related), Vec::<&&str>::new(), "{id}");
        for other in related {
            assert!(*other != id && find(CATALOGUE, other).is_some(), "{id}: there is no {other} to relate it to");
        }
        assert!(replaces.iter().all(|name| programs().any(|known| known == *name)), "{id}: {replaces:?}");
        assert_eq!(entry.probe.differs.is_some(), !replaces.is_empty(), "{id}");
    }
}

/// Words by which a text tells where its figures come from.
const SOURCES: [&str; 10] = [
    "Measured with hostmark",
    "measured with hostmark",
    "uops.info",
    "Agner Fog",
    "manual",
    "published",
    "By design",
    "data sheet",
    "documentation",
    "in every run of this project",
];

#[test]
fn typical_figures_have_a_source() {
    for entry in entries(CATALOGUE) {
        let typical = entry.probe.explain.typical;
        assert!(SOURCES.iter().any(|source| typical.en.contains(source)), "{}: {}", entry.id(), typical.en);
        assert!(typical.en.chars().any(|c| c.is_ascii_digit()), "{}: {}", entry.id(), typical.en);
    }
}

/// The figures of a text, as they stand.
fn figures(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .map(|part| part.trim_matches('.').to_owned())
        .filter(|part| part.contains('.'))
        .collect();
    found.sort();
    found
}

/// A figure that was put right in one language alone would stand there as two.
#[test]
fn both_languages_have_the_same_figures() {
    for entry in entries(CATALOGUE) {
        let explain = entry.probe.explain;
        for text in [Some(explain.typical), Some(explain.causes), entry.probe.differs].into_iter().flatten() {
            assert_eq!(figures(text.en), figures(text.zh), "{}: {} {}", entry.id(), text.en, text.zh);
        }
    }
}

#[test]
fn every_axis_and_every_value_that_is_a_word_has_a_chinese_name() {
    let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    for entry in entries(CATALOGUE) {
        for axis in entry.axes() {
            let name = axis_name(axis.name).get(Lang::Zh);
            assert!(is_chinese(&name) || ["CPU", "MTU"].contains(&name.as_str()), "{}: {name}", axis.name);
        }
    }
    let labels = ProbeLabels::new("memory.latency", None, None);
    assert_eq!(
        labels.points(&[("pattern", "in_page"), ("op", "mod"), ("op", "xor")]).get(Lang::Zh),
        "模式 页内随机，运算 取模，运算 xor"
    );
    assert_eq!(labels.point("pattern", "in_page").to_string(), "pattern in_page");
}

fn document() -> String {
    let mut text = String::from(
        "# Probes\n\nEvery probe and its axes with their defaults; its id leads to its page, which `hostmark explain ID` prints.\n\nGenerated by `HOSTMARK_BLESS=1 cargo test -p hostmark --test fast catalogue::`.\n",
    );
    for group in CATALOGUE {
        let _ = write!(text, "\n## {}\n\n", group.name);
        text += "| id | title | unit | axes |\n|---|---|---|---|\n";
        for entry in entries(CATALOGUE).filter(|entry| entry.group == group.name) {
            let probe = entry.probe;
            let axes: Vec<String> = probe.axes.iter().map(axis_cell).collect();
            let page = format!("../crates/probes/src/{}/{}.md", group.name, entry.name);
            let cells = [format!("[`{}`]({page})", entry.id()), probe.title.en.into(), unit_name(probe.unit).en.into()];
            let _ = writeln!(text, "| {} | {} |", cells.join(" | "), dash(axes));
        }
    }
    text
}

fn axis_cell(axis: &Axis) -> String {
    format!("`{}={}`", axis.name, typed_value(axis.kind, axis.default))
}

fn dash(parts: Vec<String>) -> String {
    if parts.is_empty() { "–".into() } else { parts.join(", ") }
}

#[test]
fn the_document_of_all_probes_is_up_to_date() {
    let again = "cargo test -p hostmark --test fast catalogue::";
    golden::holds(env!("CARGO_MANIFEST_DIR"), "../../docs/probes.md", &document(), again);
}

#[test]
fn the_documents_say_how_many_probes_there_are() {
    let count = entries(CATALOGUE).count();
    for (name, said) in
        [("CHANGELOG.md", format!("- {count} [probes]")), ("ARCHITECTURE.md", format!("hostmark has {count} probes"))]
    {
        let text = fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(text.contains(&said), "{name} does not say: {said}");
    }
}

#[test]
fn the_page_on_measuring_names_every_probe_that_subtracts() {
    let page = format!("{}/../../docs/measuring.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(page).unwrap();
    let (_, text) = page.split_once("**Subtracted overhead.**").unwrap();
    let (text, _) = text.split_once("**Below zero.**").unwrap();
    let subtracts = |entry: &Entry| {
        let parts = [("whole", "overhead"), ("raw", "handler"), ("sending", "handling")];
        let has = |name: &str| entry.probe.also.iter().any(|quantity| quantity.name == name);
        parts.iter().any(|(whole, part)| has(whole) && has(part))
    };
    let found: Vec<String> = entries(CATALOGUE).filter(subtracts).map(|entry| entry.id()).collect();
    assert!(found.len() >= 7, "{found:?}");
    for id in found {
        assert!(text.contains(&format!("`{id}`")), "docs/measuring.md does not say that {id} subtracts");
    }
}

#[test]
fn what_a_limit_can_make_stall_reports_its_mean_or_its_sustained_rate() {
    for entry in entries(CATALOGUE) {
        let has = |name: &str| entry.probe.also.iter().any(|quantity| quantity.name == name);
        let id = entry.id();
        if has("p99") {
            assert!(has("mean"), "{id} has percentiles and no mean");
        }
        let is_of_device = matches!(entry.group, "disk" | "net") || id == "file.write";
        if is_of_device && entry.probe.measure.in_worker().is_some() && !has("rate") {
            assert!(has("sustained"), "{id} tells no rate that lasts");
        }
    }
}
