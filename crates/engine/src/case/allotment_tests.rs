//! Limits on filling, on machines that are directories of files.

use super::*;
use crate::sys::memory::FillPattern;
use crate::sys::process::in_a_child;
use crate::sys::usage::thread_faults;

const MIB: u64 = 1 << 20;

/// A machine of 2 GiB available and a node 1 of 43 MiB free.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.available(2048);
        let node = "Node 1 MemTotal: 65536 kB\nNode 1 MemFree: 44032 kB\n";
        machine.file("sys/devices/system/node/node1/meminfo", node);
        machine
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn available(&self, mebibytes: u64) {
        self.file("proc/meminfo", &format!("MemAvailable: {} kB\n", mebibytes << 10));
    }

    fn budget(&self, copies: u64) -> MemoryBudget {
        MemoryBudget::new(Root::at(self.0.path()), 1024 * MIB, copies, Deadline::from_now(0))
    }
}

fn reason(result: Result<impl std::fmt::Debug>) -> String {
    match result {
        Err(RoundError::Skipped(reason)) => reason.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn half_of_what_the_machine_can_spare_may_be_filled_and_no_more() {
    let machine = Machine::new();
    let budget = machine.budget(1);
    assert_eq!(budget.ask(1024 * MIB, None), Ok(()));
    machine.available(400);
    assert_eq!(budget.ask(200 * MIB, None), Ok(()));
    let expected = "needs 210 MiB of memory; the machine can spare 400 MiB, of which at most half is filled";
    assert_eq!(reason(budget.ask(210 * MIB, None)), expected);
    assert!(budget.ask(200 * MIB + 1, None).is_err());
    assert!(reason(budget.ask(1025 * MIB, None)).contains("may fill 1024 MiB"));
}

#[test]
fn a_node_with_little_free_memory_is_left_alone_while_the_machine_has_much() {
    let machine = Machine::new();
    let budget = machine.budget(1);
    let expected = "needs 64 MiB of memory; node 1 can spare 42 MiB, of which at most half is filled";
    assert_eq!(reason(budget.allot(1, 64 * MIB, Pages::Base, Some(Node(1)))), expected);
    assert!(budget.allot(1, 64 * MIB, Pages::Base, None).is_ok());
    assert!(budget.allot(1, 20 * MIB, Pages::Base, Some(Node(1))).is_ok());
    assert!(reason(budget.allot(1, 20 * MIB, Pages::Base, Some(Node(3)))).contains("how much is free is unknown here"));
}

#[test]
fn buffers_of_all_threads_and_copies_count_with_what_the_kernel_rounds_up() {
    let machine = Machine::new();
    machine.available(400);
    let huge = Pages::Pmd.bytes() as u64;
    let one = |count, bytes| machine.budget(1).allot(count, bytes, Pages::Pmd, None).is_ok();
    // A huge page and two base pages each.
    let most = 200 * MIB / (huge + 2 * Pages::Base.bytes() as u64);
    assert!(one(most, 1) && !one(most + 1, 1));
    let copies = machine.budget(4);
    assert_eq!(copies.ask(50 * MIB, None), Ok(()));
    assert!(reason(copies.ask(51 * MIB, None)).ends_with("at most half is filled by 4 copies"));
}

#[test]
fn what_is_filled_stays_a_part_of_the_half() {
    let machine = Machine::new();
    machine.available(400);
    let budget = machine.budget(1);
    let buffer = budget.allot(1, 100 * MIB, Pages::Base, None).unwrap().map().unwrap();
    // The kernel tells less now, as that much is in use.
    machine.available(300);
    assert_eq!(budget.ask(100 * MIB, None), Ok(()));
    assert!(budget.ask(101 * MIB, None).is_err());
    drop(buffer);
}

#[test]
fn filling_ends_when_others_take_the_memory_meanwhile() {
    let machine = Machine::new();
    let budget = machine.budget(1);
    budget.ask(600 * MIB, None).unwrap();
    let mut filling = budget.filling(600 * MIB);
    assert_eq!(filling.advance(100 * MIB), Ok(()));
    machine.available(499);
    let expected = "memory ran short while it was filled: 480 MiB are left to fill, and the machine can spare 479 MiB";
    assert_eq!(filling.advance(10 * MIB), Ok(()), "it looks again after 16 MiB");
    machine.available(479);
    assert_eq!(reason(filling.advance(10 * MIB)), expected);
}

#[test]
fn without_proc_only_what_is_small_is_filled() {
    let empty = tempfile::tempdir().unwrap();
    let budget = MemoryBudget::new(Root::at(empty.path()), 1024 * MIB, 1, Deadline::from_now(0));
    assert_eq!(budget.ask(MIB, None), Ok(()));
    let expected = "needs 2 MiB of memory, and how much is free is unknown here (open, read): mount /proc and /sys";
    assert_eq!(reason(budget.ask(2 * MIB, None)), expected);
    assert!(Allotment::small(MIB as usize + 1, Pages::Base).is_err());
}

#[test]
fn a_slow_fill_ends_after_its_first_64_mib_and_on_a_device_after_4() {
    let machine = Machine::new();
    let hurry = MemoryBudget::new(Root::at(machine.0.path()), 1024 * MIB, 1, Deadline::from_now(20_000_000));
    let mut filling = hurry.filling(1024 * MIB);
    std::thread::sleep(std::time::Duration::from_millis(20));
    for _ in 0..3 {
        assert_eq!(filling.advance(16 * MIB), Ok(()));
    }
    let expected = reason(filling.advance(16 * MIB));
    assert!(
        expected.starts_with("filling 1024 MiB at ") && expected.contains("may take 0.0 s to set up"),
        "{expected}"
    );
    let (mut filling, every) = hurry.filling(64 * MIB).to_device();
    assert_eq!((every, filling.advance(4 * MIB - 1)), (4 * MIB, Ok(())));
    assert!(reason(filling.advance(1)).starts_with("filling 64 MiB at "));
}

#[test]
fn what_cases_before_left_is_a_part_of_the_half_and_gives_way() {
    in_a_worker(|| {
        let machine = Machine::new();
        machine.available(400);
        drop(machine.budget(1).allot(1, 100 * MIB, Pages::Base, None).unwrap().map().unwrap());
        assert_eq!(kept_bytes(), 100 * MIB);
        // The machine has less by what is kept, and half of what it had is 200 MiB: 100 more beside what is kept.
        machine.available(300);
        let budget = machine.budget(1);
        assert!(budget.allot(1, 90 * MIB, Pages::Base, None).is_ok());
        assert_eq!(kept_bytes(), 100 * MIB, "there is room beside it");
        // For more, what is kept is given back first.
        assert!(budget.allot(1, 140 * MIB, Pages::Base, None).is_ok());
        assert_eq!(kept_bytes(), 0);
        assert!(budget.allot(1, 210 * MIB, Pages::Base, None).is_err());
    });
}

const KEPT_MIB: usize = 1 << 20;

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
        let (small, large) = (filled(KEPT_MIB, Pages::Base), filled(4 * KEPT_MIB, Pages::Base));
        let (first, second) = (start(&small), start(&large));
        assert_ne!(first, second, "both are in use");
        drop((small, large));
        assert_eq!(kept_bytes(), 5 * KEPT_MIB as u64);
        // What has been filled most comes first.
        let again = Buffer::kept(2 * KEPT_MIB, Pages::Base, None).unwrap();
        assert_eq!((start(&again), again.bytes().len(), again.filled_bytes()), (second, 2 * KEPT_MIB, 4 * KEPT_MIB));
        let before = thread_faults().unwrap();
        assert!(again.bytes().chunks(64).all(|line| line.iter().any(|&byte| byte != 0)));
        let after = thread_faults().unwrap();
        assert!(after.minor - before.minor < 64, "{before:?} {after:?}");
        drop(again);
        // A longer one than any goes on where that ends.
        let longer = filled(16 * KEPT_MIB, Pages::Base);
        assert_eq!((start(&longer), longer.filled_bytes()), (second, 16 * KEPT_MIB));
    });
}

