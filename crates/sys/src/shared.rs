//! Memory that a process shares with the children it forks.

use std::io;
use std::ptr::NonNull;

use hostmark_say::say;

use super::call::named;

/// A value in memory that is shared with children forked later; unmapped when dropped, and never dropped itself.
#[derive(Debug)]
pub struct Shared<T: Sync>(NonNull<T>);

impl<T: Sync> Shared<T> {
    /// Maps memory and moves `value` there.
    pub fn new(value: T) -> io::Result<Shared<T>> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>().max(1), protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(named("mmap", io::Error::last_os_error()));
        }
        let place = NonNull::new(address.cast::<T>()).ok_or_else(|| io::Error::other(say!("mmap gave address 0")))?;
        // SAFETY: the mapping is as long as the value, writable, nobody else's, and aligned to a page.
        unsafe { place.write(value) };
        Ok(Shared(place))
    }
}

// SAFETY: it owns a value that several threads may use, and that may be unmapped by any of them.
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: it gives nothing out but shared references to a value that several threads may use.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T: Sync> std::ops::Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it was written when it was made, lives as long as self, and T may be used by several at once.
        unsafe { self.0.as_ref() }
    }
}

impl<T: Sync> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; no borrow outlives self.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<T>().max(1)) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::process::in_a_child;

    #[test]
    fn what_a_child_writes_is_seen_here() {
        let word = Shared::new(AtomicU32::new(1)).unwrap();
        in_a_child(|| {
            word.store(7, Ordering::Release);
            Ok(())
        });
        assert_eq!(word.load(Ordering::Acquire), 7);
    }
}
