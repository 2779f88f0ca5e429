//! A thread's share of STREAM's arrays: touched by it first, gone over pass by pass, and checked at the end.

use std::ops::Range;

use crate::fastest::{Candidates, Stretches};
use crate::kernels::Refused;
use crate::kernels::stream::{self, Kernel, StreamOperation, numbers, starts};
use hostmark_engine::prelude::*;

/// The scalar of STREAM.
const SCALAR: f64 = 3.0;
/// Elements are equal when they differ by no more than this share, as in STREAM.
const ERROR_BOUND: f64 = 1e-13;
/// Elements are split among threads in whole cache lines.
const LINE: usize = 8;
/// Values repeat after so many elements, a page of them: they vary, so that no core can keep equal lines for nothing.
const PERIOD: usize = 512;

/// The elements of thread `index`: equal lines for all, as far as they go, and for the last what is no whole line.
pub(super) fn part(elements: usize, threads: usize, index: usize) -> usize {
    let lines = elements / LINE;
    let own = lines / threads + usize::from(index < lines % threads);
    own * LINE + if index + 1 == threads { elements % LINE } else { 0 }
}

/// Bytes of three arrays of `elements` each.
pub(super) fn bytes(elements: usize) -> u64 {
    let [_, _, last] = starts(elements);
    ((last + elements.max(1)) * size_of::<f64>()) as u64
}

/// Some periods, where the kernels of STREAM can read them: as many as the first cache holds, since a copy past the caches waits at its end.
#[repr(align(64))]
struct FilledAtOnce([f64; 8 * PERIOD]);

pub(super) struct Share<'a> {
    buffer: Buffer,
    elements: usize,
    kernels: &'a Candidates<Kernel>,
    kernel: &'static Kernel,
    stretches: Stretches,
    refused: Option<Refused>,
}

impl<'a> Share<'a> {
    /// Three arrays of `elements` each, of the memory allotted, touched and filled by the calling thread. Its share of the last caches is `llc_bytes`.
    pub(super) fn new(
        elements: usize,
        kernels: &'a Candidates<Kernel>,
        memory: &Allotment,
        llc_bytes: u64,
    ) -> Result<Share<'a>> {
        let buffer = memory.touch()?;
        let stretches = Stretches::of((elements * size_of::<f64>()) as u64, bytes(elements), llc_bytes);
        let mut share = Share { buffer, elements, kernels, kernel: kernels.at(0), stretches, refused: None };
        // Past the caches where the CPU can: what is filled need not be read before.
        let past_caches = stream::non_temporal(StreamOperation::Copy);
        for (array, role) in share.arrays().into_iter().zip(ROLES) {
            let values = FilledAtOnce(std::array::from_fn(|index| before(role, index)));
            for chunk in array.chunks_mut(values.0.len()) {
                let values = &values.0[..chunk.len()];
                let filled = past_caches.is_some_and(|copy| copy.run(chunk, values, &[], 0.0, 1).is_ok());
                if !filled {
                    chunk.copy_from_slice(values);
                }
            }
        }
        Ok(share)
    }

    /// The pages obtained, in words.
    pub(super) fn pages(&self) -> String {
        self.buffer.obtained()
    }

    fn arrays(&mut self) -> [&mut [f64]; 3] {
        let elements = self.elements;
        let [_, second, third] = starts(elements);
        let (a, rest) = numbers(self.buffer.bytes_mut()).split_at_mut(second);
        let (b, c) = rest.split_at_mut(third - second);
        [&mut a[..elements], &mut b[..elements], &mut c[..elements]]
    }

    /// Goes over these elements.
    fn go(&mut self, kernel: &Kernel, part: Range<usize>, passes: u64) {
        let [x, y, d] = self.arrays().map(|array| &mut array[part.clone()]);
        self.refused = kernel.run(d, x, y, SCALAR, passes).err();
    }
}

/// What an array is to a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    D,
    X,
    Y,
}

/// What the three arrays are, whatever the operation: so all find the same sources.
const ROLES: [Role; 3] = [Role::X, Role::Y, Role::D];

