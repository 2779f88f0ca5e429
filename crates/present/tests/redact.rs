//! A redacted run in every format: no name of a host, a person or a path stands in it, wherever the run had it.

use hostmark_analysis::findings;
use hostmark_analysis::redact::{redact, unredacted};

use crate::peers::{case, sends, three_hosts};
use crate::prelude::*;

/// What a run may hold anywhere, and nobody is to read.
const MARK: &str = "at quokka-17 (10.98.7.6) in /srv/zebra-data/okapi.db and /home/tapir/axolotl";
fn planted(run: &Run) -> (Run, usize) {
    // Texts that are a probe's own, are versions, or say what the file is.
    const NOT: &str =
        "explain title section release version bios_version microcode module_version digest target schema id";
    let mut whole = serde_json::to_value(run).unwrap();
    let mut places = Vec::new();
    every_text("", &whole, &mut places);
    places.retain(|place| !place.split('/').any(|part| NOT.split(' ').any(|not| not == part)));
    let mut count = 0;
    for place in places {
        let mut tried = whole.clone();
        let text = tried.pointer_mut(&place).unwrap();
        *text = format!("{} {MARK}", text.as_str().unwrap()).into();
        if serde_json::from_value::<Run>(tried.clone()).is_ok() {
            (whole, count) = (tried, count + 1);
        }
    }
    (serde_json::from_value(whole).unwrap(), count)
}

/// Asserts that no line of any format of these runs has one of these words.
fn say_nowhere(words: &[&str], redacted: &[Run]) {
    assert_eq!(unredacted(&redacted[0]), Vec::<String>::new());
    for format in export::FORMATS {
        for (verbose, lang) in [(false, Lang::En), (true, Lang::En), (false, Lang::Zh), (true, Lang::Zh)] {
            let options = RenderOptions { verbose, lang, ..RenderOptions::default() };
            let Some(text) = format.render(redacted, &options) else { continue };
            let found = text.lines().find(|line| words.iter().any(|word| line.contains(word)));
            assert!(found.is_none(), "{}: {:.400}", format.name, found.unwrap_or_default());
        }
    }
}

