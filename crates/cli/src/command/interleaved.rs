//! Runs that are measured in turn, whatever they are held against each other for: one turn at a place, its progress, its file.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::{Observer, PlanLine};
use hostmark_model::{Elsewhere, RoundLine, Run, RunRequest};

use super::history;
use super::on::{self, Keeper};
use super::peers::{Direct, typed};
use super::target::Target;
use super::unwritten;
use crate::language::{both, refuse};
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store;

/// The whole run that this program measures there, under this name, with these peers; none when the person asked to stop.
pub fn measured_at(
    place: &Target,
    request: RunRequest,
    name: &str,
    peers: &[Target],
    stop: &StopRequest,
    observer: &mut dyn Observer,
) -> Result<Option<Run>> {
    let mut keeper = Named(name);
    let direct = Direct::open(peers, stop, profile_limits(request.profile).limit)?;
    let measured = on::measure_there(place, request, Vec::new(), stop, observer, &mut keeper, Some(&direct));
    direct.finish();
    // What there is of a run that was stopped is no turn.
    if stop.signal().is_some() {
        return Ok(None);
    }
    let mut run = whole(measured?.run, place.shown())?;
    run.peers = typed(run.peers, peers);
    history::judge(&mut run);
    Ok(Some(run))
}

/// A run that came to its end.
pub fn whole(run: Run, place: &str) -> Result<Run> {
    match &run.interrupted {
        Some(why) => {
            refuse!("'{place}' ended early ({why}); measure again", "“{place}”在计划完成前结束（{why}）；请重新测量")
        }
        None => Ok(run),
    }
}

/// Names a run, and keeps none of its rounds: a turn that is cut short is taken anew.
struct Named<'a>(&'a str);

impl Keeper for Named<'_> {
    fn begins(&mut self, run: &mut Run, _: &PlanLine, _: Elsewhere) -> Result<()> {
        self.0.clone_into(&mut run.name);
        Ok(())
    }

    fn round(&mut self, _: &RoundLine) -> io::Result<()> {
        Ok(())
    }
}

/// What the file of a side's run is called; the first turn is 0.
pub fn file_stem(side: &str, turn: u32) -> String {
    format!("{side}-{:02}", turn + 1)
}

/// The directory for the runs of these sides, made where it is not there; one that holds runs of earlier turns is refused.
pub fn prepare<'a>(directory: &Path, sides: impl Iterator<Item = &'a str>) -> Result<()> {
    refuse_used(directory, sides)?;
    std::fs::create_dir_all(directory).map_err(|error| {
        let what = both!("{} cannot be made", "无法创建 {}", directory.display());
        unwritten(&error, &what, &another_directory())
    })
}

/// Refuses a directory that holds runs of these sides.
pub fn refuse_used<'a>(directory: &Path, mut sides: impl Iterator<Item = &'a str>) -> Result<()> {
    if sides.any(|side| directory.join(format!("{}.json", file_stem(side, 0))).exists()) {
        refuse!(
            "{} holds runs of an earlier trial; give another directory",
            "{} 中已有先前试验的运行；请换一个目录",
            directory.display()
        );
    }
    Ok(())
}

/// Keeps a run there.
pub fn keep(directory: &Path, stem: &str, text: &str) -> Result<()> {
    let file = directory.join(format!("{stem}.json"));
    store::write(&file, text).map_err(|error| {
        unwritten(&error, &both!("{} cannot be written", "无法写入 {}", file.display()), &another_directory())
    })
}

fn another_directory() -> String {
    both!("give another directory", "请换一个目录")
}

/// A turn within the progress of all.
pub struct Progress<'a> {
    /// Where it is shown.
    pub bar: &'a mut Bar,
    /// Whose turn it is.
    pub turn: String,
    /// Turns that are over.
    pub done: usize,
    /// Turns in all.
    pub all: usize,
    /// What the turns after it take.
    pub later: Duration,
}

impl Observer for Progress<'_> {
    fn round(&mut self, case: &str, _: usize, _: usize, left: Duration) {
        self.bar.round(&format!("{} {case}", self.turn), self.done, self.all, left.saturating_add(self.later));
    }
}
