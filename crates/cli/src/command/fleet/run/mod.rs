//! `hostmark fleet run`: measures every host of a list, an allocation or a cluster, each into a run of its own.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hostmark_analysis::escape::visible;
use hostmark_analysis::reasons::localized;
use hostmark_analysis::spoken;
use hostmark_model::{Exit, FleetRequest, HostState, Lang, Message, RunRequest};
use hostmark_present::render::columns::{TextColumn, columns};
use hostmark_say::say;
use hosts::{Places, Registered};
use manifest::Directory;

use crate::command::compare::time;
use crate::command::measure::inputs::{ProfileName, seed};
use crate::command::measure::{catch, own_program, ready};
use crate::command::{EndsWith, exit_of, message};
use crate::isolate::Outside;
use crate::language::{refuse, said};
use crate::signals::StopRequest;
use crate::{language, output};

mod cluster;
mod hosts;
mod manifest;
mod waves;

pub fn run(arguments: &RunArguments, lang: Lang) -> Result<Exit> {
    let engine = arguments.engine()?;
    let request = arguments.request();
    // A name that no host could know is told once, and before anything is started.
    ready::planned(&of_run(&request), hostmark_host::read(&hostmark_host::Root::here()), uuid::Uuid::now_v7())?;
    if arguments.print {
        output::print(&printed_text(&engine, arguments)?);
        return Ok(Exit::Fine);
    }
    let before =
        arguments.resume.as_deref().map(|path| manifest::Directory::open(path, &request, engine.name())).transpose()?;
    let program = own_program()?;
    let stop = catch(&Outside::default())?;
    let missing = before.as_ref().map(|directory| {
        let all = || directory.hosts().iter().map(|host| host.host.clone()).collect();
        if is_whole(arguments, directory) || !arguments.pairs { directory.missing() } else { all() }
    });
    if let (Some(directory), Some([])) = (&before, missing.as_deref())
        && !matches!(engine, Engine::Hosts { .. })
    {
        output::print(&closing(directory, None, lang));
        return Ok(Exit::Fine);
    }
    let mut places: Box<dyn Places> = match &engine {
        Engine::Hosts { file, each } => Box::new(hosts::Listed::read(file, each)?),
        Engine::Slurm { arguments } => Box::new(
            cluster::Allocation::of(arguments, missing.as_deref(), &stop).map_err(|error| ended_by(&stop, error))?,
        ),
        Engine::Kubernetes(cluster) => {
            Box::new(cluster::Pods::of(cluster, &stop).map_err(|error| ended_by(&stop, error))?)
        }
    };
    let measured = measure(arguments, &engine, before, &program, places.as_mut(), &stop);
    let left = places.finish();
    let directory = measured?;
    let resume = (!is_whole(arguments, &directory)).then(|| typed_again(arguments, directory.path()));
    output::print(&closing(&directory, resume.as_deref(), lang));
    left?;
    let exit = if is_whole(arguments, &directory) { Exit::Fine } else { Exit::CaseFailed };
    Ok(exit.or(stop.signal().map_or(Exit::Fine, Exit::Signal)))
}

