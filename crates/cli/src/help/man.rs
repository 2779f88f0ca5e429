//! Manual pages in roff, from the same pages as the help.

use hostmark_model::Lang;
use roff::{Roff, bold, roman};

use super::page::{HelpPage, HelpSection, SectionKind};
use super::topics;

pub fn page(page: &HelpPage, lang: Lang) -> String {
    let mut roff = Roff::new();
    let name = page.name.replace(' ', "-");
    roff.control("TH", [name.to_uppercase().as_str(), "1", "", concat!("hostmark ", env!("CARGO_PKG_VERSION"))]);
    heading(&mut roff, topics::heading("Name", lang));
    roff.text([roman(format!("{name} - {}", page.about))]);
    heading(&mut roff, topics::heading("Synopsis", lang));
    body(&mut roff, page);
    roff.to_roff()
}

/// One page of the program and all its commands.
pub fn whole(pages: &[HelpPage], lang: Lang) -> String {
    let Some((own, rest)) = pages.split_first() else { return String::new() };
    let mut text = self::page(own, lang);
    for part in rest {
        let mut roff = Roff::new();
        heading(&mut roff, &part.name);
        roff.text([roman(part.about.clone())]);
        roff.control("PP", []);
        body(&mut roff, part);
        text.push_str(&roff.to_roff());
    }
    text
}

fn heading(roff: &mut Roff, text: &str) {
    roff.control("SH", [text.to_uppercase().as_str()]);
}

fn body(roff: &mut Roff, page: &HelpPage) {
    roff.text([bold(page.usage.clone())]);
    for section in &page.sections {
        self::section(roff, section);
    }
}

fn section(roff: &mut Roff, section: &HelpSection) {
    heading(roff, &section.heading);
    for entry in &section.entries {
        roff.control("TP", []);
        roff.text([bold(entry.term.trim_start().to_owned())]);
        for (index, paragraph) in entry.text.iter().enumerate() {
            if index > 0 {
                roff.control(if section.kind == SectionKind::Options { "br" } else { "sp" }, []);
            }
            roff.text([roman(paragraph.clone())]);
        }
    }
}
