//! Makes `texts` of what importers say of their values, `src/<name>.md`, and of `terms.md`, and lists the formats `src/<name>.json`.

use hostmark_texts::{Page, Pair, fail, identifier, pages, placeholders, slice, terms, write};

fn main() {
    let pages = pages("src");
    let out: String = pages.iter().map(module_of).collect();
    let formats = slice("DESCRIBED", "DescribedText", pages.iter().filter_map(format_of));
    let uses = "pub(crate) use hostmark_model::Text;\ntype DescribedText = (&'static str, &'static str, &'static [(&'static str, Text)]);";
    write(&["src", "terms.md"], &format!("{uses}\n{formats}{out}{}", terms("terms.md")));
}

/// The name of the format that a file beside the page describes, the file and its texts.
fn format_of(page: &Page) -> Option<String> {
    let file = page.path.with_extension("json").canonicalize().ok()?;
    Some(format!("({:?}, include_str!({file:?}), {}::TEXTS)", page.name().replace('_', "-"), page.name()))
}

/// The module of a page: `TEXTS` by their headings, and a macro for each text that has placeholders, unless a file describes the format.
fn module_of(page: &Page) -> String {
    let (mut rows, mut macros) = (String::new(), String::new());
    for (Pair { en, zh }, body) in &page.sections {
        if en != zh {
            fail(&page.path, &format!("'{en}' is called '{zh}' in the other half"));
        }
        match placeholders(&body.en) {
            Ok(names) if names.is_empty() || page.path.with_extension("json").exists() => {
                rows += &format!("({en:?}, {body}),\n")
            }
            _ => macros += &body.template(&identifier(en)),
        }
    }
    let table = format!("use super::Text;\npub const TEXTS: &[(&str, Text)] = &[\n{rows}];\n");
    format!("pub(crate) mod {} {{\n{}{macros}}}\n", page.name(), if rows.is_empty() { "" } else { &table })
}
