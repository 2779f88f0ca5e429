//! `hostmark fleet run --slurm` over a cluster that the test makes and removes: eight nodes of which two are unlike the others,
//! and one that dies.

use std::process::{Command, Stdio};
use std::time::Duration;

use hostmark_model::{FleetRun, HostState, load_run};
use rustix::process::{Pid, Signal, kill_process};

use crate::alone::alone;
use crate::control_group::ControlGroup;
use crate::fleets::Fleet;
use crate::processes::{processes, within};
use crate::skip::skipped;
use crate::slurm::{Slurm, Wrapper};
use crate::support;
use crate::support::{ended, files, said};

const NODES: usize = 8;
/// The node that has half a CPU, and the one without huge pages.
const QUOTA: usize = 2;
const NO_HUGE: usize = 5;
/// A node's processes have no huge pages from here on.
const FORBID: &str =
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])";
/// Long enough for nodes that are measured one after the other on a loaded machine.
const SOON: Duration = Duration::from_secs(120);

/// A control group with half a CPU; none where this user or kernel makes none.
fn half_a_cpu() -> Option<ControlGroup> {
    let places: [(&str, &[_]); 2] =
        [("/sys/fs/cgroup/cpu", &[("cpu.cfs_quota_us", "50000")]), ("/sys/fs/cgroup", &[("cpu.max", "50000 100000")])];
    ControlGroup::of("test", &places)
}

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
    let Some(half) = half_a_cpu() else { return skipped("no control group with a CPU quota can be made here") };
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
    assert!(within(SOON, || slurm.jobs().is_empty()), "{}", slurm.jobs());
    assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
    assert!(files(fleet.home.scratch.path()).is_empty(), "{:?}", files(fleet.home.scratch.path()));
    let run = |node: usize| load_run(&fleet.text(&format!("runs/node{node}.json"))).unwrap();
    for node in 0..NODES {
        let host = run(node).host;
        assert_eq!(host.hostname, format!("node{node}"));
        assert_eq!(host.memory.transparent_huge_pages_forbidden, Some(node == NO_HUGE), "{node}");
        assert_eq!(host.limits.cpu_quota, (node == QUOTA).then_some(0.5), "{node}");
    }
    let stored = |filters: &[&str]| {
        let (code, out, errors) =
            ended(&mut fleet.home.hostmark(&[&["fleet", "report", &runs], filters, &["--verbose"]].concat()));
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
    command.env(name, &value).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let is_measuring = within(SOON, || fleet.text("runs/.under-way/node1.partial.jsonl").lines().count() > 2);
    slurm.kill_node(1);
    let (code, out, errors) = said(&child.wait_with_output().unwrap());
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
    assert!(within(SOON, || slurm.jobs().is_empty()), "{}", slurm.jobs());
    assert!(within(SOON, || slurm.states().iter().any(|state| state.starts_with("down"))), "{:?}", slurm.states());
    // No allocation has a node that is down, and none is waited for.
    let mut command = fleet.command(&[&common[..], &["--resume", &runs]].concat());
    let (code, out, errors) = ended(command.env(name, &value));
    assert_eq!(code, 3, "{out} {errors}");
    assert!(fleet.rows("runs")[1].2.contains("down or drained"), "{:?} {errors}", fleet.rows("runs"));

    for (signal, wanted) in [(Signal::INT, 130), (Signal::KILL, -1)] {
        let runs = format!("ended-by-{wanted}");
        let mut command = fleet.command(&["--slurm", "-p batch -N 2", "syscall", "--out"]);
        command.arg(fleet.at(&runs)).env(name, &value).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let journal = format!("{runs}/.under-way/node2.partial.jsonl");
        let is_measuring = within(SOON, || fleet.text(&journal).lines().count() > 2);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let (code, out, errors) = said(&child.wait_with_output().unwrap());
        assert!(is_measuring && code == wanted, "{code} {out} {errors}");
        assert!(within(SOON, || slurm.jobs().is_empty()), "{signal:?} {}", slurm.jobs());
        assert!(within(SOON, || processes(&fleet.home).is_empty()), "{signal:?} {:?}", processes(&fleet.home));
    }

    let words = ["--slurm", "-p batch -N 2", "--print", "--seed", "7", "syscall.null"];
    let (code, script, errors) = ended(&mut fleet.command(&words));
    assert_eq!((code, errors.as_str()), (0, ""));
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
    let (code, out, errors) = ended(fleet.command(&words).env(name, &value));
    assert_eq!(code, 0, "{out} {errors}");
    assert!(out.contains("6 of 6 pairs are measured"), "{out}");
    let stored = FleetRun::load(&fleet.text("runs/fleet.json")).unwrap();
    for pair in &stored.pairs {
        let values = [&pair.bandwidth, &pair.round_trip].map(|value| value.as_ref().is_some_and(|it| it.value() > 0.0));
        assert!(pair.from != pair.to && values == [true, true], "{pair:?}");
    }
    assert!(within(SOON, || slurm.jobs().is_empty()), "{}", slurm.jobs());
    assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
}
