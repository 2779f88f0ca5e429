//! Where a program runs: here, behind a command, and in a guest that is booted for it.

mod guest;
mod places;
#[path = "../../../tests/support/skip.rs"]
mod skip;
#[path = "../../../tests/support/sshd.rs"]
mod sshd;
