//! A series: runs of one host, one every so often, as `hostmark watch` keeps them.

use serde::{Deserialize, Serialize};

/// Of which series a run is a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesTurn {
    /// The series.
    pub name: String,
    /// From the start of one turn to that of the next, seconds.
    pub every_s: f64,
    /// When the last turn is to begin, RFC 3339, UTC; none where something else starts each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}
