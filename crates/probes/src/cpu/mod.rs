//! Group cpu: the core itself.

mod frequency;

crate::group!("cpu": frequency);
