//! Plans of a small catalogue for small hosts.

use std::collections::HashSet;

use hostmark_model::CpuFact;

use super::*;
use crate::fixture::{CATALOGUE, MANY, PLAIN, WORDS, host, host_with, ids, planned, request};
use crate::probe::{Group, Probe};
use hostmark_model::NodeFact;

fn of(filters: &[&str], profile: Profile) -> Vec<String> {
    ids(&planned(CATALOGUE, filters, profile))
}

fn quick(filters: &[&str]) -> Vec<String> {
    of(filters, Profile::Quick)
}

fn error(filter: &str) -> String {
    match plan(CATALOGUE, &host(), request(&[filter], Profile::Quick)) {
        Ok(_) => panic!("{filter} was taken"),
        Err(error) => error.to_string(),
    }
}

fn skip(plan: &Plan, id: &str) -> Option<String> {
    plan.cases.iter().find(|case| case.id.to_string() == id).unwrap().skip.as_ref().map(|reason| reason.text.clone())
}

#[test]
fn cases_change_one_axis_at_a_time_with_the_default_first_and_sizes_and_counts_in_order() {
    let points = [
        "size=65536,pattern=random",
        "size=4096,pattern=random",
        "size=4194304,pattern=random",
        "size=8388608,pattern=random",
        "size=65536,pattern=in_page",
    ];
    assert_eq!(quick(&["memory.latency"]), points.map(|point| format!("memory.latency@{point}")));
    let points = ["threads=1,passes=10", "threads=2,passes=10", "threads=1,passes=9", "threads=1,passes=100"];
    assert_eq!(quick(&["memory.stream"]), points.map(|point| format!("memory.stream@{point}")));
}

