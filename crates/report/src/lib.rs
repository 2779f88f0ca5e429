//! What does a run mean? Numbers for people, tables, export formats and findings, all from a run file alone.
#![forbid(unsafe_code)]

mod bars;
mod bilingual;
pub mod compare;
pub mod consistency;
mod constants;
mod curve;
mod cut_pages;
mod data_path;
mod difference;
mod duration;
pub mod escape;
mod estimators;
pub mod export;
pub mod findings;
pub mod fleet;
pub mod format;
mod guest;
pub mod html;
pub mod import;
mod joined;
mod labels;
mod levels;
pub mod lmbench;
mod neighbours;
pub mod network;
mod overhead;
mod plain_table;
pub mod reasons;
pub mod redact;
pub mod references;
pub mod render;
pub mod repetition;
mod short_arrays;
mod stream_times;
pub mod tables;
pub mod timestamp;
pub mod trust;

pub use findings::findings;
pub use render::RenderOptions;
