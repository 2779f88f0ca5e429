//! The guest on x86_64: one CPU in 64-bit mode at the highest privilege, 24 KiB of memory, no devices and no kernel.

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_engine::prelude::say;

use kvm_bindings::{
    KVM_API_VERSION, KVM_CAP_DISABLE_QUIRKS2, KVM_MAX_CPUID_ENTRIES, KVM_X86_QUIRK_FIX_HYPERCALL_INSN, kvm_enable_cap,
    kvm_regs, kvm_segment, kvm_userspace_memory_region,
};
use kvm_ioctls::{Cap, Kvm, VcpuExit, VcpuFd, VmFd};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::{ExitCause, Pass, TIMES};
use hostmark_engine::prelude::ReasonCode;

use crate::workloads::call::{Call, fault, named};

/// The guest's memory begins at its address 0. First page: nothing.
const MEMORY_BYTES: usize = 0x6000;
/// Addresses of the page tables, a page a level: the first 4 MiB are mapped onto themselves by two large pages.
const TABLES: [usize; 3] = [0x1000, 0x2000, 0x3000];
const CODE: usize = 0x4000;
/// Address that holds the target of each pass' jump.
const PASS: usize = 0x5000;
/// An address that is mapped, with no memory behind it.
const MMIO: u64 = 0x20_0000;
/// Present, writable; and a page of 2 MiB.
const TABLE: u64 = 0b11;
const LARGE_PAGE: u64 = 1 << 7 | TABLE;
/// The port that ends a pass, and that of the cause. No device of KVM's own has one of them here.
const END_PORT: u8 = 0x10;
const CAUSE_PORT: u8 = 0x11;
/// IA32_APIC_BASE: KVM answers for it on every CPU; many other registers are read without leaving the guest.
const APIC_BASE_MSR: u64 = 0x1b;
/// Three pages that KVM takes for itself on some CPUs of Intel's; anywhere but in the guest's memory.
const TSS: usize = 0xfffb_d000;
/// Protection, math, error reporting and paging; 64-bit pages; 64-bit mode.
const CR0: u64 = 1 << 31 | 1 << 5 | 1 << 4 | 1;
const CR4_PAE: u64 = 1 << 5;
const EFER_LONG_MODE: u64 = 1 << 10 | 1 << 8;
/// The bit of the flags that is always set.
const FLAGS: u64 = 1 << 1;

impl ExitCause {
    /// Instructions before the cause, which the empty loop has too: what the cause overwrites is set again.
    fn preparation(self) -> &'static [u8] {
        match self {
            // xor eax, eax: leaf 0.
            ExitCause::Cpuid => &[0x31, 0xc0],
            // xor eax, eax; inc eax: KVM_HC_VAPIC_POLL_IRQ, which does nothing and succeeds.
            ExitCause::Hypercall => &[0x31, 0xc0, 0xff, 0xc0],
            _ => &[],
        }
    }

    fn instruction(self, is_amd: bool) -> &'static [u8] {
        match self {
            // cpuid
            ExitCause::Cpuid => &[0x0f, 0xa2],
            // rdmsr
            ExitCause::Msr => &[0x0f, 0x32],
            // vmmcall
            ExitCause::Hypercall if is_amd => &[0x0f, 0x01, 0xd9],
            // vmcall
            ExitCause::Hypercall => &[0x0f, 0x01, 0xc1],
            // out CAUSE_PORT, al
            ExitCause::Port => &[0xe6, CAUSE_PORT],
            // mov [rdi], eax
            ExitCause::Mmio => &[0x89, 0x07],
            // hlt
            ExitCause::Halt => &[0xf4],
        }
    }
}

/// The guest's code, and where its loops begin in it.
struct Code {
    bytes: Vec<u8>,
    loaded: usize,
    empty: usize,
}

