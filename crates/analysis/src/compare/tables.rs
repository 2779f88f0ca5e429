//! Cases of a comparison that stand in a known table: one of lmbench's summary, or STREAM's.

use std::collections::HashSet;

use hostmark_model::{CaseRecord, Run, Text};

use crate::labels::Labels;
use crate::words;
use crate::{lmbench, stream_times};

/// Value of `--table` for these.
const LMBENCH: &str = "lmbench";
const STREAM: &str = "stream";

/// Cases that are told together.
pub(super) struct Together {
    pub(super) name: String,
    pub(super) title: Text<String>,
    pub(super) ids: HashSet<String>,
}

/// The tables, with the cases of any of these runs that each shows.
pub(super) fn tables<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Together> {
    let of_lmbench = lmbench::TABLES.iter().map(|table| {
        let cases = runs.clone().flat_map(|run| table.columns.iter().flat_map(|column| lmbench::cases_of(run, column)));
        Together {
            name: LMBENCH.to_owned(),
            title: titled(&table.title),
            ids: cases.map(|case| case.id.clone()).collect(),
        }
    });
    let of_stream = runs.clone().flat_map(|run| {
        let labels = Labels::of(run);
        let is_shown = move |case: &&CaseRecord| is_of_stream(&labels, case);
        run.cases.iter().filter(is_shown).map(|case| case.id.clone()).collect::<Vec<String>>()
    });
    let of_stream = Together { name: STREAM.to_owned(), title: words("STREAM"), ids: of_stream.collect() };
    of_lmbench.chain([of_stream]).collect()
}

/// Title of a table without the unit of its values, as changes have none.
fn titled(title: &Text) -> Text<String> {
    let head = |text: &'static str| {
        let ends = UNIT_FOLLOWS.iter().flat_map(|sign| [sign.en, sign.zh]).filter_map(|sign| text.find(sign));
        &text[..ends.min().unwrap_or(text.len())]
    };
    Text { en: format!("{LMBENCH}: {}", head(title.en)), zh: format!("{LMBENCH}：{}", head(title.zh)) }
}

/// Separators between a title and its unit.
const UNIT_FOLLOWS: [Text; 2] = [term!(": "), term!(" in ")];

/// Tells whether a case is one of STREAM's kernels, all else at the probe's default.
fn is_of_stream(labels: &Labels, case: &CaseRecord) -> bool {
    let off_default = || labels.probe(&case.probe).off_default(&case.params);
    case.probe == stream_times::PROBE && off_default().iter().all(|(axis, _)| *axis == stream_times::KERNEL)
}
