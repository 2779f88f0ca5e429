//! The time-stamp counter of x86_64, read in order.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, CpuidResult};

use hostmark_model::HostFacts;

use super::CounterUnusable;

/// The counter's name in a run file.
pub const SOURCE: &str = "tsc";

/// `lfence; rdtsc; lfence`: nothing later starts before the reading (Intel SDM vol. 2, RDTSC; AMD APM vol. 3).
#[inline(always)]
pub(super) fn start() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads the counter and writes only the two named registers; `choose` checked that it may be read.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// `rdtscp; lfence`: everything earlier is done before the reading, nothing later starts before it.
#[inline(always)]
pub(super) fn end() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: as `start`; rdtscp also writes ecx, which is declared.
    unsafe {
        asm!("rdtscp", "lfence", out("eax") low, out("edx") high, out("ecx") _, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Checks whether the counter may be used here, according to the CPU and the kernel.
pub(super) fn check(host: &HostFacts) -> Result<(), CounterUnusable> {
    if crate::sys::process::counter_forbidden() {
        return Err(CounterUnusable::Forbidden);
    }
    // Intel SDM vol. 2 and AMD APM vol. 3, CPUID: bit 27 is RDTSCP, bit 8 of the other leaf the invariant counter.
    if extended(0x8000_0001).edx & 1 << 27 == 0 {
        return Err(CounterUnusable::NoOrderedRead);
    }
    judge(extended(0x8000_0007).edx & 1 << 8 != 0, kvm_clock_is_stable(), host)
}

/// An extended leaf of CPUID: zeros where the processor does not have it.
fn extended(leaf: u32) -> CpuidResult {
    match __cpuid(0x8000_0000).eax {
        last if last >= leaf => __cpuid(leaf),
        _ => CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 },
    }
}

fn kvm_clock_is_stable() -> bool {
    // Bit 31 says that there is a hypervisor, and the next leaf which. KVM_FEATURE_CLOCKSOURCE_STABLE_BIT: bit 24 of leaf
    // 0x4000_0001's eax (Linux, Documentation/virt/kvm/x86/cpuid.rst).
    let signature = || {
        let CpuidResult { ebx, ecx, edx, .. } = __cpuid(0x4000_0000);
        [ebx, ecx, edx].map(u32::to_le_bytes)
    };
    __cpuid(1).ecx >> 31 == 1
        && signature() == [*b"KVMK", *b"VMKV", *b"M\0\0\0"]
        && __cpuid(0x4000_0001).eax >> 24 & 1 == 1
}

fn judge(invariant: bool, kvm_clock_stable: bool, host: &HostFacts) -> Result<(), CounterUnusable> {
    let kernel = &host.kernel;
    let clock_source = kernel.clock_source.clone().unwrap_or_else(|| "unknown".into());
    let kernel_trusts = clock_source == "tsc" || (clock_source == "kvm-clock" && kvm_clock_stable);
    let given_up = !kernel.clock_sources.is_empty()
        && !kernel.clock_sources.iter().any(|source| source == "tsc")
        && !matches!(clock_source.as_str(), "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen");
    match (invariant, kernel_trusts) {
        (_, true) => Ok(()),
        (true, _) if given_up => Err(CounterUnusable::GivenUp { clock_source }),
        (true, _) => Ok(()),
        (false, _) => Err(CounterUnusable::NotConstant { clock_source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(current: &str, available: &[&str]) -> HostFacts {
        let mut host = HostFacts::default();
        host.kernel.clock_source = Some(current.into());
        host.kernel.clock_sources = available.iter().map(|&source| source.into()).collect();
        host
    }

    #[test]
    fn the_counter_is_trusted_by_the_invariant_bit_or_by_the_kernel_and_a_refusal_says_why() {
        assert_eq!(judge(true, false, &host("hpet", &["tsc", "hpet"])), Ok(()));
        assert_eq!(judge(true, false, &host("kvm-clock", &["kvm-clock"])), Ok(()));
        assert_eq!(judge(false, false, &host("tsc", &["tsc"])), Ok(()));
        assert_eq!(judge(false, true, &host("kvm-clock", &["kvm-clock"])), Ok(()));
        assert!(matches!(judge(true, false, &host("hpet", &["hpet"])), Err(CounterUnusable::GivenUp { .. })));
        for (is_guest, host) in [(false, host("kvm-clock", &["kvm-clock"])), (true, host("hpet", &["tsc"]))] {
            assert!(matches!(judge(false, is_guest, &host), Err(CounterUnusable::NotConstant { .. })));
        }
    }
}
