//! The time-stamp counter of x86_64, read in order.

use std::arch::asm;

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

/// Whether the counter may be used here, by the CPU's word and the kernel's.
pub(super) fn check(host: &HostFacts) -> Result<(), CounterUnusable> {
    if crate::sys::process::counter_forbidden() {
        return Err(CounterUnusable::Forbidden);
    }
    let cpuid = raw_cpuid::CpuId::new();
    if !cpuid.get_extended_processor_and_feature_identifiers().is_some_and(|features| features.has_rdtscp()) {
        return Err(CounterUnusable::NoOrderedRead);
    }
    let invariant = cpuid.get_advanced_power_mgmt_info().is_some_and(|power| power.has_invariant_tsc());
    judge(invariant, kvm_clock_is_stable(&cpuid), host)
}

fn kvm_clock_is_stable(cpuid: &raw_cpuid::CpuId<raw_cpuid::CpuIdReaderNative>) -> bool {
    // KVM_FEATURE_CLOCKSOURCE_STABLE_BIT: bit 24 of leaf 0x4000_0001's eax (Linux, Documentation/virt/kvm/x86/cpuid.rst).
    cpuid.get_hypervisor_info().is_some_and(|info| {
        info.identify() == raw_cpuid::Hypervisor::KVM && std::arch::x86_64::__cpuid(0x4000_0001).eax >> 24 & 1 == 1
    })
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
    fn the_counter_is_trusted_by_the_invariant_bit_or_by_the_kernel() {
        assert_eq!(judge(true, false, &host("hpet", &["tsc", "hpet"])), Ok(()));
        assert_eq!(judge(true, false, &host("kvm-clock", &["kvm-clock"])), Ok(()));
        assert_eq!(judge(false, false, &host("tsc", &["tsc"])), Ok(()));
        assert_eq!(judge(false, true, &host("kvm-clock", &["kvm-clock"])), Ok(()));
    }

    #[test]
    fn a_refusal_says_why() {
        assert!(matches!(judge(true, false, &host("hpet", &["hpet"])), Err(CounterUnusable::GivenUp { .. })));
        assert!(matches!(
            judge(false, false, &host("kvm-clock", &["kvm-clock"])),
            Err(CounterUnusable::NotConstant { .. })
        ));
        assert!(matches!(judge(false, true, &host("hpet", &["tsc"])), Err(CounterUnusable::NotConstant { .. })));
    }
}
