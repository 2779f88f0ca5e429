//! What is said after a run: where it is, and what to type next. All of it works as it stands, and none of it shows what was shown.

use std::path::Path;

use hostmark_analysis::escape::visible;
use hostmark_analysis::findings::findings_and_kept;
use hostmark_engine::probe;
use hostmark_model::{CaseRecord, Lang, Run};
use hostmark_probes::CATALOGUE;

use crate::command::runs::several;
use crate::{output, store, words};

/// How much of a run was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownAmount {
    /// One screen, or one table of it.
    Part,
    /// Every case.
    Cases,
    /// Everything.
    All,
}

/// The lines behind a run that is kept in `file`, and that was stopped where a line goes on with it.
pub fn lines(run: &Run, file: &Path, goes_on: Option<&str>, shown: ShownAmount, lang: Lang) -> String {
    let width = output::options(lang, false).width;
    // A path is not parted: it is to be copied whole.
    let mut text = format!("{}{}\n", term!("saved as ").say(lang), visible(&file.display().to_string()));
    let more = match shown {
        ShownAmount::Part => Some("--full"),
        ShownAmount::Cases => Some("--verbose"),
        ShownAmount::All => None,
    };
    let mut commands = Vec::new();
    commands.extend(goes_on.map(|line| format!("{}{line}", term!("continue: ").say(lang))));
    if let (Some(name), Some(more)) = (name(run, file), more) {
        commands.push(format!("{}hostmark report {name} {more}", term!("more: ").say(lang)));
    }
    if let Some(probe) = probe_to_explain(run) {
        commands.push(format!("{}hostmark explain {probe}", term!("explain: ").say(lang)));
    }
    let is_wider = |commands: &[String]| unicode_width::UnicodeWidthStr::width(commands.join("    ").as_str()) > width;
    // What explains more is the first to go, so that it stays one screen with the answer before it.
    if shown == ShownAmount::Part && commands.len() > 1 && is_wider(&commands) {
        commands.pop();
    }
    let is_narrow = is_wider(&commands);
    // A command that is broken by a line's end cannot be pasted: a terminal wraps it, and gives it back whole.
    text += &commands.join(if is_narrow { "\n" } else { "    " });
    // With the answer before it, it is a screen.
    let before = if shown == ShownAmount::Part { "" } else { "\n" };
    format!("{before}{}\n", text.trim_end())
}

/// What this run is called on the command line: `last` would be the next one's name soon. None of a file that cannot be typed.
fn name(run: &Run, file: &Path) -> Option<String> {
    let means = |typed: &str| !several::is_meant(typed) && store::find(typed).is_ok_and(|found| found == file);
    if means(&run.name) {
        return words::quoted(&run.name);
    }
    let path = file.to_str().filter(|path| means(path))?;
    words::quoted(&if path.starts_with('-') { format!("./{path}") } else { path.to_owned() })
}

/// The probe of what costs most; else the first that was measured.
fn probe_to_explain(run: &Run) -> Option<&str> {
    let has_page = |probe: &&str| probe::find(CATALOGUE, probe).is_some();
    let findings = findings_and_kept(run);
    let most_expensive = findings.iter().filter(|finding| finding.cost > 0.0).flat_map(|finding| &finding.cases);
    let of_finding = most_expensive.filter_map(|id| run.cases.iter().find(|case| case.id == *id));
    let measured = run.cases.iter().filter(|case| CaseRecord::measured(case).is_some());
    of_finding.chain(measured).map(|case| case.probe.as_str()).find(has_page)
}
