//! `hostmark host`: what this machine is, and what would disturb a measurement on it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use hostmark_analysis::findings;
use hostmark_host::{NoiseSnapshot, Root, busiest_other};
use hostmark_model::{BusyTask, Disturbed, Exit, HostFacts, HostReport, Lang};
use hostmark_present::render;

use super::machine::catch;
use super::on;
use super::target::Target;
use crate::isolate::Outside;
use crate::output;

/// How long the machine is watched: twenty ticks of the kernel's accounting, and still an answer at once.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct HostArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Inspect another machine, e.g. 'ssh db-17' or tcp:HOST
    ///
    /// hostmark copies itself there and removes itself afterwards; with tcp:HOST, a `hostmark serve` on that host
    /// answers.
    #[arg(long, value_name = "COMMAND")]
    on: Option<String>,
    /// Read the token for tcp:HOST from this file
    #[arg(long, value_name = "FILE", requires = "on", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// Exit 1 if something would disturb a measurement
    #[arg(long)]
    check: bool,
}

pub fn host(arguments: &HostArguments, lang: Lang) -> Result<Exit> {
    let report = match &arguments.on {
        Some(place) => {
            let place = Target::named(place, "--on", arguments.token_file.as_deref())?;
            on::report_of_host(&place, &catch(&Outside::default())?)?
        }
        None => report_of_host(),
    };
    let text = match arguments.format {
        Format::Json => output::json(&serde_json::to_string_pretty(&report)?),
        Format::Table => render::host::host(&report, &output::options(lang, false)),
    };
    output::print(&text);
    Ok(if arguments.check && report.is_disturbed() { Exit::Found } else { Exit::Fine })
}

/// What this machine is, and what others do with it.
pub(super) fn report_of_host() -> HostReport {
    let root = Root::here();
    let before = NoiseSnapshot::read_with_processes(&root);
    std::thread::sleep(LOOK);
    let after = NoiseSnapshot::read_with_processes(&root);
    let host = hostmark_host::read(&root);
    let disturbed = disturbed(&host, &before, &after);
    findings::host::host_report(host, disturbed)
}

/// What others did between two looks.
fn disturbed(host: &HostFacts, before: &NoiseSnapshot, after: &NoiseSnapshot) -> Disturbed {
    let busy = busiest_other(before, after);
    Disturbed {
        busy: busy.map(|busy| BusyTask { pid: busy.pid, name: busy.name, cpus: busy.cpus, last_cpu: busy.last_cpu }),
        steal_share: before.steal_share(after, &host.usable_cpus()),
        load: after.load,
        processes_unseen: !after.sees_others(),
    }
}
