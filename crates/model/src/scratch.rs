//! Directories that a run makes for itself alone, as its own processes tell each other of them.

use serde::{Deserialize, Serialize};

use crate::Reason;

/// A path as the kernel takes it: bytes, which need not be UTF-8 and may hold a newline. In JSON an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PathBytes(pub Vec<u8>);

/// Where a run's files may lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scratch {
    /// A directory that this run made, which belongs to its user and which no other may enter.
    Made {
        /// Its path when it was made. Who may write to the directory above can move it: what is found there counts only
        /// when it is on this device and has this inode.
        path: PathBytes,
        /// The device that it lies on.
        device: u64,
        /// Its inode there.
        inode: u64,
    },
    /// There is none, and why: a sentence that ends with what to do.
    Missing(Reason),
}
