//! The links of each run to its peers, as a section of the page.

use hostmark_analysis::findings::findings_and_kept;
use hostmark_analysis::labels::run_letter;

use super::gather::Runs;
use crate::print::html;
use crate::views::network::network;

/// Those of every run with peers, as markup; empty where there is none.
pub(super) fn links(runs: &Runs) -> String {
    // The page lists the findings of all runs under one count.
    let (mut first, mut all) = (1, String::new());
    for (index, run) in runs.all.iter().enumerate() {
        let findings = findings_and_kept(run);
        let letter = if runs.are_many() { run_letter(index) } else { String::new() };
        if let Some(document) = network(run, &findings, first, &letter) {
            // The heading stands above the first.
            all += &html::write(&document[usize::from(!all.is_empty())..], 1, &|| 0);
        }
        first += findings.len();
    }
    all
}
