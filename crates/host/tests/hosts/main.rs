//! What is read of machines that are not this one, from trees of files made here, and of this one.

mod machines;
mod noise;
mod page;
mod placement;
mod recorded;
mod topology;

use std::process::Command;

use hostmark_host::{NoiseSnapshot, Placement, Root, busiest_other, pair, read_here, single, spread};

#[test]
fn facts_of_this_machine_fit_together() {
    let host = read_here();
    let usable = host.usable_cpus();
    assert!(!usable.is_empty());
    assert!(host.memory.page_bytes.is_power_of_two());
    assert!(host.memory.total_bytes >= host.memory.available_bytes && host.memory.available_bytes > 0);
    assert!(host.memory.pmd_page_bytes.is_none_or(|size| size > host.memory.page_bytes));
    assert_eq!(host.cpu.architecture, std::env::consts::ARCH);
    assert!(!host.kernel.release.is_empty() && !host.hostname.is_empty());
    assert!(host.cpus.windows(2).all(|pair| pair[0].id < pair[1].id));
    for cpu in host.cpus.iter().filter(|cpu| !cpu.siblings.is_empty()) {
        assert!(cpu.siblings.contains(&cpu.id));
    }
    for (index, cache) in host.caches.iter().enumerate() {
        let same = |other: &&hostmark_model::CacheFact| {
            (other.level, other.kind, &other.shared_cpus) == (cache.level, cache.kind, &cache.shared_cpus)
        };
        assert_eq!(host.caches[index..].iter().filter(same).count(), 1, "{cache:?} stands twice");
    }
    for node in &host.nodes {
        assert!(node.distances.is_empty() || node.distances.len() == host.nodes.len());
    }
    assert!(host.limits.cpu_quota.is_none_or(|quota| quota > 0.0));
    assert!(host.fillable_bytes() <= host.memory.available_bytes);
}

#[test]
fn choices_on_this_machine_are_usable() {
    let host = read_here();
    let usable = host.usable_cpus();
    assert!(single(&host).is_some_and(|cpu| usable.contains(&cpu)));
    let mut all = spread(&host, usize::MAX);
    assert_eq!(all.first().copied(), single(&host));
    all.sort_unstable();
    assert_eq!(all, usable);
    for placement in Placement::ALL {
        match pair(&host, placement) {
            Ok(cpus) => assert!(cpus.iter().all(|cpu| usable.contains(cpu))),
            Err(reason) => assert!(!reason.to_string().is_empty()),
        }
    }
}

#[test]
fn a_busy_process_is_noticed_unless_it_is_ours() {
    const BUSY: &str = "ulimit -t 60; while :; do :; done";
    let root = Root::here();
    let mut ours = Command::new("sh").args(["-c", BUSY]).spawn().unwrap();
    // Its parent ends at once, so that it is no descendant of this process any more.
    let orphan = Command::new("sh").args(["-c", &format!("({BUSY}) >/dev/null 2>&1 & echo $!")]).output().unwrap();
    // Others may be busier, and among many each has little of a CPU, and at times nothing.
    let busy = (0..60).find_map(|_| {
        let before = NoiseSnapshot::read_with_processes(&root);
        std::thread::sleep(std::time::Duration::from_millis(300));
        let after = NoiseSnapshot::read_with_processes(&root);
        assert!(before.elapsed_ns(&after).is_some_and(|elapsed| elapsed >= 290_000_000));
        busiest_other(&before, &after).filter(|busy| busy.cpus > 0.05)
    });
    for pid in [ours.id().to_string(), String::from_utf8(orphan.stdout).unwrap().trim().to_owned()] {
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
    }
    ours.wait().unwrap();
    let busy = busy.expect("one that is busy");
    assert!(busy.pid != ours.id() && busy.pid != std::process::id(), "{busy:?}");
}

#[test]
fn a_read_is_short() {
    let reads = 20;
    let begun = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    for _ in 0..reads {
        read_here();
    }
    let ended = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let spent_ns = (ended.tv_sec - begun.tv_sec) * 1_000_000_000 + (ended.tv_nsec - begun.tv_nsec);
    let each_ns = spent_ns / reads;
    // 5 ms for two CPUs is the promise. CPU time, since other processes share the CPUs; four times as much for an
    // unoptimised build on a slow machine, and half a millisecond for each further CPU.
    let limit_ns = 20_000_000 + 500_000 * read_here().cpus.len() as i64;
    assert!(each_ns < limit_ns, "{each_ns} ns for a read");
}
