//! Presentation of runs: for people in a terminal, on a page and in markdown; for programs in their formats.
#![forbid(unsafe_code)]

/// The long texts, made of the Markdown files beside the code, and the macro `term!` of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

mod chart;
mod document;
pub mod export;
pub mod html;
mod print;
pub mod render;
mod runs;
pub mod tables;
mod views;
mod words;
pub mod wrap;

use hostmark_model::Lang;

/// Options of a person for the display of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderOptions {
    /// Columns of the terminal that may be used, from 60 to 200; what is under 40 is taken as 40.
    pub width: usize,
    /// True where colour may be used; nothing depends on it. The caller decides on NO_COLOR.
    pub color: bool,
    pub lang: Lang,
    /// True to show every interval, remark and id.
    pub verbose: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions { width: 100, color: false, lang: Lang::En, verbose: false }
    }
}
