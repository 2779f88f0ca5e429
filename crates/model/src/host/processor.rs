//! Processors of a host, and the condition in which it is measured.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{CpuFacts, HostFacts};
use crate::Text;

/// Powers of two where a cache's size is no measure, bytes: from the first, where the cache before has no size either, to the last.
const LADDERS: [[u64; 2]; 3] = [[1 << 10, 1 << 20], [32 << 10, 16 << 20], [256 << 10, 64 << 20]];
/// Sizes at a first cache's border and beyond it, quarters of it; near a second one's border and beyond it.
const OF_FIRST: &[u64] = &[4, 6, 8, 24, 40, 56, 72, 104];
const OF_SECOND: &[u64] = &[3, 4, 8, 12, 20, 36, 68];
/// Largest size beyond a last cache, bytes, so that the buffers stay a small part of a server; the first size beyond it may be larger.
const MOST_BYTES: u64 = 256 << 20;
/// A buffer has this part of the memory at most.
const MEMORY_PART: u64 = 4;
const PAGE_BYTES: u64 = 4096;
const KIB: u64 = 1024;

/// The sizes around one cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AroundCache {
    /// The cache's size, where it is a measure: it is reported, and a guest does not share it. Bytes.
    pub cache_bytes: Option<u64>,
    /// Ascending, bytes.
    pub sizes: Vec<u64>,
}

impl HostFacts {
    /// The sizes around the first, the second and the third cache that serve `cpu`: a few inside it, its own, and several beyond it.
    /// Powers of two where its size is not reported, and around a guest's third cache, of which it has an unknown share.
    pub fn sizes_around_caches(&self, cpu: usize) -> [AroundCache; 3] {
        let reported = [1, 2, 3].map(|level| self.cache(cpu, level).map(|cache| cache.size_bytes / KIB * KIB));
        let [first, second, third] = reported.map(|bytes| bytes.filter(|bytes| (PAGE_BYTES..1 << 50).contains(bytes)));
        let is_shared = self.virtualization.hypervisor.is_some();
        let own = third.filter(|_| !is_shared);
        let beyond = third.map_or(0, |bytes| (bytes + 1).next_power_of_two());
        let of_third = [beyond, beyond / 2 * 3, beyond * 2].into_iter().filter(|&size| size <= MOST_BYTES.max(beyond));
        let parts = |bytes: Option<u64>, quarters: &[u64]| -> Vec<u64> {
            bytes
                .iter()
                .flat_map(|bytes| quarters.iter().map(move |quarters| bytes / KIB * quarters / 4 * KIB))
                .collect()
        };
        let [a, b, c] = LADDERS;
        [
            self.around(first, [a[0], a[1]], 4, parts(first, OF_FIRST)),
            self.around(second, [first.unwrap_or(b[0]), b[1]], 2, parts(second, OF_SECOND)),
            self.around(own, [second.unwrap_or(c[0]), c[1].max(beyond)], 2, own.into_iter().chain(of_third).collect()),
        ]
    }

    /// Powers from the first size on, each `times` the one before, inside the cache, and `others`; without a cache powers of two up
    /// to the last size.
    fn around(&self, cache: Option<u64>, [from, to]: [u64; 2], times: u64, others: Vec<u64>) -> AroundCache {
        let is_inside = |size: &u64| cache.map_or(*size <= to, |bytes| *size < bytes);
        let next = |size: &u64| size.checked_mul(cache.map_or(2, |_| times));
        let powers = std::iter::successors(Some(from.next_power_of_two()), next).take_while(is_inside);
        let others = others.into_iter().filter(|_| cache.is_some());
        let most = match self.fillable_bytes() {
            0 => u64::MAX,
            fillable => fillable / MEMORY_PART,
        };
        let sizes: BTreeSet<u64> = powers.chain(others).filter(|&size| size <= most).collect();
        AroundCache { cache_bytes: cache, sizes: sizes.into_iter().collect() }
    }
}

/// Features that came with a design and no earlier one has: vendor, flag, and how the names of the designs begin that have it, the first
/// of them first. From Intel's Architecture Instruction Set Extensions reference and AMD's manuals.
fn came_with() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("came_with.txt").lines().filter_map(|line| {
        let (vendor, rest) = line.split_once(' ')?;
        rest.split_once(' ').map(|(flag, names)| (vendor, flag, names))
    })
}

