//! Programs and threads: started, waited for, ended.

pub mod command;
pub mod fork;
pub mod hog;
pub(crate) mod keeper;
pub mod program;
pub mod small_parent;
pub mod thread;
