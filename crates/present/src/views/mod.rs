//! Views of results: typed values become a document, once for all media.

pub(crate) mod against;
pub(crate) mod changes;
pub(crate) mod compared_series;
pub(crate) mod comparison;
pub(crate) mod constants;
pub(crate) mod data_path;
pub(crate) mod findings;
pub(crate) mod fleet;
pub(crate) mod host;
pub(crate) mod hosts;
pub(crate) mod network;
pub(crate) mod over_time;
pub(crate) mod overhead;
pub(crate) mod probe;
pub(crate) mod run;
pub(crate) mod scaling;

use hostmark_model::{Profile, Text};

pub(crate) const fn profile(profile: Profile) -> Text {
    match profile {
        Profile::Glance => term!("glance"),
        Profile::Quick => term!("quick profile"),
        Profile::Standard => term!("standard profile"),
        Profile::Thorough => term!("thorough profile"),
    }
}
