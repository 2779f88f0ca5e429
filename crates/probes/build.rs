//! Makes of every probe's page, `src/<group>/<name>.md`, the constant that its file begins with, and of `terms.md` the macro `term!`.

use hostmark_texts::{Page, folders, identifier, module, pages, terms, write};

/// The sections of a page, by their headings and the field of `Explain` that each is.
const SECTIONS: [(&str, &str, &str); 5] = [
    ("What", "做什么", "what"),
    ("Why", "为何", "why"),
    ("Reading", "解读", "reading"),
    ("Typical", "常见值", "typical"),
    ("Causes", "原因", "causes"),
];
/// The section that only a page of what lmbench measures too has.
const DIFFERS: (&str, &str) = ("Differs from lmbench", "与 lmbench 的不同");

fn main() {
    let mut out = String::from("pub(crate) use hostmark_engine::prelude::*;\n") + &terms("terms.md");
    for folder in folders("src") {
        let group = identifier(folder.trim_start_matches("src/"));
        let constants: String = pages(&folder).iter().map(|page| constant(&group, page)).collect();
        if !constants.is_empty() {
            out += &module(&group, &constants);
        }
    }
    write(&["src", "terms.md"], &out);
}

fn constant(group: &str, page: &Page) -> String {
    page.allow(SECTIONS.iter().map(|(en, zh, _)| (*en, *zh)).chain([DIFFERS]));
    let sections: String = SECTIONS.iter().map(|(en, zh, field)| format!("{field}: {}, ", page.need(en, zh))).collect();
    let differs = page.get(DIFFERS.0, DIFFERS.1).map_or("None".into(), |text| format!("Some({text})"));
    let [related, replaces] = ["Related", "Replaces"].map(|word| listed(page, word));
    format!(
        "pub const {}: Probe = Probe {{ title: {}, explain: Explain {{ {sections}}}, differs: {differs}, related: &{related:?}, replaces: &{replaces:?}, section: crate::{group}::SECTION, ..Probe::PLAIN }};\n",
        page.name().to_uppercase(),
        page.title,
    )
}

/// The names behind a word at the head of a page.
fn listed<'a>(page: &'a Page, word: &str) -> Vec<&'a str> {
    let line = page.head.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(": "));
    line.map_or_else(Vec::new, |names| names.split(", ").collect())
}
