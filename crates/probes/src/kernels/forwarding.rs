//! Loads and stores that meet in the core: what the store buffer forwards, and words that lie across lines or pages.

use std::marker::PhantomData;

use super::Refused;
use super::UNROLL;

/// Bytes at which cores compare the addresses of loads and stores at first: the low 12 bits.
const ALIAS_BYTES: usize = 4096;
/// An offset whose eight bytes span two lines of 64, 128 or 256 bytes.
const SPANNING_LINES: usize = 1024 - 4;

named! {
    /// Overlap of the load with the store before it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Overlap {
        /// Reads the eight bytes that were stored.
        Same = "same",
        /// Reads the upper four of eight.
        Narrower = "narrower",
        /// Reads eight, of which four were stored: the others come from the cache.
        Wider = "wider",
        /// Reads the stored bytes, which lie in two cache lines.
        Line = "line",
        /// Reads the stored bytes, which lie in two pages.
        Page = "page",
        /// Reads other bytes, whose address has the same low 12 bits.
        Alias = "alias",
        /// Reads other bytes in another line.
        Apart = "apart",
    }
}

/// Turns of 64, rest, the address of the stores, the value in the chain; gives the last value.
type Loop = unsafe fn(u64, u64, *mut u8, u64) -> u64;

/// A loop over a pair of instructions, at an address of eight writable bytes; a load from the value's own address needs such a value.
macro_rules! pairs {
    ($name:ident, $x86:literal, $arm:literal) => {
        unsafe fn $name(turns: u64, rest: u64, at: *mut u8, value: u64) -> u64 {
            let mut value = value;
            // SAFETY: the caller's; the loops end when their counters are zero.
            unsafe {
                asm_by_arch!(
                    by_arch!(x86_64 { unrolled!("rcx", "rsi", $x86) } aarch64 { unrolled!("x1", "x2", $arm) });
                    x86_64 { inout("rcx") turns => _, inout("rsi") rest => _, inout("rax") value, in("rdi") at, }
                    aarch64 { inout("x1") turns => _, inout("x2") rest => _, inout("x0") value, in("x3") at, out("x4") _, }
                    options(nostack)
                );
            }
            value
        }
    };
}

pairs!(same, "mov [rdi], rax; mov rax, [rdi]", "str x0, [x3]; ldr x0, [x3]");
pairs!(narrower, "mov [rdi], rax; mov eax, [rdi + 4]", "str x0, [x3]; ldr w0, [x3, #4]");
pairs!(wider, "mov [rdi], eax; mov rax, [rdi]", "str w0, [x3]; ldr x0, [x3]");
// The value is the address of a word that holds it. The store's address depends on it too: one that the core knows long before
// is compared in full, and no load waits for it.
pairs!(alias, "mov [rax - 4096], rax; mov rax, [rax]", "sub x4, x0, #4096; str x0, [x4]; ldr x0, [x0]");
pairs!(apart, "mov [rax - 2048], rax; mov rax, [rax]", "sub x4, x0, #2048; str x0, [x4]; ldr x0, [x0]");

/// A chain of pairs in memory that it borrows.
pub struct Forwarding<'a> {
    pairs: Loop,
    at: *mut u8,
    value: u64,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Forwarding<'a> {
    /// `memory`: two aligned pages of `page_bytes`. `value` is stored first, but where the load reads other bytes.
    pub fn new(
        overlap: Overlap,
        memory: &'a mut [u8],
        page_bytes: usize,
        value: u64,
    ) -> Result<Forwarding<'a>, Refused> {
        if page_bytes < ALIAS_BYTES || !page_bytes.is_power_of_two() || memory.len() != 2 * page_bytes {
            return Err(Refused::Length { bytes: memory.len(), multiple_bytes: 2 * page_bytes });
        }
        if !memory.as_ptr().addr().is_multiple_of(page_bytes) {
            return Err(Refused::Alignment { needed_bytes: page_bytes });
        }
        memory.fill(0);
        let (pairs, offset): (Loop, usize) = match overlap {
            Overlap::Same => (same, 0),
            Overlap::Narrower => (narrower, 0),
            Overlap::Wider => (wider, 0),
            Overlap::Line => (same, SPANNING_LINES),
            Overlap::Page => (same, page_bytes - 4),
            Overlap::Alias => (alias, 0),
            Overlap::Apart => (apart, ALIAS_BYTES / 2),
        };
        let mut value = value;
        if matches!(overlap, Overlap::Alias | Overlap::Apart) {
            let word = memory[ALIAS_BYTES..][..8].as_mut_ptr();
            value = word.expose_provenance() as u64;
            memory[ALIAS_BYTES..][..8].copy_from_slice(&value.to_ne_bytes());
        }
        // The eight bytes at every offset above lie inside.
        let at = memory[offset..][..8].as_mut_ptr();
        Ok(Forwarding { pairs, at, value, memory: PhantomData })
    }

    /// Executes `n` pairs, each of which waits for the one before. Gives the value that was loaded last.
    #[inline(never)]
    pub fn chain(&mut self, n: u64) -> u64 {
        // SAFETY: eight bytes at the address are borrowed alone, and so are those at the value where it is an address, and 2048 and 4096
        // bytes before it: it stays the same, since the word there is never stored to.
        self.value = unsafe { (self.pairs)(n / UNROLL, n % UNROLL, self.at, self.value) };
        self.value
    }
}

