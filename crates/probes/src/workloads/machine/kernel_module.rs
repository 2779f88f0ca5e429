//! The kernel module of this project (kmod/), as its device answers: operations that are done and timed inside the kernel.

use std::io;
use std::path::Path;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{self, Updater, opcode};

use crate::workloads::call::{Call, named};

/// Device of the module, which root alone opens.
const DEVICE: &str = "/dev/hostmark";
/// The version of the requests below (kmod/hostmark_kernel.h).
const VERSION: u32 = 1;
/// A request's flag.
const IRQ_OFF: u32 = 1;
const RUN: ioctl::Opcode = opcode::read_write::<ModuleRequest>(b'h', 0xb1);

#[derive(Debug, Clone, Copy)]
pub enum KernelOperation<'a> {
    /// An indirect call of an empty function.
    NullCall,
    /// 4 KiB at the start of this file are read.
    FileRead(&'a OwnedFd),
    /// 4 KiB at the start of this file are overwritten.
    FileWrite(&'a OwnedFd),
    /// A prime sieve to 10^6.
    Sieve,
    /// Loads of words at random places of so many bytes.
    RandomRead { bytes: u64, seed: u64 },
    /// Stores of words at random places of so many bytes.
    RandomWrite { bytes: u64, seed: u64 },
}

/// Interrupts of the CPU during the operation: on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupts {
    On,
    /// Interrupts off, for 10 ms at most.
    Off,
}

impl Interrupts {
    /// The longest time that the module lets a batch have, ns: it refuses more (kmod/hostmark_kernel.h).
    fn limit_ns(self) -> u64 {
        match self {
            Interrupts::On => 1_000_000_000,
            Interrupts::Off => 10_000_000,
        }
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    /// Duration by CLOCK_MONOTONIC_RAW, ns.
    pub ns: u64,
    /// The same in ticks of the CPU's counter.
    pub cycles: u64,
    pub operations: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct ModuleRequest {
    version: u32,
    operation: u32,
    flags: u32,
    batches: u32,
    operations: u64,
    most_ns: u64,
    bytes: u64,
    seed: u64,
    file: i32,
    reserved: u32,
    batch: u64,
    check: u64,
}

impl KernelOperation<'_> {
    fn request(self) -> ModuleRequest {
        let none = ModuleRequest { version: VERSION, batches: 1, file: -1, ..ModuleRequest::default() };
        match self {
            KernelOperation::NullCall => none,
            KernelOperation::FileRead(file) => ModuleRequest { operation: 1, file: file.as_raw_fd(), ..none },
            KernelOperation::FileWrite(file) => ModuleRequest { operation: 2, file: file.as_raw_fd(), ..none },
            KernelOperation::Sieve => ModuleRequest { operation: 3, ..none },
            KernelOperation::RandomRead { bytes, seed } => ModuleRequest { operation: 4, bytes, seed, ..none },
            KernelOperation::RandomWrite { bytes, seed } => ModuleRequest { operation: 5, bytes, seed, ..none },
        }
    }
}

/// Open device of the module. Memory that it has allocated for requests is given back when this is dropped.
#[derive(Debug)]
pub struct KernelModule {
    device: OwnedFd,
}

impl KernelModule {
    pub fn open() -> io::Result<KernelModule> {
        KernelModule::at(Path::new(DEVICE))
    }

    fn at(path: &Path) -> io::Result<KernelModule> {
        let device = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).call("openat")?;
        Ok(KernelModule { device })
    }

    /// Has a batch of `operations` done, within `most_ns` and the module's own limit; gives it, and the primes of a sieve.
    pub fn batch(
        &self,
        operation: KernelOperation<'_>,
        interrupts: Interrupts,
        operations: u64,
        most_ns: u64,
    ) -> io::Result<(Batch, u64)> {
        let mut batch = Batch::default();
        let flags = if interrupts == Interrupts::Off { IRQ_OFF } else { 0 };
        let address = std::ptr::from_mut(&mut batch).expose_provenance() as u64;
        let most_ns = most_ns.min(interrupts.limit_ns());
        let mut request = ModuleRequest { flags, operations, most_ns, batch: address, ..operation.request() };
        // SAFETY: the number says a `ModuleRequest` that is read and written; the module writes one `Batch` to `batch`, which
        // outlives the call. A file of another driver refuses the number.
        unsafe { ioctl::ioctl(&self.device, Updater::<RUN, ModuleRequest>::new(&mut request)) }.call("ioctl")?;
        if batch.operations == 0 {
            return Err(named("ioctl", io::Error::other(say!("no operation was done"))));
        }
        Ok((batch, request.check))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_layout_of_the_header() {
        assert_eq!((size_of::<ModuleRequest>(), size_of::<Batch>()), (72, 24));
        // _IOWR('h', 0xb1, 72 bytes)
        assert_eq!(RUN, 0xc048_68b1);
    }

    #[test]
    fn a_batch_has_no_more_time_than_the_header_allows() {
        let header = include_str!("../../../../../kmod/hostmark_kernel.h");
        let limit = |name: &str| {
            let line =
                header.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name)?.strip_suffix("ULL"));
            line.and_then(|number| number.trim().parse::<u64>().ok())
        };
        assert_eq!(limit("HOSTMARK_MOST_NS\t"), Some(Interrupts::On.limit_ns()));
        assert_eq!(limit("HOSTMARK_MOST_NS_IRQ_OFF\t"), Some(Interrupts::Off.limit_ns()));
    }

    #[test]
    fn what_is_no_such_device_refuses_the_request() {
        let other = KernelModule::at(Path::new("/dev/null")).unwrap();
        let error = other.batch(KernelOperation::NullCall, Interrupts::On, 1, 0).unwrap_err();
        assert!(error.to_string().starts_with("ioctl: "), "{error}");
        assert!(KernelModule::at(Path::new("/dev/hostmark-that-is-not-there")).is_err());
    }
}