/// Tells whether all that was requested is there.
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
        None => manifest::Directory::make(arguments.out.as_deref(), arguments.request(), engine.name())?,
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
        waves::measure(&mut directory, &met, places, at_once, stop)?;
    }
    Ok(directory)
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// What to measure: groups, probes or cases [default: all]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Hosts listed in this file, one per line
    #[arg(long, value_name = "FILE", requires = "each")]
    hosts: Option<PathBuf>,
    /// How to reach each host, e.g. 'ssh {host}'
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    each: Option<String>,
    /// Nodes of an allocation: salloc's arguments
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true, conflicts_with_all = ["hosts", "kubernetes"])]
    slurm: Option<String>,
    /// Nodes that match this label selector
    #[arg(long, value_name = "SELECTOR", conflicts_with = "hosts", requires = "image")]
    kubernetes: Option<String>,
    /// Image of the pods; it needs only a shell
    #[arg(long, value_name = "IMAGE", requires = "kubernetes")]
    image: Option<String>,
    /// What each pod requests [default: more than half of its node]
    #[arg(long, value_name = "RESOURCES", requires = "kubernetes", hide_short_help = true)]
    request: Option<String>,
    /// The client and its options, e.g. 'kubectl -n bench'
    #[arg(long, value_name = "COMMAND", default_value = "kubectl", requires = "kubernetes", hide_short_help = true)]
    kubectl: String,
    /// Hosts measured at once [default: all; 1 for --hosts]
    #[arg(long, value_name = "N")]
    pub at_once: Option<NonZeroUsize>,
    /// Then measure the network between every two hosts
    #[arg(long, conflicts_with = "print")]
    pub pairs: bool,
    /// Time limit of each run
    #[arg(long, value_enum, default_value = "quick")]
    profile: ProfileName,
    /// Give up on a host after this time, e.g. 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = time, hide_short_help = true)]
    pub timeout: Option<Duration>,
    /// Override an axis's values, e.g. size=4K,1M
    #[arg(long, value_name = "[PROBE:]AXIS=V1,V2", hide_short_help = true)]
    set: Vec<String>,
    /// Seed of all random sequences, decimal or 0x…
    #[arg(long, value_name = "N", value_parser = seed, hide_short_help = true)]
    seed: Option<u64>,
    /// Directory for the runs [default: a new one in the run store]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Continue in this directory
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Print a script or manifest, and measure nothing
    #[arg(long, conflicts_with = "resume")]
    pub print: bool,
}

/// Request of every host as that of a run.
fn of_run(request: &FleetRequest) -> RunRequest {
    let FleetRequest { profile, filters, set, seed } = request.clone();
    RunRequest { filters, profile, seed, set, ..RunRequest::default() }
}

pub enum Engine {
    /// A list of names, and the command that leads to each.
    Hosts {
        file: PathBuf,
        each: String,
    },
    Slurm {
        arguments: String,
    },
    Kubernetes(Cluster),
}

pub struct Cluster {
    pub selector: String,
    pub image: String,
    pub request: Option<String>,
    /// The client's words.
    pub kubectl: Vec<String>,
}

impl Engine {
    /// Name in the fleet's file.
    pub const fn name(&self) -> &'static str {
        match self {
            Engine::Hosts { .. } => "hosts",
            Engine::Slurm { .. } => "slurm",
            Engine::Kubernetes(_) => "kubernetes",
        }
    }

    /// Hosts behind one network and one login are taken by turns; an engine's nodes are each alone.
    fn usually_at_once(&self, hosts: usize) -> NonZeroUsize {
        match self {
            Engine::Hosts { .. } => NonZeroUsize::MIN,
            Engine::Slurm { .. } | Engine::Kubernetes(_) => NonZeroUsize::new(hosts).unwrap_or(NonZeroUsize::MIN),
        }
    }

    fn how_to_have_hosts(&self) -> String {
        match self {
            Engine::Hosts { file, .. } => {
                let file = file.display();
                said!("name one a line in {file}")
            }
            Engine::Slurm { .. } => said!("give other arguments of salloc"),
            Engine::Kubernetes(_) => said!("give another selector"),
        }
    }
}

impl RunArguments {
    pub fn engine(&self) -> Result<Engine> {
        match (&self.hosts, &self.each, &self.slurm, &self.kubernetes, &self.image) {
            (Some(file), Some(each), None, None, _) => Ok(Engine::Hosts { file: file.clone(), each: each.clone() }),
            (None, _, Some(arguments), None, _) => Ok(Engine::Slurm { arguments: arguments.clone() }),
            (None, _, None, Some(selector), Some(image)) => {
                let kubectl = language::split(&self.kubectl).ok().filter(|words| !words.is_empty());
                let Some(kubectl) = kubectl else {
                    refuse!(
                        "--kubectl '{kubectl}' is no command; give one as 'kubectl -n bench'",
                        kubectl = self.kubectl
                    )
                };
                let (selector, image, request) = (selector.clone(), image.clone(), self.request.clone());
                Ok(Engine::Kubernetes(Cluster { selector, image, request, kubectl }))
            }
            _ => refuse!(
                "nothing says which hosts; give --hosts FILE --each 'ssh {{host}}', --slurm '-N 8', or --kubernetes SELECTOR \
                 --image IMAGE"
            ),
        }
    }

