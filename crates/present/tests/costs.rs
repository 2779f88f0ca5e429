//! The findings that say what something costs: each is drawn from a run that shows it, and from none that does not, that
//! is not sure, or that does not tell.

use hostmark_analysis::Spoken;
use hostmark_analysis::findings::{cores_by_measurement, steal::forget_broken};

use crate::prelude::*;
use crate::synthetic::{estimate, estimated as value, found, of};

/// Spread of a value that proves something.
const NARROW: f64 = 0.01;
/// Spread of one that proves nothing.
const WIDE: f64 = 0.9;

fn also(mut record: CaseRecord, name: &str, median: f64, spread: f64) -> CaseRecord {
    of(&mut record).also.insert(name.into(), Also { estimate: estimate(median, spread) });
    record
}

/// A run of these cases on the plausible host.
fn run(cases: Vec<CaseRecord>) -> Run {
    Run { host: synthetic::plausible().host, cases, ..synthetic::empty() }
}

/// The one conclusion of a rule.
#[track_caller]
fn one(run: &Run, id: &str) -> Finding {
    let [finding] = &found(run, id)[..] else { panic!("{id}: {:?}", findings(run)) };
    finding.clone()
}

#[track_caller]
fn none(run: &Run, id: &str) {
    assert_eq!(found(run, id), Vec::new());
}

#[track_caller]
fn near(cost: f64, expected: f64) {
    assert!((cost - expected).abs() < 1e-9, "{cost} is not {expected}");
}

/// The run with something of it changed.
fn but(run: &Run, change: impl FnOnce(&mut Run)) -> Run {
    let mut run = run.clone();
    change(&mut run);
    run
}

/// The same run with every case's interval as wide as proves nothing, without intervals, doubted, and without its cases.
fn unsure(run: &Run) -> [Run; 4] {
    let change = |change: fn(&mut Measured)| but(run, |run| run.cases.iter_mut().for_each(|case| change(of(case))));
    let each = |measured: &mut Measured, change: fn(&mut Estimate)| {
        change(&mut measured.estimate);
        measured.also.values_mut().for_each(|also| change(&mut also.estimate));
    };
    let widen = |estimate: &mut Estimate| {
        let Estimate { typical, .. } = *estimate;
        (estimate.ci_low, estimate.ci_high) = (Some(typical * (1.0 - WIDE)), Some(typical * (1.0 + 20.0)));
    };
    [
        but(run, |run| run.cases.iter_mut().for_each(|case| each(of(case), widen))),
        change(|measured| {
            measured.estimate.ci_low = None;
            measured.also.values_mut().for_each(|also| also.estimate.ci_high = None);
        }),
        change(|measured| measured.flags.push(Flag::new(FlagKind::Implausible, "physics"))),
        Run { cases: Vec::new(), ..run.clone() },
    ]
}

#[track_caller]
fn silent_when_unsure(run: &Run, id: &str) {
    for run in unsure(run) {
        none(&run, id);
    }
}

#[test]
fn a_governor_that_keeps_the_core_slow_is_reported_and_one_that_does_not_is_not() {
    const ID: &str = "cpu.governor";
    let slow = |ran: f64, governor: &str| {
        let mut run = run(vec![value("cpu.frequency@load=scalar,threads=1", ran, NARROW)]);
        run.host.cpu.governor = Some(governor.into());
        run.host.cpus[0].max_hz = Some(4e9);
        run
    };
    let shown = slow(2e9, "powersave");
    let finding = one(&shown, ID);
    near(finding.cost, 0.5);
    assert!(finding.text.en.contains("2.00 GHz") && finding.text.en.contains("powersave"), "{}", finding.text.en);
    none(&slow(3.9e9, "powersave"), ID);
    none(&slow(2e9, "performance"), ID);
    silent_when_unsure(&shown, ID);
    none(&but(&shown, |run| run.host.cpu.turbo = Some(false)), ID);
    none(&but(&shown, |run| run.host.cpus[0].max_hz = None), ID);
}

