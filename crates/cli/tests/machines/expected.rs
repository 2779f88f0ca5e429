//! Machines by what their makers say of them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use hostmark_engine::plan::Plan;
use hostmark_engine::{KernelMeters, Observer, RunContext, Wall, run};
use hostmark_launch::{Received, ServiceLink, WorkerLink};
use hostmark_model::{
    CacheFact, CacheKind, CpuFact, Environment, Event, HostFacts, Job, JobCase, MemoryFacts, NodeFact, PROTOCOL,
    RoundNoise, ServiceJob,
};

/// A machine by what its maker says: of a package the cores and nodes, of a cache size in KiB.
pub struct Machine {
    pub name: &'static str,
    pub packages: usize,
    pub cores: usize,
    pub threads: usize,
    pub nodes: usize,
    pub cores_of_l3: usize,
    pub l3_kib: u64,
    pub gib: u64,
}

/// Packages; of each cores, threads a core and nodes; cores of a last cache.
pub const fn machine(
    name: &'static str,
    [packages, cores, threads, nodes, cores_of_l3]: [usize; 5],
    l3_kib: u64,
    gib: u64,
) -> Machine {
    Machine { name, packages, cores, threads, nodes, cores_of_l3, l3_kib, gib }
}

/// `l3_kib` of 0: the second level is the last.
pub const MACHINES: &[Machine] = &[
    machine("one CPU", [1, 1, 1, 1, 1], 32 << 10, 2),
    machine("guest of 2", [1, 2, 1, 1, 2], 36 << 10, 24),
    machine("guest of 2 told of 260 MiB", [1, 2, 1, 1, 2], 260 << 10, 16),
    machine("guest of 2 told of 504 MiB", [1, 2, 1, 1, 2], 504 << 10, 16),
    machine("desktop", [1, 8, 2, 1, 8], 32 << 10, 32),
    machine("64 CPUs", [2, 16, 2, 1, 16], 32 << 10, 128),
    machine("160 cores without L3", [2, 80, 1, 1, 80], 0, 512),
    machine("16 caches, NPS4", [1, 128, 2, 4, 8], 16 << 10, 384),
    machine("320 MiB caches", [2, 64, 2, 1, 64], 320 << 10, 1024),
    machine("three clusters a package", [2, 48, 2, 3, 48], 216 << 10, 768),
    machine("768 CPUs, NPS4", [2, 192, 2, 4, 16], 32 << 10, 1536),
    machine("1024 CPUs on 8 packages", [8, 128, 1, 1, 16], 32 << 10, 4096),
];

impl Machine {
    pub fn facts(&self) -> HostFacts {
        let (all, nodes) = (self.packages * self.cores, self.packages * self.nodes);
        let cpus = |cores: std::ops::Range<usize>| -> Vec<usize> {
            (0..self.threads).flat_map(|thread| cores.clone().map(move |core| thread * all + core)).collect()
        };
        let node = |core: usize| core / (self.cores / self.nodes);
        let cache = |level: u8, kib: u64, of: usize| {
            (0..all).step_by(of).map(move |core| CacheFact {
                level,
                kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
                size_bytes: kib << 10,
                line_bytes: Some(64),
                ways: Some(16),
                shared_cpus: cpus(core..core + of),
            })
        };
        let mut caches: Vec<CacheFact> = cache(1, 48, 1).chain(cache(2, 2048, 1)).collect();
        if self.l3_kib > 0 {
            caches.extend(cache(3, self.l3_kib, self.cores_of_l3));
        }
        let distance = |one: usize, other: usize| match (one == other, one / self.nodes == other / self.nodes) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 32,
        };
        let mut host = HostFacts {
            cpus: (0..all * self.threads)
                .map(|id| CpuFact {
                    id,
                    online: true,
                    allowed: true,
                    package: Some(id % all / self.cores),
                    core: Some(id % all),
                    node: Some(node(id % all)),
                    siblings: cpus(id % all..id % all + 1),
                    ..CpuFact::default()
                })
                .collect(),
            caches,
            nodes: (0..nodes)
                .map(|id| NodeFact {
                    id,
                    cpus: (0..all * self.threads).filter(|cpu| node(cpu % all) == id).collect(),
                    memory_bytes: (self.gib << 30) / nodes as u64,
                    distances: (0..nodes).map(|other| distance(id, other)).collect(),
                    ..NodeFact::default()
                })
                .collect(),
            memory: MemoryFacts {
                total_bytes: self.gib << 30,
                available_bytes: (self.gib << 30) / 10 * 9,
                page_bytes: 4096,
                pmd_page_bytes: Some(2 << 20),
                ..MemoryFacts::default()
            },
            ..HostFacts::default()
        };
        host.kernel.release = "6.12.0".into();
        host
    }
}

