//! The pages of the handbook: the list of probes, and the page that teaches one.

use hostmark_model::{Lang, ProbeInfo, Text};
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::wrap::wrap;
use crate::format::unit_name;

/// Columns of a probe's id and title in the list.
const ID_COLUMNS: usize = 22;
const TITLE_COLUMNS: usize = 24;
const UNIT_COLUMNS: usize = 8;

/// One line a probe: id, title, unit, axes.
pub fn list(probes: &[ProbeInfo], options: &RenderOptions) -> String {
    let line = |probe: &ProbeInfo| {
        let axes: Vec<&str> = probe.axes.iter().map(|axis| axis.name.as_str()).collect();
        let title = padded(probe.title.get(options.lang), TITLE_COLUMNS);
        let unit = padded(unit_name(probe.unit, options.lang), UNIT_COLUMNS);
        let line = format!("{} {title} {unit} {}", padded(&probe.id, ID_COLUMNS), axes.join(" "));
        line.trim_end().to_owned() + "\n"
    };
    probes.iter().map(line).collect()
}

fn padded(text: &str, columns: usize) -> String {
    text.to_owned() + &" ".repeat(columns.saturating_sub(text.width()))
}

const WHAT: Text = Text { en: "What is executed", zh: "执行什么" };
const WHY: Text = Text { en: "Why it matters", zh: "为什么重要" };
const READING: Text = Text { en: "How to read it", zh: "如何解读" };
const AXES: Text = Text { en: "Axes, and their defaults", zh: "轴及其默认值" };
const ALSO: Text = Text { en: "Also yields", zh: "同时给出" };
const REPLACES: Text = Text { en: "Takes the place of lmbench's", zh: "取代 lmbench 的" };

/// The page of one probe.
pub fn page(probe: &ProbeInfo, options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut page = format!("{}   {}   [{}]\n", probe.id, probe.title.get(lang), unit_name(probe.unit, lang));
    let mut section = |title: Text, text: &str| {
        page += &format!("\n{}\n", title.get(lang));
        for line in wrap(text, options.width.saturating_sub(2)) {
            page += &format!("  {line}\n");
        }
    };
    section(WHAT, probe.explain.what.get(lang));
    section(WHY, probe.explain.why.get(lang));
    section(READING, probe.explain.reading.get(lang));
    let axes: Vec<String> = probe.axes.iter().map(|axis| format!("{} = {}", axis.name, axis.default)).collect();
    let also: Vec<String> = probe.also.iter().map(|quantity| quantity.title.get(lang).to_owned()).collect();
    let comma = if lang == Lang::Zh { "、" } else { ", " };
    for (title, parts) in [(AXES, &axes), (ALSO, &also), (REPLACES, &probe.replaces)] {
        if !parts.is_empty() {
            section(title, &parts.join(comma));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostmark_model::{AxisInfo, AxisKind, Better, Explain, Unit};

    fn probe() -> ProbeInfo {
        let text = |en: &str, zh: &str| Text { en: en.to_owned(), zh: zh.to_owned() };
        let long = || text(&"many words ".repeat(40), &"很多汉字".repeat(60));
        ProbeInfo {
            id: "memory.latency".into(),
            title: text("Memory latency", "内存延迟"),
            unit: Unit::Nanoseconds,
            better: Better::Lower,
            also: Vec::new(),
            revision: 1,
            explain: Explain { what: long(), why: long(), reading: long() },
            section: text("Memory", "内存"),
            replaces: vec!["lat_mem_rd".into()],
            axes: vec![AxisInfo { name: "size".into(), kind: AxisKind::Size, default: "4096".into() }],
        }
    }

    #[test]
    fn a_page_keeps_its_width_in_both_languages() {
        for lang in [Lang::En, Lang::Zh] {
            for width in [80, 100] {
                let text = page(&probe(), &RenderOptions { lang, width, ..RenderOptions::default() });
                assert!(text.lines().all(|line| line.width() <= width), "{text}");
                assert!(text.contains("lat_mem_rd") && text.contains("size = 4096"));
            }
        }
    }

    #[test]
    fn the_list_aligns_in_both_languages() {
        for (lang, title) in [(Lang::En, "Memory latency"), (Lang::Zh, "内存延迟")] {
            let line = list(&[probe()], &RenderOptions { lang, ..RenderOptions::default() });
            let before_unit = line.split(" ns ").next().unwrap();
            assert!(before_unit.contains(title));
            assert_eq!(before_unit.width(), ID_COLUMNS + 1 + TITLE_COLUMNS);
        }
    }
}
