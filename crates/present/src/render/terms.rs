//! The words of a report's head that are no probe, for `hostmark explain`.

use hostmark_model::Text;

use super::RenderOptions;
use crate::texts::render::terms as texts;
use crate::wrap::hanging;

const WIDEST: usize = 100;

/// Terms of a report, by their names in either language, and their meaning.
const TERMS: [(Text, Text); 7] = [
    (term!("TRUST"), texts::TRUST),
    (term!("undisturbed"), texts::QUIET),
    (term!("median"), texts::TYPICAL),
    (Text::name("±"), texts::PLUS_MINUS),
    (term!("usual"), texts::USUAL),
    (term!("unsteady"), texts::UNSTEADY),
    (term!("FINDINGS"), texts::FINDINGS),
];

/// Words that another term's page explains.
const SAME_PAGE: [(Text, &str); 8] = [
    (term!("a repeat"), "±"),
    (term!("NEXT"), "FINDINGS"),
    (term!("quiet"), "undisturbed"),
    (term!("typical"), "median"),
    (term!("similar servers"), "usual"),
    (term!("as usual"), "usual"),
    (term!("slower"), "usual"),
    (term!("perhaps slower"), "usual"),
];

/// Every term with what it means.
pub fn all() -> impl Iterator<Item = (Text, Text)> {
    TERMS.into_iter()
}

/// Meaning of a term, under its name; none for other words.
pub fn term(name: &str, options: &RenderOptions) -> Option<String> {
    let name = SAME_PAGE.iter().find(|(called, _)| called.is_called(name)).map_or(name, |(_, term)| *term);
    let (called, meaning) = TERMS.iter().find(|(called, _)| called.is_called(name))?;
    let [called, meaning] = [called, meaning].map(|text| text.get(options.lang));
    Some(format!("{called}\n\n{}", hanging("  ", meaning, options.width.min(WIDEST))))
}