/// What an element is before the first pass: a destination is negative, which no result is.
fn before(role: Role, index: usize) -> f64 {
    let varied = 1.0 + (index % PERIOD) as f64 / PERIOD as f64;
    match role {
        Role::D => -varied,
        Role::X => varied,
        Role::Y => 4.0 - varied,
    }
}

impl ThreadWork for Share<'_> {
    fn pass(&mut self) {
        self.go(self.kernel, 0..self.elements, 1);
    }

    fn half(&mut self) {
        self.go(self.kernel, 0..self.elements / 2 / LINE * LINE, 1);
    }

    fn trial(&mut self, way: usize, repeats: u64) {
        let (part, own) = (self.stretches.next(), self.kernels.at(way));
        let tried = stream::kernel(super::TRIED, own.name).unwrap_or(own);
        self.go(tried, part.start / size_of::<f64>()..part.end / size_of::<f64>(), repeats);
    }

    fn take(&mut self, way: usize) {
        self.kernel = self.kernels.at(way);
    }

    fn check(&mut self) -> Result<()> {
        if let Some(refused) = self.refused {
            return Err(RoundError::failed(ReasonCode::Internal, refused));
        }
        let operation = self.kernel.operation;
        let [d, x, y] = [Role::D, Role::X, Role::Y].map(|role| move |index| before(role, index));
        // With the bound worked out before, several elements are checked by an instruction.
        let expected: Vec<(f64, f64)> = (0..PERIOD)
            .map(|index| operation.of(d(index), x(index), y(index), SCALAR))
            .map(|value| (value, ERROR_BOUND * value.abs()))
            .collect();
        let is_wrong =
            |(&found, &(expected, bound)): (&f64, &(f64, f64))| u64::from(((found - expected).abs() <= bound) ^ true);
        let [.., destination] = self.arrays();
        let of_chunk = |chunk: &[f64]| chunk.iter().zip(&expected).map(is_wrong).sum::<u64>();
        match destination.chunks(PERIOD).map(of_chunk).sum::<u64>() {
            0 => Ok(()),
            wrong => Err(RoundError::failed(
                ReasonCode::CheckFailed,
                say!("{wrong} of {elements} elements of a thread are wrong", elements = self.elements),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::stream::kernels;

    #[test]
    fn parts_are_equal_lines_and_cover_all() {
        for (elements, threads) in [(30_000_000, 7), (1, 3), (1003, 4), (64, 8), (7, 1)] {
            let parts: Vec<usize> = (0..threads).map(|index| part(elements, threads, index)).collect();
            assert_eq!(parts.iter().sum::<usize>(), elements);
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() < 2 * LINE, "{parts:?}");
        }
    }

    #[test]
    fn every_kernel_ends_right_and_one_wrong_element_is_found() {
        let of_stream = [StreamOperation::Copy, StreamOperation::Scale, StreamOperation::Add, StreamOperation::Triad];
        let available = kernels().filter(|kernel| (kernel.is_available)() && of_stream.contains(&kernel.operation));
        for kernel in available {
            let of_operation = kernels().filter(|other| other.operation == kernel.operation);
            let candidates = Candidates::of(kernel.name, of_operation, kernel).unwrap();
            let memory = Allotment::small(bytes(10_001) as usize, Pages::Base).unwrap();
            let mut share = Share::new(10_001, &candidates, &memory, 0).unwrap();
            assert!(share.check().is_err(), "nothing is done yet");
            (0..3).for_each(|_| share.pass());
            assert_eq!(share.check(), Ok(()), "{} {:?}", kernel.name, kernel.operation);
            for value in [f64::NAN, 0.0, 2.0 + 1e-12] {
                let element = &mut share.arrays()[2][10_000];
                let right = std::mem::replace(element, value);
                let wrong = "1 of 10001 elements of a thread are wrong";
                assert_eq!(
                    share.check(),
                    Err(RoundError::failed(ReasonCode::CheckFailed, wrong)),
                    "{value} for {right}"
                );
                share.arrays()[2][10_000] = right;
            }
        }
    }
}