/// The design's name; that of the first that it can be (`≥ Sapphire Rapids`) where it can do what the design cannot.
pub fn design_that_can(vendor: &str, reported: &str, has: impl Fn(&str) -> bool) -> String {
    let is_other = |(of, flag, names): &(&str, &str, &str)| {
        *of == vendor && has(flag) && !names.split(", ").any(|name| reported.starts_with(name))
    };
    // What is told already as this one or a later one stays so.
    let other = came_with().find(is_other).filter(|_| !reported.starts_with(OR_LATER));
    let first = other.and_then(|(.., names)| names.split(", ").next());
    first.map_or_else(|| reported.to_owned(), |first| format!("{OR_LATER} {first}"))
}

/// Mark before the name of a design: this one or a later one.
const OR_LATER: char = '≥';

impl CpuFacts {
    /// Returns the name of the design, where it is known and the model's name does not say it. A name that contradicts the features is not
    /// used, whoever recorded it.
    pub fn design(&self) -> Option<String> {
        let reported = self.microarchitecture.as_deref()?;
        let has = |flag: &str| self.features.iter().any(|feature| feature == flag);
        Some(design_that_can(self.vendor.as_deref().unwrap_or_default(), reported, has))
    }

    /// Tells whether the design is only known to be this one or a later one.
    pub fn is_later_design(&self) -> bool {
        self.design().is_some_and(|design| design.starts_with(OR_LATER))
    }

    /// The model's name with what its design is called: `Intel Xeon Processor (Emerald Rapids)`.
    pub fn named_model(&self) -> Option<String> {
        match (self.plain_model(), self.design()) {
            (Some(model), Some(design)) => {
                // The name of another design in brackets is a hypervisor's.
                let bare =
                    model.split_once(" (").filter(|_| self.is_later_design()).map_or(model.as_str(), |(bare, _)| bare);
                Some(format!("{} ({design})", bare.trim_end()))
            }
            (model, design) => model.or(design),
        }
    }
}

/// What the machine was doing; differs between any two looks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Activity {
    /// Time since boot.
    pub uptime_s: Option<f64>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Pressure stall information by resource: cpu, memory, io.
    pub pressure: BTreeMap<String, Pressure>,
}

/// Shares of the last ten seconds in which tasks waited for a resource: 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pressure {
    /// Some task waited.
    pub some: f64,
    /// All tasks waited at once.
    pub full: Option<f64>,
}

/// Activity of others on the machine during a short look at it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Disturbed {
    /// The process that took most CPU time.
    pub busy: Option<BusyTask>,
    /// Share of the usable CPUs' time that the hypervisor gave to others: 0.013 is 1.3 %.
    pub steal_share: Option<f64>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// True where the processes of others could not be seen: that none is busy says nothing then.
    #[serde(default)]
    pub processes_unseen: bool,
    /// CPU time of programs that could not be seen over elapsed time: 0.98 is 98 % of one CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_cpus: Option<f64>,
    /// True where the kernel's counters of CPU time stand still: that nobody uses a CPU says nothing then.
    #[serde(default)]
    pub counters_stand: bool,
}

/// A process that is not ours and takes CPU time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BusyTask {
    /// Process id.
    pub pid: u32,
    /// Name of the task.
    pub name: String,
    /// CPU time over elapsed time: 0.98 is 98 % of one CPU.
    pub cpus: f64,
    /// The CPU on which it ran last.
    pub last_cpu: usize,
}

/// Effect of a finding on a host for a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostWeight {
    /// Values would scatter or drift: `hostmark host --check` fails.
    Disturbs,
    /// Possible disturbance that cannot be seen here: `hostmark host --check` fails as well.
    Unknown,
    /// Values are shifted, but every time alike: to be known when hosts are compared.
    Shifts,
    /// Limitation: something cannot be measured or seen here.
    Note,
}

/// Finding of one rule on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFinding {
    /// A stable name of the rule.
    pub id: String,
    /// Effect on a measurement.
    pub weight: HostWeight,
    /// Observation, and its effect.
    pub effect: Text<String>,
    /// Advice against it.
    pub cure: Text<String>,
}