fn run() -> Run {
    let mut run = three_hosts();
    run.host.hostname = "quokka-17".into();
    run.host.boot_id = Some("76d205a7-22e7-4162-9950-f49696bad8f5".into());
    run.host.kernel.command_line = Some("root=UUID=okapi mitigations=off".into());
    run.host.kernel.release = "6.1.0".into();
    run.host.cpu.model = Some("Example CPU".into());
    run.name = "20261125T000000Z-quokka-17-12ab".into();
    run.place = Some("ssh tapir@quokka-17".into());
    run.settings.inputs.command = vec!["/srv/zebra-data/run".into(), "--token=okapi".into()];
    run.settings.inputs.scratch = Some(hostmark_model::PathBytes(b"/srv/zebra-data".to_vec()));
    run.settings.set.insert("command".into(), "axolotl --token okapi".into());
    run.cases.push(case("syscall.null", 100.0, &[]));
    run.cases.push(sends(1e9, &[]));
    run
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn no_format_of_a_redacted_run_holds_what_names_somebody() {
    let (planted, count) = planted(&run());
    assert!(count > 40, "{count}");
    let mut redacted = redact(vec![planted]);
    let found = findings(&redacted[0]);
    redacted[0].findings.extend(found);
    say_nowhere(&["quokka", "10.98.7.6", "zebra", "okapi", "tapir", "axolotl", "76d205a7"], &redacted);
    say_nowhere(&["zq"], &redact(vec![marked()]));
}

#[test]
fn what_explains_the_figures_stays_and_a_redacted_run_is_a_run() {
    let before = run();
    let redacted = redact(vec![before.clone()]).remove(0);
    assert_eq!(redacted.host.kernel.command_line.as_deref(), Some("mitigations=off"));
    assert_eq!(
        (redacted.host.kernel.release.as_str(), redacted.host.cpu.model.as_deref()),
        ("6.1.0", Some("Example CPU"))
    );
    assert_eq!((redacted.host.hostname.as_str(), redacted.host.boot_id.as_deref()), ("host-1", None));
    assert_eq!(redacted.name, "20261125T000000Z-host-1-12ab");
    let values = |run: &Run| -> Vec<Option<f64>> {
        run.cases.iter().map(|case| Some(case.measured()?.estimate.typical)).collect()
    };
    assert_eq!(values(&redacted), values(&before));
    // A peer is the same one in its case, in the list of peers, and in the pairs.
    let name = &redacted.peers[0].name;
    assert!(name.starts_with("host-") && redacted.cases.iter().any(|case| case.peer() == Some(name)), "{name}");
    assert!(redacted.pairs.iter().any(|pair| pair.from == *name), "{:?}", redacted.pairs);
    let text = export::format_named("json").unwrap().render_one(&redacted, &RenderOptions::default());
    assert_eq!(load_run(&text).unwrap(), redacted);
    assert_eq!(unredacted(&redacted), Vec::<String>::new());
    let left = unredacted(&before);
    for field in ["host.hostname", "host.boot_id", "name", "place", "settings.inputs.scratch", "peers.0.host.hostname"]
    {
        assert!(left.iter().any(|found| found == field), "{field} is not in {left:?}");
    }
    assert_eq!(redact(vec![redacted.clone()])[0].host, redacted.host);
}

#[test]
fn two_runs_of_one_host_are_of_one_host_afterwards() {
    let other = Run { host: HostFacts { hostname: "lemur-3".into(), ..HostFacts::default() }, ..run() };
    let redacted = redact(vec![run(), other, run()]);
    let names: Vec<&str> = redacted.iter().map(|run| run.host.hostname.as_str()).collect();
    assert!(
        names[0] == names[2] && names[0] != names[1] && names.iter().all(|name| name.starts_with("host-")),
        "{names:?}"
    );
}

/// A word of somebody's in every place that may hold one: `zq` is in no text of ours.
pub fn marked() -> Run {
    let mut run = run();
    run.name = "zqpayroll-db1".into();
    run.note = Some("after the zq upgrade".into());
    run.series = Some(SeriesTurn { name: "zq-nightly".into(), every_s: 60.0, until: None });
    run.place = Some("ssh -J zqjump zquser@zqplace.example.org".into());
    run.disturbances = vec![Text {
        en: "a busy process (pid 4711, zq-trader, 98 % of a CPU) disturbed this run".into(),
        zh: "有繁忙的进程（pid 4711，zq-trader，占一个 CPU 的 98%）干扰了本次运行".into(),
    }];
    let host = &mut run.host;
    host.hostname = "zqhost-7.example.org".into();
    host.network.push(NetworkInterface { name: "wg-zqhq".into(), ..NetworkInterface::default() });
    (host.kernel.release, host.kernel.version) = ("6.18.44-zq3".into(), "#1-zq SMP root@zqbuild".into());
    host.kernel.command_line = Some("root=UUID=zqroot zq.arg=1 mitigations=off".into());
    host.virtualization.container = Some("zqbox".into());
    host.limits.groups.push(GroupFact { path: Some("/zq.slice/zq.service".into()), ..GroupFact::default() });
    host.storage.devices.push(BlockDevice { name: "md_zq".into(), ..BlockDevice::default() });
    host.storage.directories.push(DirectoryFact {
        path: "/srv/zqdata".into(),
        mount_point: Some("/srv/zqmount".into()),
        device: Some("zqpool".into()),
        stack: ["zfs", "zqpool/a", "/srv/zq.img", "dm-0 (zq)"].map(str::to_owned).into(),
        options: ["upperdir=/zq", "addr=zqfiler"].map(str::to_owned).into(),
        ..DirectoryFact::default()
    });
    run.peers[0].place = Some("ssh zquser2@zqpeer".into());
    run.peers[0].host.hostname = "zqpeer-1".into();
    run.settings.set.insert("scratch".into(), "zq/relative".into());
    let text = "zqhost-7 cannot open /home/zquser3/zq through wg-zqhq, as zq-trader does on md_zq of 6.18.44-zq3 in zqpayroll-db1";
    let mut skipped = case("syscall.getppid", 1.0, &[]);
    skipped.outcome = Outcome::Skipped { reason: ReasonCode::Permission.because(text) };
    run.cases.push(skipped);
    run.findings = findings(&run);
    run
}

/// Fields whose text stays whatever it is: what hardware, kernels and this program are called, and sentences in which names of other
/// fields are looked for. A field that is not here does not let a word through that it was not asked about.
const STAYS: &str = "\
    cases.id cases.outcome.failed.reason cases.outcome.measured.flags.detail cases.outcome.skipped.reason \
    cases.params.by cases.params.call cases.params.child cases.params.copies cases.params.cpus \
    cases.params.descriptors cases.params.direction cases.params.kernel cases.params.kind cases.params.level \
    cases.params.load cases.params.op cases.params.page cases.params.pattern cases.params.protocol cases.params.size \
    cases.params.source cases.params.streams cases.params.threads cases.params.to cases.params.type cases.probe \
    disturbances.en disturbances.zh findings.cases findings.command findings.cure.en findings.cure.zh findings.id \
    findings.short.en findings.short.zh findings.text.en findings.text.zh finished host.cpu.architecture \
    host.cpu.model host.memory.transparent_huge_pages host.storage.directories.options \
    host.virtualization.hypervisor id peers.path.driver peers.path.queue.kind peers.path_back.driver \
    probes.also.name probes.also.title.en probes.also.title.zh probes.axes.default probes.axes.name \
    probes.explain.causes.en probes.explain.causes.zh probes.explain.reading.en probes.explain.reading.zh \
    probes.explain.typical.en probes.explain.typical.zh probes.explain.what.en probes.explain.what.zh \
    probes.explain.why.en probes.explain.why.zh probes.id probes.section.en probes.section.zh probes.title.en \
    probes.title.zh schema settings.clock.source started tool.libc tool.target tool.version";

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_field_lets_a_strange_word_through_only_where_that_was_decided() {
    let mut whole = serde_json::to_value(marked()).unwrap();
    let mut places = Vec::new();
    every_text("", &whole, &mut places);
    for (number, place) in places.iter().enumerate() {
        let before = std::mem::replace(whole.pointer_mut(place).unwrap(), format!("wq{number}x").into());
        if serde_json::from_value::<Run>(whole.clone()).is_err() {
            *whole.pointer_mut(place).unwrap() = before;
        }
    }
    let run: Run = serde_json::from_value(whole).unwrap();
    let redacted = serde_json::to_value(&redact(vec![run])[0]).unwrap();
    let mut left = Vec::new();
    every_text("", &redacted, &mut left);
    let is_marked = |place: &&String| redacted.pointer(place).is_some_and(|text| text.as_str().unwrap().contains("wq"));
    let field = |place: &String| {
        let parts = place.split('/').skip(1).filter(|part| part.parse::<usize>().is_err());
        parts.collect::<Vec<_>>().join(".").replace("peers.host.", "host.").replace("pairs.cases.", "cases.")
    };
    let stays: BTreeSet<String> = left.iter().filter(is_marked).map(field).collect();
    let decided: BTreeSet<String> = STAYS.split_whitespace().map(str::to_owned).collect();
    assert_eq!(stays, decided);
}

fn every_text(at: &str, value: &Value, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(at.to_owned()),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| every_text(&format!("{at}/{index}"), value, places));
        }
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            every_text(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, places);
        }),
        _ => {}
    }
}
