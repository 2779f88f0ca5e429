//! A redacted run in every format: no name of a host, a person or a path stands in it, wherever the run had it.

use hostmark_analysis::findings;
use hostmark_analysis::redact::{redact, unredacted};
use hostmark_model::{HostFacts, Run, load_run};
use hostmark_present::{RenderOptions, export};
use serde_json::Value;

use crate::peers::{case, sends, three_hosts};

/// What a run may hold anywhere, and nobody is to read.
const MARK: &str = "at quokka-17 (10.98.7.6) in /srv/zebra-data/okapi.db and /home/tapir/axolotl";
const SECRETS: [&str; 6] = ["quokka", "10.98.7.6", "zebra", "okapi", "tapir", "axolotl"];

/// Adds the mark to every text, if the run can still be read with it.
fn planted(run: &Run) -> (Run, usize) {
    let mut whole = serde_json::to_value(run).unwrap();
    let mut places = Vec::new();
    texts("", &whole, &mut places);
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

/// Where texts stand, but for those that are a probe's own, are versions, or say what the file is.
fn texts(at: &str, value: &Value, places: &mut Vec<String>) {
    const NOT: [&str; 12] = [
        "explain",
        "title",
        "section",
        "release",
        "version",
        "bios_version",
        "microcode",
        "module_version",
        "digest",
        "target",
        "schema",
        "id",
    ];
    match value {
        Value::String(_) => places.push(at.to_owned()),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| texts(&format!("{at}/{index}"), value, places));
        }
        Value::Object(map) => {
            let free = map.iter().filter(|(key, _)| !NOT.contains(&key.as_str()));
            free.for_each(|(key, value)| {
                texts(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, places)
            });
        }
        _ => {}
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
    assert_eq!(unredacted(&redacted[0]), Vec::<String>::new());
    let found = findings(&redacted[0]);
    redacted[0].findings.extend(found);
    for format in export::FORMATS {
        for verbose in [false, true] {
            let options = RenderOptions { verbose, ..RenderOptions::default() };
            let Some(text) = format.render(&redacted, &options) else { continue };
            for secret in SECRETS.iter().chain(&["76d205a7"]) {
                let found = text.lines().find(|line| line.contains(secret));
                assert!(found.is_none(), "{} of {}: {:.400}", secret, format.name, found.unwrap_or_default());
            }
        }
    }
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
    // Once more changes nothing that matters.
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
