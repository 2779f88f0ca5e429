//! Group sched: from one flow of control to another.

mod ucontext;

crate::group!("sched": ucontext);
