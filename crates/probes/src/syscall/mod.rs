//! Group syscall: what it costs to enter the kernel for one small thing.

mod null;

crate::group!("syscall": null);
