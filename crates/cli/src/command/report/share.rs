//! `hostmark report --share`: a redacted run and its card as files, and a line to paste.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_analysis::redact::redact;
use hostmark_model::{Lang, Run};
use hostmark_present::render::markdown;

use super::render;
use crate::command::hand_over;
use crate::language::{both, refuse};
use crate::{output, store};

/// Writes both files, the run into `out` and the card beside it, and prints the line.
pub fn share(runs: Vec<Run>, out: Option<&Path>, lang: Lang) -> Result<()> {
    let [run] = &redact(runs)[..] else {
        refuse!("--share takes one run; give one", "--share 只接受一次运行；请只给一次")
    };
    let file = out.map_or_else(|| named_after(run), Path::to_owned);
    let card = file.with_extension("svg");
    if card == file {
        refuse!(
            "--out names the run file, and the card gets .svg; end it in .json",
            "--out 指定运行文件，卡片另存为 .svg；请以 .json 结尾"
        );
    }
    hand_over(&store::text_of(run), Some(&file))?;
    hand_over(&render(std::slice::from_ref(run), "card", lang, false)?, Some(&card))?;
    output::remark(&both!(
        "wrote {} and {}, without names of hosts, people and paths; read them before you publish them",
        "已写入 {} 和 {}，不含主机、个人和路径的名称；公开之前请自行检查",
        file.display(),
        card.display()
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
