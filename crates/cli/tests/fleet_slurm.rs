//! `hostmark fleet run --slurm` over a cluster that the test makes and removes: eight nodes of which two are unlike the others,
//! and one that dies.

use hostmark_model::{FleetRun, HostState};

use crate::control_group::ControlGroup;
use crate::fleets::{Fleet, Slurm, Wrapper};
use crate::prelude::*;
use crate::support;

const NODES: usize = 8;
/// The node that has half a CPU, and the one without huge pages.
const QUOTA: usize = 2;
const NO_HUGE: usize = 5;
/// A node's processes have no huge pages from here on.
const FORBID: &str =
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])";
/// Long enough for nodes that are measured one after the other on a loaded machine.
const SLURM_SOON: Duration = Duration::from_secs(120);

/// What puts itself and what it becomes into a group.
fn wrapper(group: &ControlGroup) -> Wrapper {
    let enter = format!("{} && exec \"$@\"", group.enter());
    ["sh", "-c", &enter, "sh"].map(str::to_owned).to_vec()
}

/// Each node measures this: what a quota delays, and what huge pages hasten.
const MEASURED: [&str; 4] = [
    "sched.messaging@channel=socket",
    "sched.messaging@channel=pipe",
    "process.fork_resident@resident=67108864,page=pmd",
    "memory.random_access",
];

