//! Group cpu: the core itself.

mod frequency;
mod scaling;
mod sieve;

crate::group!("cpu": frequency sieve scaling);
