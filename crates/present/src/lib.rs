//! Presentation of runs: for people in a terminal, on a page and in markdown; for programs in their formats.
#![forbid(unsafe_code)]

/// The long texts, made of the Markdown files beside the code, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

mod chart;
mod document;
mod estimators;
pub mod export;
mod flags;
pub mod html;
mod markup;
mod options;
mod print;
pub mod render;
mod runs;
pub mod tables;
mod views;
mod words;
pub mod wrap;

pub use options::RenderOptions;