/// Report of `hostmark host`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// `hostmark.host/1`.
    pub schema: String,
    /// The machine.
    pub host: HostFacts,
    /// Activity of others during the look.
    pub disturbed: Disturbed,
    /// Findings, worst first.
    pub findings: Vec<HostFinding>,
}

impl HostReport {
    /// The schema that this version writes.
    pub const SCHEMA: &'static str = "hostmark.host/1";

    /// Tells whether something would disturb a measurement, or may do so unseen.
    pub fn is_disturbed(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding.weight, HostWeight::Disturbs | HostWeight::Unknown))
    }
}

/// What the process that read the host was given by whoever started it, and hands on to all that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProcessFacts {
    /// Its scheduling policy: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Its nice value: 0 as a rule, 19 yields to all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// Its real-time priority; 0 outside of the real-time policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The least computing capacity that the scheduler asks for it, of 1024, where the kernel has utilization clamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_min: Option<u32>,
    /// The most that it asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_max: Option<u32>,
    /// Whether a debugger or tracer is attached (ptrace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<bool>,
    /// Whether no program that it executes can have more rights (no_new_privs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_new_privs: Option<bool>,
    /// Further attributes by name, each as the kernel words it: `timer_slack_ns`, `store_bypass`, `autogroup_nice`, `tracer` …
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Its soft resource limits by name, each a number or `unlimited`; those that the kernel does not tell are missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_limits: BTreeMap<String, String>,
}

/// The whole computing capacity of a CPU, as utilization clamps count it.
const WHOLE_CAPACITY: u32 = 1024;

