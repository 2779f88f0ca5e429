//! A line or a block of a help page.

/// A term and what is said of it.
#[derive(Debug, Clone, Default)]
pub struct HelpEntry {
    /// As it is typed.
    pub term: String,
    /// In one line.
    pub short: String,
    /// In paragraphs.
    pub text: Vec<String>,
}