/// The time of a run that no clock knows.
#[derive(Clone, Default)]
struct Simulated(Rc<Cell<Duration>>);

impl Simulated {
    fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

impl Wall for Simulated {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}

/// A worker that says these lines, each after a time.
struct Scripted(Simulated, VecDeque<(Duration, String)>);

impl WorkerLink for Scripted {
    fn receive(&mut self, at_most: Duration) -> Received {
        match self.1.front_mut() {
            None => Received::Ended("ended with status 0".into()),
            Some((after, _)) if *after > at_most => {
                *after -= at_most;
                self.0.advance(at_most);
                Received::TimedOut
            }
            Some(_) => {
                let (after, line) = self.1.pop_front().unwrap();
                self.0.advance(after);
                Received::Line(line)
            }
        }
    }

    fn is_starved(&mut self, _: Duration) -> bool {
        false
    }

    fn end(&mut self) {}
}

impl ServiceLink for Scripted {
    fn close_stdin(&mut self) {}
}

struct Silent;

impl Observer for Silent {
    fn round(&mut self, _: &str, _: usize, _: usize, _: Duration) {}
}

/// Measures a plan on a machine whose rounds take `slower` times what is forecast, by the number of the round; how long that
/// took, and the number of rounds of each case.
pub fn simulated(plan: &Plan, host: &HostFacts, slower: impl Fn(u32) -> f64) -> (Duration, Vec<usize>) {
    let wall = Simulated::default();
    let set_up =
        |id: &str| plan.cases.iter().find(|case| case.id.to_string() == id).map_or(Duration::ZERO, |case| case.set_up);
    let line = |event: &Event| serde_json::to_string(event).unwrap();
    let noise = RoundNoise { iterations: 1000, settled: true, resolution_ns: 1.0, ..RoundNoise::default() };
    let mut open = |job: &Job| -> std::io::Result<Box<dyn WorkerLink>> {
        let of_case =
            |case: &JobCase| Duration::from_nanos(job.budget_ns) + set_up(&case.id).mul_f64(slower(job.round));
        // For a warm-up a worker is started, and its CPU's clock settles.
        let warm_up = job.cases.is_empty().then(|| Duration::from_millis(40).mul_f64(slower(0)));
        let samples =
            Event::Samples { ns: vec![5e3; 3], iterations: vec![1000; 3], amount: 0, disturbance_flags: vec![0; 3] };
        let mut lines = VecDeque::from([(Duration::ZERO, line(&Event::Hello { protocol: PROTOCOL, pid: 1 }))]);
        for time in job.cases.iter().map(of_case).chain(warm_up) {
            lines.push_back((time, line(&samples)));
            lines.push_back((Duration::ZERO, line(&Event::Done { noise: noise.clone() })));
        }
        Ok(Box::new(Scripted(wall.clone(), lines)))
    };
    let open_service = &|_: &ServiceJob| -> std::io::Result<Box<dyn ServiceLink>> {
        let listening = line(&Event::Listening { address: ([127, 0, 0, 1], 1).into() });
        let started = Duration::from_millis(2).mul_f64(slower(1));
        let served = line(&Event::Served(Default::default()));
        Ok(Box::new(Scripted(wall.clone(), VecDeque::from([(started, listening), (Duration::ZERO, served)]))))
    };
    let (environment, meters) = (Environment::bare(), &KernelMeters);
    let setting = RunContext {
        plan,
        host,
        environment,
        past: Vec::new(),
        open_service,
        peers: &hostmark_engine::worker::far::NoPeers,
        meters,
    };
    let mut observer = Silent;
    let results = run(&setting, &mut open, &wall, &mut observer, None);
    (wall.elapsed(), results.record.cases.iter().map(|case| case.rounds.len()).collect())
}
