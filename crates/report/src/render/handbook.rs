//! The pages of the handbook: the list of probes, and the page that teaches one.

use hostmark_model::{Lang, ProbeInfo, Text};
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::wrap::wrap;
use crate::format::unit_name;

/// Columns of a probe's id, title and unit in the list, where nothing in them is longer.
const COLUMNS: [usize; 3] = [22, 24, 8];

/// One line a probe: id, title, unit, axes, needs.
pub fn list(probes: &[ProbeInfo], options: &RenderOptions) -> String {
    let cells = |probe: &ProbeInfo| {
        [probe.id.clone(), probe.title.get(options.lang).to_owned(), unit_name(probe.unit, options.lang).to_owned()]
    };
    let rows: Vec<[String; 3]> = probes.iter().map(cells).collect();
    let columns: [usize; 3] = std::array::from_fn(|index| {
        rows.iter().map(|row| row[index].width()).chain([COLUMNS[index]]).max().unwrap_or_default()
    });
    let line = |(row, probe): (&[String; 3], &ProbeInfo)| {
        let axes: Vec<&str> = probe.axes.iter().map(|axis| axis.name.as_str()).collect();
        let mut line: String = row.iter().zip(columns).map(|(cell, columns)| padded(cell, columns) + " ").collect();
        line += &axes.join(" ");
        if !probe.needs.is_empty() {
            let gap = if axes.is_empty() { "" } else { "   " };
            line += &format!("{gap}{} {}", NEEDED.get(options.lang), probe.needs.join(" "));
        }
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().zip(probes).map(line).collect()
}

fn padded(text: &str, columns: usize) -> String {
    text.to_owned() + &" ".repeat(columns.saturating_sub(text.width()))
}

const WHAT: Text = Text { en: "What is executed", zh: "执行什么" };
const WHY: Text = Text { en: "Why it matters", zh: "为什么重要" };
const READING: Text = Text { en: "How to read it", zh: "如何解读" };
const AXES: Text = Text { en: "Axes, and their defaults", zh: "轴及其默认值" };
const ALSO: Text = Text { en: "Also yields", zh: "同时给出" };
const NEEDED: Text = Text { en: "needs", zh: "需要" };
const NEEDS: Text = Text { en: "Needs", zh: "需要" };
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
    for (title, parts) in [(AXES, &axes), (ALSO, &also), (NEEDS, &probe.needs), (REPLACES, &probe.replaces)] {
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
            needs: vec!["cpus>=2".into(), "root".into()],
            brought_by: Vec::new(),
        }
    }

    #[test]
    fn a_page_keeps_its_width_in_both_languages() {
        for lang in [Lang::En, Lang::Zh] {
            for width in [80, 100] {
                let text = page(&probe(), &RenderOptions { lang, width, ..RenderOptions::default() });
                assert!(text.lines().all(|line| line.width() <= width), "{text}");
                assert!(["lat_mem_rd", "size = 4096", "cpus>=2"].iter().all(|part| text.contains(part)));
            }
        }
    }

    #[test]
    fn a_title_longer_than_its_column_moves_the_column_for_all() {
        let mut long = probe();
        long.title.en = "A title of more than twenty-four columns".into();
        let text = list(&[probe(), long], &RenderOptions::default());
        let units: Vec<_> = text.lines().map(|line| line.find(" ns ").unwrap()).collect();
        assert!(units[0] == units[1] && units[0] > COLUMNS[0] + COLUMNS[1] + 2, "{text}");
    }

    #[test]
    fn the_list_names_axes_and_needs() {
        for (lang, end) in [(Lang::En, " size   needs cpus>=2 root\n"), (Lang::Zh, " size   需要 cpus>=2 root\n")] {
            let text = list(&[probe()], &RenderOptions { lang, ..RenderOptions::default() });
            assert!(text.ends_with(end), "{text}");
            let plain = ProbeInfo { needs: Vec::new(), ..probe() };
            assert!(list(&[plain], &RenderOptions { lang, ..RenderOptions::default() }).ends_with(" size\n"));
        }
    }

    #[test]
    fn the_list_aligns_in_both_languages() {
        for (lang, title) in [(Lang::En, "Memory latency"), (Lang::Zh, "内存延迟")] {
            let text = list(&[probe()], &RenderOptions { lang, ..RenderOptions::default() });
            let before_unit = text.split(" ns ").next().unwrap();
            assert!(before_unit.contains(title));
            assert_eq!(before_unit.width(), COLUMNS[0] + 1 + COLUMNS[1]);
        }
    }
}
