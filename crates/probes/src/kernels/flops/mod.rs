//! Multiplications and additions of floating-point values as fast as each instruction set can: as many independent
//! accumulators as it takes to keep every pipe busy, and nothing but registers.

/// A kernel of one precision: what goes before the loop, a turn of it, what goes after, and the registers of its constants.
macro_rules! kernel {
    ($name:ident($type:ty), [$($before:expr),+], $turn:expr, [$($after:expr),+],
     constants($($constant:ident = $value:expr),+), $($operand:tt)*) => {
        /// # Safety
        /// The CPU must have the instructions; `turns` is not zero; there is room for one vector.
        unsafe fn $name(turns: u64, room: *mut $type) {
            $(let $constant: $type = $value;)+
            // SAFETY: one vector is stored to the room, as the caller promises; registers are declared by `clobber_abi`; the
            // loop ends when its counter is zero.
            unsafe {
                asm_by_arch!(
                    $($before,)+
                    ".p2align 6",
                    "2:",
                    $turn,
                    count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x1" }), "2b")
                    $(, $after)+;
                    x86_64 { inout("rcx") turns => _, inout("rdi") room => _, }
                    aarch64 { inout("x1") turns => _, inout("x0") room => _, }
                    $($operand)*
                    clobber_abi("C"),
                    options(nostack)
                );
            }
        }
    };
}

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;

/// Room for one vector of the widest instruction set: SVE's 2048 bits.
const MOST_LANES: usize = 64;

#[derive(Clone, Copy)]
pub struct Variant<T: 'static> {
    /// Turns, not zero; room for one vector of the accumulators' sums.
    run: unsafe fn(u64, *mut T),
    /// Operations on one lane in a turn: a fused multiply-add is two.
    lane_flops: u64,
    lanes: fn() -> u64,
    /// Value of every lane after so many turns.
    #[cfg(test)]
    expected: fn(u64) -> T,
}

/// A kernel of one instruction set.
#[derive(Clone, Copy)]
pub struct FlopsKernel {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    pub single: Variant<f32>,
    pub double: Variant<f64>,
}

/// A kernel in one precision, known to run on this CPU.
#[derive(Clone, Copy)]
pub enum Runnable {
    Single(Variant<f32>),
    Double(Variant<f64>),
}

impl FlopsKernel {
    /// The kernel in double or single precision, where this CPU can run it.
    pub fn runnable(&self, is_double: bool) -> Option<Runnable> {
        let precise = if is_double { Runnable::Double(self.double) } else { Runnable::Single(self.single) };
        (self.is_available)().then_some(precise)
    }
}

impl Runnable {
    /// Floating-point operations of one turn.
    pub fn flops(&self) -> u64 {
        match self {
            Runnable::Single(variant) => variant.lane_flops * (variant.lanes)(),
            Runnable::Double(variant) => variant.lane_flops * (variant.lanes)(),
        }
    }

    /// Computes for `turns` turns.
    #[inline(never)]
    pub fn run(&self, turns: u64) {
        if turns == 0 {
            return;
        }
        // Not zeroed: where the C library does that by 512-bit stores, Intel cores to Cascade Lake lower their clock for the
        // next two thirds of a millisecond.
        let mut single = MaybeUninit::<[f32; MOST_LANES]>::uninit();
        let mut double = MaybeUninit::<[f64; MOST_LANES]>::uninit();
        // SAFETY: this CPU has the instructions, else there were no such value; the room holds the widest vector.
        unsafe {
            match self {
                Runnable::Single(variant) => (variant.run)(turns, single.as_mut_ptr().cast()),
                Runnable::Double(variant) => (variant.run)(turns, double.as_mut_ptr().cast()),
            }
        }
    }
}

/// All kernels of this architecture, the narrowest first, whether or not this CPU can run them.
pub fn kernels() -> &'static [FlopsKernel] {
    machine::KERNELS
}

/// The kernel of this name, if this architecture has it.
pub fn kernel(name: &str) -> Option<&'static FlopsKernel> {
    machine::KERNELS.iter().find(|kernel| kernel.name == name)
}

/// The kernel with the widest vectors that this CPU can run.
pub fn widest() -> &'static FlopsKernel {
    machine::KERNELS.iter().rev().find(|kernel| (kernel.is_available)()).unwrap_or(&machine::KERNELS[0])
}
