//! Surroundings of known properties, in which this program is run: links, a CPU quota, a slow disk.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use hostmark_engine::sys::control_group::GroupLimit;
use hostmark_launch::program::OWN;
use hostmark_model::{Inputs, Run};
use hostmark_say::say;

use super::networks::Networks;
use super::relay::{OVER_THERE, Relay};
use super::wire::{self, FAR};
use crate::command::measure::inputs::scratch;
use crate::command::measure::machine::own_file;
use crate::command::measure::own_run::OwnRuns;
use crate::command::processes::control_group;

/// A run in them that takes longer is given up.
const LONGEST_RUN: Duration = Duration::from_secs(15);

/// What is known of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Surroundings {
    /// A link to a second host of so many megabits a second.
    Link { mbit: u32 },
    /// One that takes so long each way and loses every `loses`th frame; 0 stands for none.
    Relayed { delay: Duration, loses: u32 },
    /// So many per cent of one CPU.
    Quota { percent: u8 },
    /// So many reads a second from the disk of the scratch directory.
    Disk { reads_a_second: u32 },
}

/// A run of these filters in surroundings, or why there is none.
pub type MeasureIn<'a> = dyn FnMut(Surroundings, &[&str]) -> Result<Run, String> + 'a;

/// Runs this program, whose file that is, in them.
pub fn measure_in(program: &Path, surroundings: Surroundings, filters: &[&str]) -> Result<Run, String> {
    // Behind other words the link to one's own program is another's.
    let program = match program == Path::new(OWN) {
        true => &own_file().map_err(|error| crate::language::spoken(&error))?,
        false => program,
    };
    let between = |networks: &Networks, address: &str| {
        let before: Vec<OsString> = networks.enter(1).into_iter().map(OsString::from).collect();
        let peer = networks.enter_from_another(2).join(" ");
        printed(&mut OwnRuns::of(program).map_err(in_words)?, &before, filters, &["--peer", &peer, "--via", address])
    };
    match surroundings {
        Surroundings::Link { mbit } => {
            let link = wire::with_rate(&format!("rate {mbit}mbit burst 32kb latency 50ms"))?;
            between(&link, &FAR.to_string())
        }
        Surroundings::Relayed { delay, loses } => {
            let networks = Networks::of(3)?;
            let _relay = Relay::begin(&networks, program, delay, loses)?;
            between(&networks, OVER_THERE)
        }
        Surroundings::Quota { percent } => limited(program, &GroupLimit::CpuPercent(percent), filters),
        Surroundings::Disk { reads_a_second: a_second } => {
            let disk = disk_of(&scratch(&Inputs::default()))
                .ok_or_else(|| say!("the scratch directory lies on no disk of its own").to_string())?;
            limited(program, &GroupLimit::Reads { disk, a_second }, filters)
        }
    }
}

fn in_words(error: anyhow::Error) -> String {
    error.to_string()
}

/// A run in a control group of its own.
fn limited(program: &Path, limit: &GroupLimit, filters: &[&str]) -> Result<Run, String> {
    let mut runs = OwnRuns::of(program).map_err(in_words)?;
    let group = control_group::limited(limit, &mut runs.janitor)?;
    let run = printed(&mut runs, &control_group::words(&group), filters, &[]);
    // One that cannot be removed yet stays in the janitor's charge.
    let _ = group.remove();
    run
}

fn printed(runs: &mut OwnRuns, before: &[OsString], filters: &[&str], more: &[&str]) -> Result<Run, String> {
    let process = runs.begin(before, filters.iter().chain(more).copied(), None)?;
    runs.printed(process, LONGEST_RUN)
}

/// The numbers, major and minor, of the disk that holds a directory; none where it lies on no disk of its own, as on a tmpfs.
pub fn disk_of(directory: &Path) -> Option<(u32, u32)> {
    let device = fs::metadata(directory).ok()?.dev();
    let name = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let place = fs::canonicalize(format!("/sys/dev/block/{name}")).ok()?;
    let whole = if place.join("partition").exists() { place.parent()? } else { &place };
    let text = fs::read_to_string(whole.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
