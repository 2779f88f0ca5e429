//! A document as text: one printer for each medium, none of which knows what the document is about.

pub(crate) mod console;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod plain;