/// Places: few enough for the ways of every first-level cache, also where all lie in one of its sets.
pub const PLACES: usize = 4;
const WORD_BYTES: usize = 8;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Access {
        /// Loads that do not wait for each other.
        Load = "load",
        Store = "store",
        /// Loads of which each gives the address of the next.
        DependentLoad = "dependent_load",
    }
}

/// Accesses to four places in turn, 64 a turn of the loop, and the rest to the first. Eight bytes there must be valid.
macro_rules! accesses {
    ($name:ident, $x86:literal, $arm:literal) => {
        unsafe fn $name(turns: u64, rest: u64, places: [*mut u8; PLACES], value: u64) {
            // SAFETY: the caller's; the loops end when their counters are zero.
            unsafe {
                asm_by_arch!(
                    skip_if_zero!(by_arch!(x86_64 { "rcx" } aarch64 { "x1" }), "3f"),
                    ".p2align 6",
                    "2:",
                    ".rept 16",
                    by_arch!(x86_64 { ".irp at,rdi,r8,r9,r10" } aarch64 { ".irp at,x3,x4,x5,x6" }),
                    by_arch!(x86_64 { $x86 } aarch64 { $arm }),
                    ".endr",
                    ".endr",
                    count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x1" }), "2b"),
                    "3:",
                    skip_if_zero!(by_arch!(x86_64 { "rsi" } aarch64 { "x2" }), "5f"),
                    "4:",
                    by_arch!(x86_64 { ".irp at,rdi" } aarch64 { ".irp at,x3" }),
                    by_arch!(x86_64 { $x86 } aarch64 { $arm }),
                    ".endr",
                    count_down!(by_arch!(x86_64 { "rsi" } aarch64 { "x2" }), "4b"),
                    "5:";
                    x86_64 {
                        inout("rcx") turns => _, inout("rsi") rest => _, in("rdi") places[0], in("r8") places[1],
                        in("r9") places[2], in("r10") places[3], in("rax") value, out("rdx") _,
                    }
                    aarch64 {
                        inout("x1") turns => _, inout("x2") rest => _, in("x3") places[0], in("x4") places[1],
                        in("x5") places[2], in("x6") places[3], in("x0") value, out("x7") _,
                    }
                    options(nostack)
                );
            }
        }
    };
}

accesses!(loads, "mov rdx, [\\at]", "ldr x7, [\\at]");
accesses!(stores, "mov [\\at], rax", "str x0, [\\at]");

/// Follows `turns` times 64 addresses and `rest` more from `at`; gives the last. The caller gives one at which eight bytes are
/// the address of others like it.
unsafe fn follow(turns: u64, rest: u64, at: usize) -> usize {
    let mut at = at;
    // SAFETY: the caller's; nothing is written but declared registers.
    unsafe {
        std::arch::asm!(
            unrolled!("{turns}", "{rest}", follow!("{at}")),
            turns = inout(reg) turns => _,
            rest = inout(reg) rest => _,
            at = inout(reg) at,
            options(readonly, nostack),
        );
    }
    at
}

