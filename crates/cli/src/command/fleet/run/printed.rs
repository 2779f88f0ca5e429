//! What `--print` writes: the same measurement in the engine's own words.

use anyhow::Result;
use hostmark_model::FleetRequest;

use super::options::{Engine, RunArguments, words_of};
use super::{hosts, kubernetes, manifest, slurm};
use crate::command::measure::machine::catch;
use crate::isolate::Outside;
use crate::language::refuse;
use crate::words;

/// What stands for a host in what xargs starts.
const ONE: &str = "{}";

/// The script or manifest.
pub fn text(engine: &Engine, arguments: &RunArguments) -> Result<String> {
    let request = arguments.request().0;
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
            let (nodes, requested) = kubernetes::usable(cluster, &catch(&Outside::default())?)?;
            if nodes == 0 {
                refuse!(
                    "there is no host to measure; {how_to_have_hosts}",
                    how_to_have_hosts = engine.how_to_have_hosts()
                );
            }
            let lives_s = arguments.timeout.map_or(kubernetes::LIVES_S, |limit| limit.as_secs());
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
    let place = words::quoted(way).unwrap_or_default();
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
    let given = slurm::words_of(typed)?;
    let options: String = slurm::WHOLE_NODES.iter().map(|word| format!("#SBATCH {word}\n")).collect();
    // Slurm ends a line of options where a comment begins, and splits it into words as a shell.
    let given = if given.is_empty() { String::new() } else { format!("#SBATCH {}\n", quoted(&given)?) };
    let step = slurm::ONE_NODE.join(" ");
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
    let quoted: Option<Vec<String>> = words.iter().map(|word| words::quoted(word)).collect();
    match quoted {
        Some(words) => Ok(words.join(" ")),
        None => refuse!("a word has a control character, which no script should hold; write it without"),
    }
}
