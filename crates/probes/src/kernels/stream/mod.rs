//! The kernels of STREAM and STREAM2 on arrays of 64-bit floating-point numbers, by hand for each instruction set.
//!
//! Like the bandwidth kernels they go over their arrays a number of passes without a branch between them.

/// A loop over chunks that wraps from the end to the start without a branch. On x86-64 rdi walks d, rsi x, rdx y; xmm0 brings the
/// scalar and takes the sum away. On AArch64 x0 walks d, x1 x, x2 y; the scalar is in both halves of v31, and v0 takes the sum.
macro_rules! kernel {
    ($name:ident, $set:expr, $body:expr, $after:expr) => {
        /// # Safety
        /// The CPU must have the instructions; `bytes`, some whole chunks, must be writable from the aligned `d` and
        /// readable from the aligned `x` and `y` as far as the operation reads them; `passes` is not zero.
        pub(super) unsafe fn $name(d: *mut f64, x: *const f64, y: *const f64, bytes: usize, passes: u64, q: f64) -> f64 {
            let sum: f64;
            // SAFETY: loads and stores stay between starts and ends, as the caller promises whole chunks; `clobber_abi` covers
            // all vector registers: of x86-64 their upper parts are left zero, of AArch64 all but the low halves of v8 to v15,
            // which are not written.
            unsafe {
                asm_by_arch!(
                    by_arch!(x86_64 { $set } aarch64 { concat!("dup v31.2d, v0.d[0]\n", $set) }),
                    ".p2align 6",
                    "2:",
                    $body,
                    by_arch!(
                        x86_64 { next_chunk!("512", end "rax", turns "rcx", "rdi" from "r8", "rsi" from "r9", "rdx" from "r10") }
                        aarch64 { next_chunk!("#512", end "x4", turns "x3", "x0" from "x5", "x1" from "x6", "x2" from "x7") }
                    ),
                    $after;
                    x86_64 {
                        inout("rdi") d => _,
                        inout("rsi") x => _,
                        inout("rdx") y => _,
                        inout("rcx") (bytes / 512) as u64 * passes => _,
                        inout("rax") d.wrapping_byte_add(bytes) => _,
                        inout("r8") d => _,
                        inout("r9") x => _,
                        inout("r10") y => _,
                        inout("xmm0") q => sum,
                    }
                    aarch64 {
                        inout("x0") d => _,
                        inout("x1") x => _,
                        inout("x2") y => _,
                        inout("x3") (bytes / 512) as u64 * passes => _,
                        inout("x4") d.wrapping_byte_add(bytes) => _,
                        inout("x5") d => _,
                        inout("x6") x => _,
                        inout("x7") y => _,
                        inout("v0") q => sum,
                    }
                    clobber_abi("C"),
                    options(nostack)
                );
            }
            sum
        }
    };
}

/// The four kernels of STREAM in a module, by one name.
macro_rules! of_stream {
    ($name:literal, $is_available:expr, $module:ident) => {
        [
            Kernel { name: $name, operation: StreamOperation::Copy, is_available: $is_available, run: $module::copy },
            Kernel { name: $name, operation: StreamOperation::Scale, is_available: $is_available, run: $module::scale },
            Kernel { name: $name, operation: StreamOperation::Add, is_available: $is_available, run: $module::add },
            Kernel { name: $name, operation: StreamOperation::Triad, is_available: $is_available, run: $module::triad },
        ]
    };
}

/// The other kernels of STREAM2 in a module, by one name.
macro_rules! of_stream2 {
    ($name:literal, $is_available:expr, $module:ident) => {
        [
            Kernel { name: $name, operation: StreamOperation::Fill, is_available: $is_available, run: $module::fill },
            Kernel { name: $name, operation: StreamOperation::Daxpy, is_available: $is_available, run: $module::daxpy },
            Kernel { name: $name, operation: StreamOperation::Sum, is_available: $is_available, run: $module::sum },
        ]
    };
}

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

use super::Refused;
use super::bandwidth::{self, ALIGNMENT_BYTES, CHUNK_BYTES, Reach};

/// Elements that a turn of a kernel's loop takes of each array.
const TURN: usize = CHUNK_BYTES / size_of::<f64>();

/// Operation on each element of a destination `d` and sources `x` and `y`, with a scalar `q`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOperation {
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
    Sum,
}

impl StreamOperation {
    pub fn named(name: &str) -> Option<StreamOperation> {
        Some(match name {
            "copy" => StreamOperation::Copy,
            "scale" => StreamOperation::Scale,
            "add" => StreamOperation::Add,
            "triad" => StreamOperation::Triad,
            "fill" => StreamOperation::Fill,
            "daxpy" => StreamOperation::Daxpy,
            "sum" => StreamOperation::Sum,
            _ => return None,
        })
    }

