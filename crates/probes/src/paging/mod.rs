//! Group paging: pages that come, go, and change what may be done with them.

mod fault;
mod mmap;
mod protect;
mod protection_fault;

crate::group!("paging": fault mmap protect protection_fault);
