//! Loads and stores of eight bytes at four places in turn: aligned, across two lines, or across two pages.

use std::marker::PhantomData;
use std::str::FromStr;

use super::Refused;
use super::assembly::UNROLL;

/// Places: few enough for the ways of every first-level cache, also where all lie in one of its sets.
pub const PLACES: usize = 4;
/// Bytes of an access.
const WORD_BYTES: usize = 8;

/// What is done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads that do not wait for each other.
    Load,
    /// Stores.
    Store,
    /// Loads of which each gives the address of the next.
    DependentLoad,
}

impl FromStr for Access {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let known = [("load", Self::Load), ("store", Self::Store), ("dependent_load", Self::DependentLoad)];
        known.into_iter().find(|(known, _)| *known == name).map(|(_, access)| access).ok_or(())
    }
}

/// Accesses to four places in turn, 64 in a turn of the loop, and the rest to the first alone. The caller gives addresses at
/// which eight bytes may be read, and written where the instructions write.
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
    /// Where the next dependent load is.
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
