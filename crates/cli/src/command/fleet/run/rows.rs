//! What became of the hosts, as a person reads it at the end.

use hostmark_analysis::escape::visible;
use hostmark_analysis::reasons::localized;
use hostmark_analysis::spoken;
use hostmark_model::{HostState, Lang};
use hostmark_present::render::columns::{TextColumn, columns};
use hostmark_say::say;

use super::directory::Directory;
use crate::output;
use crate::words;

/// The table of all hosts, where the runs lie, what to do with them, and how to go on where some are missing.
pub fn closing(directory: &Directory, resume: Option<&str>, lang: Lang) -> String {
    let column = |head: &str, is_number: bool, may_go: bool| TextColumn { head: head.to_owned(), is_number, may_go };
    let heads = [
        column(term!("host").say(lang), false, false),
        column(term!("state").say(lang), false, false),
        column(term!("time", "column").say(lang), true, true),
        column(term!("file").say(lang), false, true),
        column(term!("reason").say(lang), false, false),
    ];
    let row = |host: &hostmark_model::FleetHost| {
        let time = host.elapsed_s.map(|seconds| format!("{seconds} s")).unwrap_or_default();
        let file = if host.state == HostState::Measured { host.file.clone() } else { String::new() };
        let cells = [host.host.clone(), host.state.word().get(lang).to_string(), time, file];
        cells
            .into_iter()
            .chain([localized(host.reason.as_deref().unwrap_or_default(), lang)])
            .map(|cell| visible(&cell))
            .collect()
    };
    let rows: Vec<Vec<String>> = directory.hosts().iter().map(row).collect();
    let mut text = columns(&heads, &rows, output::options(lang, false).width);
    if output::is_quiet() {
        return text;
    }
    let measured = directory.hosts().len() - directory.missing().len();
    let path = directory.path().display().to_string();
    let typed = words::quoted(&path).unwrap_or_else(|| visible(&path));
    text += &spoken(
        &say!("\n{measured} of {rows} hosts are measured, in {path}\n", rows = rows.len(), path = visible(&path)),
        lang,
    );
    let (pairs, failed) = (directory.pairs(), directory.pairs().iter().filter(|pair| pair.failed.is_some()).count());
    if !pairs.is_empty() {
        let met = pairs.len() - failed;
        text += &spoken(&say!("{met} of {pairs} pairs are measured, both ways counted\n", pairs = pairs.len()), lang);
    }
    if measured > 0 {
        text += &format!("{}hostmark fleet report {typed}\n", term!("which are odd: ").say(lang));
    }
    if let Some(resume) = resume {
        text += &format!("{}{}\n", term!("measure the others: ").say(lang), visible(resume));
    }
    text
}
