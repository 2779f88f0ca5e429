//! Run files of a made-up fleet whose odd hosts and their causes are known: for self-check and tests.

use hostmark_model::{CpuFact, HostFacts, MemoryModule, Noise};
use serde_json::{Value, json};

/// Deviation of planted hosts, and the fact that causes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// A CPU quota: everything is slower.
    Quota,
    /// Fewer memory modules: memory is slower.
    Modules,
    /// Transparent huge pages are off: paging is slower.
    HugePages,
    /// Mitigations are on: system calls are slower.
    Mitigations,
}

#[derive(Debug, Clone, Copy)]
pub struct MadeUp {
    pub hosts: usize,
    /// Kinds of machines, which hosts are of by turns.
    pub kinds: usize,
    /// The first so many hosts of the first kind are odd.
    pub odd: usize,
    /// 0.2: a fifth slower.
    pub shift: f64,
    pub planted: Planted,
    /// Samples of each of a case's five rounds; 0 for files without rounds.
    pub samples: usize,
    pub seed: u64,
}

/// Groups with their probes; what hosts differ by in them, beside other groups.
const GROUPS: [(&str, f64); 8] = [
    ("cpu", 0.5),
    ("memory", 0.8),
    ("syscall", 0.8),
    ("ipc", 1.0),
    ("paging", 1.0),
    ("sched", 1.5),
    ("file", 1.5),
    ("disk", 3.0),
];
const PROBES: usize = 5;
const CASES: usize = 6;

impl MadeUp {
    /// A fleet of one kind without anything odd.
    pub fn usual(hosts: usize, seed: u64) -> MadeUp {
        MadeUp { hosts, kinds: 1, odd: 0, shift: 0.0, planted: Planted::Quota, samples: 0, seed }
    }

    /// Tells whether a host is one of the outliers.
    pub fn is_odd(&self, host: usize) -> bool {
        host.is_multiple_of(self.kinds) && host / self.kinds < self.odd
    }

    pub fn name(host: usize) -> String {
        format!("node{host:05}")
    }

    /// The run file of a host: its `run`-th, from 0.
    pub fn run(&self, host: usize, run: usize) -> String {
        let kind = host % self.kinds;
        let is_odd = self.is_odd(host);
        let mut own = MadeUpRandom(self.seed.wrapping_mul(1_000_003).wrapping_add(host as u64));
        let mut noise = MadeUpRandom(own.0 ^ (run as u64 + 1).wrapping_mul(0x9e37_79b9));
        let shared = 0.006 * own.normal();
        let (mut probes, mut cases) = (Vec::new(), Vec::new());
        for (group, scatter) in GROUPS {
            let of_group = 0.008 * scatter * own.normal();
            let is_slower = is_odd
                && match self.planted {
                    Planted::Quota => true,
                    Planted::Modules => group == "memory",
                    Planted::HugePages => group == "paging",
                    Planted::Mitigations => group == "syscall",
                };
            let slower = if is_slower { -(1.0 - self.shift).ln() } else { 0.0 };
            for probe in 0..PROBES {
                let (of_probe, id) = (0.008 * scatter * own.heavy(), format!("{group}.p{probe}"));
                probes.push(self.probe(&id));
                for case in 0..CASES {
                    let usual = (100.0 * (1 + probe + 7 * case + 31 * kind) as f64).ln();
                    let of_case = 0.008 * scatter * own.heavy() + 0.004 * scatter * noise.heavy();
                    let value = (usual + shared + of_group + of_probe + of_case + slower).exp();
                    cases.push(self.case(&id, case, value, &mut noise));
                }
            }
        }
        let run = json!({
            "schema": "hostmark.run/1",
            "id": format!("{:08x}-{:04x}-7000-8000-{:012x}", self.seed, run, host),
            "name": Self::name(host),
            "started": format!("2026-11-{:02}T{:02}:{:02}:00Z", 1 + run % 28, host / 60 % 24, host % 60),
            "finished": format!("2026-11-{:02}T{:02}:{:02}:30Z", 1 + run % 28, host / 60 % 24, host % 60),
            "interrupted": null,
            "tool": { "version": "1.0.0", "target": "x86_64-unknown-linux-musl", "libc": "musl", "static": true },
            "settings": {
                "profile": "quick", "seed": 1, "filters": [], "rounds": 5, "limit_s": 60.0, "cpu": 0, "set": {},
                "clock": { "source": "tsc", "hz": 3e9, "reason": null, "drift": null }
            },
            "host": self.host(host, kind, is_odd, &mut own),
            "disturbances": [],
            "probes": probes,
            "cases": cases,
            "findings": []
        });
        serde_json::to_string(&run).unwrap_or_default()
    }

