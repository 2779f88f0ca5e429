//! What a worker keeps, each in a process of its own: what is kept is kept by a process.

use super::*;
use crate::sys::memory::FillPattern;
use crate::sys::process::in_a_child;
use crate::sys::usage::thread_faults;

const MIB: usize = 1 << 20;

/// A worker of several cases, on one CPU.
fn in_a_worker(test: impl FnOnce()) {
    in_a_child(|| {
        let cpus = affinity::allowed()?;
        affinity::bind(&cpus[..1])?;
        keep(None);
        test();
        Ok(())
    });
}

/// Memory of a case that fills what no case before it has.
fn filled(bytes: usize, pages: Pages) -> Buffer {
    let mut buffer = Buffer::kept(bytes, pages, None).unwrap();
    let from = buffer.filled_bytes().min(bytes);
    buffer.fill(from, bytes, FillPattern::START);
    buffer
}

fn start(buffer: &Buffer) -> usize {
    buffer.bytes().as_ptr() as usize
}

#[test]
fn the_sizes_of_a_curve_lie_in_one_mapping_that_is_touched_once() {
    in_a_worker(|| {
        let (small, large) = (filled(MIB, Pages::Base), filled(4 * MIB, Pages::Base));
        let (first, second) = (start(&small), start(&large));
        assert_ne!(first, second, "both are in use");
        drop((small, large));
        assert_eq!(kept_bytes(), 5 * MIB as u64);
        // What has been filled most comes first.
        let again = Buffer::kept(2 * MIB, Pages::Base, None).unwrap();
        assert_eq!((start(&again), again.bytes().len(), again.filled_bytes()), (second, 2 * MIB, 4 * MIB));
        let before = thread_faults().unwrap();
        assert!(again.bytes().chunks(64).all(|line| line.iter().any(|&byte| byte != 0)));
        let after = thread_faults().unwrap();
        assert!(after.minor - before.minor < 64, "{before:?} {after:?}");
        drop(again);
        // A longer one than any goes on where that ends.
        let longer = filled(16 * MIB, Pages::Base);
        assert_eq!((start(&longer), longer.filled_bytes()), (second, 16 * MIB));
    });
}

#[test]
fn what_is_kept_for_further_jobs_is_gone_over_elsewhere_in_each() {
    in_a_worker(|| {
        drop(filled(16 * MIB, Pages::Base));
        let places: std::collections::HashSet<usize> = (0..8)
            .map(|seed| {
                keep(Some(seed));
                let buffer = filled(4 * MIB, Pages::Base);
                assert_eq!((buffer.bytes().len(), kept_bytes(), buffer.filled_bytes()), (4 * MIB, 0, 16 * MIB));
                start(&buffer)
            })
            .collect();
        assert!(places.len() >= 7, "{places:?}");
        let (first, last) = (*places.iter().min().unwrap(), *places.iter().max().unwrap());
        assert!(last - first <= 12 * MIB && places.iter().all(|place| place.is_multiple_of(4096)), "{places:?}");
        // What is as long as all of it, or longer, begins at its start.
        let whole = start(&filled(16 * MIB, Pages::Base));
        let longer = start(&filled(20 * MIB, Pages::Base));
        assert!(whole == longer && whole <= first);
    });
}

#[test]
fn memory_of_other_pages_or_another_cpu_is_another() {
    in_a_worker(|| {
        let base = filled(MIB, Pages::Base);
        let first = start(&base);
        drop(base);
        assert_ne!(start(&filled(MIB, Pages::Pmd)), first);
        // A thread that may run anywhere touches memory anywhere.
        let elsewhere = std::thread::spawn(|| {
            let all: Vec<usize> = (0..affinity::allowed().unwrap()[0] + 2).collect();
            let _ = affinity::bind(&all);
            let is_bound = affinity::allowed().unwrap().len() == 1;
            (is_bound, start(&filled(MIB, Pages::Base)))
        });
        let (is_bound, other) = elsewhere.join().unwrap();
        assert!(is_bound || other != first);
        assert_eq!(start(&filled(MIB, Pages::Base)), first);
    });
}

#[test]
fn what_is_kept_is_given_back_and_nothing_is_where_nothing_is_to_be() {
    in_a_worker(|| {
        drop(filled(8 * MIB, Pages::Base));
        assert_eq!((release(), kept_bytes(), release()), (8 * MIB as u64, 0, 0));
        let in_use = filled(2 * MIB, Pages::Base);
        assert_eq!(release(), 0, "what is in use stays");
        drop(in_use);
        assert_eq!(kept_bytes(), 2 * MIB as u64);
    });
    in_a_child(|| {
        drop(filled(MIB, Pages::Base));
        assert_eq!((kept_bytes(), release()), (0, 0));
        Ok(())
    });
}
