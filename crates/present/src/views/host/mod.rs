//! The facts of a host, a table for each part of it.

mod hardware;
mod system;

use hostmark_analysis::bilingual::{Words, fixed, same};
use hostmark_model::{HostReport, Lang, Text};

use crate::document::{Cell, Row, Table, TableLayout};

/// A label in front of facts a row; what nobody tells has no facts.
pub(crate) fn facts(report: &HostReport) -> Vec<Table> {
    let parts = [hardware::cpu, hardware::memory, system::kernel, system::limits, hardware::devices];
    let table = |fill: fn(&HostReport, &mut Block)| {
        let [en, zh] = [Lang::En, Lang::Zh].map(|lang| {
            let mut block = Block { lang, title: Text::default(), remark: String::new(), rows: Vec::new() };
            fill(report, &mut block);
            block
        });
        let row = |((label, en), (_, zh)): ((Text, Vec<String>), (Text, Vec<String>))| {
            let lines = en.into_iter().zip(zh).map(|(en, zh)| Words { en, zh }).filter(|fact| !fact.en.is_empty());
            let facts = Cell { lines: lines.collect(), ..Cell::default() };
            Row { cells: vec![fixed(label).into(), facts], ..Row::default() }
        };
        let rows = en.rows.into_iter().zip(zh.rows).map(row).collect();
        Table {
            title: fixed(en.title),
            caption: same(en.remark),
            rows,
            layout: TableLayout::Labels,
            ..Table::default()
        }
    };
    parts.into_iter().map(table).collect()
}

/// A table in one language, while it is filled.
struct Block {
    lang: Lang,
    title: Text,
    remark: String,
    rows: Vec<(Text, Vec<String>)>,
}

impl Block {
    fn title(&mut self, en: &'static str, zh: &'static str, remark: &str) {
        self.title = Text { en, zh };
        remark.clone_into(&mut self.remark);
    }

    /// One of two words.
    fn say<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        if self.lang == Lang::Zh { zh } else { en }
    }

    fn row(&mut self, en: &'static str, zh: &'static str, facts: &[String]) {
        self.rows.push((Text { en, zh }, facts.to_vec()));
    }
}

/// A list of ids as the kernel writes it: `0-3,8`.
fn id_list(ids: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for id in ids {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*id) => *last = *id,
            _ => parts.push((*id, *id)),
        }
    }
    let part =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_the_kernel_writes_them() {
        assert_eq!(id_list(&[0, 1, 2, 4, 6, 7]), "0-2,4,6-7");
        assert_eq!(id_list(&[usize::MAX, usize::MAX]), format!("{0},{0}", usize::MAX));
        assert_eq!(id_list(&[]), "");
    }
}
