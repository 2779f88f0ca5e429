//! Branches and straight code: what a branch or an indirect jump costs that goes as a pattern says shows what the predictor knows of
//! the pattern, and what instructions that do nothing cost shows what brings them to the core.

use std::io;

use hostmark_engine::prelude::sys::call::returned;
use hostmark_engine::prelude::sys::mapped::Mapped;

use super::random_access::Random;

/// Branches between the load of a direction and its branch: a wrong guess is found at once and costs no latency of a load.
const AHEAD: usize = 3;

/// Directions of a branch, one a byte, gone through over and over.
pub struct BranchPattern {
    directions: Vec<u8>,
    next: usize,
}

impl BranchPattern {
    /// `length` random directions, as likely one as the other.
    pub fn random(length: usize, seed: u64) -> BranchPattern {
        let mut random = Random::new(seed);
        BranchPattern { directions: (0..length.max(1)).map(|_| (random.next() >> 63) as u8).collect(), next: 0 }
    }

    /// Returns one direction after the other, in memory of `length` bytes: every predictor with a history knows it.
    pub fn alternating(length: usize) -> BranchPattern {
        BranchPattern { directions: (0..length.max(2)).map(|index| (index % 2) as u8).collect(), next: 0 }
    }

    /// Goes through the branch `n` times, on from where it stopped. Gives how often it went the second way.
    #[inline(never)]
    pub fn branch(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let length = self.directions.len();
        let ahead = |steps: usize| (self.next + steps) % length;
        let first = [0, 1, 2].map(|steps| self.directions[ahead(steps)]);
        let count = branch(&self.directions, first, ahead(AHEAD), n);
        self.next = ((self.next as u64 + n) % length as u64) as usize;
        count
    }
}

/// Takes the branch `n > 0` times, first as `first` says and then from index `at` of the directions; counts those not taken.
fn branch(directions: &[u8], first: [u8; AHEAD], at: usize, n: u64) -> u64 {
    let bytes = directions.as_ptr_range();
    let mut count: u64 = 0;
    // SAFETY: reads stay inside the slice, as `at` does and the pointer wraps at its end; the loop ends when its counter is zero. The
    // encodings keep jumps of x86-64 from crossing 32 bytes of code, which some cores decode slowly.
    unsafe {
        asm_by_arch!(
            ".p2align 6",
            "2:",
            by_arch!(
                x86_64 {
                    "mov r9d, r10d
                     mov r10d, r11d
                     mov r11d, eax
                     movzx eax, byte ptr [rsi]
                     add rsi, 1
                     cmp rsi, rdx
                     cmove rsi, rdi
                     test r9d, r9d
                     jz 3f
                     add r8, 1"
                }
                aarch64 {
                    "mov w6, w7
                     mov w7, w8
                     mov w8, w0
                     ldrb w0, [x1], #1
                     cmp x1, x2
                     csel x1, x3, x1, eq
                     cbz w6, 3f
                     add x4, x4, #1"
                }
            ),
            "3:",
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rsi") bytes.start.wrapping_add(at) => _,
                inout("rcx") n => _,
                inout("r8") count,
                in("rdx") bytes.end,
                in("rdi") bytes.start,
                out("r9") _,
                inout("r10") u64::from(first[0]) => _,
                inout("r11") u64::from(first[1]) => _,
                inout("rax") u64::from(first[2]) => _,
            }
            aarch64 {
                inout("x1") bytes.start.wrapping_add(at) => _,
                inout("x5") n => _,
                inout("x4") count,
                in("x2") bytes.end,
                in("x3") bytes.start,
                out("x6") _,
                inout("x7") u64::from(first[0]) => _,
                inout("x8") u64::from(first[1]) => _,
                inout("x0") u64::from(first[2]) => _,
            }
            options(readonly, nostack)
        );
    }
    count
}

pub const MOST_TARGETS: usize = 256;

/// Targets of a jump, one a byte, gone through over and over.
pub struct Targets {
    targets: Vec<u8>,
    next: usize,
}

