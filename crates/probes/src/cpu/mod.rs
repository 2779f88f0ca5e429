//! Group cpu: the core itself.

mod frequency;
mod sieve;

crate::group!("cpu": frequency sieve);
