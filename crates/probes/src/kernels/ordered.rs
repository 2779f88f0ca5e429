//! Loads that do not wait for each other, in an order that is given: the loop is the same whatever the order, so that it alone decides how
//! fast memory comes.

use super::Refused;

/// What a place in the order is a number of.
const WORD_BYTES: usize = 8;

/// Lines of memory and an order of them, gone through over and over.
pub struct OrderedLoads<'a> {
    memory: &'a [u8],
    /// For each line the number of its first word, in the order of the loads.
    words: Vec<u32>,
    next: usize,
}

impl<'a> OrderedLoads<'a> {
    /// Loads a word of each of these lines of `line_bytes`, in this order.
    pub fn new(memory: &'a [u8], line_bytes: usize, order: &[u32]) -> Result<Self, Refused> {
        if line_bytes == 0 || !line_bytes.is_multiple_of(WORD_BYTES) {
            return Err(Refused::Step { bytes: line_bytes });
        }
        if !memory.as_ptr().addr().is_multiple_of(WORD_BYTES) {
            return Err(Refused::Alignment { needed_bytes: WORD_BYTES });
        }
        let lines = memory.len() / line_bytes;
        let words = order.iter().map(|&line| {
            let word = line as usize * (line_bytes / WORD_BYTES);
            u32::try_from(word).ok().filter(|_| (line as usize) < lines).ok_or(Refused::Nodes { nodes: lines })
        });
        let words: Vec<u32> = words.collect::<Result<_, _>>()?;
        if words.is_empty() {
            return Err(Refused::Length { bytes: memory.len(), multiple_bytes: line_bytes });
        }
        Ok(OrderedLoads { memory, words, next: 0 })
    }

    /// Goes on through the order for `count` loads. Gives the last word loaded.
    pub fn load(&mut self, count: usize) -> u64 {
        let (mut left, mut last) = (count, 0);
        while left > 0 {
            let now = left.min(self.words.len() - self.next);
            last = load(self.memory, &self.words[self.next..self.next + now]);
            self.next = (self.next + now) % self.words.len();
            left -= now;
        }
        last
    }
}

/// Loads the words of these numbers, not none, all of them inside the memory; gives the last. One instruction does all loads: to
/// prefetchers that go by the address of the instruction, several would be as many streams, each far ahead of the others.
fn load(memory: &[u8], words: &[u32]) -> u64 {
    let last;
    // SAFETY: each number is one of a word inside the memory, by construction; nothing is written but declared registers; the loop
    // ends when its counter, the number of words, is zero.
    unsafe {
        asm_by_arch!(
            ".p2align 6",
            "2:",
            by_arch!(
                x86_64 {
                    "mov eax, [rsi]
                     add rsi, 4
                     mov rax, [rdi + rax * 8]"
                }
                aarch64 {
                    "ldr w6, [x1], #4
                     ldr x6, [x0, x6, lsl #3]"
                }
            ),
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rcx") words.len() => _, inout("rsi") words.as_ptr() => _, in("rdi") memory.as_ptr(), out("rax") last,
            }
            aarch64 {
                inout("x5") words.len() => _, inout("x1") words.as_ptr() => _, in("x0") memory.as_ptr(), out("x6") last,
            }
            options(readonly, nostack)
        );
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Memory([u8; 40 * 64]);

    fn memory() -> Box<Memory> {
        let mut memory = Box::new(Memory([0; _]));
        for (line, number) in memory.0.chunks_mut(64).zip(1_u64..) {
            line[..8].copy_from_slice(&number.to_ne_bytes());
        }
        memory
    }

    #[test]
    fn loads_follow_the_order_and_go_on_where_they_stopped() {
        let memory = memory();
        let order: Vec<u32> = (0..39).rev().collect();
        let mut loads = OrderedLoads::new(&memory.0, 64, &order).unwrap();
        // The lines from 38 down to 0, each with its number and one.
        assert_eq!([1, 2, 36, 1, 78, 0].map(|count| loads.load(count)), [39, 37, 1, 39, 39, 0]);
    }

    #[test]
    fn lines_outside_the_memory_are_refused() {
        let memory = memory();
        assert!(matches!(OrderedLoads::new(&memory.0, 64, &[40; 8]), Err(Refused::Nodes { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0, 64, &[]), Err(Refused::Length { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0, 60, &[1; 8]), Err(Refused::Step { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0[4..], 64, &[1; 8]), Err(Refused::Alignment { .. })));
    }
}
