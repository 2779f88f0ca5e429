//! How is a run shown? For people in a terminal, on a page and in markdown; for programs in their formats.
#![forbid(unsafe_code)]

mod estimators;
pub mod export;
pub mod html;
pub mod render;
pub mod tables;

pub use render::RenderOptions;