    /// Bytes that STREAM counts for each element: every operand that is read or written, and nothing else.
    pub fn bytes_per_element(self) -> u64 {
        match self {
            StreamOperation::Fill | StreamOperation::Sum => 8,
            StreamOperation::Copy | StreamOperation::Scale => 16,
            StreamOperation::Add | StreamOperation::Triad | StreamOperation::Daxpy => 24,
        }
    }

    /// The element that the operation makes of these, and what it adds to the sum.
    pub fn of(self, d: f64, x: f64, y: f64, q: f64) -> f64 {
        match self {
            StreamOperation::Copy => x,
            StreamOperation::Scale => q * x,
            StreamOperation::Add => x + y,
            StreamOperation::Triad => x + q * y,
            StreamOperation::Fill => q,
            StreamOperation::Daxpy => d + q * x,
            StreamOperation::Sum => d,
        }
    }
}

/// Does one operation in one way.
pub struct Kernel {
    /// Name by which it is asked for, and recorded.
    pub name: &'static str,
    pub operation: StreamOperation,
    /// Tells whether this CPU has the instructions.
    pub is_available: fn() -> bool,
    /// d, x, y, bytes of each (whole chunks, not zero), passes (not zero), q; gives the sum of all d, of `Sum` alone.
    run: unsafe fn(*mut f64, *const f64, *const f64, usize, u64, f64) -> f64,
}

impl Kernel {
    /// Tells whether its stores are those that compilers make of an assignment: neither past the caches nor by a library.
    pub fn has_plain_stores(&self) -> bool {
        !self.is_non_temporal() && self.name != LIBC[0].name
    }

    /// Tells whether its stores bypass the caches.
    pub fn is_non_temporal(&self) -> bool {
        self.name.starts_with("nt-")
    }

    /// Operates on all elements `passes` times; gives the sum, of `Sum` alone. Sources that the operation ignores may be empty.
    pub fn run(&self, d: &mut [f64], x: &[f64], y: &[f64], q: f64, passes: u64) -> Result<f64, Refused> {
        if !(self.is_available)() {
            return Err(Refused::Unavailable { kernel: self.name });
        }
        let (reads_x, reads_y) = match self.operation {
            StreamOperation::Fill | StreamOperation::Sum => (false, false),
            StreamOperation::Copy | StreamOperation::Scale | StreamOperation::Daxpy => (true, false),
            StreamOperation::Add | StreamOperation::Triad => (true, true),
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
        Ok(if self.operation == StreamOperation::Sum { std::hint::black_box(sum) } else { 0.0 })
    }
}

/// All kernels of this architecture, whether or not this CPU can run them.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    machine::KERNELS.iter().copied().flatten()
}

pub fn kernel(operation: StreamOperation, name: &str) -> Option<&'static Kernel> {
    kernels().find(|kernel| kernel.operation == operation && kernel.name == name)
}

/// The kernel with plain stores that is the fastest on this CPU for arrays at `reach`.
pub fn best(operation: StreamOperation, reach: Reach) -> Option<&'static Kernel> {
    first_available(operation, machine::best(reach))
}

/// The kernel whose stores bypass the caches, the widest that this CPU has.
pub fn non_temporal(operation: StreamOperation) -> Option<&'static Kernel> {
    first_available(operation, machine::NON_TEMPORAL)
}

/// Values that are filled in at once: as many as the first cache holds, since a copy past the caches waits at its end.
#[repr(align(64))]
struct FilledAtOnce([f64; 4096]);

/// Fills an array with values by their index, which repeat after a page: past the caches where the CPU can, which reads nothing.
pub fn fill(array: &mut [f64], of: impl Fn(usize) -> f64) {
    let values = FilledAtOnce(std::array::from_fn(of));
    let past_caches = non_temporal(StreamOperation::Copy);
    for chunk in array.chunks_mut(values.0.len()) {
        let values = &values.0[..chunk.len()];
        if past_caches.is_none_or(|copy| copy.run(chunk, values, &[], 0.0, 1).is_err()) {
            chunk.copy_from_slice(values);
        }
    }
}

fn first_available(operation: StreamOperation, names: &[&str]) -> Option<&'static Kernel> {
    names.iter().filter_map(|name| kernel(operation, name)).find(|kernel| (kernel.is_available)())
}

const LIBC: [Kernel; 1] =
    [Kernel { name: "libc", operation: StreamOperation::Copy, is_available: always, run: libc_copy }];

