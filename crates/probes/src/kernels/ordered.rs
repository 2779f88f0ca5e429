//! Loads that do not wait for each other, in an order that is given: the loop is the same whatever the order, so that it alone decides how
//! fast memory comes.

use super::Refused;

/// Loads of one turn of the loop.
pub const LOADS_A_TURN: usize = 8;
/// What a place in the order is a number of.
const WORD_BYTES: usize = 8;

/// Lines of memory and an order of them, gone through over and over.
pub struct OrderedLoads<'a> {
    memory: &'a [u8],
    /// For each line the number of its first word, in the order of the loads: a whole number of turns.
    words: Vec<u32>,
    next: usize,
}

impl<'a> OrderedLoads<'a> {
    /// Loads a word of each of these lines of `line_bytes`, in this order; what does not fill a turn is left out.
    pub fn new(memory: &'a [u8], line_bytes: usize, order: &[u32]) -> Result<Self, Refused> {
        if line_bytes == 0 || !line_bytes.is_multiple_of(WORD_BYTES) {
            return Err(Refused::Step { bytes: line_bytes });
        }
        if !memory.as_ptr().addr().is_multiple_of(WORD_BYTES) {
            return Err(Refused::Alignment { needed_bytes: WORD_BYTES });
        }
        let lines = memory.len() / line_bytes;
        let whole = order.len() / LOADS_A_TURN * LOADS_A_TURN;
        let words = order[..whole].iter().map(|&line| {
            let word = line as usize * (line_bytes / WORD_BYTES);
            u32::try_from(word).ok().filter(|_| (line as usize) < lines).ok_or(Refused::Nodes { nodes: lines })
        });
        let words: Vec<u32> = words.collect::<Result<_, _>>()?;
        if words.is_empty() {
            return Err(Refused::Length { bytes: memory.len(), multiple_bytes: line_bytes * LOADS_A_TURN });
        }
        Ok(OrderedLoads { memory, words, next: 0 })
    }

    /// Goes on through the order for `turns` turns. Gives the last word loaded.
    pub fn load(&mut self, turns: usize) -> u64 {
        let (mut left, mut last) = (turns, 0);
        while left > 0 {
            let now = left.min((self.words.len() - self.next) / LOADS_A_TURN);
            last = load(self.memory, &self.words[self.next..self.next + now * LOADS_A_TURN], now);
            self.next = (self.next + now * LOADS_A_TURN) % self.words.len();
            left -= now;
        }
        last
    }
}

/// Loads the words of these numbers, eight a turn, all of them inside the memory; gives the last. `turns` is not zero.
fn load(memory: &[u8], words: &[u32], turns: usize) -> u64 {
    let last;
    // SAFETY: each number is one of a word inside the memory, by construction, and there are eight numbers for each turn; nothing is
    // written but declared registers; the loop ends when its counter is zero.
    unsafe {
        asm_by_arch!(
            ".p2align 6",
            "2:",
            by_arch!(
                x86_64 {
                    ".irp at,0,4,8,12,16,20,24,28
                     mov eax, [rsi + \\at]
                     mov rax, [rdi + rax * 8]
                     .endr
                     add rsi, 32"
                }
                aarch64 {
                    ".irp at,0,4,8,12,16,20,24,28
                     ldr w6, [x1, #\\at]
                     ldr x6, [x0, x6, lsl #3]
                     .endr
                     add x1, x1, #32"
                }
            ),
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rcx") turns => _, inout("rsi") words.as_ptr() => _, in("rdi") memory.as_ptr(), out("rax") last,
            }
            aarch64 {
                inout("x5") turns => _, inout("x1") words.as_ptr() => _, in("x0") memory.as_ptr(), out("x6") last,
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
        // Four turns hold the lines from 38 down to 7, each with its number and one.
        let ends = [32, 24, 16, 8];
        assert_eq!([1, 1, 1, 1, 1].map(|turns| loads.load(turns)), [32, 24, 16, 8, 32]);
        for turns in [0, 1, 3, 4, 9] {
            let mut loads = OrderedLoads::new(&memory.0, 64, &order).unwrap();
            assert_eq!(loads.load(turns), if turns == 0 { 0 } else { ends[(turns - 1) % 4] }, "{turns}");
        }
    }

    #[test]
    fn lines_outside_the_memory_are_refused() {
        let memory = memory();
        assert!(matches!(OrderedLoads::new(&memory.0, 64, &[40; 8]), Err(Refused::Nodes { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0, 64, &[1; 7]), Err(Refused::Length { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0, 60, &[1; 8]), Err(Refused::Step { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0[4..], 64, &[1; 8]), Err(Refused::Alignment { .. })));
    }
}
