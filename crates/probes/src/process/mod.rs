//! Group process: making processes and ending them.

mod fork_exit;

crate::group!("process": fork_exit);