#[test]
fn the_price_of_mitigations_is_what_a_null_call_takes_beyond_the_hardware() {
    const ID: &str = "syscall.mitigations";
    let call = |cycles: f64| {
        let mut run = run(vec![also(value("syscall.null@copies=1", cycles / 3.0, NARROW), "cycles", cycles, NARROW)]);
        let pti = ("meltdown".to_owned(), "Mitigation: PTI".to_owned());
        run.host.kernel.vulnerabilities.extend([pti, ("mds".into(), "Not affected".into())]);
        run
    };
    let shown = call(800.0);
    let finding = one(&shown, ID);
    near(finding.cost, 0.75);
    assert!(finding.text.en.contains("meltdown (page tables)") && !finding.text.en.contains("mds"));
    assert!(!finding.text.en.contains("seccomp"));
    none(&call(190.0), ID);
    silent_when_unsure(&shown, ID);
    none(&but(&shown, |run| run.host.kernel.vulnerabilities.clear()), ID);
    none(&but(&shown, |run| run.host.cpu.architecture = "aarch64".into()), ID);
    let filtered = but(&shown, |run| run.host.limits.seccomp = Some("filter".into()));
    assert!(one(&filtered, ID).text.en.contains("seccomp"));
}

#[test]
fn steal_is_a_finding_from_ten_ticks_and_one_percent_on() {
    const ID: &str = "run.steal";
    // The run takes 57 s.
    let stolen = |ns: &[f64]| {
        let mut cases = Vec::new();
        for (index, ns) in ns.iter().enumerate() {
            let mut case = value(&format!("a.b@n={index}"), 100.0, NARROW);
            of(&mut case).noise.steal_ns = Some(*ns);
            cases.push(case);
        }
        run(cases)
    };
    let shown = stolen(&[1e9, 4.7e9]);
    let finding = one(&shown, ID);
    near(finding.cost, 0.1);
    assert_eq!(finding.cases, ["a.b@n=1", "a.b@n=0"]);
    none(&stolen(&[3e8]), ID);
    none(&stolen(&[0.0]), ID);
    let short = Run { finished: Some("2026-11-21T06:15:02Z".into()), ..stolen(&[9e7]) };
    none(&short, ID);
    none(&Run { finished: None, ..shown.clone() }, ID);
    // Two CPUs lose what they lose in half of the time.
    let both = but(&shown, |run| run.cases.iter_mut().for_each(|case| of(case).rounds[0].cpus = vec![0, 1]));
    near(one(&both, ID).cost, 0.05);
    // A counter that jumped in one round is as broken in the others.
    let broken = |is_broken: bool, jumps: bool| {
        but(&shown, |run| {
            let rounds = run.cases.iter_mut().flat_map(|case| &mut of(case).rounds);
            rounds.for_each(|round| round.steal_ns = Some(1e9));
            if jumps {
                of(&mut run.cases[0]).rounds[0].steal_ns = None;
            }
            assert_eq!(forget_broken(&mut run.cases, is_broken), is_broken || jumps);
        })
    };
    one(&broken(false, false), ID);
    for run in [broken(true, false), broken(false, true)] {
        none(&run, ID);
        let text = serde_json::to_string(&run.cases).unwrap();
        assert!(!text.contains(r#""steal_ns":1"#) && !text.contains(r#""steal_ns":4"#), "{text}");
    }
}

#[test]
fn what_others_used_is_a_finding_where_cases_are_marked_and_costs_their_share_of_all_rounds() {
    const ID: &str = "run.contention";
    let beside = |index: usize, share: f64, error: f64, hit: u32| {
        let mut case = value(&format!("a.b@n={index}"), 100.0, NARROW);
        let measured = of(&mut case);
        for round in &mut measured.rounds {
            (round.cpus, round.others) = (vec![1, 1], Some(Others { share, error }));
        }
        measured.noise.contended_rounds = Some(hit);
        if hit > 0 {
            measured.noise.others_share = Some(share);
            measured.flags.push(Flag::new(FlagKind::Contended, "others"));
        }
        case
    };
    let rounds = value("a.b@n=9", 100.0, NARROW).measured().unwrap().rounds.len() as u32;
    let shown = run(vec![beside(0, 0.02, 0.05, 0), beside(1, 0.4, 0.05, rounds), beside(2, 0.6, 0.05, rounds)]);
    let finding = one(&shown, ID);
    near(finding.cost, 1.0 / 3.0);
    assert_eq!(finding.cases, ["a.b@n=2", "a.b@n=1"]);
    assert!(finding.text.en.starts_with("While 2 of 3 cases ran, other programs took 50 % of"), "{finding:?}");
    assert!(finding.text.en.contains("CPU 1 most") && finding.cure.is_some(), "{finding:?}");
    none(&run(vec![beside(0, 0.02, 0.05, 0), beside(1, 0.4, 0.5, 0)]), ID);
    // A moment of one case of many is that case's own matter.
    let mut many: Vec<CaseRecord> = (0..100).map(|index| beside(index, 0.0, 0.05, 0)).collect();
    many.push(beside(100, 0.9, 0.05, 1));
    none(&run(many), ID);
}

#[test]
fn memory_that_a_hypervisor_took_back_is_reported_by_its_first_touch() {
    const ID: &str = "memory.first_touch";
    let of_kind = |kind: &str, first: f64, again: f64| {
        also(value(&format!("paging.fault@kind={kind}"), first, NARROW), "again", again, NARROW)
    };
    let touched = |first: f64, again: f64, hypervisor: Option<&str>| {
        let mut run = run(vec![of_kind("first", first, again)]);
        run.host.virtualization.hypervisor = hypervisor.map(Into::into);
        run
    };
    let shown = touched(10_000.0, 625.0, Some("KVM"));
    let finding = one(&shown, ID);
    near(finding.cost, 0.9375);
    assert!(finding.text.en.contains("16.0 times") && finding.text.en.contains("410 MB/s against"), "{finding:?}");
    silent_when_unsure(&shown, ID);
    none(&touched(1_200.0, 625.0, Some("KVM")), ID);
    none(&touched(10_000.0, 625.0, None), ID);
    // Pages that were free for a while tell where the first touch does not, or tell more.
    for first in [650.0, 1_300.0] {
        let mut shown = touched(first, 625.0, Some("KVM"));
        shown.cases.push(of_kind("returned", 6_400_000.0, 100_000.0));
        let finding = one(&shown, ID);
        near(finding.cost, 1.0 - 1.0 / 64.0);
        assert!(finding.text.en.contains("64.0 times") && finding.text.en.contains("328 MB/s against"), "{finding:?}");
    }
    // The look before the run finds a rate that no processor explains.
    let look = |first_touch_bytes_per_s: f64| {
        let mut run = touched(650.0, 625.0, Some("KVM"));
        run.host.memory_look = Some(MemoryLook { first_touch_bytes_per_s, last_cache_bytes: None });
        run
    };
    none(&look(2e9), ID);
    let finding = one(&look(120e6), ID);
    assert!(finding.cost > 0.97 && finding.text.en.contains("120 MB/s, 50.0 times slower"), "{finding:?}");
}

#[test]
fn a_quota_costs_what_it_leaves_of_the_cpus() {
    const ID: &str = "run.cpu_quota";
    let mut wide = value("memory.stream@threads=all", 1e10, NARROW);
    of(&mut wide).rounds[0].cpus = vec![0, 1];
    let mut shown = run(vec![value("syscall.null@copies=1", 90.0, NARROW), wide]);
    none(&shown, ID);
    shown.host.limits.cpu_quota = Some(1.5);
    let finding = one(&shown, ID);
    near(finding.cost, 0.25);
    assert_eq!(finding.cases, ["memory.stream@threads=all"]);
    shown.host.limits.cpu_quota = Some(2.0);
    none(&shown, ID);
    shown.host.limits.cpu_quota = Some(0.5);
    assert_eq!(one(&shown, ID).cases.len(), 2);
}

#[test]
fn a_clock_that_is_a_system_call_and_one_that_is_intercepted_are_distinguished() {
    const ID: &str = "clock.slow_read";
    let reads = |tsc: f64, monotonic: f64, syscall: f64| {
        let at = |source: &str, ns: f64| value(&format!("clock.read@source={source}"), ns, NARROW);
        run(vec![at("monotonic", monotonic), at("tsc", tsc), at("syscall", syscall)])
    };
    none(&reads(18.0, 21.0, 130.0), ID);
    let mut shown = reads(20.0, 200.0, 190.0);
    shown.host.kernel.clock_source = Some("hpet".into());
    let finding = one(&shown, ID);
    near(finding.cost, 0.9);
    assert!(finding.text.en.contains("clock source hpet"));
    silent_when_unsure(&shown, ID);
    let intercepted = reads(1500.0, 1530.0, 1640.0);
    let texts: Vec<String> = found(&intercepted, ID).into_iter().map(|finding| finding.text.en).collect();
    assert!(texts.iter().any(|text| text.contains("intercepts")), "{texts:?}");
    silent_when_unsure(&intercepted, ID);
}

#[test]
fn a_return_that_is_slow_after_a_call_is_reported_and_costs_its_share_of_the_call() {
    const ID: &str = "syscall.slow_return";
    let calls = |returning: f64, bare: f64| {
        let at = |way: &str, ns: f64| value(&format!("syscall.getpid@way={way}"), ns, NARROW);
        run(vec![at("syscall", returning), at("bare", bare), at("libc", returning)])
    };
    for plain in [calls(90.0, 88.0), calls(100.0, 91.0), calls(88.0, 90.0)] {
        none(&plain, ID);
    }
    let shown = calls(213.0, 152.0);
    let finding = one(&shown, ID);
    near(finding.cost, 1.0 - 152.0 / 213.0);
    assert_eq!(finding.cases, ["syscall.getpid@way=syscall", "syscall.getpid@way=bare"]);
    assert!(finding.text.en.contains("costs 61.0 ns"), "{}", finding.text.en);
    silent_when_unsure(&shown, ID);
}

#[test]
fn swap_in_use_costs_what_tasks_waited_for_memory() {
    const ID: &str = "run.swap_in_use";
    let mut shown = run(Vec::new());
    none(&shown, ID);
    shown.host.memory.swap_used_bytes = 32 << 20;
    none(&shown, ID);
    shown.host.memory.swap_used_bytes = 1 << 30;
    near(one(&shown, ID).cost, 0.0);
    shown.host.activity.pressure.insert("memory".into(), Pressure { some: 0.07, full: None });
    let finding = one(&shown, ID);
    near(finding.cost, 0.07);
    assert!(finding.text.en.contains("7.0 %") && finding.text.zh.contains("7.0 %"), "{}", finding.text.en);
}

fn modules(slots: &[&str], kind: &str, rate: u64) -> Vec<MemoryModule> {
    let module = |slot: &&str| MemoryModule {
        slot: Some((*slot).to_owned()),
        kind: Some(kind.to_owned()),
        size_bytes: 16 << 30,
        transfers_per_s: Some(rate),
    };
    slots.iter().map(module).collect()
}

#[test]
fn bandwidth_far_below_the_modules_is_reported_a_whole_machine_only() {
    const ID: &str = "memory.below_modules";
    const EIGHT: [&str; 8] = ["A1", "B1", "C1", "D1", "E1", "F1", "G1", "H1"];
    let streams = |triad: f64| {
        let mut run = run(vec![value("memory.stream@kernel=triad,store=plain,threads=all", triad, NARROW)]);
        run.host.virtualization.hypervisor = None;
        // 8 × 8 B × 3.2e9 /s = 204.8 GB/s
        run.host.firmware.memory_modules = modules(&EIGHT, "DDR4", 3_200_000_000);
        run
    };
    // 30 GB/s of triad move 40.
    let shown = streams(30e9);
    let finding = one(&shown, ID);
    near(finding.cost, 1.0 - 40.0 / (0.75 * 204.8));
    assert!(finding.text.en.contains("40.0 GB/s") && finding.text.en.contains("205 GB/s"), "{}", finding.text.en);
    none(&streams(90e9), ID);
    silent_when_unsure(&shown, ID);

    let changed = |change: fn(&mut Run)| but(&shown, change);
    none(&changed(|run| run.host.virtualization.hypervisor = Some("kvm".into())), ID);
    none(&changed(|run| run.host.cpus[1].allowed = false), ID);
    none(&changed(|run| run.host.limits.cpu_quota = Some(1.0)), ID);
    none(&changed(|run| run.host.firmware.memory_modules.clear()), ID);
    none(&changed(|run| run.host.firmware.memory_modules[3].transfers_per_s = None), ID);
    none(&changed(|run| run.host.firmware.memory_modules[3].kind = Some("HBM2".into())), ID);
    // Names that tell no channel: three DDR4 modules may share one, and 3 × 25.6 GB/s are not twice what was moved.
    none(&changed(|run| run.host.firmware.memory_modules = modules(&["DIMM 1"; 8], "DDR4", 3_200_000_000)), ID);
    // A read that does better than STREAM tells that the machine can.
    let mut reads = shown.clone();
    reads.probes = synthetic::plausible().probes;
    reads.cases.push(value("memory.read@size=1073741824,kernel=best,threads=2,page=pmd", 150e9, NARROW));
    none(&reads, ID);
}

#[test]
fn a_disk_that_no_device_could_be_is_reported_and_costs_nothing() {
    const ID: &str = "disk.answered_by_cache";
    let on = |filesystem: &str, p50: f64, sync: f64| {
        let read = value("disk.direct_io@op=read,pattern=random,block=4096,depth=1", 4096.0 / (p50 / 1e9), NARROW);
        let mut run = run(vec![also(read, "p50", p50, NARROW), value("disk.fsync@block=2300", sync, NARROW)]);
        run.cases.iter_mut().for_each(|case| {
            of(case).notes.insert("filesystem".into(), filesystem.into());
        });
        run
    };
    none(&on("ext4", 80e3, 900e3), ID);
    let shown = on("ext4", 12e3, 900e3);
    let finding = one(&shown, ID);
    near(finding.cost, 0.0);
    assert!(finding.text.en.contains("12.0 µs") && finding.text.en.contains("hypervisor's page cache"));
    silent_when_unsure(&shown, ID);
    none(&on("0x1234", 12e3, 900e3), ID);
    let unflushed = on("xfs", 80e3, 3e3);
    assert!(one(&unflushed, ID).text.en.contains("the flush is not carried out"));
    silent_when_unsure(&unflushed, ID);
}

#[test]
fn a_cpu_that_is_taken_away_is_reported_by_the_length_of_its_gaps() {
    const ID: &str = "sched.noisy_cpu";
    let noise = |lost: f64, typical: f64| {
        let case = value("sched.noise", lost, NARROW);
        let case = also(also(case, "gaps", lost / typical, NARROW), "typical", typical, NARROW);
        run(vec![also(case, "longest", 3.0 * typical, NARROW)])
    };
    none(&noise(3e6, 5e3), ID);
    let shown = noise(1e8, 4e6);
    let finding = one(&shown, ID);
    near(finding.cost, 0.1);
    assert!(finding.text.en.contains("time slices") && finding.text.en.contains("25.0 gaps"), "{}", finding.text.en);
    assert!(one(&noise(1e8, 2e5), ID).text.en.contains("kernel threads"));
    assert!(one(&noise(1e8, 2e4), ID).text.en.contains("ticks and interrupts"));
    silent_when_unsure(&shown, ID);
}

#[test]
fn timers_that_are_late_are_reported_by_how_late_they_are() {
    const ID: &str = "clock.coarse_timers";
    let late = |ns: f64| run(vec![value("clock.sleep@way=timerfd,delay_us=100", ns, NARROW)]);
    none(&late(60e3), ID);
    let shown = late(1e6);
    let finding = one(&shown, ID);
    near(finding.cost, 0.9);
    assert!(finding.text.en.contains("as late as a tick"));
    assert!(one(&late(300e3), ID).text.en.contains("the hypervisor wakes"));
    silent_when_unsure(&shown, ID);
    let bare = but(&shown, |run| run.host.virtualization.hypervisor = None);
    assert!(one(&bare, ID).text.en.contains("no high resolution"));
    // nanosleep has a slack of its own.
    none(&run(vec![value("clock.sleep@way=nanosleep,delay_us=100", 1e6, NARROW)]), ID);
}

#[test]
fn findings_stand_by_what_they_cost_and_those_of_other_versions_among_them() {
    let mut run = synthetic::plausible();
    run.cases.push(value("clock.sleep@way=timerfd,delay_us=100", 1e6, NARROW));
    run.host.limits.cpu_quota = Some(1.0);
    run.findings = vec![Finding {
        id: "later.rule".into(),
        text: Text { en: "a later conclusion".into(), zh: "后来的结论".into() },
        cost: 0.7,
        ..Finding::default()
    }];
    let costs: Vec<f64> = findings(&run).iter().map(|finding| finding.cost).collect();
    assert!(costs.len() > 4 && costs.is_sorted_by(|one, other| one >= other), "{costs:?}");
    assert!(costs[0] > 0.8 && costs.last() == Some(&0.0));
    let all = hostmark_analysis::findings::findings_and_kept(&run);
    let place = all.iter().position(|finding| finding.id == "later.rule");
    assert_eq!(place, Some(1), "{all:?}");
}

#[test]
fn datagrams_lost_within_the_machine_are_a_finding_and_cost_their_share() {
    const ID: &str = "net.udp_loss";
    let with = |loss: f64, spread: f64| {
        let mut run = synthetic::plausible();
        run.cases.retain(|case| case.probe != "net.udp_bandwidth");
        let case = value("net.udp_bandwidth@datagram=1472,cpus=same_cpu", 1e8, NARROW);
        run.cases.push(also(also(case, "loss", loss, spread), "overrun", loss / 2.0, spread));
        run
    };
    let finding = one(&with(0.65, NARROW), ID);
    near(finding.cost, 0.65);
    assert!(finding.text.en.starts_with("A UDP flood on loopback loses 65 % of its"), "{}", finding.text.en);
    assert_eq!(finding.command.as_deref(), Some("hostmark try udp-buffer"));
    none(&with(0.04, NARROW), ID);
    none(&with(0.06, 0.5), ID);
    let mut to_a_peer = with(0.65, NARROW);
    for case in to_a_peer.cases.iter_mut().filter(|case| case.probe == "net.udp_bandwidth") {
        case.params.0.push(("to".into(), "db-17".into()));
    }
    none(&to_a_peer, ID);
}

#[test]
fn what_stands_on_the_loopback_path_is_a_finding_beside_what_was_measured_over_it() {
    const ID: &str = "run.loopback_path";
    let with = |rules: Option<u64>| {
        let mut run = synthetic::plausible();
        let mut probe = run.probes[0].clone();
        (probe.id, probe.unit) = ("net.round_trip".into(), Unit::Nanoseconds);
        run.probes.push(probe);
        run.cases.push(value("net.round_trip@protocol=tcp,cpus=same_cpu", 160e3, NARROW));
        run.host.loopback.filter_rules = rules;
        run
    };
    let finding = one(&with(Some(2000)), ID);
    near(finding.cost, 0.25);
    assert!(finding.text.en.starts_with("2000 packet-filter rules on the loopback path"), "{}", finding.text.en);
    assert!(finding.cases.contains(&"net.round_trip@protocol=tcp,cpus=same_cpu".to_owned()), "{:?}", finding.cases);
    none(&with(Some(3)), ID);
    none(&with(None), ID);
    none(&but(&with(Some(2000)), |run| run.cases.retain(|case| !case.probe.starts_with("net."))), ID);
    assert_eq!(one(&but(&with(None), |run| run.host.loopback.mtu_bytes = Some(1500)), ID).cost, 0.0);
}

fn copies(source: &str, copies: u32, times: f64) -> CaseRecord {
    value(&format!("cpu.scaling@source={source},copies={copies}"), times, NARROW)
}

#[test]
fn cpus_that_do_less_together_are_explained_by_what_the_host_reports() {
    const ID: &str = "cpu.shared_cores";
    none(&run(vec![copies("cpu.sieve", 2, 1.97)]), ID);
    let shown = run(vec![copies("cpu.sieve", 2, 1.2)]);
    near(one(&shown, ID).cost, 0.4);
    assert!(one(&shown, ID).text.en.contains("This guest is told"));
    silent_when_unsure(&shown, ID);

    let smt = but(&shown, |run| run.host.cpus.iter_mut().for_each(|cpu| cpu.siblings = vec![0, 1]));
    let clock = but(&shown, |run| {
        let at = |(threads, hz)| value(&format!("cpu.frequency@load=scalar,threads={threads}"), hz, NARROW);
        run.cases.extend([(1, 4e9), (2, 2.4e9)].map(at));
    });
    let bare = but(&shown, |run| run.host.virtualization.hypervisor = None);
    for (run, cause) in
        [(smt, "threads of 1 core (SMT)"), (clock, "falls from 4.00 GHz"), (bare, "Neither SMT nor the clock")]
    {
        assert!(one(&run, ID).text.en.contains(cause), "{}", one(&run, ID).text.en);
    }
    none(&but(&shown, |run| run.host.limits.cpu_quota = Some(1.2)), ID);
}

#[test]
fn usable_cpus_are_cores_or_threads_by_what_they_do_together() {
    let said = |run: &Run| cores_by_measurement(run).map(|said| said.get(Lang::En).to_owned());
    let of = |times: f64| run(vec![copies("cpu.sieve", 2, times)]);
    let begins = |run: &Run, with: &str| assert!(said(run).unwrap().starts_with(with), "{:?}", said(run));
    begins(&of(1.97), "2 cores (1.97x)");
    begins(&of(1.2), "threads of 1 core (1.20x)");
    assert_eq!([1.7, 2.8].map(|times| said(&of(times))), [None, None], "neither, and impossible");
    let with_line = |times: f64, ns: f64| {
        let case = value("cpu.core_to_core@cpus=same_cache,method=compare_and_swap", ns, NARROW);
        run(vec![copies("cpu.sieve", 2, times), case])
    };
    for (times, ns, expected) in [
        (1.7, 8.0, "threads of 1 core (8 ns apart)"),
        (1.7, 50.0, "2 cores (50 ns apart)"),
        (1.97, 50.0, "2 cores (1.97x)"),
        (1.97, 8.0, "at times on one core ("),
    ] {
        begins(&with_line(times, ns), expected);
    }
    assert_eq!(said(&with_line(1.7, 13.0)), None, "between both");

    let changes = but(&of(1.6), |run| {
        let rounds = &mut run.cases[0].measured_mut().unwrap().samples;
        let half = rounds.len() / 2;
        rounds[..half].fill(vec![1.2]);
        rounds[half..].fill(vec![1.97]);
    });
    begins(&changes, "at times on one core");

    let unknown: [fn(&mut Run); 3] = [
        |run| run.host.virtualization.hypervisor = None,
        |run| run.host.limits.cpu_quota = Some(1.2),
        |run| run.cases[0].measured_mut().unwrap().flags = vec![Flag::new(FlagKind::Contended, "")],
    ];
    assert!(unknown.iter().all(|change| said(&but(&of(1.2), change)).is_none()));
}

#[test]
fn copies_that_hinder_each_other_do_so_beyond_what_their_cores_share() {
    const ID: &str = "cpu.scaling_falls";
    let forks =
        |sieve: f64, times: f64| run(vec![copies("cpu.sieve", 2, sieve), copies("process.fork_exit", 2, times)]);
    let shown = forks(2.0, 1.2);
    let finding = one(&shown, ID);
    near(finding.cost, 0.4);
    assert!(finding.text.en.contains("process.fork_exit 1.20 of 2"));
    silent_when_unsure(&shown, ID);
    none(&forks(2.0, 1.95), ID);
    // SMT explains it all.
    none(&forks(1.25, 1.2), ID);
    // Of the cores nothing is known.
    none(&run(vec![copies("process.fork_exit", 2, 1.2)]), ID);
    none(&run(vec![copies("cpu.sieve", 2, 2.0), copies("process.fork_exit", 4, 1.2)]), ID);
    let more_expensive =
        run(vec![copies("cpu.sieve", 4, 3.96), copies("net.round_trip", 4, 2.0), copies("syscall.null", 4, 0.99)]);
    assert_eq!(
        one(&more_expensive, ID).cases,
        ["cpu.scaling@source=syscall.null,copies=4", "cpu.scaling@source=net.round_trip,copies=4"]
    );
}

#[test]
fn enough_numbers_of_copies_report_by_which_law_they_hinder_each_other() {
    const ID: &str = "cpu.scaling_falls";
    let curve = |contention: f64, coherence: f64| {
        let of = |copies: u32| {
            let n = f64::from(copies);
            n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0))
        };
        let counts = [2, 4, 8, 16, 32];
        let pure = counts.iter().map(|&n| copies("cpu.sieve", n, f64::from(n)));
        let mut shown = run(pure.chain(counts.iter().map(|&n| copies("process.fork_exit", n, of(n)))).collect());
        let cpu = shown.host.cpus[0].clone();
        shown.host.cpus = (0..32).map(|id| CpuFact { id, siblings: vec![id], ..cpu.clone() }).collect();
        one(&shown, ID).text.en
    };
    let (amdahl, falling) = (curve(0.1, 0.0), curve(0.1, 0.01));
    assert!(amdahl.contains(" 10 % of the work of process.fork_exit can be done"), "{amdahl}");
    assert!(!amdahl.contains("copies would do most"), "{amdahl}");
    assert!(falling.contains("9 copies would do most; 16 do less than fewer did."), "{falling}");
    // Two numbers of copies follow every law.
    let few = run(vec![copies("cpu.sieve", 2, 2.0), copies("process.fork_exit", 2, 1.2)]);
    assert!(!one(&few, ID).text.en.contains("law"));
}