impl Targets {
    /// `length` targets drawn at random from the first `count`, 256 at most.
    pub fn random(count: usize, length: usize, seed: u64) -> Targets {
        let (mut random, count) = (Random::new(seed), count.clamp(1, MOST_TARGETS) as u64);
        Targets { targets: (0..length.max(1)).map(|_| ((random.next() >> 32) % count) as u8).collect(), next: 0 }
    }

    /// The first `count` in turn, as often as `length` has room for.
    pub fn in_turn(count: usize, length: usize) -> Targets {
        let count = count.clamp(1, MOST_TARGETS);
        Targets { targets: (0..length.max(count) / count * count).map(|at| (at % count) as u8).collect(), next: 0 }
    }

    /// Jumps `n` times, on from where it stopped. Gives the sum of the targets' numbers.
    #[inline(never)]
    pub fn jump(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let length = self.targets.len();
        let ahead = |steps: usize| (self.next + steps) % length;
        let first = [0, 1, 2].map(|steps| u64::from(self.targets[ahead(steps)]));
        let sum = jump(&self.targets, first, ahead(AHEAD), n);
        self.next = ((self.next as u64 + n) % length as u64) as usize;
        sum
    }
}

/// Jumps `n > 0` times, first as `first` says and then from index `at` of the targets; gives the sum of their numbers.
fn jump(targets: &[u8], first: [u64; AHEAD], at: usize, n: u64) -> u64 {
    let bytes = targets.as_ptr_range();
    let mut sum: u64 = 0;
    // SAFETY: reads stay inside the slice, as `at` does and the pointer wraps at its end; every byte is the number of one of 256
    // places of 16 bytes each, from which the code goes back into the loop; the loop ends when its counter is zero.
    unsafe {
        asm_by_arch!(
            by_arch!(
                x86_64 {
                    "lea r12, [rip + 5f]
                     shl r10, 4
                     add r10, r12
                     shl r11, 4
                     add r11, r12
                     shl rax, 4
                     add rax, r12"
                }
                aarch64 {
                    "adr x9, 5f
                     add x7, x9, x7, lsl #4
                     add x8, x9, x8, lsl #4
                     add x0, x9, x0, lsl #4"
                }
            ),
            ".p2align 6",
            "2:",
            by_arch!(
                x86_64 {
                    "mov r9, r10
                     mov r10, r11
                     mov r11, rax
                     movzx eax, byte ptr [rsi]
                     add rsi, 1
                     cmp rsi, rdx
                     cmove rsi, rdi
                     shl eax, 4
                     add rax, r12
                     jmp r9"
                }
                aarch64 {
                    "mov x6, x7
                     mov x7, x8
                     mov x8, x0
                     ldrb w0, [x1], #1
                     cmp x1, x2
                     csel x1, x3, x1, eq
                     add x0, x9, x0, lsl #4
                     br x6"
                }
            ),
            ".p2align 6",
            "5:",
            ".irp high,0,16,32,48,64,80,96,112,128,144,160,176,192,208,224,240",
            ".irp low,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
            ".p2align 4",
            by_arch!(
                x86_64 { "add r8, \\high + \\low\njmp 4f" }
                aarch64 { "add x4, x4, #(\\high + \\low)\nb 4f" }
            ),
            ".endr",
            ".endr",
            ".p2align 6",
            "4:",
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rsi") bytes.start.wrapping_add(at) => _,
                inout("rcx") n => _,
                inout("r8") sum,
                in("rdx") bytes.end,
                in("rdi") bytes.start,
                out("r9") _,
                inout("r10") first[0] => _,
                inout("r11") first[1] => _,
                inout("rax") first[2] => _,
                out("r12") _,
            }
            aarch64 {
                inout("x1") bytes.start.wrapping_add(at) => _,
                inout("x5") n => _,
                inout("x4") sum,
                in("x2") bytes.end,
                in("x3") bytes.start,
                out("x6") _,
                inout("x7") first[0] => _,
                inout("x8") first[1] => _,
                inout("x0") first[2] => _,
                out("x9") _,
            }
            options(readonly, nostack)
        );
    }
    sum
}

