//! Rules on the two languages: every text is there in both, and each is what it says it is.

use hostmark_engine::probe::{Catalogue, entries};
use hostmark_model::Text;
use hostmark_report::findings::Rule;

/// A text, and where it stands.
pub type Placed = (String, Text);

/// Every text of a catalogue.
pub fn of_probes(catalogue: Catalogue) -> Vec<Placed> {
    let mut texts = Vec::new();
    for entry in entries(catalogue) {
        let (id, probe) = (entry.id(), entry.probe);
        let mut add = |field: &str, text: Text| texts.push((format!("{id} {field}"), text));
        add("title", probe.title);
        add("explain.what", probe.explain.what);
        add("explain.why", probe.explain.why);
        add("explain.reading", probe.explain.reading);
        add("section", probe.section);
        probe.also.iter().for_each(|quantity| add(quantity.name, quantity.title));
    }
    texts
}

/// Every fixed text of the rules that draw findings.
pub fn of_rules(rules: &[&Rule]) -> Vec<Placed> {
    rules.iter().filter_map(|rule| Some((format!("{} cure", rule.id), rule.cure?))).collect()
}

/// Texts that lack a language, or have one in the place of the other.
pub fn wrong(texts: &[Placed]) -> Vec<String> {
    let mut found = Vec::new();
    for (place, text) in texts {
        let mut say = |what: &str| found.push(format!("{place}: {what}"));
        if text.en.trim().is_empty() || text.zh.trim().is_empty() {
            say("a language is missing");
        } else if text.en == text.zh {
            say("both languages say the same");
        } else {
            if text.en.chars().any(is_chinese) {
                say("the English text has Chinese in it");
            }
            if !text.zh.chars().any(is_chinese) {
                say("the Chinese text has none");
            }
        }
    }
    found
}

/// Ideographs, and the punctuation and wide letters that come with them.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

#[test]
fn a_missing_or_misplaced_language_is_found() {
    let placed = |en: &'static str, zh: &'static str| ("a.b title".to_owned(), Text { en, zh });
    let texts = [
        placed("Pipe", "管道"),
        placed("Pipe", ""),
        placed(" ", "管道"),
        placed("Pipe", "Pipe"),
        placed("Pipe", "pipe"),
        placed("管道", "管道 "),
        placed("≈ 3 µs …", "约 3 µs"),
    ];
    let found = wrong(&texts);
    assert_eq!(found.len(), 5, "{found:?}");
}
