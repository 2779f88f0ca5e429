//! Programs and threads: started, waited for, ended.

pub mod command;
pub mod hog;
pub mod program;
pub mod small_parent;
