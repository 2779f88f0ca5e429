//! A run for the eye: the console's tables, and markdown.

pub mod against;
pub mod card;
pub mod columns;
pub mod console;
pub mod handbook;
pub mod host;
pub mod markdown;
pub mod references;
pub mod terms;
pub mod trial;

use crate::RenderOptions;
