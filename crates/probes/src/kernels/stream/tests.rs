//! Each kernel that this CPU can run makes every element as the operation says, and touches nothing beyond.

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