impl Code {
    fn of(cause: ExitCause, is_amd: bool) -> Code {
        // jmp [rbp]
        let mut code = Code { bytes: vec![0xff, 0x65, 0x00], loaded: 0, empty: 0 };
        code.loaded = code.add_loop(cause.preparation(), cause.instruction(is_amd));
        code.empty = code.add_loop(cause.preparation(), &[]);
        code
    }

    /// Adds a loop of [`TIMES`] turns; where it begins.
    fn add_loop(&mut self, preparation: &[u8], instruction: &[u8]) -> usize {
        let begin = self.bytes.len();
        let code = &mut self.bytes;
        // mov esi, TIMES
        code.push(0xbe);
        code.extend((TIMES as u32).to_le_bytes());
        let turn = code.len();
        code.extend(preparation);
        code.extend(instruction);
        // dec esi; jnz turn
        code.extend([0xff, 0xce, 0x75, back(code.len() + 4, turn)]);
        // out END_PORT, al; jmp 0
        code.extend([0xe6, END_PORT, 0xeb, back(code.len() + 4, 0)]);
        begin
    }
}

/// The distance of a short jump to `target`, whose next instruction would be at `next`.
fn back(next: usize, target: usize) -> u8 {
    (target as i64 - next as i64) as i8 as u8
}

/// The guest's memory, which its CPU writes too.
#[derive(Debug)]
struct GuestMemory(NonNull<u8>);

impl GuestMemory {
    fn new() -> io::Result<GuestMemory> {
        let (access, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), MEMORY_BYTES, access, private) }.call("mmap")?;
        NonNull::new(start.cast())
            .map(GuestMemory)
            .ok_or_else(|| io::Error::other(say!("memory was mapped at address 0")))
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < MEMORY_BYTES);
        // SAFETY: an aligned word inside the mapping, which lives as long as `self`; both sides access it as a whole.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(at).cast()) }
    }

    /// Puts bytes at `at`, a word at a time.
    fn put(&self, at: usize, bytes: &[u8]) {
        for (number, bytes) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.word(at + 8 * number).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
    }
}

impl Drop for GuestMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more: its guest was dropped before.
        let _ = unsafe { munmap(self.0.as_ptr().cast::<c_void>(), MEMORY_BYTES) };
    }
}

/// A guest; its fields are dropped in this order, so that no CPU is left when the memory goes.
#[derive(Debug)]
pub struct TinyGuest {
    cpu: VcpuFd,
    _machine: VmFd,
    memory: GuestMemory,
    cause: ExitCause,
    loaded: u64,
    empty: u64,
}