#[test]
fn what_is_kept_for_further_jobs_is_gone_over_elsewhere_in_each() {
    in_a_worker(|| {
        drop(filled(16 * KEPT_MIB, Pages::Base));
        let places: std::collections::HashSet<usize> = (0..8)
            .map(|seed| {
                keep(Some(seed));
                let buffer = filled(4 * KEPT_MIB, Pages::Base);
                assert_eq!(
                    (buffer.bytes().len(), kept_bytes(), buffer.filled_bytes()),
                    (4 * KEPT_MIB, 0, 16 * KEPT_MIB)
                );
                start(&buffer)
            })
            .collect();
        assert!(places.len() >= 7, "{places:?}");
        let (first, last) = (*places.iter().min().unwrap(), *places.iter().max().unwrap());
        assert!(last - first <= 12 * KEPT_MIB && places.iter().all(|place| place.is_multiple_of(4096)), "{places:?}");
        // What is as long as all of it, or longer, begins at its start.
        let whole = start(&filled(16 * KEPT_MIB, Pages::Base));
        let longer = start(&filled(20 * KEPT_MIB, Pages::Base));
        assert!(whole == longer && whole <= first);
    });
}

#[test]
fn memory_of_other_pages_or_another_cpu_is_another() {
    in_a_worker(|| {
        let base = filled(KEPT_MIB, Pages::Base);
        let first = start(&base);
        drop(base);
        assert_ne!(start(&filled(KEPT_MIB, Pages::Pmd)), first);
        // A thread that may run anywhere touches memory anywhere.
        let elsewhere = std::thread::spawn(|| {
            let all: Vec<usize> = (0..affinity::allowed().unwrap()[0] + 2).collect();
            let _ = affinity::bind(&all);
            let is_bound = affinity::allowed().unwrap().len() == 1;
            (is_bound, start(&filled(KEPT_MIB, Pages::Base)))
        });
        let (is_bound, other) = elsewhere.join().unwrap();
        assert!(is_bound || other != first);
        assert_eq!(start(&filled(KEPT_MIB, Pages::Base)), first);
    });
}

#[test]
fn what_is_kept_is_given_back_and_nothing_is_where_nothing_is_to_be() {
    in_a_worker(|| {
        drop(filled(8 * KEPT_MIB, Pages::Base));
        assert_eq!((release(), kept_bytes(), release()), (8 * KEPT_MIB as u64, 0, 0));
        let in_use = filled(2 * KEPT_MIB, Pages::Base);
        assert_eq!(release(), 0, "what is in use stays");
        drop(in_use);
        assert_eq!(kept_bytes(), 2 * KEPT_MIB as u64);
    });
    in_a_child(|| {
        drop(filled(KEPT_MIB, Pages::Base));
        assert_eq!((kept_bytes(), release()), (0, 0));
        Ok(())
    });
}
