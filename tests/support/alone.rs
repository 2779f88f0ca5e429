//! One test at a time of those that time something or count what is there, and meanwhile none of those beside them.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static ONE_AT_A_TIME: RwLock<()> = RwLock::new(());

/// Waits until no other test of the program holds this or [`beside`]; one that failed does not keep the others from theirs.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    ONE_AT_A_TIME.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits until no other test of the program is [`alone`], for those that others like them may run beside.
pub fn beside() -> RwLockReadGuard<'static, ()> {
    ONE_AT_A_TIME.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}
