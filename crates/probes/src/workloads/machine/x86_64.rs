//! Instructions that only x86_64 has: system calls, coroutines, cpuid, ports.

use std::arch::asm;

/// System call by the instruction: its result, or a negative error number. The kernel writes rax, rcx and r11.
macro_rules! system_call {
    ($number:expr $(, $a:expr $(, $b:expr $(, $c:expr $(, $d:expr, $e:expr, $f:expr)?)?)?)?) => {{
        let result: i64;
        std::arch::asm!(
            "syscall",
            inlateout("rax") $number => result,
            $(in("rdi") $a, $(in("rsi") $b, $(in("rdx") $c, $(in("r10") $d, in("r8") $e, in("r9") $f,)?)?)?)?
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
        result
    }};
}
pub(crate) use system_call;

/// Saves what a call must preserve (rbx, rbp, r12 to r15, the control bits of x87 and SSE) and the stack pointer to
/// `save`, and goes on at the stack `load` that was left the same way (System V ABI for x86-64, 3.2.1).
///
/// # Safety
/// `save` is writable; `load` was made by [`new_stack`] or saved by this function, and its stack is nobody else's.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut usize, load: usize) {
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// The body of a coroutine: switches back for ever. r12 holds the address of both stack pointers.
#[unsafe(naked)]
unsafe extern "C" fn switch_back() -> ! {
    std::arch::naked_asm!(
        "2:",
        "lea rdi, [r12 + 8]",
        "mov rsi, [r12]",
        "call {switch}",
        "jmp 2b",
        switch = sym switch,
    )
}

/// Prepares `stack` for the first [`switch`] to it; returns its stack pointer. `pointers`: the address of both stack pointers.
pub(crate) fn new_stack(stack: &mut [u8], pointers: usize) -> usize {
    // From the top: padding that aligns the body's call, its address, rbp, rbx, r12 to r15, and the usual control words.
    let words = [0x037f_0000_1f80, 0, 0, 0, pointers, 0, 0, switch_back as *const () as usize, 0];
    let top = stack.as_ptr_range().end as usize & !15;
    let bottom = top - 16 - size_of_val(&words) + 8;
    let offset = bottom - stack.as_ptr() as usize;
    for (word, place) in words.iter().zip(stack[offset..].chunks_exact_mut(8)) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bottom
}

/// The highest leaf of cpuid.
#[inline(always)]
pub(crate) fn cpuid() -> Option<u32> {
    Some(std::arch::x86_64::__cpuid(0).eax)
}

/// The port of the firmware's progress codes, to which the kernel itself writes in order to wait.
const PROGRESS_PORT: u16 = 0x80;

/// Lets this thread write to the port.
pub(crate) fn permit_port() -> std::io::Result<()> {
    // SAFETY: the call changes which ports this thread may use, and no memory.
    crate::workloads::call::returned("ioperm", unsafe { libc::ioperm(PROGRESS_PORT.into(), 1, 1) }).map(drop)
}

/// Writes a byte 0 to the port; who was not let ends by a fault.
#[inline(always)]
pub(crate) fn write_port() {
    // SAFETY: no device acts on this port, and no memory is touched.
    unsafe { asm!("out dx, al", in("dx") PROGRESS_PORT, in("al") 0_u8, options(nomem, nostack, preserves_flags)) };
}
