//! Times of single operations, counted by value.

use serde::{Deserialize, Serialize};

/// Times of single operations, counted by value as an HdrHistogram with three significant digits does it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Ascending, ns: the middle of each range that holds operations. A range is a thousandth of its value wide at most.
    pub values: Vec<u64>,
    /// Operations in each.
    pub counts: Vec<u64>,
}
