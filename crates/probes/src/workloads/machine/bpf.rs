//! Programs of BPF that the kernel executes: eBPF on request (BPF_PROG_TEST_RUN), attached to nothing, and classic filters of a socket.

use std::io;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::workloads::call::returned;

/// Commands, types and functions of linux/bpf.h.
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_TEST_RUN: libc::c_int = 10;
const HASH: u32 = 1;
const ARRAY: u32 = 2;
const SOCKET_FILTER: u32 = 1;
const LOOK_UP: i32 = 1;
const KTIME_GET_NS: i32 = 5;
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";
/// An Ethernet header, which a test run asks for at least; its content does not matter.
static PACKET: [u8; 64] = [0; 64];
/// Additions of [`Work::Add`].
const ADDITIONS: u32 = 1000;

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Work {
        Nothing = "empty",
        /// Does [`ADDITIONS`] additions, each of a register to the sum of those before.
        Add = "add",
        Time = "time",
        /// Looks an entry up in an array, and adds to it.
        Array = "array",
        /// The same of a hash table.
        Hash = "hash",
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Instruction {
    code: u8,
    /// The destination below, the source above.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, immediate }
}

const fn set(to: u8, value: i32) -> Instruction {
    instruction(0xb7, to, 0, 0, value)
}

const fn call(function: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, function)
}

const EXIT: Instruction = instruction(0x95, 0, 0, 0, 0);
const ADD_R1_TO_R0: Instruction = instruction(0x0f, 0, 1, 0, 0);

impl Work {
    /// The program, and what it returns. It counts in `map` where it counts.
    fn program(self, map: Option<&OwnedFd>) -> (Vec<Instruction>, u32) {
        match self {
            Work::Nothing => (vec![set(0, 0), EXIT], 0),
            Work::Add => {
                let additions = std::iter::repeat_n(ADD_R1_TO_R0, ADDITIONS as usize);
                ([set(0, 0), set(1, 1)].into_iter().chain(additions).chain([EXIT]).collect(), ADDITIONS)
            }
            Work::Time => (vec![call(KTIME_GET_NS), set(0, 1), EXIT], 1),
            Work::Array | Work::Hash => {
                let map = map.map_or(-1, AsRawFd::as_raw_fd);
                let program = vec![
                    // The key, 0, on the stack, and where it is.
                    instruction(0x62, 10, 0, -4, 0),
                    instruction(0xbf, 2, 10, 0, 0),
                    instruction(0x07, 2, 0, 0, -4),
                    // The map, in two halves.
                    instruction(0x18, 1, 1, 0, map),
                    instruction(0, 0, 0, 0, 0),
                    call(LOOK_UP),
                    // No such entry: 0 is returned.
                    instruction(0x15, 0, 0, 3, 0),
                    set(1, 1),
                    // An atomic addition of 64 bits.
                    instruction(0xdb, 0, 1, 0, 0),
                    set(0, 1),
                    EXIT,
                ];
                (program, 1)
            }
        }
    }
}

/// Part of bpf_attr that loads a program.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    instructions: u32,
    first: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// Part of bpf_attr that runs a program.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    returned: u32,
    bytes_in: u32,
    bytes_out: u32,
    from: u64,
    to: u64,
    times: u32,
    /// ns of a run.
    took_ns: u32,
}

/// Part of bpf_attr that makes a map.
#[repr(C)]
#[derive(Default)]
struct Map {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

/// Part of bpf_attr that names an entry of a map.
#[repr(C)]
#[derive(Default)]
struct Entry {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// bpf(2).
///
/// # Safety
/// `attributes` must be what the kernel expects of `command`, in integers alone, and what they point to must be valid for it.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<i64> {
    // SAFETY: a structure of the size that is said; the rest is the caller's.
    returned("bpf", unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) })
}

/// The descriptor that a call made.
fn made(descriptor: i64) -> OwnedFd {
    // SAFETY: it has just been made, and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(descriptor as i32) }
}

fn number(file: &OwnedFd) -> u32 {
    file.as_raw_fd().unsigned_abs()
}

/// A loaded program, and what it counts in.
#[derive(Debug)]
pub struct Program {
    program: OwnedFd,
    map: Option<OwnedFd>,
    returns: u32,
    runs: u64,
}

