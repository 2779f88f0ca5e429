//! A loop over straight code of any size: instructions that do nothing, so that what brings them to the core is all that is measured.

use std::io;
use std::ptr::NonNull;

use hostmark_engine::prelude::say;
use hostmark_engine::prelude::sys::call::named;

/// The longest loop: what one branch back reaches on every architecture.
pub const MOST_BYTES: usize = 64 << 20;
/// The shortest: far longer than its end.
pub const LEAST_BYTES: usize = 64;

/// Code in a mapping of its own, written first and executable only then; unmapped when dropped.
#[derive(Debug)]
pub struct StraightCode {
    mapping: NonNull<u8>,
    mapped: usize,
    instructions: u64,
}

impl StraightCode {
    /// A loop of up to `size` bytes, no more than [`MOST_BYTES`], whose instructions have `length` bytes each but those of its end; none
    /// where this architecture has no such instruction.
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
        let mapped = code.len().next_multiple_of(rustix::param::page_size());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(named("mmap", io::Error::last_os_error()));
        }
        let mapping =
            NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other(say!("mmap gave address 0")))?;
        let straight = StraightCode { mapping, mapped, instructions };
        // SAFETY: the mapping is new, writable, at least as long as the code, and nobody else's; the advice changes no contents.
        unsafe {
            let _ = libc::madvise(address, mapped, libc::MADV_NOHUGEPAGE);
            mapping.as_ptr().copy_from_nonoverlapping(code.as_ptr(), code.len());
        }
        // SAFETY: the range is this mapping, which nobody writes from here on.
        if unsafe { libc::mprotect(address, mapped, libc::PROT_READ | libc::PROT_EXEC) } < 0 {
            return Err(named("mprotect", io::Error::last_os_error()));
        }
        publish(mapping.as_ptr().addr(), code.len());
        Ok(straight)
    }

    /// Instructions of one turn of the loop.
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
            let code: extern "C" fn(u64) = std::mem::transmute(self.mapping.as_ptr());
            code(turns);
        }
    }
}

impl Drop for StraightCode {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no call into it is under way: `run` borrows the value.
        let _ = unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
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

        /// What counts down and goes back over so many bytes: dec rdi, jnz, ret.
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

        /// What counts down and goes back over so many bytes: subs x0, x0, #1; cbz x0 over the next; b; ret.
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
