//! Each kernel does as many operations on as many lanes as it says.

use super::*;

#[test]
fn every_lane_holds_what_that_many_operations_come_to() {
    for kernel in kernels().iter().filter(|kernel| (kernel.is_available)()) {
        // Few turns, in which each accumulator's value still tells how often it was computed.
        for turns in [1, 2] {
            let (mut single, mut double) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
            // SAFETY: the kernel is available, and the room as large as any vector.
            unsafe {
                (kernel.single.run)(turns, single.as_mut_ptr());
                (kernel.double.run)(turns, double.as_mut_ptr());
            }
            let of = |lanes: fn() -> u64| lanes() as usize;
            let (expected, lanes) = ((kernel.single.expected)(turns), of(kernel.single.lanes));
            // The sum of the accumulators is rounded at each step; double precision has room for all of their bits.
            let is_right = |&x: &f32| (x / expected - 1.0).abs() < 1e-6;
            assert!(single[..lanes].iter().all(is_right), "{} f32: {single:?}, not {expected}", kernel.name);
            let (expected, lanes) = ((kernel.double.expected)(turns), of(kernel.double.lanes));
            assert!(double[..lanes].iter().all(|&x| x == expected), "{} f64: {double:?}, not {expected}", kernel.name);
            if kernel.name != "scalar" {
                assert!(double[of(kernel.double.lanes)..].iter().all(|&x| x == 0.0), "{} is wider", kernel.name);
            }
        }
    }
}

#[test]
fn single_precision_has_twice_the_lanes_of_double() {
    for kernel in kernels().iter().filter(|kernel| (kernel.is_available)()) {
        let [single, double] = [false, true].map(|is_double| kernel.runnable(is_double).unwrap().flops());
        assert_eq!(single, if kernel.name == "scalar" { double } else { 2 * double }, "{}", kernel.name);
        kernel.runnable(true).unwrap().run(0);
    }
}

#[test]
fn the_widest_is_available_and_no_narrower_than_any_other() {
    assert!((widest().is_available)());
    let flops = |kernel: &FlopsKernel| (kernel.double.lanes)();
    let available = kernels().iter().filter(|kernel| (kernel.is_available)());
    assert_eq!(available.map(flops).max(), Some(flops(widest())));
    assert!(kernel("scalar").is_some() && kernel("none").is_none());
}