impl Program {
    /// Loads one. An error where the kernel has no BPF, or this user may not use it.
    pub fn load(work: Work) -> io::Result<Program> {
        let map = match work {
            Work::Array => Some(make_map(ARRAY)?),
            Work::Hash => Some(make_map(HASH)?),
            _ => None,
        };
        let (program, returns) = work.program(map.as_ref());
        let mut load = Load {
            kind: SOCKET_FILTER,
            instructions: program.len() as u32,
            first: program.as_ptr() as u64,
            licence: LICENCE.as_ptr() as u64,
            ..Load::default()
        };
        // SAFETY: the kernel reads as many instructions as there are, and a text that ends in 0.
        let loaded = made(unsafe { bpf(PROGRAM_LOAD, &mut load) }?);
        Ok(Program { program: loaded, map, returns, runs: 0 })
    }

    /// Has it run so often in one call: the ns of a run, cut to whole ones, as the kernel timed it.
    #[inline]
    pub fn run(&mut self, times: u32) -> io::Result<u32> {
        let mut run = TestRun {
            program: number(&self.program),
            bytes_in: PACKET.len() as u32,
            from: PACKET.as_ptr() as u64,
            times,
            ..TestRun::default()
        };
        // SAFETY: the kernel reads as many bytes of the packet as it has, and returns none of them.
        unsafe { bpf(PROGRAM_TEST_RUN, &mut run) }?;
        if run.returned != self.returns {
            return Err(io::Error::other(say!(
                "the program returned {returned} and not {returns}",
                returned = run.returned,
                returns = self.returns
            )));
        }
        self.runs += u64::from(times);
        Ok(run.took_ns)
    }

    /// An error unless the program counted every run, where it counts.
    pub fn check(&self) -> io::Result<()> {
        match self.counted()? {
            Some(counted) if counted != self.runs => {
                Err(io::Error::other(say!("the program ran {runs} times and counted {counted}", runs = self.runs)))
            }
            _ => Ok(()),
        }
    }

    /// Takes for run what the program has counted: behind a call that a signal ended, nobody else says how often it ran.
    pub fn resume(&mut self) -> io::Result<()> {
        self.runs = self.counted()?.unwrap_or(self.runs);
        Ok(())
    }

    /// Reads how often the program has counted that it ran; `None` where it counts nothing.
    fn counted(&self) -> io::Result<Option<u64>> {
        let Some(map) = &self.map else { return Ok(None) };
        let (key, mut counted) = (0_u32, 0_u64);
        let mut entry = Entry {
            map: number(map),
            key: (&raw const key) as u64,
            value: (&raw mut counted) as u64,
            ..Entry::default()
        };
        // SAFETY: the kernel reads a key and writes a value of the sizes that the map was made with.
        unsafe { bpf(MAP_LOOKUP, &mut entry) }?;
        Ok(Some(counted))
    }
}

/// A map with one entry: key 0, of 32 bits, and 0 in 64 bits.
fn make_map(kind: u32) -> io::Result<OwnedFd> {
    let mut new = Map { kind, key_bytes: 4, value_bytes: 8, entries: 1 };
    // SAFETY: integers alone.
    let map = made(unsafe { bpf(MAP_CREATE, &mut new) }?);
    let (key, value) = (0_u32, 0_u64);
    let mut entry =
        Entry { map: number(&map), key: (&raw const key) as u64, value: (&raw const value) as u64, ..Entry::default() };
    // SAFETY: the kernel reads a key and a value of the sizes that the map was made with.
    unsafe { bpf(MAP_UPDATE, &mut entry) }?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::call::errno;

    #[test]
    fn every_program_runs_as_often_as_it_is_asked_and_counts_it() {
        assert_eq!((size_of::<Load>(), size_of::<TestRun>(), size_of::<Entry>()), (48, 40, 32));
        for work in [Work::Nothing, Work::Add, Work::Time, Work::Array, Work::Hash] {
            let mut program = match Program::load(work) {
                Ok(program) => program,
                // Users without the right to it, and kernels and emulators without it.
                Err(error) if [Some(libc::EPERM), Some(libc::ENOSYS)].contains(&errno(&error)) => return,
                Err(error) => panic!("{work:?}: {error}"),
            };
            program.run(1).unwrap();
            program.run(100).unwrap();
            program.check().unwrap();
            program.runs += 1;
            assert_eq!(program.check().is_err(), matches!(work, Work::Array | Work::Hash), "{work:?}");
            // As behind a call that a signal ended.
            program.resume().unwrap();
            program.check().unwrap();
            program.returns += 1;
            assert!(program.run(1).is_err(), "{work:?}");
        }
    }
}
