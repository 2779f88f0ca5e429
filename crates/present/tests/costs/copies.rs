//! Findings of CPUs, and of copies of a probe, that do less together than alone; `one` holds each to its form (`sound`).

use hostmark_model::*;

use super::*;

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

    let mut smt = shown.clone();
    smt.host.cpus.iter_mut().for_each(|cpu| cpu.siblings = vec![0, 1]);
    assert!(one(&smt, ID).text.en.contains("threads of 1 core (SMT)"), "{}", one(&smt, ID).text.en);

    let mut clock = shown.clone();
    for (threads, hz) in [(1, 4e9), (2, 2.4e9)] {
        clock.cases.push(value(&format!("cpu.frequency@load=scalar,threads={threads}"), hz, NARROW));
    }
    assert!(one(&clock, ID).text.en.contains("falls from 4.00 GHz"));

    let mut bare = shown.clone();
    bare.host.virtualization.hypervisor = None;
    assert!(one(&bare, ID).text.en.contains("Neither SMT nor the clock"));

    let mut stopped = shown;
    stopped.host.limits.cpu_quota = Some(1.2);
    none(&stopped, ID);
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
        run(vec![copies("cpu.sieve", 4, 3.96), copies("net.tcp", 4, 2.0), copies("syscall.null", 4, 0.99)]);
    assert_eq!(
        one(&more_expensive, ID).cases,
        ["cpu.scaling@source=syscall.null,copies=4", "cpu.scaling@source=net.tcp,copies=4"]
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