/// The longest loop: what one branch back reaches on every architecture.
pub const MOST_BYTES: usize = 64 << 20;
/// The shortest: far longer than its end.
pub const LEAST_BYTES: usize = 64;

/// Code in a mapping of its own, written first and executable only then.
#[derive(Debug)]
pub struct StraightCode {
    mapped: Mapped,
    instructions: u64,
}

impl StraightCode {
    /// A loop of up to `size` bytes (at most [`MOST_BYTES`]) of instructions of `length` bytes; none where the architecture has none.
    pub fn new(size: usize, length: usize) -> Option<io::Result<StraightCode>> {
        let filler = filler(length)?;
        let size = size.clamp(LEAST_BYTES, MOST_BYTES);
        let fillers = (size - END_BYTES) / length;
        let body = fillers * length;
        let mut code = filler.repeat(fillers);
        code.extend_from_slice(&end(body));
        Some(Self::executable(&code, fillers as u64 + END_INSTRUCTIONS))
    }

    fn executable(code: &[u8], instructions: u64) -> io::Result<StraightCode> {
        let bytes = code.len().next_multiple_of(rustix::param::page_size());
        let mapped = Mapped::anonymous(bytes, libc::MAP_PRIVATE)?;
        let start = mapped.start();
        // SAFETY: the mapping is new, writable, at least as long as the code, and nobody else's; the advice changes no contents.
        unsafe {
            let _ = libc::madvise(start.cast(), bytes, libc::MADV_NOHUGEPAGE);
            start.copy_from_nonoverlapping(code.as_ptr(), code.len());
        }
        // SAFETY: the range is this mapping, which nobody writes from here on.
        returned("mprotect", unsafe { libc::mprotect(start.cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) })?;
        publish(start.addr(), code.len());
        Ok(StraightCode { mapped, instructions })
    }

    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Executes the loop `turns` times.
    pub fn run(&self, turns: u64) {
        if turns == 0 {
            return;
        }
        // SAFETY: the mapping begins with code that follows the C calling convention: it counts its argument down to zero, by a
        // register that a callee may change, touches no memory, and returns.
        unsafe {
            let code: extern "C" fn(u64) = std::mem::transmute(self.mapped.start());
            code(turns);
        }
    }
}

/// Instructions at the end of a turn, and their bytes, without the return.
const END_INSTRUCTIONS: u64 = by_arch!(x86_64 { 2 } aarch64 { 3 });
const END_BYTES: usize = by_arch!(x86_64 { 9 } aarch64 { 12 });

