//! `hostmark fleet run`: measures every host of a list, an allocation or a cluster, each into a run of its own.

mod directory;
mod hosts;
mod kubernetes;
mod manifest;
mod measuring;
mod name;
mod options;
mod pairs;
mod places;
mod printed;
mod rows;
mod slurm;
mod waves;

use anyhow::Result;
use hostmark_model::{Exit, HostState, Lang};

use self::directory::Directory;
pub use self::options::RunArguments;
use self::options::{Engine, typed_again};
use self::places::{Places, Registered};
use crate::command::measure::machine::{catch, own_program};
use crate::command::measure::ready;
use crate::command::{EndsWith, exit_of, message};
use crate::isolate::Outside;
use crate::language::{refuse, said};
use crate::output;
use crate::signals::StopRequest;

pub fn run(arguments: &RunArguments, lang: Lang) -> Result<Exit> {
    let engine = arguments.engine()?;
    let request = arguments.request();
    // A name that no host could know is told once, and before anything is started.
    ready::planned(&request.as_run(), hostmark_host::read(&hostmark_host::Root::here()), uuid::Uuid::now_v7())?;
    if arguments.print {
        output::print(&printed::text(&engine, arguments)?);
        return Ok(Exit::Fine);
    }
    let before =
        arguments.resume.as_deref().map(|path| Directory::open(path, &request.0, engine.name())).transpose()?;
    let program = own_program()?;
    let stop = catch(&Outside::default())?;
    let missing = before.as_ref().map(|directory| {
        let all = || directory.hosts().iter().map(|host| host.host.clone()).collect();
        if is_whole(arguments, directory) || !arguments.pairs { directory.missing() } else { all() }
    });
    if let (Some(directory), Some([])) = (&before, missing.as_deref())
        && !matches!(engine, Engine::Hosts { .. })
    {
        output::print(&rows::closing(directory, None, lang));
        return Ok(Exit::Fine);
    }
    let mut places: Box<dyn Places> = match &engine {
        Engine::Hosts { file, each } => Box::new(hosts::Listed::read(file, each)?),
        Engine::Slurm { arguments } => Box::new(
            slurm::Allocation::of(arguments, missing.as_deref(), &stop).map_err(|error| ended_by(&stop, error))?,
        ),
        Engine::Kubernetes(cluster) => {
            Box::new(kubernetes::Pods::of(cluster, &stop).map_err(|error| ended_by(&stop, error))?)
        }
    };
    let measured = measure(arguments, &engine, before, &program, places.as_mut(), &stop);
    let left = places.finish();
    let directory = measured?;
    let resume = (!is_whole(arguments, &directory)).then(|| typed_again(arguments, directory.path()));
    output::print(&rows::closing(&directory, resume.as_deref(), lang));
    left?;
    let exit = if is_whole(arguments, &directory) { Exit::Fine } else { Exit::CaseFailed };
    Ok(exit.or(stop.signal().map_or(Exit::Fine, Exit::Signal)))
}

/// Whether there is all that was asked for.
fn is_whole(arguments: &RunArguments, directory: &Directory) -> bool {
    directory.is_whole() && (!arguments.pairs || directory.has_all_pairs())
}

/// An error of who was asked to stop ends by the signal that asked.
fn ended_by(stop: &StopRequest, error: anyhow::Error) -> anyhow::Error {
    match (exit_of(&error), stop.signal()) {
        (Exit::Signal(_), Some(signal)) => EndsWith(Exit::Signal(signal), message(&error)).into(),
        _ => error,
    }
}

/// Measures the hosts that are not measured yet.
fn measure(
    arguments: &RunArguments,
    engine: &Engine,
    before: Option<Directory>,
    program: &std::path::Path,
    places: &mut dyn Places,
    stop: &StopRequest,
) -> Result<Directory> {
    let names: Vec<String> = places.hosts().iter().map(|host| host.name.clone()).collect();
    if names.is_empty() {
        refuse!("there is no host to measure; {how_to_have_hosts}", how_to_have_hosts = engine.how_to_have_hosts());
    }
    let mut directory = match before {
        Some(directory) => directory,
        None => Directory::make(arguments.out.as_deref(), arguments.request().0, engine.name())?,
    };
    let rows = directory.rows_of(&names);
    for (host, row) in rows.iter().enumerate() {
        if let Registered { refused: Some(reason), .. } = &places.hosts()[host] {
            directory.row(*row, HostState::Failed, Some(reason.clone()), None);
        }
    }
    let known: Vec<(usize, usize)> =
        rows.into_iter().enumerate().filter(|(host, _)| places.hosts()[*host].refused.is_none()).collect();
    let turns: Vec<(usize, usize)> = known.iter().copied().filter(|(_, row)| !directory.is_measured(*row)).collect();
    output::remark(&said!(
        "measuring {turns} of {hosts} hosts into {directory}",
        turns = turns.len(),
        hosts = directory.hosts().len(),
        directory = directory.path().display()
    ));
    directory.save()?;
    let at_once = arguments.at_once.unwrap_or_else(|| engine.usually_at_once(known.len())).get();
    let (request, timeout, keeps_ways) = (directory.request().clone(), arguments.timeout, arguments.pairs);
    let terms = waves::WaveOptions { program, request, at_once, timeout, keeps_ways };
    waves::take(&mut directory, turns, places, &terms, stop)?;
    if arguments.pairs && stop.signal().is_none() {
        let met: Vec<(usize, usize)> = known.into_iter().filter(|(_, row)| directory.is_measured(*row)).collect();
        pairs::measure(&mut directory, &met, places, at_once, stop)?;
    }
    Ok(directory)
}
