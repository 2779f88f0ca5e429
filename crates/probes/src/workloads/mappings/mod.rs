//! Mappings, protection, barriers.

pub mod heap;
pub mod mapping;
pub mod protection;