impl TinyGuest {
    /// Makes a guest that leaves its CPU by `cause`.
    pub fn new(cause: ExitCause) -> io::Result<TinyGuest> {
        let kvm = Kvm::new().call("open /dev/kvm")?;
        let version = kvm.get_api_version();
        if version != KVM_API_VERSION as i32 {
            return Err(fault(ReasonCode::Kernel, say!("its interface is version {version}, not {KVM_API_VERSION}")));
        }
        for needed in [Cap::UserMemory, Cap::SetTssAddr, Cap::ExtCpuid] {
            if !kvm.check_extension(needed) {
                return Err(fault(ReasonCode::Kernel, say!("it lacks the capability {needed:?}")));
            }
        }
        let (machine, memory) = (kvm.create_vm().call("KVM_CREATE_VM")?, GuestMemory::new()?);
        let code = Code::of(cause, is_amd());
        fill(&memory, &code);
        machine.set_tss_address(TSS).call("KVM_SET_TSS_ADDR")?;
        leave_hypercalls_alone(&machine)?;
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: MEMORY_BYTES as u64,
            userspace_addr: memory.0.as_ptr() as u64,
        };
        // SAFETY: the region is the mapping of `memory`, which outlives the machine.
        unsafe { machine.set_user_memory_region(region) }.call("KVM_SET_USER_MEMORY_REGION")?;
        let cpu = machine.create_vcpu(0).call("KVM_CREATE_VCPU")?;
        // What other guests are told: KVM looks for the answer among as many entries.
        let identity = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).call("KVM_GET_SUPPORTED_CPUID")?;
        cpu.set_cpuid2(&identity).call("KVM_SET_CPUID2")?;
        set_registers(&cpu)?;
        let at = |offset: usize| (CODE + offset) as u64;
        Ok(TinyGuest { cpu, _machine: machine, memory, cause, loaded: at(code.loaded), empty: at(code.empty) })
    }

    /// Has the guest do one pass; an error where it left its CPU in any other way than it was to.
    pub fn pass(&mut self, pass: Pass) -> io::Result<()> {
        let (begin, expected) = match pass {
            Pass::Loaded if self.cause.is_for_user_space() => (self.loaded, TIMES),
            Pass::Loaded => (self.loaded, 0),
            Pass::Empty => (self.empty, 0),
        };
        self.memory.word(PASS).store(begin, Ordering::Relaxed);
        let mut exits = 0;
        loop {
            let seen = match self.cpu.run() {
                Ok(VcpuExit::IoOut(port, _)) if port == u16::from(END_PORT) => break,
                Ok(VcpuExit::IoOut(port, _)) if port == u16::from(CAUSE_PORT) => ExitCause::Port,
                Ok(VcpuExit::MmioWrite(MMIO, _)) => ExitCause::Mmio,
                Ok(VcpuExit::Hlt) => ExitCause::Halt,
                Ok(other) => return Err(io::Error::other(say!("the guest ended by {other:?}"))),
                Err(error) if error.errno() == libc::EINTR => continue,
                Err(error) => return Err(named("KVM_RUN", error.into())),
            };
            if seen != self.cause {
                return Err(io::Error::other(say!(
                    "the guest left by {seen:?} where it was to by {cause:?}",
                    cause = self.cause
                )));
            }
            exits += 1;
        }
        match exits == expected {
            true => Ok(()),
            false => Err(io::Error::other(say!("the guest left {exits} times where it was to {expected} times"))),
        }
    }

    /// Tells whether KVM itself runs in a guest here.
    pub fn is_nested(&self) -> bool {
        // The flag that hypervisors set.
        std::arch::x86_64::__cpuid(1).ecx >> 31 == 1
    }
}

/// Tells whether the CPU calls the hypervisor by AMD's instruction.
fn is_amd() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0).ebx.to_le_bytes();
    vendor == *b"Auth" || vendor == *b"Hygo"
}

/// Stops KVM from rewriting hypercalls: where the CPU does not execute the instruction by itself, it would write it anew and try
/// again, for ever where the CPU still does not: it is to refuse it, which ends the guest.
fn leave_hypercalls_alone(machine: &VmFd) -> io::Result<()> {
    if machine.check_extension_raw(KVM_CAP_DISABLE_QUIRKS2.into()) & KVM_X86_QUIRK_FIX_HYPERCALL_INSN as i32 == 0 {
        return Ok(());
    }
    let args = [u64::from(KVM_X86_QUIRK_FIX_HYPERCALL_INSN), 0, 0, 0];
    let quirk = kvm_enable_cap { cap: KVM_CAP_DISABLE_QUIRKS2, args, ..Default::default() };
    machine.enable_cap(&quirk).call("KVM_ENABLE_CAP")
}

fn fill(memory: &GuestMemory, code: &Code) {
    let [first, second, third] = TABLES;
    memory.word(first).store(second as u64 | TABLE, Ordering::Relaxed);
    memory.word(second).store(third as u64 | TABLE, Ordering::Relaxed);
    memory.word(third).store(LARGE_PAGE, Ordering::Relaxed);
    memory.word(third + 8).store(MMIO | LARGE_PAGE, Ordering::Relaxed);
    memory.put(CODE, &code.bytes);
}

