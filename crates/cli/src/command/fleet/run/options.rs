//! What a person says of a fleet that is to be measured.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hostmark_model::{FleetRequest, Inputs, Profile, RunRequest};

use crate::command::compare::time;
use crate::command::measure::inputs::{ProfileName, seed};
use crate::language::{refuse, said};
use crate::words;

#[derive(Debug, Args)]
pub struct RunArguments {
    /// What to measure: groups, probes or cases [default: all]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Hosts listed in this file, one per line
    ///
    /// `#` begins a comment. `/dev/stdin` reads the list from a pipe.
    #[arg(long, value_name = "FILE", requires = "each")]
    hosts: Option<PathBuf>,
    /// How to reach each host, e.g. 'ssh {host}'
    ///
    /// Any command that gives a shell there, as for `hostmark run --on`. {host} stands for the host's name.
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    each: Option<String>,
    /// Nodes of an allocation: salloc's arguments
    ///
    /// For example '-p batch -N 64'. Whole nodes are allocated (--exclusive) and released at the end.
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true, conflicts_with_all = ["hosts", "kubernetes"])]
    slurm: Option<String>,
    /// Nodes that match this label selector
    ///
    /// '' matches all. hostmark starts a pod of --image on each, and removes it at the end.
    #[arg(long, value_name = "SELECTOR", conflicts_with = "hosts", requires = "image")]
    kubernetes: Option<String>,
    /// Image of the pods; it needs only a shell
    #[arg(long, value_name = "IMAGE", requires = "kubernetes")]
    image: Option<String>,
    /// What each pod requests [default: more than half of its node]
    ///
    /// For example cpu=4,memory=8Gi. Two pods that request more than half never share a node.
    #[arg(long, value_name = "RESOURCES", requires = "kubernetes", hide_short_help = true)]
    request: Option<String>,
    /// The client and its options, e.g. 'kubectl -n bench'
    #[arg(long, value_name = "COMMAND", default_value = "kubectl", requires = "kubernetes", hide_short_help = true)]
    kubectl: String,
    /// Hosts measured at once [default: all; 1 for --hosts]
    #[arg(long, value_name = "N")]
    pub at_once: Option<NonZeroUsize>,
    /// Then measure the network between every two hosts
    ///
    /// Measures TCP bandwidth and round trips in a round-robin schedule. With all hosts at once, N hosts take 2 (N − 1) turns
    /// of about 10 s; in each turn half of them measure to the other half.
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
    ///
    /// Measures the hosts without a run file there. Give the other options as the first time.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Print a script or manifest, and measure nothing
    ///
    /// An equivalent sbatch script, Kubernetes Job or shell script, which needs only the engine's own client.
    #[arg(long, conflicts_with = "resume")]
    pub print: bool,
}

/// What every host measures, in the two forms in which it is wanted.
pub struct Request(pub FleetRequest);

impl Request {
    /// As a run is asked for.
    pub fn as_run(&self) -> RunRequest {
        let FleetRequest { profile, filters, set, seed } = self.0.clone();
        let (inputs, table, via, begun) = (Inputs::default(), None, Vec::new(), None);
        RunRequest { filters, profile, seed, set, table, inputs, via, begun }
    }
}

/// Where the hosts come from.
pub enum Engine {
    /// A list of names, and the command that leads to each.
    Hosts { file: PathBuf, each: String },
    /// An allocation.
    Slurm { arguments: String },
    /// The nodes of a cluster.
    Kubernetes(Cluster),
}

/// How pods are made.
pub struct Cluster {
    pub selector: String,
    pub image: String,
    pub request: Option<String>,
    /// The client's words.
    pub kubectl: Vec<String>,
}

impl Engine {
    /// As the fleet's file has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Engine::Hosts { .. } => "hosts",
            Engine::Slurm { .. } => "slurm",
            Engine::Kubernetes(_) => "kubernetes",
        }
    }

    /// Hosts behind one network and one login are taken by turns; an engine's nodes are each alone.
    pub fn usually_at_once(&self, hosts: usize) -> NonZeroUsize {
        match self {
            Engine::Hosts { .. } => NonZeroUsize::MIN,
            Engine::Slurm { .. } | Engine::Kubernetes(_) => NonZeroUsize::new(hosts).unwrap_or(NonZeroUsize::MIN),
        }
    }

    pub fn how_to_have_hosts(&self) -> String {
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
                let kubectl = words::split(&self.kubectl).ok().filter(|words| !words.is_empty());
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

    pub fn request(&self) -> Request {
        Request(FleetRequest {
            profile: Profile::from(self.profile),
            filters: self.filters.clone(),
            set: self.set.clone(),
            seed: self.seed,
        })
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
pub fn typed_again(arguments: &RunArguments, directory: &Path) -> String {
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
    words.extend(words_of(&arguments.request().0));
    words.extend(["--resume".to_owned(), directory.display().to_string()]);
    let shown = words.iter().map(|word| words::quoted(word).unwrap_or_else(|| word.clone()));
    shown.collect::<Vec<String>>().join(" ")
}
