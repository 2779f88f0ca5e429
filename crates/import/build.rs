//! Makes `texts` of what importers say of their values, `src/<name>.md`, and of `terms.md`.

use hostmark_texts::{Page, Pair, fail, identifier, pages, placeholders, terms, write};

fn main() {
    let out: String = pages("src").iter().map(module_of).collect();
    write(&["src", "terms.md"], &format!("pub(crate) use hostmark_model::Text;\n{out}{}", terms("terms.md")));
}

/// The module of a page: `TEXTS` by their headings, and a macro for each text that has placeholders.
fn module_of(page: &Page) -> String {
    let (mut rows, mut macros) = (String::new(), String::new());
    for (Pair { en, zh }, body) in &page.sections {
        if en != zh {
            fail(&page.path, &format!("'{en}' is called '{zh}' in the other half"));
        }
        match placeholders(&body.en) {
            Ok(names) if names.is_empty() => rows += &format!("({en:?}, {body}),\n"),
            _ => macros += &body.template(&identifier(en)),
        }
    }
    let table = format!("use super::Text;\npub const TEXTS: &[(&str, Text)] = &[\n{rows}];\n");
    format!("pub(crate) mod {} {{\n{}{macros}}}\n", page.name(), if rows.is_empty() { "" } else { &table })
}
