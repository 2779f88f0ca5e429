//! The waits in a model: every interleaving of two parties is gone through, and one in which both sleep for ever fails.

use loom::sync::atomic::AtomicU32;
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::*;

/// A word of the model. The kernel looks at the value and goes to sleep under one lock, which who wakes takes as well.
#[derive(Debug, Default)]
pub struct ModelWord {
    value: AtomicU32,
    lock: Mutex<()>,
    sleepers: Condvar,
}

impl Word for ModelWord {
    fn load(&self, ordering: Ordering) -> u32 {
        self.value.load(ordering)
    }

    fn store(&self, value: u32, ordering: Ordering) {
        // In the model, as not in a memory, a plain store is in no order with a swap of another party.
        self.value.swap(value, ordering);
    }

    fn swap(&self, value: u32, ordering: Ordering) -> u32 {
        self.value.swap(value, ordering)
    }

    fn add(&self, more: u32, ordering: Ordering) {
        self.value.fetch_add(more, ordering);
    }

    fn sleep_while(&self, value: u32) -> io::Result<()> {
        let lock = self.lock.lock().unwrap();
        if self.value.load(Ordering::SeqCst) == value {
            drop(self.sleepers.wait(lock).unwrap());
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        let _lock = self.lock.lock().unwrap();
        self.sleepers.notify_one();
        Ok(())
    }

    fn fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    fn pause() {
        thread::yield_now();
    }
}

/// Runs `parties` in all interleavings in which a party is interrupted at most `interruptions` times.
pub fn every_interleaving(interruptions: usize, parties: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions);
    model.check(parties);
}