    pub fn request(&self) -> FleetRequest {
        let (profile, filters, set, seed) = (self.profile.into(), self.filters.clone(), self.set.clone(), self.seed);
        FleetRequest { profile, filters, set, seed }
    }
}

/// The words of `hostmark run` that say what is measured.
pub fn words_of(request: &FleetRequest) -> Vec<String> {
    let mut words = request.filters.clone();
    words.push(format!("--profile={}", request.profile.name()));
    words.extend(request.set.iter().map(|set| format!("--set={set}")));
    words.extend(request.seed.map(|seed| format!("--seed={seed}")));
    words
}

/// The command line that goes on there.
fn typed_again(arguments: &RunArguments, directory: &Path) -> String {
    let mut words = vec!["hostmark".to_owned(), "fleet".into(), "run".into()];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    option("--hosts", arguments.hosts.as_ref().map(|file| file.display().to_string()));
    option("--each", arguments.each.clone());
    option("--slurm", arguments.slurm.clone());
    option("--kubernetes", arguments.kubernetes.clone());
    option("--image", arguments.image.clone());
    option("--request", arguments.request.clone());
    option("--kubectl", Some(arguments.kubectl.clone()).filter(|kubectl| kubectl != "kubectl"));
    option("--at-once", arguments.at_once.map(|count| count.to_string()));
    if arguments.pairs {
        words.push("--pairs".into());
    }
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    option("--timeout", arguments.timeout.map(|time| format!("{}s", time.as_secs())));
    words.extend(words_of(&arguments.request()));
    words.extend(["--resume".to_owned(), directory.display().to_string()]);
    let shown = words.iter().map(|word| language::quoted(word).unwrap_or_else(|| word.clone()));
    shown.collect::<Vec<String>>().join(" ")
}

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
            .chain([localized(Message::finished(host.reason.as_deref().unwrap_or_default()), lang)])
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
    let typed = language::quoted(&path).unwrap_or_else(|| visible(&path));
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
        text += &format!("{}hostmark fleet report {typed}\n", term!("outliers: ").say(lang));
    }
    if let Some(resume) = resume {
        text += &format!("{}{}\n", term!("measure the others: ").say(lang), visible(resume));
    }
    text
}

/// Placeholder of a host in what xargs starts.
const ONE: &str = "{}";

pub fn printed_text(engine: &Engine, arguments: &RunArguments) -> Result<String> {
    let request = arguments.request();
    let limit = arguments.timeout.map(|limit| format!("timeout -s INT {} ", limit.as_secs())).unwrap_or_default();
    match engine {
        Engine::Hosts { file, each } => {
            let names = hosts::names(file)?;
            let way: Vec<String> = hosts::words_of(each)?.iter().map(|word| word.replace("{host}", ONE)).collect();
            let way = quoted(&way)?;
            let at_once = arguments.at_once.map_or(1, std::num::NonZeroUsize::get);
            Ok(of_hosts(&names, &format!("{limit}hostmark run --quiet --on"), &way, at_once, &request)?)
        }
        Engine::Slurm { arguments: typed } => {
            let at_once = arguments.at_once.map_or(0, std::num::NonZeroUsize::get);
            of_slurm(typed, &limit, at_once, &request)
        }
        Engine::Kubernetes(cluster) => {
            if arguments.at_once.is_some() {
                refuse!(
                    "an Indexed Job measures every node at once, since it may start a later pod on a node that is done; leave out \
                     --at-once"
                );
            }
            let (nodes, requested) = cluster::usable(cluster, &catch(&Outside::default())?)?;
            if nodes == 0 {
                refuse!(
                    "there is no host to measure; {how_to_have_hosts}",
                    how_to_have_hosts = engine.how_to_have_hosts()
                );
            }
            let lives_s = arguments.timeout.map_or(cluster::LIVES_S, |limit| limit.as_secs());
            let mut command = vec!["hostmark".to_owned(), "run".into()];
            command.extend(words_of(&request));
            command.push("--format=json".into());
            let job = manifest::job(cluster, nodes, &command, &requested, lives_s)?;
            Ok(format!(
                "# Measures {nodes} nodes, each by a pod of its own. The image has hostmark in PATH; the runs are the pods' logs:\n\
                 #   kubectl create -f job.yaml && kubectl wait --for=condition=complete --timeout={lives_s}s job/hostmark-fleet\n\
                 #   mkdir -p runs; for pod in $(kubectl get pods -l {}=hostmark-fleet -o name); do\n\
                 #     kubectl logs \"$pod\" > \"runs/${{pod##*/}}.json\"; done; kubectl delete job/hostmark-fleet\n{}",
                manifest::LABEL,
                manifest::yaml(&job)
            ))
        }
    }
}

