//! Facts that follow from those of a processor: the sizes at which latency is measured around each cache (inside it, at its border,
//! and beyond), and designs that can do more than the one whose name a hypervisor gives.

use std::collections::BTreeSet;

use super::{CpuFacts, HostFacts};

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
