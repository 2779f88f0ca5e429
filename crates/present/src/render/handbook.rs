//! The handbook: its table of contents, and the page that teaches a probe.

use hostmark_analysis::format::unit_name;
use hostmark_analysis::lmbench::TABLES;
use hostmark_model::{Lang, ProbeInfo, Text, typed_value};
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use crate::texts;
use crate::wrap::hanging;

/// Columns of a probe's id, title and unit in the contents, where nothing in them is longer.
const COLUMNS: [usize; 3] = [22, 24, 8];

/// Columns behind the unit from which on axes and needs stand there.
const LEAST_BEHIND: usize = 18;

/// The widest line of a page.
const WIDEST_PROSE: usize = 100;

/// The table of contents: the probes by section, a line each with id, title, unit, axes and needs.
pub fn contents(probes: &[ProbeInfo], options: &RenderOptions) -> String {
    let lang = options.lang;
    let cells = |probe: &ProbeInfo| {
        [probe.id.clone(), probe.title.get(lang).to_owned(), unit_name(probe.unit).get(lang).to_owned()]
    };
    let rows: Vec<[String; 3]> = probes.iter().map(cells).collect();
    let columns: [usize; 3] = std::array::from_fn(|index| {
        rows.iter().map(|row| row[index].width()).chain([COLUMNS[index]]).max().unwrap_or_default()
    });
    let lead = 2 + columns.iter().map(|columns| columns + 1).sum::<usize>();
    let line = |row: &[String; 3], probe: &ProbeInfo| {
        let axes: Vec<&str> = probe.axes.iter().map(|axis| axis.name.as_str()).collect();
        let mut behind = axes.join(" ");
        if !probe.needs.is_empty() {
            let gap = if axes.is_empty() { "" } else { "   " };
            behind += &format!("{gap}{} {}", term!("needs").get(lang), probe.needs.join(" "));
        }
        if lead + LEAST_BEHIND <= options.width {
            let pad = |(cell, columns): (&String, usize)| cell.to_owned() + &" ".repeat(columns + 1 - cell.width());
            let before: String = row.iter().zip(columns).map(pad).collect();
            return hanging(&format!("  {before}"), &behind, options.width);
        }
        // Where there is no room for columns: the id, its title behind it where that fits, and the rest below.
        let [id, title, unit] = row;
        let below = [title.as_str(), unit, &behind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        hanging("  ", id, options.width) + &hanging("      ", &below.join("   "), options.width)
    };
    let mut sections: Vec<&str> = Vec::new();
    for probe in probes {
        let section = probe.section.get(lang);
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    let mut text = String::new();
    for section in sections {
        text += &hanging("", &section.to_uppercase(), options.width);
        let of_section = rows.iter().zip(probes).filter(|(_, probe)| probe.section.get(lang) == section);
        text.extend(of_section.map(|(row, probe)| line(row, probe)));
        text += "\n";
    }
    text + &hanging("", &format!("{}\n", PAGES.get(lang)), options.width)
}

const PAGES: Text = term!("hostmark explain PROBE prints its page, and explain GROUP those of a group.");
const READING: Text = term!("How to read it");
const TYPICAL: Text = term!("Typical figures, and their source");
const CAUSES: Text = term!("Usual causes of a bad value");
const NEEDS: Text = term!("Needs");
const COLUMN: Text = term!("in its summary: ");
const DIFFERS: Text = term!("How the method differs from lmbench's");
const RELATED: Text = term!("Related probes");

pub fn page(probe: &ProbeInfo, options: &RenderOptions) -> String {
    let lang = options.lang;
    let comma = term!(", ", "list").say(lang);
    let explain = &probe.explain;
    let axes: Vec<String> =
        probe.axes.iter().map(|axis| format!("{} = {}", axis.name, typed_value(axis.kind, &axis.default))).collect();
    let also: Vec<&str> = probe.also.iter().map(|quantity| quantity.title.get(lang)).collect();
    let mut replaces = probe.replaces.join(comma);
    let columns = columns(&probe.id, lang);
    if !columns.is_empty() {
        replaces += &format!("   {}{}", COLUMN.get(lang), columns.join(comma));
    }
    let sections = [
        (term!("What is executed"), explain.what.get(lang)),
        (term!("Why it matters"), explain.why.get(lang)),
        (READING, explain.reading.get(lang)),
        (TYPICAL, explain.typical.get(lang)),
        (CAUSES, explain.causes.get(lang)),
        (term!("Axes, and their defaults"), &axes.join(comma)),
        (term!("Also yields"), &also.join(comma)),
        (NEEDS, &probe.needs.join(comma)),
        (term!("Takes the place of lmbench's"), &replaces),
        (DIFFERS, probe.differs.as_ref().map_or("", |text| text.get(lang))),
        (RELATED, &probe.related.join(comma)),
        (term!("Terms used on all pages"), texts::render::handbook::MEANT.get(lang)),
    ];
    // Lines of prose are read best when they are not long.
    let width = options.width.min(WIDEST_PROSE);
    let head = format!("{}   {}   [{}]", probe.id, probe.title.get(lang), unit_name(probe.unit).get(lang));
    let mut page = hanging("", &head, width);
    for (title, text) in sections.into_iter().filter(|(_, text)| !text.is_empty()) {
        page += &format!("\n{}", hanging("", title.get(lang), width));
        page += &hanging("  ", text, width);
    }
    page
}

/// The columns of lmbench's summary that the probe has values for, in its order.
fn columns(id: &str, lang: Lang) -> Vec<String> {
    let mut heads: Vec<String> = Vec::new();
    for column in TABLES.iter().flat_map(|table| table.columns) {
        if column.ours.points().iter().any(|point| point.probe == id) {
            let head = column.head.get(lang).replace("/\n", "/").replace('\n', " ");
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
    }
    heads
}

/// The pages of several probes, with a rule between them.
pub fn pages(probes: &[ProbeInfo], options: &RenderOptions) -> String {
    let rule = format!("\n{}\n", "─".repeat(options.width.min(WIDEST_PROSE)));
    probes.iter().map(|probe| page(probe, options)).collect::<Vec<String>>().join(&rule)
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
            explain: Explain { what: long(), why: long(), reading: long(), typical: long(), causes: long() },
            section: text("Memory", "内存"),
            related: vec!["memory.tlb".into(), "memory.read".into()],
            replaces: vec!["lat_mem_rd".into()],
            differs: Some(long()),
            axes: vec![AxisInfo { name: "size".into(), kind: AxisKind::Size, default: "4096".into() }],
            needs: vec!["cpus>=2".into(), "root".into()],
            brought_by: Vec::new(),
        }
    }

    #[test]
    fn a_title_longer_than_its_column_moves_the_column_for_all() {
        let mut long = probe();
        long.title.en = "A title of more than twenty-four columns".into();
        let text = contents(&[probe(), long], &RenderOptions::default());
        let units: Vec<_> = text.lines().filter_map(|line| line.find(" ns ")).collect();
        assert!(units.len() == 2 && units[0] == units[1] && units[0] > COLUMNS[0] + COLUMNS[1] + 4, "{text}");
    }

    #[test]
    fn the_list_names_axes_and_needs() {
        for (lang, end) in [(Lang::En, " size   needs cpus>=2 root\n"), (Lang::Zh, " size   需要 cpus>=2 root\n")] {
            let text = contents(&[probe()], &RenderOptions { lang, ..RenderOptions::default() });
            assert!(text.contains(end), "{text}");
            let plain = ProbeInfo { needs: Vec::new(), ..probe() };
            assert!(contents(&[plain], &RenderOptions { lang, ..RenderOptions::default() }).contains(" size\n"));
        }
    }

    #[test]
    fn the_list_aligns_in_both_languages() {
        for (lang, title) in [(Lang::En, "Memory latency"), (Lang::Zh, "内存延迟")] {
            let text = contents(&[probe()], &RenderOptions { lang, ..RenderOptions::default() });
            let before_unit = text.lines().nth(1).unwrap().split(" ns ").next().unwrap();
            assert!(before_unit.contains(title));
            assert_eq!(before_unit.width(), 2 + COLUMNS[0] + 1 + COLUMNS[1]);
        }
    }

    #[test]
    fn the_contents_have_each_section_once_and_a_line_for_each_probe() {
        let text = |en: &str, zh: &str| Text { en: en.to_owned(), zh: zh.to_owned() };
        let of = |id: &str, section: Text<String>| ProbeInfo { id: id.into(), section, ..probe() };
        let core = || text("Core", "核心");
        let probes = [of("memory.latency", text("Memory", "内存")), of("cpu.a", core()), of("cpu.b", core())];
        let english = contents(&probes, &RenderOptions::default());
        let starts: Vec<&str> = english.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(starts, ["MEMORY", "memory.latency", "CORE", "cpu.a", "cpu.b", "hostmark"], "{english}");
        let chinese = contents(&probes, &RenderOptions { lang: Lang::Zh, ..RenderOptions::default() });
        assert!(chinese.contains("核心\n  cpu.a") && !chinese.contains("CORE"), "{chinese}");
    }

    #[test]
    fn a_page_has_every_section_that_it_has_a_text_for_and_no_other() {
        let titles = [TYPICAL, CAUSES, DIFFERS, RELATED, NEEDS];
        for lang in [Lang::En, Lang::Zh] {
            let options = RenderOptions { lang, ..RenderOptions::default() };
            let full = page(&probe(), &options);
            assert!(titles.iter().all(|title| full.contains(&format!("\n{}\n  ", title.get(lang)))), "{full}");
            // As the file of an import tells of a probe.
            let explain = Explain { typical: Text::default(), causes: Text::default(), ..probe().explain };
            let old = ProbeInfo { explain, related: Vec::new(), differs: None, needs: Vec::new(), ..probe() };
            let old = page(&old, &options);
            assert!(!titles.iter().any(|title| old.contains(title.get(lang))), "{old}");
            assert!(old.contains(READING.get(lang)), "{old}");
        }
    }

    #[test]
    fn a_page_names_the_columns_of_the_summary() {
        let text = page(&probe(), &RenderOptions::default());
        assert!(text.contains("lat_mem_rd   in its summary: Rand mem\n"), "{text}");
        let other = ProbeInfo { id: "memory.unknown".into(), ..probe() };
        assert!(!page(&other, &RenderOptions::default()).contains(COLUMN.en));
    }
}
