//! Mappings, protection, barriers.

pub mod balloon;
pub mod heap;
pub mod mapping;
pub mod membarrier;
pub mod pagemap;
pub mod protection;
pub mod sparse;
pub mod user_faults;