/// Places in memory that it borrows.
pub struct Unaligned<'a> {
    access: Access,
    places: [*mut u8; PLACES],
    /// Offset of the next dependent load.
    at: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Unaligned<'a> {
    /// The places lie at these offsets of `memory`, eight bytes or more apart.
    pub fn new(access: Access, memory: &'a mut [u8], offsets: [usize; PLACES]) -> Result<Unaligned<'a>, Refused> {
        let ends = offsets.map(|offset| offset.saturating_add(WORD_BYTES));
        if let Some(&bytes) = ends.iter().find(|&&end| end > memory.len()) {
            return Err(Refused::Step { bytes });
        }
        if (1..PLACES).any(|place| offsets[place] < ends[place - 1]) {
            return Err(Refused::Step { bytes: offsets[0] });
        }
        let places = offsets.map(|offset| memory[offset..][..WORD_BYTES].as_mut_ptr());
        for (place, offset) in offsets.into_iter().enumerate() {
            let next = places[(place + 1) % PLACES].expose_provenance();
            memory[offset..][..WORD_BYTES].copy_from_slice(&next.to_ne_bytes());
        }
        Ok(Unaligned { access, places, at: places[0].expose_provenance(), memory: PhantomData })
    }

    /// Accesses `n` times.
    #[inline(never)]
    pub fn access(&mut self, n: u64) {
        let (turns, rest) = (n / UNROLL, n % UNROLL);
        // SAFETY: eight bytes at each place are borrowed alone. Each holds the address of the next place as long as nothing is
        // stored, and what stores never follows.
        unsafe {
            match self.access {
                Access::Load => loads(turns, rest, self.places, 0),
                Access::Store => stores(turns, rest, self.places, u64::MAX),
                Access::DependentLoad => self.at = follow(turns, rest, self.at),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(4096))]
    struct Memory([u8; 2 * ALIAS_BYTES]);

    const VALUE: u64 = 0x1122_3344_5566_7788;

    #[test]
    fn a_load_reads_what_the_store_before_it_wrote() {
        let mut memory = Box::new(Memory([1; 2 * ALIAS_BYTES]));
        let mut chain = |overlap, n| Forwarding::new(overlap, &mut memory.0, 4096, VALUE).unwrap().chain(n);
        for n in [1, 63, 64, 129] {
            for overlap in [Overlap::Same, Overlap::Line, Overlap::Page] {
                assert_eq!(chain(overlap, n), VALUE, "{overlap:?} {n}");
            }
            assert_eq!(chain(Overlap::Narrower, n), if n == 1 { VALUE >> 32 } else { 0 }, "{n}");
            assert_eq!(chain(Overlap::Wider, n), VALUE & 0xffff_ffff, "{n}");
        }
        assert_eq!(chain(Overlap::Same, 0), VALUE);
    }

    #[test]
    fn stores_stay_where_they_belong() {
        let written = |overlap| {
            let mut memory = Box::new(Memory([1; 2 * ALIAS_BYTES]));
            let value = Forwarding::new(overlap, &mut memory.0, 4096, VALUE).unwrap().chain(65);
            let all: Vec<usize> = (0..memory.0.len()).filter(|&at| memory.0[at] != 0).collect();
            (value, all)
        };
        assert_eq!(written(Overlap::Line).1, Vec::from_iter(1020..1028));
        assert_eq!(written(Overlap::Page).1, Vec::from_iter(4092..4100));
        for (overlap, at) in [(Overlap::Alias, 0), (Overlap::Apart, 2048)] {
            let (value, all) = written(overlap);
            // Its own address stands where it is loaded from, and where it was stored: some of its bytes may be zero.
            assert!(all.iter().all(|&byte| (at..at + 8).contains(&byte) || (4096..4104).contains(&byte)), "{all:?}");
            assert!(value % 4096 == 0 && all.iter().any(|&byte| byte < 4096), "{value:#x} {all:?}");
        }
    }

    #[test]
    fn unfit_memory_is_refused() {
        let mut memory = Box::new(Memory([0; 2 * ALIAS_BYTES]));
        let mut refused = |from: usize, to: usize, page: usize| {
            Forwarding::new(Overlap::Same, &mut memory.0[from..to], page, 0).err()
        };
        assert!(matches!(refused(0, 4096, 4096), Some(Refused::Length { .. })));
        assert!(matches!(refused(0, 4096, 2048), Some(Refused::Length { .. })));
        let mut larger = vec![0; 5 * 4096];
        let odd = larger.as_ptr().align_offset(4096) + 64;
        let unaligned = Forwarding::new(Overlap::Same, &mut larger[odd..][..8192], 4096, 0).err();
        assert!(matches!(unaligned, Some(Refused::Alignment { .. })));
    }

    const BYTES: usize = 4 * 4096 + 8;

    #[test]
    fn stores_reach_all_places_and_nothing_else() {
        for offsets in [[0, 8, 64, 1024], [60, 124, 188, 252], [4092, 8188, 12284, 16380]] {
            for (n, reached) in [(0, 0), (1, 1), (63, 1), (64, 4), (129, 4)] {
                let mut memory = vec![0; BYTES];
                Unaligned::new(Access::Load, &mut memory, offsets).unwrap().access(n);
                let before = memory.clone();
                Unaligned::new(Access::Store, &mut memory, offsets).unwrap().access(n);
                for (place, offset) in offsets.into_iter().enumerate() {
                    assert_eq!(memory[offset..][..8] == [u8::MAX; 8], place < reached, "{offset} {n}");
                }
                let is_outside = |at: &usize| !offsets.iter().any(|offset| (*offset..offset + 8).contains(at));
                assert!((0..BYTES).filter(is_outside).all(|at| memory[at] == before[at]), "{offsets:?} {n}");
            }
        }
    }

    #[test]
    fn dependent_loads_go_from_place_to_place() {
        let (mut memory, offsets) = (vec![0; BYTES], [1, 60, 4092, 16384]);
        let start = memory.as_ptr().addr();
        let mut loads = Unaligned::new(Access::DependentLoad, &mut memory, offsets).unwrap();
        let mut so_far = 0;
        for n in [0, 1, 2, 64, 127] {
            loads.access(n);
            so_far += n as usize;
            assert_eq!(loads.at, start + offsets[so_far % PLACES]);
        }
    }

    #[test]
    fn places_that_overlap_or_lie_outside_are_refused() {
        let mut memory = vec![0; 64];
        for offsets in [[0, 8, 16, 57], [0, 7, 16, 24], [8, 0, 16, 24], [0, 8, 16, usize::MAX]] {
            let refused = Unaligned::new(Access::Load, &mut memory, offsets).err();
            assert!(matches!(refused, Some(Refused::Step { .. })), "{offsets:?}");
        }
        assert!(Unaligned::new(Access::Load, &mut memory, [0, 8, 16, 56]).is_ok());
    }
}