impl ProcessFacts {
    /// Tells whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == ProcessFacts::default()
    }

    /// The most that the scheduler asks for it, where that is less than a whole CPU.
    pub fn clamped(&self) -> Option<u32> {
        self.uclamp_max.filter(|most| *most < WHOLE_CAPACITY)
    }

    /// Returns an attribute that is a number.
    pub fn number(&self, attribute: &str) -> Option<i64> {
        self.attributes.get(attribute)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheFact, CacheKind};

    /// A machine of these caches, KiB; a guest or not.
    fn host(kib: &[u64], is_guest: bool) -> HostFacts {
        let cache = |(level, &kib): (u8, &u64)| CacheFact {
            level,
            kind: CacheKind::Unified,
            size_bytes: kib << 10,
            shared_cpus: vec![0],
            ..CacheFact::default()
        };
        let mut host = HostFacts { caches: (1..).zip(kib).map(cache).collect(), ..HostFacts::default() };
        host.memory.available_bytes = 8 << 30;
        host.virtualization.hypervisor = is_guest.then(|| "kvm".to_owned());
        host
    }

    fn kib(host: &HostFacts) -> [Vec<u64>; 3] {
        host.sizes_around_caches(0).map(|around| around.sizes.into_iter().map(|bytes| bytes / 1024).collect())
    }

    #[test]
    fn sizes_lie_inside_each_cache_at_its_border_and_beyond() {
        let [first, second, third] = kib(&host(&[32, 256, 3072], false));
        assert_eq!(first, [1, 4, 16, 32, 48, 64, 192, 320, 448, 576, 832]);
        assert_eq!(second, [32, 64, 128, 192, 256, 512, 768, 1280, 2304, 4352]);
        assert_eq!(third, [256, 512, 1024, 2048, 3072, 4096, 6144, 8192]);
        for caches in [[48, 2048, 36_608], [64, 1024, 32_768], [32, 1280, 393_216], [128, 12_288, 24_576]] {
            for (around, cache) in host(&caches, false).sizes_around_caches(0).iter().zip(caches) {
                let (sizes, bytes) = (&around.sizes, cache << 10);
                assert_eq!(around.cache_bytes, Some(bytes));
                let at = sizes.iter().position(|&size| size == bytes).unwrap();
                let beyond = if bytes > MOST_BYTES { 1 } else { 3 };
                assert!(at >= 2 || cache == 24_576 && at == 1, "{sizes:?}");
                assert!(sizes.len() > at + beyond && sizes.len() < 16, "{sizes:?}");
                assert!(sizes.is_sorted() && sizes.iter().all(|size| size % 1024 == 0), "{sizes:?}");
            }
        }
    }

    #[test]
    fn powers_of_two_stand_in_for_what_is_not_reported_and_for_a_guests_third_cache() {
        let powers = |from: u32, to: u32| (from..=to).map(|power| 1 << power).collect::<Vec<u64>>();
        assert_eq!(kib(&host(&[], false)), [powers(0, 10), powers(5, 14), powers(8, 16)]);
        let guest = host(&[48, 2048, 266_240], true);
        assert_eq!(
            guest.sizes_around_caches(0).map(|around| around.cache_bytes),
            [Some(48 << 10), Some(2 << 20), None]
        );
        assert_eq!(kib(&guest)[2], powers(11, 19));
        assert_eq!(kib(&guest)[..2], kib(&host(&[48, 2048, 266_240], false))[..2]);
        assert_eq!(kib(&host(&[64, 1024], false))[2], powers(10, 16));
    }

    #[test]
    fn no_size_is_more_than_the_memory_has_room_for_and_no_file_makes_it_endless() {
        let mut small = host(&[32, 1024, 32_768], false);
        small.memory.available_bytes = 128 << 20;
        assert_eq!(small.sizes_around_caches(0)[2].sizes.last(), Some(&(32 << 20)));
        for bytes in [0, 1, 1023, u64::MAX] {
            let mut odd = host(&[32, 1024, 32_768], false);
            odd.caches.iter_mut().for_each(|cache| cache.size_bytes = bytes);
            assert_eq!(odd.sizes_around_caches(0).map(|around| around.cache_bytes), [None; 3]);
            assert!(odd.sizes_around_caches(0).iter().all(|around| around.sizes.len() < 20));
        }
    }

    #[test]
    fn what_a_design_cannot_do_reports_that_it_is_another_one() {
        let named = |vendor: &str, reported: &str, flags: &[&str]| {
            design_that_can(vendor, reported, |flag| flags.contains(&flag))
        };
        // A hypervisor's guest of 2026.
        let flags = ["avx512f", "avx512_vbmi2", "avx512_bf16", "amx_tile"];
        assert_eq!(named("GenuineIntel", "Rocket Lake", &flags), "≥ Sapphire Rapids");
        assert_eq!(named("GenuineIntel", "Rocket Lake", &flags[..2]), "Rocket Lake");
        assert_eq!(named("GenuineIntel", "Granite Rapids", &flags), "Granite Rapids");
        assert_eq!(named("GenuineIntel", "≥ Sapphire Rapids", &flags), "≥ Sapphire Rapids");
        assert_eq!(named("GenuineIntel", "Emerald Rapids", &["amx_fp16", "amx_tile"]), "≥ Granite Rapids");
        assert_eq!(named("GenuineIntel", "Cascade Lake", &flags[..2]), "≥ Ice Lake-SP");
        assert_eq!(named("GenuineIntel", "Skylake", &flags[..1]), "≥ Skylake-SP");
        assert_eq!(named("GenuineIntel", "Broadwell-EP", &["avx2"]), "Broadwell-EP");
        assert_eq!(named("AuthenticAMD", "Zen 3, Milan", &["avx512f"]), "≥ Zen 4");
        assert_eq!(named("AuthenticAMD", "Zen 4, Genoa", &["avx512f"]), "Zen 4, Genoa");
    }

    #[test]
    fn a_recorded_name_that_the_features_contradict_is_not_used() {
        let mut cpu = CpuFacts {
            vendor: Some("GenuineIntel".into()),
            model: Some("Intel(R) Xeon(R) Processor".into()),
            microarchitecture: Some("Rocket Lake".into()),
            features: vec!["avx2".into(), "amx_tile".into()],
            ..CpuFacts::default()
        };
        assert_eq!(cpu.named_model().as_deref(), Some("Intel Xeon Processor (≥ Sapphire Rapids)"));
        assert!(cpu.is_later_design());
        cpu.model = Some("Intel Xeon Processor (Cascadelake)".into());
        assert_eq!(cpu.named_model().as_deref(), Some("Intel Xeon Processor (≥ Sapphire Rapids)"));
        cpu.features.clear();
        assert_eq!(cpu.named_model().as_deref(), Some("Intel Xeon Processor (Cascadelake) (Rocket Lake)"));
    }
}
