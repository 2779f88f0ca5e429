//! Group sched: from one flow of control to another.

mod context_switch;
mod ipi;
mod messaging;
mod noise;
mod ucontext;
mod wakeup;

crate::group!("sched", shares_worker true: context_switch ucontext wakeup messaging ipi noise);
