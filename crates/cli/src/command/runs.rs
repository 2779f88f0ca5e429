//! `hostmark runs`: the runs that are kept on this machine.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use hostmark_engine::Journal;
use hostmark_model::{Exit, Lang, Outcome, Run, Text};
use hostmark_report::escape::visible;
use hostmark_report::render::columns::{Column, columns};
use serde_json::{Value, json};

use crate::{output, store};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// How far a run came.
enum State {
    /// To its end.
    Finished,
    /// It was stopped, and says why.
    Interrupted(String),
    /// Cut short: its journal is there, and it can go on.
    Partial,
    /// Its journal is being written.
    UnderWay,
}

/// A run that is kept, or a file that is none.
enum Kept {
    Run { run: Box<Run>, state: State, measured: usize, skipped: usize, failed: usize },
    Unreadable { name: String, reason: String },
}

pub fn runs(arguments: &RunsArguments, lang: Lang) -> Result<Exit> {
    let mut files: Vec<(String, PathBuf)> =
        store::kept()?.into_iter().map(|path| (name(&path, ".json"), path)).collect();
    files.extend(store::journals()?.into_iter().map(|path| (name(&path, store::JOURNAL), path)));
    // Names begin with the time: the newest is the last.
    files.sort();
    let kept: Vec<Kept> = files.iter().map(|(name, path)| read(name, path)).collect();
    let text = match arguments.format {
        Format::Json => output::json(&serde_json::to_string_pretty(&kept.iter().map(value).collect::<Vec<_>>())?),
        Format::Table if kept.is_empty() => String::new(),
        Format::Table => table(&kept, lang),
    };
    output::print(&text);
    if kept.is_empty() {
        bail!("{}", NONE.get(lang));
    }
    Ok(Exit::Fine)
}

const NONE: Text = Text {
    en: "no run is kept on this machine; hostmark run makes one",
    zh: "本机没有保存任何运行；hostmark run 会产生一个",
};

fn name(path: &Path, ending: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(ending).unwrap_or(&name).to_owned()
}

fn read(name: &str, path: &Path) -> Kept {
    let unreadable = |reason: String| Kept::Unreadable { name: name.to_owned(), reason };
    if path.extension().is_some_and(|extension| extension == "json") {
        return match store::load(path) {
            // It is named already.
            Err(error) => unreadable(error.to_string().replacen(&path.display().to_string(), "", 1).trim().to_owned()),
            Ok(run) => {
                let of = |is: fn(&Outcome) -> bool| run.cases.iter().filter(|case| is(&case.outcome)).count();
                let measured = of(|outcome| matches!(outcome, Outcome::Measured(_)));
                let skipped = of(|outcome| matches!(outcome, Outcome::Skipped { .. }));
                let failed = of(|outcome| matches!(outcome, Outcome::Failed { .. }));
                let state = run.interrupted.clone().map_or(State::Finished, State::Interrupted);
                Kept::Run { run: Box::new(run), state, measured, skipped, failed }
            }
        };
    }
    match Journal::read::<Run>(path) {
        Err(error) => unreadable(error.to_string()),
        Ok((header, rounds, is_under_way)) => {
            let begun: std::collections::HashSet<&str> = rounds.iter().map(|past| past.case.as_str()).collect();
            let state = if is_under_way { State::UnderWay } else { State::Partial };
            Kept::Run { run: Box::new(header.run), state, measured: begun.len(), skipped: 0, failed: 0 }
        }
    }
}

fn value(kept: &Kept) -> Value {
    match kept {
        Kept::Unreadable { name, reason } => json!({ "name": name, "unreadable": reason }),
        Kept::Run { run, state, measured, skipped, failed } => json!({
            "name": run.name,
            "id": run.id,
            "started": run.started,
            "finished": run.finished,
            "host": run.host.hostname,
            "profile": run.settings.profile,
            "imported": run.imported,
            "filters": run.settings.filters,
            "measured": measured,
            "skipped": skipped,
            "failed": failed,
            "interrupted": run.interrupted,
            "state": match state {
                State::Finished => "finished",
                State::Interrupted(_) => "interrupted",
                State::Partial => "partial",
                State::UnderWay => "under_way",
            },
        }),
    }
}

fn table(kept: &[Kept], lang: Lang) -> String {
    let word = |en: &'static str, zh: &'static str| if lang == Lang::Zh { zh } else { en };
    let column = |head: &str, is_number: bool, may_go: bool| Column { head: head.to_owned(), is_number, may_go };
    // What the name tells already, the moment and the host, goes first where there is little room.
    let heads = [
        column(word("run", "运行"), false, false),
        column(word("host", "主机"), false, true),
        column(word("started", "开始"), false, true),
        column(word("profile", "档位"), false, true),
        column(word("measured", "已测"), true, false),
        column(word("skipped", "略过"), true, false),
        column(word("failed", "失败"), true, false),
        column("", false, false),
    ];
    let row = |kept: &Kept| match kept {
        Kept::Unreadable { name, reason } => vec![visible(name), format!("! {}", visible(reason))],
        Kept::Run { run, state, measured, skipped, failed } => {
            let profile = match &run.imported {
                Some(_) => word("imported", "导入").to_owned(),
                None => format!("{:?}", run.settings.profile).to_lowercase(),
            };
            let state = match state {
                State::Finished => String::new(),
                State::Interrupted(reason) => format!("{}{reason}", word("interrupted: ", "中断：")),
                State::Partial => word("cut short; --resume goes on", "未完成；--resume 可继续").into(),
                State::UnderWay => word("under way", "进行中").into(),
            };
            let counts = [measured, skipped, failed].map(ToString::to_string);
            let texts = [run.name.clone(), run.host.hostname.clone(), run.started.clone(), profile];
            texts.into_iter().chain(counts).chain([state]).map(|text| visible(&text)).collect()
        }
    };
    let rows: Vec<Vec<String>> = kept.iter().map(row).collect();
    columns(&heads, &rows, output::options(lang, false).width)
}