#[test]
fn axes_are_crossed_from_their_profile_on_without_repetition() {
    // Sizes 4096, 65536, 4, 8 and 16 MiB; patterns random, in_page, stride and, when thorough, 64.
    assert_eq!(of(&["memory.latency"], Profile::Standard).len(), 1 + 4 + 2);
    let thorough = of(&["memory.latency"], Profile::Thorough);
    assert_eq!(thorough.len(), 5 * 4);
    assert_eq!(thorough[0], "memory.latency@size=65536,pattern=random");
    assert!(thorough.contains(&"memory.latency@size=16777216,pattern=64".to_owned()));
    for (catalogue, profile) in [(CATALOGUE, Profile::Thorough), (CATALOGUE, Profile::Quick), (MANY, Profile::Quick)] {
        let all = ids(&planned(catalogue, &[], profile));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}

#[test]
fn a_longer_profile_measures_all_that_a_shorter_one_does() {
    let [quick, standard, thorough] =
        [Profile::Quick, Profile::Standard, Profile::Thorough].map(|profile| of(&[], profile));
    let holds = |all: &[String], part: &[String]| part.iter().all(|id| all.contains(id));
    assert!(holds(&standard, &quick) && holds(&thorough, &standard));
    assert!(quick.len() < standard.len() && standard.len() < thorough.len());
}

#[test]
fn a_probe_of_longer_profiles_is_in_a_shorter_one_by_its_name_alone() {
    static LATER: Probe = Probe { from: Profile::Standard, ..PLAIN };
    static BOTH: Catalogue = &[&Group { name: "core", shares_worker: true, probes: &[("a", &PLAIN), ("b", &LATER)] }];
    let ids = |filters: &[&str], profile| ids(&planned(BOTH, filters, profile));
    assert_eq!(ids(&[], Profile::Quick), ["core.a"]);
    assert_eq!(ids(&[], Profile::Standard), ["core.a", "core.b"]);
    for filter in ["core.b", "core"] {
        assert!(ids(&[filter], Profile::Quick).contains(&"core.b".to_owned()), "{filter}");
    }
}

#[test]
fn every_probe_has_one_default_which_comes_first() {
    let plan = planned(CATALOGUE, &[], Profile::Thorough);
    for cases in plan.cases.chunk_by(|one, other| one.id.probe == other.id.probe) {
        let defaults: Vec<bool> = cases.iter().map(|case| case.is_default).collect();
        assert!(defaults[0] && !defaults[1..].contains(&true), "{}", cases[0].id);
        assert_eq!(cases[0].id.params, cases[0].entry.default_params());
    }
}

#[test]
fn a_filter_is_a_whole_name() {
    assert_eq!(quick(&["net.tcp"]), ["net.tcp"]);
    assert_eq!(quick(&["net"]), ["net.tcp", "net.tcp_connect"]);
    assert_eq!(quick(&["lat_connect"]), ["net.tcp_connect"]);
    assert_eq!(quick(&["net.tcp_connect", "net.tcp", "net"]), ["net.tcp", "net.tcp_connect"]);
}

#[test]
fn a_filter_with_values_picks_the_cases_that_have_them() {
    assert_eq!(quick(&["memory.latency@size=4M"]), ["memory.latency@size=4194304,pattern=random"]);
    assert_eq!(quick(&["lat_mem_rd@size=4k"]), ["memory.latency@size=4096,pattern=random"]);
    assert_eq!(quick(&["memory.latency@pattern=random"]).len(), 4);
    assert_eq!(quick(&["memory.stream@threads=1"]).len(), 3);
    let both = quick(&["memory.latency@size=4K", "memory.latency@pattern=in_page"]);
    assert_eq!(both, ["memory.latency@size=4096,pattern=random", "memory.latency@size=65536,pattern=in_page"]);
}

#[test]
fn values_that_are_not_planned_make_a_case_at_the_default() {
    assert_eq!(quick(&["memory.latency@size=48K"]), ["memory.latency@size=49152,pattern=random"]);
    assert_eq!(quick(&["memory.latency@size=1G"]), ["memory.latency@size=1073741824,pattern=random"]);
    assert_eq!(quick(&["memory.latency@size=4096,pattern=in_page"]), ["memory.latency@size=4096,pattern=in_page"]);
    // A value of a longer profile may be asked for in a shorter one.
    assert_eq!(quick(&["memory.latency@pattern=64"]), ["memory.latency@size=65536,pattern=64"]);
    assert!(!planned(CATALOGUE, &["memory.latency@size=48K"], Profile::Quick).cases[0].is_default);
    assert!(planned(CATALOGUE, &["memory.latency@size=64K"], Profile::Quick).cases[0].is_default);
}

#[test]
fn what_is_no_filter_is_refused_with_what_to_do() {
    for (filter, sentence) in [
        (
            "memory.latenzy",
            "no probe is called 'memory.latenzy'; did you mean memory.latency? (hostmark list shows all)",
        ),
        (
            "Memory.Latency",
            "no probe is called 'Memory.Latency'; did you mean memory.latency? (hostmark list shows all)",
        ),
        ("lat_conect", "no probe is called 'lat_conect'; did you mean lat_connect? (hostmark list shows all)"),
        ("zzz", "no probe is called 'zzz'; hostmark list shows all"),
        ("", "no probe is called ''; hostmark list shows all"),
        ("memory.latency@length=4K", "memory.latency has no axis 'length'; use size, pattern"),
        ("net.tcp@size=4K", "net.tcp has no axis 'size'; it has none, so leave out the part behind @"),
        ("memory.latency@size=4X", "invalid size '4X' for memory.latency; use bytes, as 4096, 32K, 64M or 1G"),
        ("memory.latency@size=0", "invalid size '0' for memory.latency; use bytes, as 4096, 32K, 64M or 1G"),
        ("memory.stream@passes=-1", "invalid passes '-1' for memory.stream; use a positive whole number up to 1048576"),
        ("memory.stream@threads=0", "invalid threads '0' for memory.stream; use a positive whole number up to 1048576"),
        ("memory.latency@pattern=rand", "invalid pattern 'rand' for memory.latency; use in_page, random, stride, 64"),
        (
            "ipc.pipe@cpus=same",
            "invalid cpus 'same' for ipc.pipe; \
             use same_cpu, smt_sibling, same_cache, other_cache, same_package_other_node, other_node, free",
        ),
        (
            "memory.latency@size",
            "'size' is not of the form axis=value, with a value of a-z 0-9 _ . + -; \
             write a filter as group, group.probe or group.probe@axis=value",
        ),
        (
            "memory.latency@",
            "'' is not of the form axis=value, with a value of a-z 0-9 _ . + -; \
             write a filter as group, group.probe or group.probe@axis=value",
        ),
        (
            "memory.latency@size=4K,pattern=random,size=8K",
            "memory.latency's axis size has two values, 4096 and 8192; give one, or two filters",
        ),
    ] {
        assert_eq!(error(filter), sentence);
    }
}

#[test]
fn sizes_are_read_as_people_type_them() {
    for (text, bytes) in [("4096", 4096), ("32K", 32 << 10), ("32k", 32 << 10), ("64M", 64 << 20), ("1g", 1 << 30)] {
        assert_eq!(parse_size(text), Some(bytes), "{text}");
    }
    for text in ["", "K", "-1", "+4", "4 K", "1.5M", "32KiB", "18446744073709551616", "99999999999G", "4µ"] {
        assert_eq!(parse_size(text), None, "{text}");
    }
}

#[test]
fn what_the_host_lacks_becomes_the_reason() {
    let mut host = host();
    host.limits.is_root = Some(false);
    host.memory.pmd_page_bytes = None;
    let plan = plan(CATALOGUE, &host, request(&[], Profile::Standard)).unwrap();
    assert_eq!(skip(&plan, "net.tcp_connect"), Some("needs root".into()));
    assert_eq!(skip(&plan, "net.tcp"), None);
    let huge = "needs transparent huge pages, which this kernel lacks";
    // The probe's own need is told before what one of its points needs.
    for id in ["memory.stream@threads=1,passes=10", "memory.stream@threads=4,passes=10"] {
        assert_eq!(skip(&plan, id), Some(huge.into()));
    }
}

#[test]
fn a_run_file_says_what_a_probe_needs() {
    let needs = |id: &str| crate::probe::find(CATALOGUE, id).unwrap().info().needs;
    assert_eq!(needs("net.tcp_connect"), ["root"]);
    assert_eq!(needs("memory.stream"), ["huge_pages"]);
    assert_eq!(needs("net.tcp"), [""; 0]);
}

#[test]
fn placements_have_their_cpus_or_the_reason_why_not() {
    let plan = planned(CATALOGUE, &["ipc.pipe"], Profile::Quick);
    let cpus = |value: &str| {
        let found = plan.cases.iter().find(|case| case.id.params.get("cpus") == Some(value)).unwrap();
        (found.cpus.clone(), found.skip.as_ref().map(|reason| reason.text.clone()))
    };
    assert_eq!(cpus("same_cpu"), (vec![plan.cpu, plan.cpu], None));
    let (pair, none) = cpus("smt_sibling");
    assert_eq!((pair[0].abs_diff(pair[1]), none), (2, None));
    let (pair, none) = cpus("same_cache");
    assert_eq!((pair[0].abs_diff(pair[1]) % 2, none), (1, None));
    assert_eq!(cpus("other_cache").1, Some("the usable CPUs of a node share one last-level cache".into()));
    assert_eq!(cpus("other_node").1, Some("the usable CPUs are all on one memory node".into()));
    assert_eq!(cpus("free"), (vec![0, 1, 2, 3], None));
}

#[test]
fn threads_have_a_cpu_each_or_the_reason_why_not() {
    let plan = planned(CATALOGUE, &["memory.stream@threads=3", "memory.stream@threads=5"], Profile::Quick);
    let cpus: HashSet<usize> = plan.cases[0].cpus.iter().copied().collect();
    assert_eq!((plan.cases[0].skip.clone(), cpus.len()), (None, 3));
    assert_eq!(plan.cases[1].skip, Some(crate::probe::too_few_cpus(5, 4)));
}

static SHARING: Probe = Probe {
    axes: &[Axis::threads("streams", Points::OfHost(|_, _| vec![1])).sharing_cpus(2)],
    ..crate::fixture::PLAIN
};
static WITH_SHARING: Catalogue = &[&Group { name: "cpu", shares_worker: false, probes: &[("flows", &SHARING)] }];

#[test]
fn threads_that_may_share_cpus_have_each_cpu_once_in_their_case() {
    let filters = ["cpu.flows@streams=4", "cpu.flows@streams=5"];
    let plan = plan(WITH_SHARING, &host_with(&[1, 2]), request(&filters, Profile::Quick)).unwrap();
    let mut cpus = plan.cases[0].cpus.clone();
    cpus.sort_unstable();
    assert_eq!((plan.cases[0].skip.clone(), cpus), (None, vec![1, 2]));
    assert_eq!(plan.cases[1].skip.as_deref(), Some("needs 3 CPUs, and may use 2 here"));
}

#[test]
fn one_usable_cpu_is_enough_for_what_one_party_does_and_none_is_an_error() {
    let plan_on = |cpus: &[usize]| plan(CATALOGUE, &host_with(cpus), request(&[], Profile::Quick));
    let plan = plan_on(&[2]).unwrap();
    assert_eq!(plan.cpu, 2);
    for (id, reason) in [
        ("ipc.pipe@cpus=same_cpu", None),
        ("ipc.pipe@cpus=free", None),
        ("ipc.pipe@cpus=same_cache", Some("only one CPU is usable")),
        ("memory.stream@threads=2,passes=10", Some("needs 2 CPUs, and may use 1 here")),
    ] {
        assert_eq!(skip(&plan, id).as_deref(), reason, "{id}");
    }
    assert!(plan.cases.iter().filter(|case| case.skip.is_none()).all(|case| case.cpus.iter().all(|&cpu| cpu == 2)));
    let error = plan_on(&[]).err().unwrap();
    assert_eq!(error.to_string(), "this process may run on no online CPU; widen its affinity");
}

fn pairs(_: &HostFacts, _: Profile) -> Vec<String> {
    vec!["same_cache".into(), "0-1".into(), "0-9".into()]
}

static PAIRS: Probe =
    Probe { axes: &[Axis::placements("cpus", "same_cache", Points::NamesOfHost(pairs))], ..crate::fixture::PLAIN };
static WITH_PAIRS: Catalogue = &[&Group { name: "cpu", shares_worker: false, probes: &[("line", &PAIRS)] }];

#[test]
fn two_parties_run_on_the_pair_that_they_are_given() {
    let planned = |filters: &[&str]| plan(WITH_PAIRS, &host_with(&[0, 1, 2]), request(filters, Profile::Quick));
    let all = planned(&[]).unwrap();
    let cpus = |plan: &Plan, id: &str| plan.cases.iter().find(|case| case.id.to_string() == id).unwrap().cpus.clone();
    assert_eq!(cpus(&all, "cpu.line@cpus=0-1"), [0, 1]);
    assert_eq!(skip(&all, "cpu.line@cpus=0-9"), Some("CPU 9 cannot be used here".into()));
    // Typed, any pair will do, also one that is no point; and the first is the one that measures.
    let typed = planned(&["cpu.line@cpus=2-0"]).unwrap();
    assert_eq!(cpus(&typed, "cpu.line@cpus=2-0"), [2, 0]);
    let mut whole = request(&[], Profile::Quick);
    whole.set = vec!["cpus=matrix,same_cache".into()];
    let plan = plan(WITH_PAIRS, &host_with(&[0, 1, 2]), whole).unwrap();
    let pairs = ["0-1", "0-2", "1-2", "same_cache"].map(|cpus| format!("cpu.line@cpus={cpus}"));
    assert_eq!(ids(&plan).into_iter().collect::<HashSet<_>>(), HashSet::from(pairs));
    for no_pair in ["matrix", "1-1", "01-2", "0-", "0-1-2", "far"] {
        let error = planned(&[&format!("cpu.line@cpus={no_pair}")]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("two CPUs as 0-1"), "{error}");
    }
}

#[test]
fn a_word_for_a_number_is_the_number_of_this_host_in_every_id() {
    let plan_of = |cpus: &[usize], set: &[&str]| {
        let mut request = request(&["words"], Profile::Standard);
        request.set = set.iter().map(|&set| set.to_owned()).collect();
        plan(WORDS, &host_with(cpus), request).unwrap()
    };
    let cases = |plan: &Plan| -> Vec<(String, usize)> {
        plan.cases.iter().map(|case| (case.id.to_string(), case.cpus.len())).collect()
    };
    let id = |threads: usize, elements: u64| format!("words.all@threads={threads},elements={elements}");
    let auto = 2 << 20;
    assert_eq!(cases(&plan_of(&[0, 1, 3], &[])), [(id(3, auto), 3), (id(1, auto), 1)]);
    assert_eq!(cases(&plan_of(&[1], &[])), [(id(1, auto), 1)]);
    let set = plan_of(&[0, 1], &["elements=30000000,auto", "threads=2,all,1"]);
    assert_eq!(cases(&set), [(id(2, auto), 2), (id(1, auto), 1), (id(2, 30_000_000), 2)]);
    assert_eq!(set.probes()[0].axes[1].default, auto.to_string());
}

#[test]
fn a_filter_may_say_the_word_for_what_the_host_settles() {
    let ids =
        |filter: &str, profile: Profile| ids(&plan(WORDS, &host_with(&[0, 1]), request(&[filter], profile)).unwrap());
    let (all, one) = ("words.all@threads=2,elements=2097152", "words.all@threads=1,elements=2097152");
    assert_eq!(ids("words.all@elements=auto", Profile::Standard), [all, one]);
    assert_eq!(ids("words@threads=all", Profile::Standard), [all]);
    assert_eq!(ids("words@threads=all,elements=8", Profile::Standard), ["words.all@threads=2,elements=8"]);
    // Neither the profile nor a limit changes what an id means.
    for profile in [Profile::Quick, Profile::Standard, Profile::Thorough] {
        let mut small = host_with(&[0, 1]);
        small.limits.memory_limit_bytes = Some(1 << 20);
        let plan = plan(WORDS, &small, request(&["words"], profile)).unwrap();
        assert_eq!(plan.cases[0].id.to_string(), all);
        assert!(plan.cases.iter().all(|case| !case.id.to_string().contains("auto")), "{profile:?}");
    }
}

static NODES: Probe = Probe { axes: &[Axis::nodes("nodes")], ..PLAIN };
static OF_NODES: Catalogue = &[&Group { name: "memory", shares_worker: false, probes: &[("numa", &NODES)] }];

/// CPUs 0 and 2 on node 0, 1 and 3 on node 2, and a node 4 of memory alone.
fn three_nodes() -> HostFacts {
    let mut host = host();
    host.cpus.iter_mut().for_each(|cpu| cpu.node = Some(cpu.id % 2 * 2));
    let node = |id: usize, cpus: &[usize], distances: &[u32]| NodeFact {
        id,
        cpus: cpus.to_vec(),
        memory_bytes: 1 << 30,
        distances: distances.to_vec(),
        ..NodeFact::default()
    };
    host.nodes = vec![node(0, &[0, 2], &[10, 21, 17]), node(2, &[1, 3], &[21, 10, 28]), node(4, &[], &[17, 28, 10])];
    host
}

fn of_nodes(host: &HostFacts, filters: &[&str], profile: Profile) -> Plan {
    plan(OF_NODES, host, request(filters, profile)).unwrap()
}

#[test]
fn a_matrix_of_nodes_runs_on_the_cpus_of_the_first() {
    let plan = of_nodes(&three_nodes(), &[], Profile::Standard);
    let cases: Vec<(String, Vec<usize>)> =
        plan.cases.iter().map(|case| (case.id.params.get("nodes").unwrap().to_owned(), case.cpus.clone())).collect();
    let expected =
        [("0-0", [2, 0]), ("0-2", [2, 0]), ("0-4", [2, 0]), ("2-0", [1, 3]), ("2-2", [1, 3]), ("2-4", [1, 3])];
    assert_eq!(cases, expected.map(|(pair, cpus)| (pair.to_owned(), cpus.to_vec())));
    assert!(plan.cases.iter().all(|case| case.skip.is_none()));
    // One of each distance from the first node tells most.
    let near_and_far = ["0-0", "0-2", "0-4"].map(|pair| format!("memory.numa@nodes={pair}"));
    assert_eq!(ids(&of_nodes(&three_nodes(), &[], Profile::Quick)), near_and_far);
}

#[test]
fn pairs_of_nodes_that_are_not_there_are_skipped_with_the_reason() {
    let mut host = three_nodes();
    host.nodes[1].memory_bytes = 0;
    for (pair, reason) in [
        ("4-0", "node 4 has no CPU that may be used"),
        ("0-2", "node 2 has no memory"),
        ("0-9", "node 9 has no memory"),
    ] {
        let id = format!("memory.numa@nodes={pair}");
        assert_eq!(skip(&of_nodes(&host, &[&id], Profile::Quick), &id).as_deref(), Some(reason));
    }
    for (count, reason) in [(0, "the kernel tells of no memory nodes"), (1, "this host has only one memory node")] {
        let nodes = three_nodes().nodes.into_iter().take(count).collect();
        let only = of_nodes(&HostFacts { nodes, ..three_nodes() }, &[], Profile::Thorough);
        assert_eq!(skip(&only, "memory.numa@nodes=0-0").as_deref(), Some(reason));
        assert_eq!(only.cases.len(), 1);
    }
}

#[test]
fn what_is_no_pair_of_nodes_is_refused() {
    for value in ["0", "0-", "-1", "a-b", "0-1-2", "0- 1"] {
        let filter = format!("memory.numa@nodes={value}");
        let refused = plan(OF_NODES, &three_nodes(), request(&[&filter], Profile::Quick));
        assert!(refused.err().unwrap().to_string().contains("as 0-1"), "{value}");
    }
}

static COPIED: Probe = Probe { axes: &[Axis::copies(Profile::Quick)], ..crate::fixture::PLAIN };
static LATER: Probe = Probe { axes: &[Axis::copies(Profile::Standard)], ..crate::fixture::PLAIN };
static TWO_PARTIES: Probe = Probe {
    axes: &[Axis::threads("threads", Points::quick(&["1"])), crate::fixture::CPUS, Axis::copies(Profile::Quick)],
    ..crate::fixture::PLAIN
};

static COPIES: Catalogue = &[&Group {
    name: "many",
    shares_worker: false,
    probes: &[("copied", &COPIED), ("later", &LATER), ("parties", &TWO_PARTIES)],
}];

#[test]
fn copies_double_up_to_all_cpus_from_their_profile_on() {
    let of = |filter: &str, profile: Profile, cpus: usize| -> Vec<String> {
        let mut host = host();
        let first = host.cpus[0].clone();
        host.cpus = (0..cpus).map(|id| CpuFact { id, siblings: vec![id], core: Some(id), ..first.clone() }).collect();
        let plan = plan(COPIES, &host, request(&[filter], profile)).unwrap();
        plan.cases.iter().map(|case| case.id.params.get("copies").unwrap().to_owned()).collect()
    };
    assert_eq!(of("many.copied", Profile::Quick, 6), ["1", "2", "6"]);
    assert_eq!(of("many.copied", Profile::Standard, 6), ["1", "2", "4", "6"]);
    assert_eq!(of("many.copied", Profile::Quick, 2), ["1", "2"]);
    assert_eq!(of("many.copied", Profile::Thorough, 1), ["1"]);
    assert_eq!(of("many.later", Profile::Quick, 8), ["1"]);
    assert_eq!(of("many.later", Profile::Standard, 8), ["1", "2", "4", "8"]);
}

#[test]
fn each_copy_has_a_cpu_and_the_first_that_of_a_case_without_further_ones() {
    let plan = planned(COPIES, &["many.copied"], Profile::Standard);
    for case in &plan.cases {
        let copies: usize = case.id.params.get("copies").unwrap().parse().unwrap();
        let cpus: HashSet<usize> = case.cpus.iter().copied().collect();
        assert_eq!((case.cpus[0], case.cpus.len(), cpus.len(), &case.skip), (plan.cpu, copies, copies, &None));
    }
    let too_many = planned(COPIES, &["many.copied@copies=5"], Profile::Quick);
    assert_eq!(too_many.cases[0].skip.as_deref(), Some("needs 5 CPUs, and may use 4 here"));
}

#[test]
fn copies_of_what_needs_several_cpus_are_skipped() {
    let skip = |axes: &str| {
        let case = planned(COPIES, &[&format!("many.parties@{axes}")], Profile::Quick).cases.remove(0);
        case.skip.map(|reason| reason.text)
    };
    let reason = Some("copies > 1 cannot be combined with threads > 1 or two-CPU placements".to_owned());
    assert_eq!(skip("copies=2,cpus=same_cpu,threads=1"), None);
    assert_eq!(skip("copies=2,cpus=same_cache"), reason);
    assert_eq!(skip("copies=2,threads=2"), reason);
}

#[test]
fn one_thread_of_two_parties_is_placed_and_several_have_a_cpu_each() {
    let case = |axes: &str| planned(COPIES, &[&format!("many.parties@{axes}")], Profile::Quick).cases.remove(0);
    assert_eq!((case("cpus=free").cpus, case("threads=2").cpus.len()), (vec![0, 1, 2, 3], 2));
    assert_eq!(case("threads=2,cpus=free").skip.as_deref(), Some("several threads have a CPU each"));
}
