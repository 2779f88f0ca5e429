//! Plain rows under heads, for lists: the last column takes what is left of the width, and the least needed columns go first.

use unicode_width::UnicodeWidthStr;

use crate::wrap::{hanging, wrap};

/// Columns between two columns.
const GAP: usize = 2;
/// The last column wraps where it has this much room, and else stands in lines of its own.
const LEAST_LAST: usize = 16;

#[derive(Debug, Clone, Default)]
pub struct TextColumn {
    pub head: String,
    /// True where its cells are right-aligned, as numbers are.
    pub is_number: bool,
    /// True where it is dropped if the width is too small for all; of several the last goes first.
    pub may_go: bool,
}

/// Rows in columns, with their heads over them where there are any; no line is wider than `width`. A row has a cell for each column, or two
/// cells of which the second says something in the place of all others.
pub fn columns(columns: &[TextColumn], rows: &[Vec<String>], width: usize) -> String {
    let is_whole = |row: &&Vec<String>| row.len() == columns.len();
    let natural: Vec<usize> = (0..columns.len())
        .map(|at| {
            rows.iter()
                .filter(|row| at == 0 || is_whole(row))
                .map(|row| row[at].width())
                .chain([columns[at].head.width()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut shown: Vec<usize> = (0..columns.len()).filter(|at| natural[*at] > 0).collect();
    let needed = |shown: &[usize]| {
        let Some((last, before)) = shown.split_last() else { return 0 };
        before.iter().map(|at| natural[*at] + GAP).sum::<usize>() + natural[*last].min(LEAST_LAST)
    };
    while needed(&shown) > width
        && let Some(goes) = shown.iter().rposition(|at| columns[*at].may_go)
    {
        shown.remove(goes);
    }
    let is_folded = needed(&shown) > width;
    let pad = |text: &str, at: usize| {
        let pad = " ".repeat(natural[at].saturating_sub(text.width()));
        if columns[at].is_number { pad + text } else { text.to_owned() + &pad }
    };
    let line = |cell: &dyn Fn(usize) -> String| -> String {
        let Some((last, before)) = shown.split_last() else { return String::new() };
        if is_folded {
            // The first cell has lines of its own, and the rest those below.
            let rest: Vec<String> = shown[1..].iter().map(|at| cell(*at)).filter(|text| !text.is_empty()).collect();
            let first = hanging("", &cell(shown[0]), width);
            return first + &if rest.is_empty() { String::new() } else { hanging("    ", &rest.join("  "), width) };
        }
        let lead: String = before.iter().map(|at| pad(&cell(*at), *at) + &" ".repeat(GAP)).collect();
        match columns[*last].is_number {
            true => format!("{}\n", (lead + &pad(&cell(*last), *last)).trim_end()),
            false => hanging(&lead, &cell(*last), width),
        }
    };
    let mut out = String::new();
    if columns.iter().any(|column| !column.head.is_empty()) {
        out += &match is_folded {
            true => {
                wrap(&columns.iter().map(|column| column.head.as_str()).collect::<Vec<_>>().join("  "), width)
                    .join("\n")
                    + "\n"
            }
            false => line(&|at| columns[at].head.clone()),
        };
    }
    out.extend(rows.iter().map(|row| match row.as_slice() {
        [name, text] if !is_whole(&row) && natural[0] + GAP + LEAST_LAST <= width => {
            hanging(&(pad(name, 0) + &" ".repeat(GAP)), text, width)
        }
        cells if !is_whole(&row) => hanging("", &cells.join("  "), width),
        _ => line(&|at| row[at].clone()),
    }));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row(["name-of-a-run", "host", "7", "cut short; go on with --resume"]),
            row(["另一次运行", "主机", "123", ""]),
        ]
    }

    fn all() -> Vec<TextColumn> {
        let column = |head: &str, is_number, may_go| TextColumn { head: head.into(), is_number, may_go };
        vec![
            column("run", false, false),
            column("host", false, true),
            column("cases", true, false),
            column("", false, false),
        ]
    }

    #[test]
    fn columns_stand_under_each_other_whatever_the_letters() {
        let text = columns(&all(), &rows(), 80);
        let ends: Vec<usize> = ["cases", "7", "123"]
            .iter()
            .zip(text.lines())
            .map(|(part, line)| line[..line.find(part).unwrap() + part.len()].width())
            .collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "{text}");
    }

    #[test]
    fn no_line_is_wider_and_what_may_go_goes_first() {
        for width in 10..120 {
            let text = columns(&all(), &rows(), width);
            assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
            assert!(text.contains("123"), "{text}");
        }
        assert!(columns(&all(), &rows(), 80).contains("主机") && !columns(&all(), &rows(), 40).contains("主机"));
    }
}
