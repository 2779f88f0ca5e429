//! The block NETWORK of a run with peers: each link, then all hosts against all.

use hostmark_analysis::findings::findings_and_kept;
use hostmark_model::Lang;
use unicode_width::UnicodeWidthStr;

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style, gap};
use super::view::View;
use crate::render::network::{Block, HostMatrix, TITLE, section};

/// Writes the block, where the run has peers.
pub(super) fn write(view: &View, page: &mut Page) {
    let Some(section) = section(view.run, &findings_and_kept(view.run), 1) else { return };
    let title = view.say(TITLE);
    page.heading(&if view.lang == Lang::En { title.to_uppercase() } else { title.to_owned() }, "");
    section.peers.iter().for_each(|block| peer(view, page, block));
    section.tables.iter().for_each(|one| table(view, page, one));
    section.remarks.iter().for_each(|remark| page.paragraph("  ", remark.get(view.lang), Style::Dim));
}

fn peer(view: &View, page: &mut Page, block: &Block) {
    page.paragraph("  ", block.title.get(view.lang), Style::Heading);
    let widest = block.rows.iter().map(|(label, _)| label.get(view.lang).width()).max().unwrap_or(0);
    for (label, facts) in &block.rows {
        let label = Piece::new(label.get(view.lang), Style::Dim);
        let lead = format!("    {}{}   ", label.text, " ".repeat(widest.saturating_sub(label.width())));
        let facts: Vec<&str> = facts.iter().map(|fact| fact.get(view.lang)).collect();
        page.paragraph(&lead, &facts.join(if view.lang == Lang::Zh { "；" } else { "; " }), Style::Plain);
    }
}

fn table(view: &View, page: &mut Page, table: &HostMatrix) {
    page.blank();
    let (title, sides) = (table.title.get(view.lang), table.sides.get(view.lang));
    page.line(&[gap(2), Piece::plain(title), gap(3), Piece::new(sides, Style::Dim)]);
    let mut grid = Grid::new();
    table.hosts.iter().for_each(|host| grid.column(host, Align::Point));
    grid.row(GridRow::Heading(Piece::plain("")));
    for (host, cells) in &table.rows {
        let mut row = vec![Piece::new(host, Style::Dim)];
        row.extend(cells.iter().map(|cell| Piece::plain(cell.get(view.lang))));
        grid.row(GridRow::Cells(row, Vec::new()));
    }
    grid.write(page);
}
