//! The expression (1 + x) (1.5 − x) / x, element by element: an addition, a subtraction, a multiplication, a division.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

/// Elements of an array: few enough for both arrays to stay in every first-level cache.
const ELEMENTS: usize = 1000;

/// Two arrays: what is computed from, and what comes of it.
pub struct Arrays<T> {
    input: Vec<T>,
    output: Vec<T>,
}

macro_rules! arrays {
    ($type:ty, $kernel:path) => {
        impl Arrays<$type> {
            /// Arrays with values from 1 to 2.
            #[expect(clippy::new_without_default, reason = "what a new one holds is no default of anything")]
            pub fn new() -> Self {
                let input = (0..ELEMENTS).map(|index| 1.0 + index as $type / ELEMENTS as $type).collect();
                Self { input, output: vec![0.0; ELEMENTS] }
            }

            /// Computes `n` elements, pass after pass over the arrays.
            #[inline(never)]
            pub fn compute(&mut self, mut n: u64) {
                while n > 0 {
                    let some = n.min(ELEMENTS as u64);
                    let some_elements = some as usize;
                    $kernel(&self.input[..some_elements], &mut self.output[..some_elements]);
                    n -= some;
                }
            }
        }
    };
}

arrays!(f32, machine::compute_f32);
arrays!(f64, machine::compute_f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_computed_and_no_more_than_asked_for() {
        let (mut single, mut double) = (Arrays::<f32>::new(), Arrays::<f64>::new());
        for n in [0, 1, 2, 3, 7, 999, 1000, 2500] {
            single.output.fill(-7.0);
            double.output.fill(-7.0);
            single.compute(n);
            double.compute(n);
            for index in 0..ELEMENTS {
                let is_computed = (index as u64) < n;
                let (x, y) = (single.input[index], double.input[index]);
                let expected = if is_computed { (1.0 + x) * (1.5 - x) / x } else { -7.0 };
                assert_eq!(single.output[index], expected, "f32 {index} of {n}");
                let expected = if is_computed { (1.0 + y) * (1.5 - y) / y } else { -7.0 };
                assert_eq!(double.output[index], expected, "f64 {index} of {n}");
            }
        }
    }
}
