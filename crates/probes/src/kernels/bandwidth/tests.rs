//! Each kernel that this CPU can run touches all bytes and nothing beyond, and refuses what it cannot take.

use std::ffi::{c_int, c_long, c_void};

use super::*;

unsafe extern "C" {
    fn mmap(at: *mut c_void, bytes: usize, access: c_int, kind: c_int, file: c_int, offset: c_long) -> *mut c_void;
    fn mprotect(at: *mut c_void, bytes: usize, access: c_int) -> c_int;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

const GUARD: usize = 65536;
const ROOM: usize = 65536;

/// Memory between two stretches that may not be touched: a load or store beyond ends the process.
struct Guarded(*mut u8);

impl Guarded {
    fn new() -> Self {
        // SAFETY: a new private anonymous mapping (0x22) without access, whose middle then becomes readable and
        // writable (3).
        unsafe {
            let start = mmap(std::ptr::null_mut(), ROOM + 2 * GUARD, 0, 0x22, -1, 0);
            assert_ne!(start.addr(), usize::MAX);
            let middle = start.byte_add(GUARD);
            assert_eq!(mprotect(middle, ROOM, 3), 0);
            Self(middle.cast())
        }
    }

    fn all(&mut self) -> &mut [u8] {
        // SAFETY: the middle of the mapping, borrowed as this value is.
        unsafe { std::slice::from_raw_parts_mut(self.0, ROOM) }
    }

    /// The first or the last `bytes` of the room: one end touches the guard.
    fn part(&mut self, bytes: usize, last: bool) -> &mut [u8] {
        let from = if last { ROOM - bytes } else { 0 };
        &mut self.all()[from..from + bytes]
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`, and nothing borrows it any more.
        unsafe { munmap(self.0.sub(GUARD).cast(), ROOM + 2 * GUARD) };
    }
}

const LENGTHS: [usize; 7] = [512, 1024, 1536, 4096, 4096 + 512, 32768, ROOM];

fn varied(memory: &mut [u8], salt: usize) {
    for (index, byte) in memory.iter_mut().enumerate() {
        *byte = (index.wrapping_mul(31) ^ (index >> 8) ^ salt) as u8;
    }
}

#[test]
fn names_are_unique_and_found() {
    assert!(reads().iter().all(|kernel| read(kernel.name).is_some_and(|found| std::ptr::eq(found, kernel))));
    assert!(writes().iter().all(|kernel| write(kernel.name).is_some_and(|found| std::ptr::eq(found, kernel))));
    assert!(copies().iter().all(|kernel| copy(kernel.name).is_some_and(|found| std::ptr::eq(found, kernel))));
    assert!(read("libc").is_none() && write("").is_none() && copy("none").is_none());
    for reach in [Reach::FirstCache, Reach::Caches, Reach::Memory] {
        assert!((best_read(reach).is_available)() && best_read(reach).name != "scalar");
        assert!((best_write(reach).is_available)() && best_write(reach).name != "scalar");
        assert!((best_copy(reach).is_available)() && best_copy(reach).name != "scalar");
    }
}

/// The bytes that the last turn of a kernel's loop reads. That each of them counts, whatever the memory's length, proves
/// that all bytes are read: the turns before went over the rest at the same stride.
fn last_turn(kernel: &str, bytes: usize) -> Vec<usize> {
    match kernel {
        "avx2-streams" => (1..=4).flat_map(|quarter| bytes / 4 * quarter - 128..bytes / 4 * quarter).collect(),
        "sse2" | "nt" | "avx512" => (bytes - 256..bytes).collect(),
        "avx512-descending" => (0..256).collect(),
        "sve" => (bytes - 128..bytes).collect(),
        _ => (bytes - 512..bytes).collect(),
    }
}

#[test]
fn every_byte_counts_in_the_checksum_of_a_read() {
    for kernel in reads().iter().filter(|kernel| (kernel.is_available)()) {
        for bytes in LENGTHS {
            for last in [false, true] {
                let mut memory = Guarded::new();
                let memory = memory.part(bytes, last);
                varied(memory, 1);
                let before = kernel.run(memory, 3).unwrap();
                assert_eq!(kernel.run(memory, 3), Ok(before), "{} repeats", kernel.name);
                for index in last_turn(kernel.name, bytes) {
                    memory[index] ^= 0x5a;
                    assert_ne!(kernel.run(memory, 3), Ok(before), "{} misses byte {index} of {bytes}", kernel.name);
                    memory[index] ^= 0x5a;
                }
            }
        }
    }
}

#[test]
fn scalar_read_adds_all_words() {
    let mut memory = Guarded::new();
    let memory = memory.part(4608, false);
    varied(memory, 2);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let sum = memory.chunks_exact(8).map(word).fold(0, u64::wrapping_add);
    assert_eq!(read("scalar").unwrap().run(memory, 5), Ok(sum.wrapping_mul(5)));
}

#[test]
fn a_write_stores_its_pattern_to_every_word_and_no_further() {
    for kernel in writes().iter().filter(|kernel| (kernel.is_available)()) {
        for (bytes, passes) in LENGTHS.iter().flat_map(|&bytes| [(bytes, 1), (bytes, 3)]) {
            let mut memory = Guarded::new();
            kernel.run(memory.part(bytes, true), passes, 0x1234_5678_9abc_def0).unwrap();
            memory.all().fill(0xee);
            kernel.run(memory.part(bytes, false), passes, 0x1234_5678_9abc_def0).unwrap();
            let per_pass = matches!(kernel.name, "rep" | "libc");
            let chunks = (bytes / CHUNK_BYTES) as u64;
            for (index, word) in memory.all().chunks_exact(8).enumerate() {
                let word = u64::from_le_bytes(word.try_into().unwrap());
                let turn = match kernel.name {
                    "rep" | "libc" => passes - 1,
                    "avx2-streams" => (passes - 1) * chunks + (index * 8 % (bytes / 4) / 128) as u64,
                    _ => (passes - 1) * chunks + (index * 8 / CHUNK_BYTES) as u64,
                };
                let value = 0x1335_5779_9bbd_dff1u64.wrapping_add(PATTERN_STEP.wrapping_mul(turn));
                let value = if per_pass { (value & 0xff) * 0x0101_0101_0101_0101 } else { value };
                let expected = if index * 8 < bytes { value } else { 0xeeee_eeee_eeee_eeee };
                assert_eq!(word, expected, "{} word {index} of {bytes} bytes after {passes}", kernel.name);
            }
        }
    }
}

#[test]
fn a_fill_stores_its_byte_everywhere_and_no_further() {
    for kernel in writes().iter().filter(|kernel| (kernel.is_available)()) {
        for bytes in LENGTHS {
            for byte in [0, 0xa5] {
                let mut memory = Guarded::new();
                kernel.fill(memory.part(bytes, true), 1, byte).unwrap();
                memory.all().fill(0xee);
                kernel.fill(memory.part(bytes, false), 2, byte).unwrap();
                let (inside, beyond) = memory.all().split_at(bytes);
                assert!(inside.iter().all(|&found| found == byte), "{} {bytes}", kernel.name);
                assert!(beyond.iter().all(|&found| found == 0xee), "{} {bytes}", kernel.name);
            }
        }
    }
}

#[test]
fn a_copy_moves_every_byte_and_no_further() {
    for kernel in copies().iter().filter(|kernel| (kernel.is_available)()) {
        for bytes in LENGTHS {
            for last in [false, true] {
                let (mut source, mut destination) = (Guarded::new(), Guarded::new());
                varied(source.all(), 3);
                destination.all().fill(0xee);
                kernel.run(destination.part(bytes, last), source.part(bytes, last), 2).unwrap();
                assert!(destination.part(bytes, last) == source.part(bytes, last), "{} {bytes}", kernel.name);
                let touched = destination.all().iter().filter(|&&byte| byte == 0xee).count();
                let expected = source.part(bytes, last).iter().filter(|&&byte| byte == 0xee).count();
                assert_eq!(touched, ROOM - bytes + expected, "{} {bytes}", kernel.name);
            }
        }
    }
}

#[test]
fn unfit_memory_is_refused_and_no_pass_touches_nothing() {
    let (mut source, mut memory) = (Guarded::new(), Guarded::new());
    let (source, memory) = (source.all(), memory.all());
    source.fill(1);
    const ODD: [usize; 5] = [0, 1, 511, 513, 4097];
    let length = |bytes| Err(Refused::Length { bytes, multiple_bytes: 512 });
    let unaligned = || Err(Refused::Alignment { needed_bytes: 64 });
    for kernel in reads().iter().filter(|kernel| (kernel.is_available)()) {
        ODD.iter().for_each(|&bytes| assert_eq!(kernel.run(&memory[..bytes], 1), length(bytes).map(|()| 0)));
        assert_eq!(kernel.run(&memory[8..520], 1), unaligned().map(|()| 0));
    }
    for kernel in writes().iter().filter(|kernel| (kernel.is_available)()) {
        for bytes in ODD {
            assert_eq!(kernel.run(&mut memory[..bytes], 1, 1), length(bytes));
            assert_eq!(kernel.fill(&mut memory[..bytes], 1, 1), length(bytes));
        }
        assert_eq!(kernel.run(&mut memory[8..520], 1, 1), unaligned());
        kernel.run(memory, 0, 1).unwrap();
    }
    for kernel in copies().iter().filter(|kernel| (kernel.is_available)()) {
        ODD.iter().for_each(|&bytes| assert_eq!(kernel.run(&mut memory[..bytes], &source[..bytes], 1), length(bytes)));
        let unequal = Err(Refused::Unequal { destination_bytes: 512, source_bytes: 1024 });
        assert_eq!(kernel.run(&mut memory[..512], &source[..1024], 1), unequal);
        assert_eq!(kernel.run(&mut memory[..512], &source[8..520], 1), unaligned());
        kernel.run(memory, source, 0).unwrap();
    }
    assert!(memory.iter().all(|&byte| byte == 0));
}
