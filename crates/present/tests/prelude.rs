//! Names that most tests use: the parts of a run, comparisons and fleets, the formats that show them, and made-up runs.

pub use std::collections::{BTreeSet, HashMap, HashSet};
pub use std::path::Path;

pub use hostmark_analysis::compare::{Comparison, History, Pool, ReasonKind, SAME, Verdict};
pub use hostmark_analysis::findings::findings;
pub use hostmark_analysis::fleet::{Fleet, Gathering};
pub use hostmark_model::*;
pub use hostmark_present::RenderOptions;
pub use hostmark_present::export::{self, comparison, fleet, format_named};
pub use serde_json::Value;
pub use unicode_width::UnicodeWidthStr;

pub(crate) use crate::{synthetic, thorough};