#[test]
fn eight_nodes_are_measured_and_the_two_unlike_ones_are_named_with_their_facts() {
    let _alone = alone();
    let Some(half) = ControlGroup::with_quota("test", 50_000) else {
        return skipped("no control group with a CPU quota can be made here");
    };
    if !Command::new("python3").arg("-c").arg("import ctypes").stdin(Stdio::null()).status().is_ok_and(|s| s.success())
    {
        return skipped("there is no python3 to forbid huge pages by prctl");
    }
    let mut wrappers: Vec<Wrapper> = vec![Vec::new(); NODES];
    wrappers[QUOTA] = wrapper(&half);
    wrappers[NO_HUGE] = ["python3", "-c", FORBID].map(str::to_owned).to_vec();
    let slurm = match Slurm::start(&wrappers) {
        Ok(slurm) => slurm,
        Err(why) => return skipped(&format!("no cluster of Slurm can be made here ({why})")),
    };
    let fleet = Fleet::new();
    let runs = fleet.at("runs").display().to_string();
    let nodes = format!("-p batch -N {NODES}");
    let (name, value) = slurm.variable();
    let mut words = vec!["--slurm", &nodes, "--at-once", "1", "--out", &runs];
    words.extend(MEASURED);
    let (code, out, errors) = ended(fleet.command(&words).env(name, &value));
    assert_eq!(code, 0, "{out} {errors}");
    assert!(fleet.rows("runs").len() == NODES && out.contains("8 of 8 hosts are measured"), "{out}");
    assert!(within(SLURM_SOON, || slurm.jobs().is_empty()), "{}", slurm.jobs());
    assert!(within(SLURM_SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
    assert!(files(fleet.home.scratch.path()).is_empty(), "{:?}", files(fleet.home.scratch.path()));
    let run = |node: usize| load_run(&fleet.text(&format!("runs/node{node}.json"))).unwrap();
    for node in 0..NODES {
        let host = run(node).host;
        assert_eq!(host.hostname, format!("node{node}"));
        assert_eq!(host.memory.transparent_huge_pages_forbidden, Some(node == NO_HUGE), "{node}");
        assert_eq!(host.limits.cpu_quota, (node == QUOTA).then_some(0.5), "{node}");
    }
    let stored = |filters: &[&str]| {
        let (code, out, errors) = fleet.home.says(&[&["fleet", "report", &runs], filters, &["--verbose"]].concat());
        assert_eq!((code, errors.as_str()), (0, ""), "{out}");
        out
    };
    let values = |node: usize, probe: &str| -> Vec<f64> {
        let run = run(node);
        let cases = run.cases.iter().filter(|case| case.probe == probe);
        cases.map(|case| case.measured().map_or(f64::NAN, |measured| measured.estimate.typical)).collect()
    };
    // Whether the usual nodes agree in all its cases, whatever else runs on this machine, and the unlike one is far off: eight
    // hosts are few, and what scatters tells none apart.
    let is_clear = |odd: usize, probe: &str| {
        let usual: Vec<Vec<f64>> =
            (0..NODES).filter(|node| ![QUOTA, NO_HUGE].contains(node)).map(|node| values(node, probe)).collect();
        values(odd, probe).iter().enumerate().all(|(case, off)| {
            let of_case: Vec<f64> = usual.iter().map(|values| values[case]).collect();
            let (least, most) =
                of_case.iter().fold((f64::MAX, 0_f64), |(least, most), one| (least.min(*one), most.max(*one)));
            most / least < 1.1 && off / most > 2.0
        })
    };
    for (group, probe, node, fact) in [
        ("process", "process.fork_resident", NO_HUGE, "transparent huge pages forbidden (prctl): yes, usually no"),
        ("sched", "sched.messaging", QUOTA, "CPU quota: 0.5, usually none"),
    ] {
        let out = stored(&[group]);
        let is_named = out.lines().any(|line| line.starts_with(&format!("  node{node} "))) && out.contains(fact);
        match is_clear(node, probe) {
            true => assert!(is_named, "{out}"),
            false if is_named => {}
            false => skipped(&format!("other programs use this machine too much for {group} to tell node{node} apart")),
        }
    }
}

#[test]
fn a_node_that_dies_is_a_row_and_the_printed_script_measures_the_others() {
    let _alone = alone();
    let mut slurm = match Slurm::start(&vec![Vec::new(); 3]) {
        Ok(slurm) => slurm,
        Err(why) => return skipped(&format!("no cluster of Slurm can be made here ({why})")),
    };
    let fleet = Fleet::new();
    let runs = fleet.at("runs").display().to_string();
    let (name, value) = slurm.variable();
    let common = ["--slurm", "-p batch -N 3", "syscall"];
    let mut command = fleet.command(&[&common[..], &["--out", &runs]].concat());
    command.env(name, &value);
    let mut child = Running::start(&mut command);
    let is_measuring = within(SLURM_SOON, || fleet.text("runs/.under-way/node1.partial.jsonl").lines().count() > 2);
    slurm.kill_node(1);
    let (code, out, errors) = said(&child.ends(SOON * 4));
    assert!(is_measuring, "{out} {errors}");
    assert_eq!(code, 3, "{out} {errors}");
    for (host, state, why) in fleet.rows("runs") {
        match host.as_str() {
            "node1" => {
                assert!(state == HostState::Lost && !why.is_empty() && !why.contains("--resume"), "{state:?} {why}")
            }
            _ => assert!(state == HostState::Measured, "{host} {state:?} {why}"),
        }
    }
    assert!(within(SLURM_SOON, || slurm.jobs().is_empty()), "{}", slurm.jobs());
    assert!(
        within(SLURM_SOON, || slurm.states().iter().any(|state| state.starts_with("down"))),
        "{:?}",
        slurm.states()
    );
    // No allocation has a node that is down, and none is waited for.
    let mut command = fleet.command(&[&common[..], &["--resume", &runs]].concat());
    let (_, errors) = with_code(3, ended(command.env(name, &value)));
    assert!(fleet.rows("runs")[1].2.contains("down or drained"), "{:?} {errors}", fleet.rows("runs"));

    for (signal, wanted) in [(Signal::INT, 130), (Signal::KILL, -1)] {
        let runs = format!("ended-by-{wanted}");
        let mut command = fleet.command(&["--slurm", "-p batch -N 2", "syscall", "--out"]);
        command.arg(fleet.at(&runs)).env(name, &value);
        let mut child = Running::start(&mut command);
        let journal = format!("{runs}/.under-way/node2.partial.jsonl");
        let is_measuring = within(SLURM_SOON, || fleet.text(&journal).lines().count() > 2);
        child.signal(signal);
        let (code, out, errors) = said(&child.ends(SOON * 4));
        assert!(is_measuring && code == wanted, "{code} {out} {errors}");
        assert!(within(SLURM_SOON, || slurm.jobs().is_empty()), "{signal:?} {}", slurm.jobs());
        assert!(within(SLURM_SOON, || processes(&fleet.home).is_empty()), "{signal:?} {:?}", processes(&fleet.home));
    }

    let words = ["--slurm", "-p batch -N 2", "--print", "--seed", "7", "syscall.null"];
    let script = succeeded(ended(&mut fleet.command(&words)));
    let path = fleet.script("job", script.strip_prefix("#!/bin/sh\n").unwrap());
    for shell in ["sh", "bash"] {
        assert!(Command::new(shell).args(["-n", &path]).status().unwrap().success(), "{shell} {script}");
    }
    let mut sbatch = fleet.home.start("sbatch");
    sbatch.args(["--wait", "--chdir=/", &format!("--output={}", fleet.at("job.log").display()), &path]);
    sbatch.env(name, &value).env("HOSTMARK", support::PROGRAM).env("OUT", fleet.at("printed"));
    let (code, out, errors) = ended(&mut sbatch);
    assert_eq!(code, 0, "{out} {errors} {}", fleet.text("job.log"));
    assert_eq!(fleet.names("printed"), ["node0.json", "node2.json"], "{}", fleet.text("job.log"));
    let run = load_run(&fleet.text("printed/node2.json")).unwrap();
    assert_eq!((run.settings.seed, run.host.hostname.as_str()), (7, "node2"));
}

#[test]
fn nodes_of_an_allocation_meet_within_it() {
    let _alone = alone();
    let slurm = match Slurm::start(&vec![Vec::new(); 3]) {
        Ok(slurm) => slurm,
        Err(why) => return skipped(&format!("no cluster of Slurm can be made here ({why})")),
    };
    let fleet = Fleet::new();
    let runs = fleet.at("runs").display().to_string();
    let (name, value) = slurm.variable();
    let words = ["--slurm", "-p batch -N 3", "--at-once", "2", "--pairs", "syscall.null", "--out", &runs];
    let (out, _) = with_code(0, ended(fleet.command(&words).env(name, &value)));
    assert!(out.contains("6 of 6 pairs are measured"), "{out}");
    let stored = FleetRun::load(&fleet.text("runs/fleet.json")).unwrap();
    for pair in &stored.pairs {
        let values = [&pair.bandwidth, &pair.round_trip].map(|value| value.as_ref().is_some_and(|it| it.value() > 0.0));
        assert!(pair.from != pair.to && values == [true, true], "{pair:?}");
    }
    assert!(within(SLURM_SOON, || slurm.jobs().is_empty()), "{}", slurm.jobs());
    assert!(within(SLURM_SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
}

const SHORT: &str = "syscall.null";

/// Pods are files in `pods`, the manifest of each and beside it how it is; `log` has what was asked. A node may have a file
/// `status-NODE` with the status of its pods; `hang-NODE` keeps its shell from starting, and of `vanish-NODE` the pod is deleted when a
/// shell in it ends.
const KUBECTL: &str = include_str!("support/kubectl.sh");

fn node(name: &str, ready: &str, is_cordoned: bool) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": { "unschedulable": is_cordoned },
        "status": {
            "allocatable": { "cpu": "4", "memory": "8Gi" },
            "conditions": [{ "type": "Ready", "status": ready, "message": "kubelet stopped posting" }]
        }
    })
}

fn cluster(nodes: &[Value]) -> Fleet {
    let fleet = Fleet::new();
    fleet.script("bin/kubectl", KUBECTL);
    fleet.write("nodes.json", &json!({ "items": nodes }).to_string());
    fleet
}

const COMMON: [&str; 5] = ["--kubernetes", "pool=bench", "--image", "registry/busybox:1", SHORT];

fn made(fleet: &Fleet) -> Vec<Value> {
    let names = fleet.names("").into_iter().filter(|name| name.starts_with("made-"));
    names.map(|name| serde_json::from_str(&fleet.text(&name)).unwrap()).collect()
}

#[test]
fn each_node_has_a_pod_that_is_entered_and_removed() {
    let _alone = alone();
    let nodes = [
        node("pool-a1", "True", false),
        node("pool-a2.example.org", "True", false),
        node("full", "True", false),
        node("cordoned", "True", true),
        node("dead", "Unknown", false),
        node("imageless", "True", false),
    ];
    let fleet = cluster(&nodes);
    fleet.write(
        "status-full",
        r#"{"phase":"Failed","reason":"OutOfcpu","message":"Node didn't have enough resource: cpu"}"#,
    );
    let waiting = r#"{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \u001b[31m"}}"#;
    fleet.write("status-imageless", &format!(r#"{{"phase":"Pending","containerStatuses":[{{"state":{waiting}}}]}}"#));
    let runs = fleet.at("runs").display().to_string();
    let (out, errors) = with_code(3, ended(&mut fleet.command(&[&COMMON[..], &["--out", &runs]].concat())));
    for ((host, state, why), (name, wanted, part)) in fleet.rows("runs").iter().zip([
        ("pool-a1", HostState::Measured, ""),
        ("pool-a2.example.org", HostState::Measured, ""),
        ("full", HostState::Failed, "OutOfcpu: Node didn't have enough resource"),
        ("cordoned", HostState::Failed, "cordoned"),
        ("dead", HostState::Failed, "kubelet stopped posting"),
        ("imageless", HostState::Failed, "ImagePullBackOff"),
    ]) {
        assert!(host == name && *state == wanted && why.contains(part), "{host} {state:?} {why}");
    }
    assert!(!format!("{out}{errors}").contains('\u{1b}'));
    let (code, out, errors) = fleet.home.says(&["fleet", "report", &runs]);
    assert!(code == 0 && out.contains("cordoned has no run (failed: the node is cordoned)"), "{out} {errors}");
    assert!(!format!("{out}{errors}").contains('\u{1b}'));
    assert!(load_run(&fleet.text("runs/pool-a2.example.org.json")).is_ok());
    assert_eq!(fleet.names("pods"), Vec::<String>::new(), "{}", fleet.text("log"));
    assert!(files(fleet.home.scratch.path()).is_empty(), "{:?}", files(fleet.home.scratch.path()));
    let made = made(&fleet);
    assert_eq!(made.len(), 4);
    let nodes: BTreeSet<&str> = made.iter().map(|pod| pod["spec"]["nodeName"].as_str().unwrap()).collect();
    assert_eq!(nodes.len(), 4);
    for pod in &made {
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["image"], "registry/busybox:1");
        // More than half of the node, and no limit, which would be a quota.
        assert_eq!(container["resources"], json!({ "requests": { "cpu": "2001m", "memory": "4294967297" } }));
        assert_eq!(pod["spec"]["hostname"], pod["spec"]["nodeName"].as_str().unwrap().replace('.', "-"));
        assert_eq!(pod["spec"]["restartPolicy"], "Never");
        assert!(pod["spec"]["activeDeadlineSeconds"].as_u64() > Some(0));
        held_against_the_schema(&pod.to_string());
    }
}

#[test]
fn pods_go_however_the_fleet_ends() {
    let _alone = alone();
    for signal in [Signal::INT, Signal::KILL] {
        let fleet = cluster(&[node("a", "True", false), node("b", "True", false)]);
        fleet.write("hang-a", "");
        fleet.write("hang-b", "");
        let runs = fleet.at("runs").display().to_string();
        let mut command = fleet.command(&[&COMMON[..], &["--out", &runs]].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let hangs = within(SOON, || fleet.at("hangs").exists() && fleet.names("pods").len() == 2);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert!(hangs, "{}", fleet.text("log"));
        assert_eq!(status.code(), (signal == Signal::INT).then_some(130));
        assert!(within(SOON, || fleet.names("pods").is_empty()), "{signal:?} {}", fleet.text("log"));
        assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
    }
}

#[test]
fn a_pod_that_does_not_start_is_reported_with_the_clusters_last_warning() {
    let _alone = alone();
    let fleet = cluster(&[node("a", "True", false)]);
    fleet.write("status-a", r#"{"phase":"Pending"}"#);
    let event = |time: &str, message: &str| {
        json!({ "lastTimestamp": time, "reason": "FailedCreatePodSandBox", "message": message }).to_string()
    };
    let last = event("2026-01-01T00:02:00Z", "runc create failed: \u{1b}[31mEOF");
    fleet.write("events", &[last, event("2026-01-01T00:01:00Z", "no network")].join(","));
    let runs = fleet.at("runs").display().to_string();
    let (out, errors) =
        with_code(3, ended(&mut fleet.command(&[&COMMON[..], &["--timeout", "2s", "--out", &runs]].concat())));
    let (_, state, why) = fleet.rows("runs").remove(0);
    assert_eq!(state, HostState::Slow);
    assert!(why.contains("2 s (--timeout): FailedCreatePodSandBox: runc create failed"), "{why}");
    assert!(!format!("{out}{errors}").contains('\u{1b}') && fleet.names("pods").is_empty());
}

#[test]
fn pods_stay_until_all_have_met_and_one_that_is_deleted_is_reported_in_its_pairs() {
    let _alone = alone();
    let fleet = cluster(&["a", "b", "c"].map(|name| node(name, "True", false)));
    fleet.write("vanish-c", "");
    let runs = fleet.at("runs").display().to_string();
    let (out, _) = with_code(3, ended(&mut fleet.command(&[&COMMON[..], &["--pairs", "--out", &runs]].concat())));
    let stored = FleetRun::load(&fleet.text("runs/fleet.json")).unwrap();
    assert!(stored.hosts.iter().all(|host| host.state == HostState::Measured), "{:?}", stored.hosts);
    assert_eq!(stored.pairs.len(), 6);
    for pair in &stored.pairs {
        match [pair.from.as_str(), pair.to.as_str()].contains(&"c") {
            true => assert_eq!(pair.failed.as_deref(), Some("its pod was deleted")),
            false => assert!(pair.failed.is_none() && pair.bandwidth.is_some(), "{pair:?}"),
        }
    }
    assert!(out.contains("2 of 6 pairs are measured") && out.contains("--pairs"), "{out}");
    assert_eq!(made(&fleet).len(), 3);
    assert_eq!(fleet.names("pods"), Vec::<String>::new(), "{}", fleet.text("log"));
    assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
}

#[test]
fn a_client_that_fails_is_reported_with_what_it_said() {
    let _beside = beside();
    let fleet = cluster(&[]);
    for (script, part) in [
        ("echo 'error: You must be logged in' >&2; exit 1", "kubectl get nodes failed: error: You must be logged in"),
        ("echo '<html>'", "kubectl prints no JSON"),
        ("echo '{\"items\": []}'", "there is no host to measure; give another selector"),
        (
            "echo '{\"items\": [{\"metadata\": {\"name\": \"-oProxyCommand\"}}]}'",
            "the cluster names a node '-oProxyCommand' that is none",
        ),
    ] {
        fleet.script("bin/kubectl", script);
        let (code, out, errors) = ended(&mut fleet.command(&COMMON));
        assert!([2, 5].contains(&code) && out.is_empty() && errors.lines().count() == 1, "{code} {out} {errors}");
        assert!(errors.contains(part), "{errors}");
    }
    let (code, _, errors) = ended(&mut fleet.command(&[&COMMON[..], &["--kubectl", "no-such-client -n x"]].concat()));
    assert!(code == 2 && errors.contains("no-such-client cannot be asked") && errors.contains("--kubectl"), "{errors}");
}

#[test]
fn the_printed_job_is_one_that_the_api_takes() {
    let _beside = beside();
    let fleet = cluster(&[node("a", "True", false), node("b", "True", false), node("c", "True", true)]);
    let words = [&COMMON[..], &["--print", "--timeout", "10m"]].concat();
    let yaml = succeeded(ended(&mut fleet.command(&words)));
    for part in ["kind: \"Job\"", "completionMode: \"Indexed\"", "completions: 2\n", "activeDeadlineSeconds: 600\n"] {
        assert!(yaml.contains(part), "{part}\n{yaml}");
    }
    let (code, _, errors) = ended(&mut fleet.command(&[&words[..], &["--at-once", "1"]].concat()));
    assert!(code == 2 && errors.contains("leave out --at-once"), "{errors}");
    assert!(!fleet.text("log").contains("create"), "{}", fleet.text("log"));
    let Some(job) = parsed(&yaml) else { return skipped("there is no python3 with yaml") };
    let template = &job["spec"]["template"]["spec"];
    assert_eq!(job["spec"]["parallelism"], 2);
    assert_eq!(
        template["containers"][0]["command"],
        json!(["hostmark", "run", SHORT, "--profile=quick", "--format=json"])
    );
    assert_eq!(
        template["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0],
        json!({ "matchExpressions": [{ "key": "pool", "operator": "In", "values": ["bench"] }] })
    );
    assert!(!template["affinity"]["podAntiAffinity"].is_null());
    if !held_against_the_schema(&yaml) {
        skipped("there is no kubernetes-validate");
    }
}

/// What a library reads in YAML; none where there is no library.
fn parsed(yaml: &str) -> Option<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), yaml).unwrap();
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let output = Command::new("python3").args(["-c", script]).arg(file.path()).output().ok()?;
    match output.status.success() {
        true => Some(serde_json::from_slice(&output.stdout).unwrap()),
        false if String::from_utf8_lossy(&output.stderr).contains("ModuleNotFoundError") => None,
        false => panic!("{yaml}\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Whether the API's schema is there; what it does not take ends the test.
fn held_against_the_schema(manifest: &str) -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), manifest).unwrap();
    let script = "import sys, yaml, kubernetes_validate as k\nk.validate(yaml.safe_load(open(sys.argv[1])), k.latest_version(), strict=True)";
    let Ok(output) = Command::new("python3").args(["-c", script]).arg(file.path()).output() else { return false };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || errors.contains("ModuleNotFoundError"), "{manifest}\n{errors}");
    output.status.success()
}
