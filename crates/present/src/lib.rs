//! How is a run shown? For people in a terminal, on a page and in markdown; for programs in their formats.
#![forbid(unsafe_code)]

mod chart;
mod document;
mod estimators;
pub mod export;
pub mod html;
mod markup;
mod options;
mod print;
pub mod render;
pub mod tables;
mod views;
pub mod wrap;

pub use options::RenderOptions;