fn always() -> bool {
    true
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

/// Returns where the arrays of `elements` numbers begin in a buffer, in elements: one behind the other, and each some hundred
/// bytes further in its page than the one before, so that no load waits for a store to another array (4 KiB aliasing).
pub fn starts<const N: usize>(elements: usize) -> [usize; N] {
    let page = 4096 / size_of::<f64>();
    let step =
        elements.next_multiple_of(page) + bandwidth::copy_offset_bytes(bandwidth::Reach::Memory) / size_of::<f64>();
    std::array::from_fn(|array| array * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room for three arrays, with one chunk before, between and behind them.
    const ROOM: usize = 8192;
    const GAP: usize = TURN;

    struct Arrays(Vec<f64>, usize);

    impl Arrays {
        fn new() -> Arrays {
            let memory = vec![-7.0; 3 * (ROOM + GAP) + GAP + 64];
            let skip = memory.as_ptr().align_offset(64);
            Arrays(memory, skip)
        }

        /// d, x and y of so many elements each, with values that all differ.
        fn of(&mut self, elements: usize) -> [&mut [f64]; 3] {
            let mut rest = &mut self.0[self.1..];
            [0, 1, 2].map(|array| {
                let (part, behind) = std::mem::take(&mut rest).split_at_mut(GAP + ROOM);
                rest = behind;
                let part = &mut part[GAP..GAP + elements];
                part.iter_mut().zip(0..).for_each(|(element, index)| *element = value(array, index));
                part
            })
        }

        fn untouched(&self) -> usize {
            self.0.iter().filter(|&&element| element == -7.0).count()
        }
    }

    fn value(array: usize, index: usize) -> f64 {
        [0.25, 1.0, 3.0][array] + index as f64 * [0.5, 0.125, 2.0][array]
    }

    fn available() -> impl Iterator<Item = &'static Kernel> {
        kernels().filter(|kernel| (kernel.is_available)())
    }

    #[test]
    fn every_element_is_made_as_the_operation_says_and_no_other() {
        for kernel in available() {
            for elements in [0, 1, 63, 64, 65, 128, 1000, 4096, ROOM] {
                for passes in [1, 3] {
                    let mut arrays = Arrays::new();
                    let room = arrays.0.len();
                    let [d, x, y] = arrays.of(elements);
                    let sum = kernel.run(d, x, y, 3.0, passes).unwrap();
                    let all: f64 = (0..elements).map(|index| value(0, index)).sum();
                    let expected_sum = if kernel.operation == StreamOperation::Sum { all * passes as f64 } else { 0.0 };
                    assert_eq!(sum, expected_sum, "{} {:?} {elements}", kernel.name, kernel.operation);
                    for (index, &found) in d.iter().enumerate() {
                        let [d, x, y] = [0, 1, 2].map(|array| value(array, index));
                        let expected = (0..passes).fold(d, |d, _| kernel.operation.of(d, x, y, 3.0));
                        assert_eq!(found, expected, "{} {:?} {index} of {elements}", kernel.name, kernel.operation);
                    }
                    for (array, source) in [(1, x), (2, y)] {
                        assert!((0..elements).all(|index| source[index] == value(array, index)), "{}", kernel.name);
                    }
                    assert_eq!(arrays.untouched(), room - 3 * elements, "{} {:?}", kernel.name, kernel.operation);
                }
            }
        }
    }

    #[test]
    fn each_operation_has_a_kernel_for_every_reach_and_names_are_found() {
        for name in ["copy", "scale", "add", "triad", "fill", "daxpy", "sum"] {
            let operation = StreamOperation::named(name).unwrap();
            for reach in [Reach::FirstCache, Reach::Caches, Reach::Memory] {
                let best = best(operation, reach).unwrap();
                assert!((best.is_available)() && best.operation == operation);
                assert!(kernel(operation, best.name).is_some_and(|found| std::ptr::eq(found, best)));
            }
            let of_stream = matches!(name, "copy" | "scale" | "add" | "triad");
            assert_eq!(non_temporal(operation).is_some(), of_stream, "{name}");
            assert_eq!(kernel(operation, "libc").is_some(), name == "copy");
        }
        assert_eq!(StreamOperation::named("divide"), None);
    }

    #[test]
    fn unfit_arrays_are_refused() {
        let mut arrays = Arrays::new();
        let [d, x, y] = arrays.of(256);
        for kernel in available().filter(|kernel| kernel.operation == StreamOperation::Add) {
            let unequal = Err(Refused::Unequal { destination_bytes: 2048, source_bytes: 1024 });
            assert_eq!(kernel.run(d, x, &y[..128], 1.0, 1), unequal);
            let skewed = Err(Refused::Alignment { needed_bytes: 64 });
            assert_eq!(kernel.run(&mut d[1..129], &x[..128], &y[..128], 1.0, 1), skewed);
            assert_eq!(kernel.run(&mut d[..128], &x[..128], &y[1..129], 1.0, 1), skewed);
        }
    }

    #[test]
    fn arrays_lie_apart_and_differ_in_their_place_in_a_page() {
        for elements in [1, 511, 512, 15_000_000] {
            let [a, b, c] = starts::<3>(elements);
            assert!(a == 0 && b >= a + elements && c >= b + elements);
            let in_page = |start: usize| start * 8 % 4096;
            assert_eq!([a, b, c].map(in_page), [0, 512, 1024]);
            assert!([a, b, c].iter().all(|start| start * 8 % 64 == 0));
        }
    }
}
