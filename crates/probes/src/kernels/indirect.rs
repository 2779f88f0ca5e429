//! An indirect jump to one of up to 256 places, in an order that a pattern gives: what it costs shows what the predictor of targets
//! knows.

use super::random::Random;

/// Places at most.
pub const MOST_TARGETS: usize = 256;
/// So many jumps before its own is a target loaded, so that a wrong guess is found out at once.
const AHEAD: usize = 3;

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

/// Jumps `n` times, `n` not zero, first as `first` says and then on from index `at`, inside of the targets; gives the sum of
/// their numbers.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jump_goes_where_its_pattern_says_and_on_where_it_stopped() {
        let all = [
            Targets::random(1, 1, 1),
            Targets::random(MOST_TARGETS, 1000, 2),
            Targets::in_turn(5, 64),
            Targets::in_turn(MOST_TARGETS, 1),
        ];
        for mut targets in all {
            let mut from = 0;
            for n in [1, 0, 2, 999, 64, 5000] {
                let length = targets.targets.len();
                let expected: u64 = (from..from + n).map(|at| u64::from(targets.targets[at % length])).sum();
                assert_eq!(targets.jump(n as u64), expected, "{n} from {from}");
                from += n;
            }
        }
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
}