fn set_registers(cpu: &VcpuFd) -> io::Result<()> {
    let mut special = cpu.get_sregs().call("KVM_GET_SREGS")?;
    let code =
        kvm_segment { limit: u32::MAX, selector: 8, type_: 11, present: 1, s: 1, l: 1, g: 1, ..Default::default() };
    let data = kvm_segment { selector: 16, type_: 3, l: 0, db: 1, ..code };
    (special.cs, special.ss) = (code, data);
    (special.ds, special.es, special.fs, special.gs) = (data, data, data, data);
    (special.cr0, special.cr3, special.cr4) = (CR0, TABLES[0] as u64, CR4_PAE);
    special.efer = EFER_LONG_MODE;
    cpu.set_sregs(&special).call("KVM_SET_SREGS")?;
    let registers = kvm_regs {
        rip: CODE as u64,
        rflags: FLAGS,
        rbp: PASS as u64,
        rcx: APIC_BASE_MSR,
        rdi: MMIO,
        ..Default::default()
    };
    cpu.set_regs(&registers).call("KVM_SET_REGS")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    const ALL: [&str; 6] = ["cpuid", "msr", "hypercall", "port", "mmio", "hlt"];

    #[test]
    fn both_loops_differ_by_the_cause_alone() {
        for name in ALL {
            let cause = name.parse().unwrap();
            for is_amd in [false, true] {
                let (code, instruction) = (Code::of(cause, is_amd), cause.instruction(is_amd));
                let (loaded, empty) = code.bytes[code.loaded..].split_at(code.empty - code.loaded);
                assert_eq!(loaded.len(), empty.len() + instruction.len(), "{name}");
                let at = 5 + cause.preparation().len();
                assert_eq!((&loaded[..at], &loaded[at..at + instruction.len()]), (&empty[..at], instruction), "{name}");
                // Each goes back to its own first turn, and at the end to the jump at the start.
                for (begin, bytes) in [(code.loaded, loaded), (code.empty, empty)] {
                    let [.., jump, distance, 0xe6, END_PORT, 0xeb, to_start] = *bytes else {
                        panic!("{name}: {bytes:x?}")
                    };
                    assert_eq!((jump, i64::from(distance as i8)), (0x75, 5 - (bytes.len() as i64 - 4)), "{name}");
                    assert_eq!((begin + bytes.len()) as i64 + i64::from(to_start as i8), 0, "{name}");
                }
            }
        }
        assert!("triple_fault".parse::<ExitCause>().is_err());
    }

    #[test]
    fn a_guest_leaves_by_its_cause_as_often_as_it_should() {
        for name in ALL {
            let mut guest = match TinyGuest::new(name.parse().unwrap()) {
                Ok(guest) => guest,
                Err(error) => return skipped(&format!("no guest can be made here: {error}")),
            };
            for pass in [Pass::Empty, Pass::Loaded, Pass::Loaded, Pass::Empty] {
                match guest.pass(pass) {
                    Ok(()) => {}
                    // A KVM that interprets kernel code refuses the one that is not its own.
                    Err(error) if name == "hypercall" => {
                        skipped(&format!("KVM here has no hypercalls: {error}"));
                        break;
                    }
                    Err(error) => panic!("{name}, {pass:?}: {error}"),
                }
            }
        }
    }

    #[test]
    fn a_guest_that_leaves_in_another_way_is_no_measurement() {
        let mut guest = match TinyGuest::new(ExitCause::Port) {
            Ok(guest) => guest,
            Err(error) => return skipped(&format!("no guest can be made here: {error}")),
        };
        guest.cause = ExitCause::Halt;
        assert!(guest.pass(Pass::Loaded).unwrap_err().to_string().contains("left by Port where it was to by Halt"));
        let mut guest = TinyGuest::new(ExitCause::Cpuid).unwrap();
        guest.cause = ExitCause::Port;
        assert!(guest.pass(Pass::Loaded).unwrap_err().to_string().contains("left 0 times"));
        // ud2: nobody in the guest takes the fault, nor the fault of that.
        let mut guest = TinyGuest::new(ExitCause::Cpuid).unwrap();
        guest.memory.put(CODE, &[0x0f, 0x0b]);
        assert!(guest.pass(Pass::Empty).unwrap_err().to_string().starts_with("the guest ended by "));
    }
}
