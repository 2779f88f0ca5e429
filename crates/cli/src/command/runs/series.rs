//! Series of runs: how steady a machine was over time, and two series beside each other.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::over_time::{LEAST_TURNS, OverTime, SeriesComparison, Turn, compared, over_time};
use hostmark_analysis::redact::redact;
use hostmark_present::export::over_time::{FORMATS, format_named};

use super::chosen::Chosen;
use super::several;
use crate::language::{refuse, refused, said};
use crate::{output, store};

/// Whether these runs are asked for over time: one series, or any where a person says so.
pub fn is_meant(names: &[String], is_asked: bool) -> bool {
    let is_series = |name: &String| !Path::new(name).exists() && store::series(name).is_some();
    is_asked || matches!(names, [name] if is_series(name))
}

/// Whether two series are held against each other.
pub fn are_two(names: &[String]) -> bool {
    names.len() == 2 && names.iter().all(|name| is_meant(std::slice::from_ref(name), false))
}

/// The turns of these runs of one host. One run is in memory at a time: a week of turns would take gigabytes.
fn turns(names: &[String], chosen: &Chosen, is_redacted: bool) -> Result<Vec<Turn>> {
    let files = names.iter().map(|name| several::files(name)).collect::<Result<Vec<Vec<PathBuf>>>>()?.concat();
    let mut turns: Vec<Turn> = Vec::new();
    let (mut unread, mut why) = (0, None);
    for file in &files {
        let run = store::load(file).and_then(|mut run| {
            chosen.narrow(std::iter::once(&mut run))?;
            Ok(if is_redacted { redact(vec![run]).pop() } else { Some(run) })
        });
        match run {
            Ok(run) => turns.extend(run.and_then(|run| Turn::of(&run))),
            Err(error) => (unread, why) = (unread + 1, Some(error)),
        }
    }
    if let Some(why) = why.filter(|_| turns.is_empty()) {
        return Err(why);
    }
    if unread > 0 {
        output::remark(&said!("{unread} of the runs could not be read, and are left out"));
    }
    if let Some(other) = turns.iter().find(|turn| turn.host != turns[0].host) {
        refuse!(
            "the runs are of several hosts ({host}, {host_2}); name those of one",
            host = turns[0].host,
            host_2 = other.host
        );
    }
    Ok(turns)
}

/// What these runs say over time.
pub fn report(names: &[String], chosen: &Chosen, is_redacted: bool) -> Result<OverTime> {
    let turns = turns(names, chosen, is_redacted)?;
    let count = turns.len();
    over_time(turns)
        .ok_or_else(|| refused!("{count:turn} with values say too little over time; measure {LEAST_TURNS} or more"))
}

/// Two series beside each other.
pub fn compare(names: &[String], chosen: &Chosen) -> Result<SeriesComparison> {
    let [base, new] = names else { refuse!("give two series") };
    let of = |name: &String| turns(std::slice::from_ref(name), chosen, false);
    compared(of(base)?, of(new)?).ok_or_else(|| {
        refused!("{base} and {new} share too few values over too little time; measure longer series of the same cases")
    })
}

/// A series in the format of this name.
pub fn render(all: &OverTime, format: &str, options: &hostmark_present::RenderOptions) -> Result<String> {
    let Some(format) = format_named(format) else {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        refuse!("a series is not shown as --format {format}; choose from {names}", names = names.join(", "))
    };
    Ok((format.render)(all, options, output::shades()))
}
