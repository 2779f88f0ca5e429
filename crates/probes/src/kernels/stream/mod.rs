//! The kernels of STREAM and STREAM2 on arrays of 64-bit floating-point numbers, by hand for each instruction set.
//!
//! Like the bandwidth kernels they go over their arrays a number of passes without a branch between them.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;
#[cfg(test)]
mod tests;

use super::Refused;
use super::bandwidth::{self, ALIGNMENT_BYTES, CHUNK_BYTES, Reach};

/// Elements that a turn of a kernel's loop takes of each array.
const TURN: usize = CHUNK_BYTES / size_of::<f64>();

/// What is done with each element of a destination `d` and sources `x` and `y`, with a scalar `q`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// d = x.
    Copy,
    /// d = q x.
    Scale,
    /// d = x + y.
    Add,
    /// d = x + q y.
    Triad,
    /// d = q.
    Fill,
    /// d = d + q x.
    Daxpy,
    /// The sum of all d.
    Sum,
}

impl Operation {
    /// The operation of this name.
    pub fn named(name: &str) -> Option<Operation> {
        Some(match name {
            "copy" => Operation::Copy,
            "scale" => Operation::Scale,
            "add" => Operation::Add,
            "triad" => Operation::Triad,
            "fill" => Operation::Fill,
            "daxpy" => Operation::Daxpy,
            "sum" => Operation::Sum,
            _ => return None,
        })
    }

    /// Bytes that STREAM counts for each element: every operand that is read or written, and nothing else.
    pub fn bytes_per_element(self) -> u64 {
        match self {
            Operation::Fill | Operation::Sum => 8,
            Operation::Copy | Operation::Scale => 16,
            Operation::Add | Operation::Triad | Operation::Daxpy => 24,
        }
    }

    /// The element that the operation makes of these, and what it adds to the sum.
    pub fn of(self, d: f64, x: f64, y: f64, q: f64) -> f64 {
        match self {
            Operation::Copy => x,
            Operation::Scale => q * x,
            Operation::Add => x + y,
            Operation::Triad => x + q * y,
            Operation::Fill => q,
            Operation::Daxpy => d + q * x,
            Operation::Sum => d,
        }
    }
}

/// Does one operation in one way.
pub struct Kernel {
    /// How it is asked for, and recorded.
    pub name: &'static str,
    /// What it does.
    pub operation: Operation,
    /// Whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    /// d, x, y, bytes of each (whole chunks, not zero), passes (not zero), q; gives the sum of all d, of `Sum` alone.
    run: unsafe fn(*mut f64, *const f64, *const f64, usize, u64, f64) -> f64,
}

impl Kernel {
    /// Does the operation on all elements, `passes` times; gives the sum, of `Sum` alone. Sources that the operation does
    /// not read may be empty.
    pub fn run(&self, d: &mut [f64], x: &[f64], y: &[f64], q: f64, passes: u64) -> Result<f64, Refused> {
        if !(self.is_available)() {
            return Err(Refused::Unavailable { kernel: self.name });
        }
        let (reads_x, reads_y) = match self.operation {
            Operation::Fill | Operation::Sum => (false, false),
            Operation::Copy | Operation::Scale | Operation::Daxpy => (true, false),
            Operation::Add | Operation::Triad => (true, true),
        };
        for source in [(reads_x, x), (reads_y, y)].into_iter().filter_map(|(reads, source)| reads.then_some(source)) {
            if source.len() != d.len() {
                let (destination_bytes, source_bytes) = (size_of_val(d), size_of_val(source));
                return Err(Refused::Unequal { destination_bytes, source_bytes });
            }
        }
        let aligned = |start: *const f64| start.addr().is_multiple_of(ALIGNMENT_BYTES);
        if !aligned(d.as_ptr()) || (reads_x && !aligned(x.as_ptr())) || (reads_y && !aligned(y.as_ptr())) {
            return Err(Refused::Alignment { needed_bytes: ALIGNMENT_BYTES });
        }
        let whole = d.len() - d.len() % TURN;
        let mut sum = 0.0;
        if whole > 0 && passes > 0 {
            // Pointers that are not read from still walk: any will do that stays an address.
            let x = if reads_x { x.as_ptr() } else { d.as_ptr() };
            let y = if reads_y { y.as_ptr() } else { d.as_ptr() };
            // SAFETY: the CPU has the instructions; the first `whole` elements of all that is read or written are valid,
            // aligned, whole chunks, and apart from d, which is borrowed mutably.
            sum = unsafe { (self.run)(d.as_mut_ptr(), x, y, whole * size_of::<f64>(), passes, q) };
        }
        for _ in 0..passes {
            for index in whole..d.len() {
                let (x, y) = (if reads_x { x[index] } else { 0.0 }, if reads_y { y[index] } else { 0.0 });
                d[index] = self.operation.of(d[index], x, y, q);
                sum += d[index];
            }
        }
        Ok(if self.operation == Operation::Sum { std::hint::black_box(sum) } else { 0.0 })
    }
}

/// All kernels of this architecture, whether or not this CPU can run them.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    machine::KERNELS.iter().copied().flatten()
}

/// The kernel of this name for an operation, if this architecture has it.
pub fn kernel(operation: Operation, name: &str) -> Option<&'static Kernel> {
    kernels().find(|kernel| kernel.operation == operation && kernel.name == name)
}

/// The kernel with plain stores that is the fastest on this CPU for arrays at `reach`.
pub fn best(operation: Operation, reach: Reach) -> Option<&'static Kernel> {
    first_available(operation, machine::best(reach))
}

/// The kernel whose stores bypass the caches, the widest that this CPU has.
pub fn non_temporal(operation: Operation) -> Option<&'static Kernel> {
    first_available(operation, machine::NON_TEMPORAL)
}

fn first_available(operation: Operation, names: &[&str]) -> Option<&'static Kernel> {
    names.iter().filter_map(|name| kernel(operation, name)).find(|kernel| (kernel.is_available)())
}

/// The C library's memcpy, as the operation that compilers make of a copy.
///
/// # Safety
/// As of the other kernels.
unsafe fn libc_copy(d: *mut f64, x: *const f64, _: *const f64, bytes: usize, passes: u64, _: f64) -> f64 {
    // SAFETY: the caller promises that both are valid and apart.
    unsafe { bandwidth::copy_by_libc(d.cast(), x.cast(), bytes, passes) };
    0.0
}

/// Memory as numbers; its start must be aligned to 8 bytes, and what is left at the end is left out.
pub fn numbers(memory: &mut [u8]) -> &mut [f64] {
    // SAFETY: any eight bytes are a number.
    unsafe { memory.align_to_mut().1 }
}

/// Where the arrays of `elements` numbers each begin in a buffer, in elements: one behind the other, and each some
/// hundred bytes further in its page than the one before, so that no load waits for a store to another array (4 KiB aliasing).
pub fn starts<const N: usize>(elements: usize) -> [usize; N] {
    let page = 4096 / size_of::<f64>();
    let step =
        elements.next_multiple_of(page) + bandwidth::copy_offset_bytes(bandwidth::Reach::Memory) / size_of::<f64>();
    std::array::from_fn(|array| array * step)
}
