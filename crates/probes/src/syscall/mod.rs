//! Group syscall: what it costs to enter the kernel for one small thing.

mod getpid;
mod null;
mod read_zero;
mod write_null;

crate::group!("syscall": null getpid read_zero write_null);