by_arch! {
    x86_64 {
        /// The instruction of so many bytes that does nothing.
        fn filler(length: usize) -> Option<&'static [u8]> {
            match length {
                // xor eax, eax: no unit executes it, and it is never one entry with its neighbour as nops of some cores are.
                2 => Some(&[0x31, 0xc0]),
                // nop dword ptr [rax], and nop dword ptr [rax + rax] with a displacement of four bytes.
                4 => Some(&[0x0f, 0x1f, 0x40, 0x00]),
                8 => Some(&[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00]),
                _ => None,
            }
        }

        /// Assembles the loop's end, which counts down and jumps back over `body` bytes: dec rdi, jnz, ret.
        fn end(body: usize) -> Vec<u8> {
            let back = -((body + END_BYTES) as i32);
            [&[0x48, 0xff, 0xcf, 0x0f, 0x85][..], &back.to_le_bytes(), &[0xc3]].concat()
        }

        /// The cores see what was written.
        fn publish(_: usize, _: usize) {}
    }
    aarch64 {
        /// The instruction of so many bytes that does nothing.
        fn filler(length: usize) -> Option<&'static [u8]> {
            (length == 4).then_some(&[0x1f, 0x20, 0x03, 0xd5])
        }

        /// Assembles the loop's end, which counts down and jumps back over `body` bytes: subs x0, x0, #1; cbz x0 over the next; b; ret.
        fn end(body: usize) -> Vec<u8> {
            let back = 0x1400_0000_u32 | ((-((body as i32 + 8) / 4)) as u32 & 0x03ff_ffff);
            [0xf100_0400_u32, 0xb400_0040, back, 0xd65f_03c0].map(u32::to_le_bytes).concat()
        }

        /// Writes the code from the caches of data to where those of instructions look, and has them forget what they had.
        fn publish(start: usize, bytes: usize) {
            let lines: u64;
            // SAFETY: reads a register that every program may read, as the kernel grants or emulates it.
            unsafe { std::arch::asm!("mrs {}, ctr_el0", out(reg) lines, options(nomem, nostack)) };
            let (data, instructions) = (4_usize << (lines >> 16 & 15), 4_usize << (lines & 15));
            // SAFETY: the addresses are of mapped memory; cleaning and forgetting lines changes no contents.
            unsafe {
                for line in (start..start + bytes).step_by(data) {
                    std::arch::asm!("dc cvau, {}", in(reg) line, options(nostack));
                }
                std::arch::asm!("dsb ish", options(nostack));
                for line in (start..start + bytes).step_by(instructions) {
                    std::arch::asm!("ic ivau, {}", in(reg) line, options(nostack));
                }
                std::arch::asm!("dsb ish", "isb", options(nostack));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums up `values` again and again, and `act` by as many of them as it is told, each time from where it stopped.
    fn check(values: &[u8], mut act: impl FnMut(u64) -> u64) {
        let mut from = 0;
        for n in [1, 0, 2, 999, 64, 5000] {
            let expected: u64 = (from..from + n).map(|at| u64::from(values[at % values.len()])).sum();
            assert_eq!(act(n as u64), expected, "{n} from {from} of {}", values.len());
            from += n;
        }
    }

    #[test]
    fn branches_and_jumps_go_as_their_pattern_says_and_go_on_where_they_stopped() {
        for mut pattern in [BranchPattern::random(1, 1), BranchPattern::random(1000, 2), BranchPattern::alternating(64)]
        {
            check(&pattern.directions.clone(), |n| pattern.branch(n));
        }
        let all = [
            Targets::random(1, 1, 1),
            Targets::random(MOST_TARGETS, 1000, 2),
            Targets::in_turn(5, 64),
            Targets::in_turn(MOST_TARGETS, 1),
        ];
        for mut targets in all {
            check(&targets.targets.clone(), |n| targets.jump(n));
        }
    }

    #[test]
    fn random_directions_are_balanced_and_their_own_for_each_seed() {
        let mut pattern = BranchPattern::random(1 << 16, 3);
        let second = pattern.branch(1 << 16);
        assert!((31_000..34_500).contains(&second), "{second}");
        assert_ne!(pattern.directions, BranchPattern::random(1 << 16, 4).directions);
    }

    #[test]
    fn all_targets_come_up_and_no_others() {
        for count in [1, 2, 7, MOST_TARGETS] {
            for targets in [Targets::random(count, 1 << 14, 3), Targets::in_turn(count, 1 << 14)] {
                let mut seen = [0_usize; MOST_TARGETS];
                targets.targets.iter().for_each(|&target| seen[usize::from(target)] += 1);
                let fair = targets.targets.len() / count;
                assert!(seen[..count].iter().all(|times| (fair / 2..=2 * fair).contains(times)), "{count}");
                assert!(seen[count..].iter().all(|&times| times == 0), "{count}");
            }
        }
        assert_eq!(Targets::random(0, 0, 1).targets, [0]);
    }

    #[test]
    fn the_loop_has_its_size_and_comes_back() {
        for (size, length) in [(1, 4), (LEAST_BYTES, 2), (4097, 4), (4096, 8), (3 << 20, 4)] {
            let Some(code) = StraightCode::new(size, length) else { continue };
            let code = code.unwrap();
            let bytes = (code.instructions() - END_INSTRUCTIONS) as usize * length + END_BYTES;
            let asked = size.max(LEAST_BYTES);
            assert!((asked - length..=asked).contains(&bytes), "{bytes} of {size}");
            code.run(0);
            code.run(1);
            code.run(1000);
        }
        assert!(StraightCode::new(4096, 5).is_none());
    }
}
