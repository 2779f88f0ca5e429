//! Instructions that only aarch64 has: system calls and coroutines.

use hostmark_engine::prelude::ReasonCode;
use hostmark_engine::prelude::say;

use crate::workloads::call::fault;

/// System call by the instruction: its result, or a negative error number. The kernel's writes are declared: x0.
macro_rules! system_call {
    ($number:expr) => {{
        let result: i64;
        std::arch::asm!("svc 0", in("x8") $number, lateout("x0") result, options(nostack));
        result
    }};
    ($number:expr, $a:expr $(, $b:expr $(, $c:expr $(, $d:expr, $e:expr, $f:expr)?)?)?) => {{
        let result: i64;
        std::arch::asm!(
            "svc 0",
            in("x8") $number,
            inlateout("x0") $a => result,
            $(in("x1") $b, $(in("x2") $c, $(in("x3") $d, in("x4") $e, in("x5") $f,)?)?)?
            options(nostack)
        );
        result
    }};
}
pub(crate) use system_call;

/// Saves what a call must preserve (x19 to x30, d8 to d15) and the stack pointer to `save`, and goes on at the stack
/// `load` that was left the same way (AAPCS64, 6.1).
///
/// # Safety
/// `save` is writable; `load` was made by [`new_stack`] or saved by this function, and its stack is nobody else's.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut usize, load: usize) {
    std::arch::naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

/// The body of a coroutine: switches back for ever. x19 holds the address of both stack pointers.
#[unsafe(naked)]
unsafe extern "C" fn switch_back() -> ! {
    std::arch::naked_asm!("2:", "add x0, x19, #8", "ldr x1, [x19]", "bl {switch}", "b 2b", switch = sym switch)
}

/// Prepares `stack` for the first [`switch`] to it; returns its stack pointer. `pointers`: the address of both stack pointers.
pub(crate) fn new_stack(stack: &mut [u8], pointers: usize) -> usize {
    let mut words = [0_usize; 20];
    words[0] = pointers;
    words[11] = switch_back as *const () as usize;
    let top = stack.as_ptr_range().end as usize & !15;
    let bottom = top - size_of_val(&words);
    let offset = bottom - stack.as_ptr() as usize;
    for (word, place) in words.iter().zip(stack[offset..].chunks_exact_mut(8)) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bottom
}

#[inline(always)]
pub(crate) fn cpuid() -> Option<u32> {
    None
}

pub(crate) fn permit_port() -> std::io::Result<()> {
    Err(fault(ReasonCode::Architecture, say!("this architecture has no I/O ports")))
}

#[inline(always)]
pub(crate) fn write_port() {}