/// A list that xargs takes the hosts from, one after the other or several at once.
fn of_hosts(names: &[String], run: &str, way: &str, at_once: usize, request: &FleetRequest) -> Result<String> {
    let place = language::quoted(way).unwrap_or_default();
    let measured = quoted(&words_of(request))?;
    let names: String = names.iter().map(|name| format!("{name}\n")).collect();
    Ok(format!(
        r#"#!/bin/sh
# Measures each host, {at_once} at a time, into a file of its own. The directory is the script's argument.
out=${{1:-fleet}}
mkdir -p "$out" || exit
export out
xargs -P {at_once} -I '{ONE}' sh -c '
host=$1 place=$2
shift 2
file=$out/$(printf %s "$host" | tr -c "A-Za-z0-9_.-" -)
{run} "$place" "$@" --out "$file.part" > /dev/null 2> "$file.log"
status=$?
case $status in
0 | 3) mv "$file.part" "$file.json" && rm "$file.log" ;;
*) echo "$host: not measured ($status), see $file.log" >&2; exit 1 ;;
esac' sh '{ONE}' {place} {measured} <<'HOSTS'
{names}HOSTS
"#
    ))
}

/// A job whose script starts a step on each of its nodes.
fn of_slurm(typed: &str, limit: &str, at_once: usize, request: &FleetRequest) -> Result<String> {
    let given = cluster::words_of(typed)?;
    let options: String = cluster::WHOLE_NODES.iter().map(|word| format!("#SBATCH {word}\n")).collect();
    // Slurm ends a line of options where a comment begins, and splits it into words as a shell.
    let given = if given.is_empty() { String::new() } else { format!("#SBATCH {}\n", quoted(&given)?) };
    let step = cluster::ONE_NODE.join(" ");
    let measured = quoted(&words_of(request))?;
    Ok(format!(
        r#"#!/bin/sh
{options}{given}# Measures every node, {} at a time, into a file of its own; submit it by sbatch. HOSTMARK names a program that
# every node has at that path, OUT the directory for the runs.
HOSTMARK=${{HOSTMARK:-hostmark}}
OUT=${{OUT:-hostmark-$SLURM_JOB_ID}}
mkdir -p "$OUT" || exit
export HOSTMARK OUT
scontrol show hostnames "$SLURM_JOB_NODELIST" | xargs -P {at_once} -I '{ONE}' sh -c '
node=$1
shift
{limit}srun {step} -w "$node" "$HOSTMARK" --quiet run "$@" --format=json > "$OUT/$node.part" 2> "$OUT/$node.log"
status=$?
case $status in
0 | 3) mv "$OUT/$node.part" "$OUT/$node.json" && rm "$OUT/$node.log" ;;
*) echo "$node: not measured ($status), see $OUT/$node.log" >&2; exit 1 ;;
esac' sh '{ONE}' {measured}
"#,
        if at_once == 0 { "all".to_owned() } else { at_once.to_string() },
    ))
}

/// Words as a shell takes them.
fn quoted(words: &[String]) -> Result<String> {
    let quoted: Option<Vec<String>> = words.iter().map(|word| language::quoted(word)).collect();
    match quoted {
        Some(words) => Ok(words.join(" ")),
        None => refuse!("a word has a control character, which no script should hold; write it without"),
    }
}
