//! A turn at a place: the whole run that this program measures there.

use std::io;

use anyhow::Result;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::{Observer, PlanLine};
use hostmark_model::{Elsewhere, RoundLine, Run, RunRequest};

use crate::command::far::on::{self, Keeper};
use crate::command::far::peers::{Direct, typed};
use crate::command::far::target::Target;
use crate::command::runs::history;
use crate::language::refuse;
use crate::signals::StopRequest;

/// The whole run that this program measures there, under this name, with these peers; none when the person asked to stop.
pub fn measured_at(
    place: &Target,
    request: RunRequest,
    name: &str,
    peers: &[Target],
    stop: &StopRequest,
    observer: &mut dyn Observer,
) -> Result<Option<Run>> {
    let mut keeper = RunNamer(name);
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
            refuse!("'{place}' ended early ({why}); measure again")
        }
        None => Ok(run),
    }
}

/// Names a run, and keeps none of its rounds: a turn that is cut short is taken anew.
struct RunNamer<'a>(&'a str);

impl Keeper for RunNamer<'_> {
    fn begins(&mut self, run: &mut Run, _: &PlanLine, _: Elsewhere) -> Result<()> {
        self.0.clone_into(&mut run.name);
        Ok(())
    }

    fn round(&mut self, _: &RoundLine) -> io::Result<()> {
        Ok(())
    }
}
