//! What is said of a result: typed values become a document, once for all media.

pub(crate) mod comparison;
pub(crate) mod fleet;
pub(crate) mod network;
pub(crate) mod overhead;