    fn probe(&self, id: &str) -> Value {
        let text = json!({ "en": id, "zh": id });
        json!({
            "id": id, "title": text, "unit": "nanoseconds", "better": "lower", "also": [], "revision": 1,
            "explain": { "what": text, "why": text, "reading": text, "typical": text, "causes": text },
            "section": text, "related": [], "replaces": [], "needs": [],
            "axes": [{ "name": "n", "kind": "count", "default": "0" }]
        })
    }

    fn case(&self, probe: &str, case: usize, value: f64, noise: &mut MadeUpRandom) -> Value {
        let samples: Vec<Vec<f64>> = (0..if self.samples > 0 { 5 } else { 0 })
            .map(|_| (0..self.samples).map(|_| value * (1.0 + 0.01 * noise.normal())).collect())
            .collect();
        let round = |(round, samples): (usize, &Vec<f64>)| {
            json!({
                "round": round, "median": value, "taints": vec![0; samples.len()], "core_hz": null, "cpus": [0],
                "iterations": 1000, "settled": true, "steal_ns": null, "throttled": null
            })
        };
        let rounds: Vec<Value> = samples.iter().enumerate().map(round).collect();
        json!({
            "id": format!("{probe}@n={case}"), "probe": probe, "params": { "n": case.to_string() },
            "outcome": { "measured": {
                "estimate": {
                    "typical": value, "ci_low": value * 0.995, "ci_high": value * 1.005, "confidence": 0.95,
                    "method": "order_statistics", "min": value * 0.99, "max": value * 1.1, "mean": value, "stddev": value * 0.01,
                    "mad": value * 0.005, "best_round": value, "n": 5 * self.samples, "rounds": 5
                },
                "also": {}, "samples": samples, "rounds": rounds, "noise": Noise::default(), "notes": {}, "flags": []
            } }
        })
    }

    fn host(&self, host: usize, kind: usize, is_odd: bool, own: &mut MadeUpRandom) -> HostFacts {
        let has = |planted: Planted| is_odd && self.planted == planted;
        let modules = if has(Planted::Modules) { 7 } else { 8 };
        let word = |word: &str| Some(word.to_owned());
        let mut facts = HostFacts { hostname: Self::name(host), ..HostFacts::default() };
        facts.boot_id = Some(format!("{host:08x}-0000-4000-8000-{:012x}", self.seed));
        let cpu = |id| CpuFact { id, online: true, allowed: true, siblings: vec![id], ..CpuFact::default() };
        facts.cpus = (0..8).map(cpu).collect();
        // What differs from host to host and explains nothing.
        facts.cpu.microcode = word(["0x1", "0x2"][usize::from(own.unit() < 0.4)]);
        facts.firmware.bios_version = word(["1.0", "1.1", "1.2"][(3.0 * own.unit()) as usize % 3]);
        facts.cpu.architecture = "x86_64".to_owned();
        facts.cpu.model = Some(format!("Example {kind}"));
        (facts.cpu.packages, facts.cpu.governor) = (1, word("performance"));
        (facts.memory.total_bytes, facts.memory.page_bytes) = (modules << 35, 4096);
        facts.memory.transparent_huge_pages = word(if has(Planted::HugePages) { "never" } else { "madvise" });
        (facts.kernel.release, facts.kernel.version) = ("6.12.0".to_owned(), "#1".to_owned());
        let mitigation = if has(Planted::Mitigations) { "Mitigation: Retpolines" } else { "Not affected" };
        facts.kernel.vulnerabilities.insert("spectre_v2".to_owned(), mitigation.to_owned());
        (facts.limits.cgroup_version, facts.limits.cpu_quota) = (Some(2), has(Planted::Quota).then_some(4.0));
        facts.firmware.vendor = word("Example");
        let module =
            MemoryModule { kind: word("DDR5"), size_bytes: 32 << 30, transfers_per_s: Some(4_800_000_000), slot: None };
        facts.firmware.memory_modules = vec![module; modules as usize];
        facts
    }
}

/// Numbers without a library: SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
#[derive(Debug)]
pub struct MadeUpRandom(u64);

impl MadeUpRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The same of Student's law with six degrees of freedom.
    fn heavy(&mut self) -> f64 {
        let (u, angle) = (1.0 - self.unit(), (std::f64::consts::TAU * self.unit()).cos());
        (6.0 * (u.powf(-1.0 / 3.0) - 1.0)).sqrt() * angle * (4.0_f64 / 6.0).sqrt()
    }
}
