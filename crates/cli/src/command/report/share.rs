//! `hostmark report --share`: a redacted run and its card as files, and a line to paste.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_analysis::redact::redact;
use hostmark_model::{Lang, Run};
use hostmark_present::render::markdown;

use super::render;
use crate::command::hand_over;
use crate::language::{refuse, said};
use crate::{output, store};

/// Writes both files, the run into `out` and the card beside it, and prints the line.
pub fn share(runs: Vec<Run>, out: Option<&Path>, lang: Lang) -> Result<()> {
    let [run] = &redact(runs)[..] else { refuse!("--share takes one run; give one") };
    let file = out.map_or_else(|| named_after(run), Path::to_owned);
    let card = file.with_extension("svg");
    if card == file {
        refuse!("--out names the run file, and the card gets .svg; end it in .json");
    }
    hand_over(&store::text_of(run), Some(&file))?;
    hand_over(&render(std::slice::from_ref(run), "card", lang, false)?, Some(&card))?;
    output::remark(&said!(
        "wrote {file} and {card}, without names of hosts, people and paths; read them before you publish them",
        file = file.display(),
        card = card.display()
    ));
    output::print(&format!("{}\n", visible(&markdown::line(run, lang))));
    Ok(())
}

/// By its day and the end of its id: the same run has the same files.
fn named_after(run: &Run) -> PathBuf {
    let day = run.started.split('T').next().unwrap_or_default();
    let id: String = run.id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{}.json", store::file_part(&format!("hostmark-{day}-{id}"))).into()
}
