//! Group sched: from one flow of control to another.

mod context_switch;
mod ucontext;

crate::group!("sched": context_switch ucontext);
