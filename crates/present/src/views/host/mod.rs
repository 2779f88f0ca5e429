//! The facts of a host, a table for each part of it.

mod hardware;
mod system;

use hostmark_model::{HostReport, Message, Text};

use crate::document::{Cell, Row, Table, TableLayout};

/// A label in front of facts a row; what nobody tells has no facts.
pub(crate) fn facts(report: &HostReport) -> Vec<Table> {
    let parts = [hardware::cpu, hardware::memory, system::kernel, system::limits, hardware::devices];
    parts.into_iter().map(|part| part(report).0).collect()
}

/// A table while it is filled.
struct Block(Table);

impl Block {
    fn new(title: Text, remark: &str) -> Block {
        let (title, caption) = (title.into(), remark.into());
        Block(Table { title, caption, layout: TableLayout::Labels, ..Table::default() })
    }

    /// Adds a row. A fact without words is none.
    fn row(&mut self, label: Text, facts: impl IntoIterator<Item = Message>) {
        let facts = facts.into_iter().filter(|fact| !fact.is_empty());
        let facts = Cell { lines: facts.collect(), ..Cell::default() };
        self.0.rows.push(Row { cells: vec![Message::from(label).into(), facts], ..Row::default() });
    }
}

/// A fact with a space before its value: `turbo on`.
fn fact(name: Text, value: impl Into<Message>) -> Message {
    Message::joined([name.into(), value.into()], " ")
}

const fn switch(is_on: bool) -> Text {
    if is_on { term!("on") } else { term!("off") }
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
