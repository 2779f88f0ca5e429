//! Fleets by way of a cluster: pods of Kubernetes and steps of Slurm.

use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use hostmark_engine::Wall;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms, WriteOutcome};
use hostmark_launch::timing::timing;
use hostmark_model::{Exit, json_fault};
use hostmark_say::say;
use serde_json::Value;

use super::hosts::{HostAccess, Places, Registered};
use super::manifest::{CONTAINER, LABEL};
use super::{Cluster, hosts, manifest};
use crate::command::{EndsWith, lost};
use crate::language::{refuse, refused, said};
use crate::signals::StopRequest;
use crate::world::SinceStart;
use crate::{language, output};

/// Bytes of an answer at most: tens of thousands of nodes.
const MOST_BYTES: usize = 256 << 20;
/// The time between two looks at the pods.
const LOOKS: Duration = Duration::from_secs(1);
/// Longest life of a pod, seconds: the longest run, twice over, and its start.
pub const LIVES_S: u64 = 2 * 3600;

/// Waits until this process closes the pipe or is gone, then removes the pods: whatever ends this process, none stays.
const REMOVE: &str = r#"trap "" INT TERM HUP
cat > /dev/null
exec "$@""#;

pub struct Pods {
    cluster: KubectlClient,
    image: Cluster,
    /// Label of all pods of this fleet, and prefix of their names.
    fleet: String,
    hosts: Vec<Registered>,
    requests: Vec<Value>,
    states: Vec<PodState>,
    /// Last state of the pods, and its time.
    seen: Option<(SinceStart, Vec<Value>)>,
    remover: Option<Supervised>,
}

enum PodState {
    None,
    Starting(SinceStart),
    Open,
    Gone,
}

impl Pods {
    /// The nodes that the selector chooses.
    pub fn of(cluster: &Cluster, stop: &StopRequest) -> Result<Pods> {
        let client = KubectlClient { words: cluster.kubectl.clone(), stop: stop.readable() };
        let given = cluster.request.as_deref().map(manifest::requested).transpose()?;
        let (mut hosts, mut requests) = (Vec::new(), Vec::new());
        for node in nodes(&client, &cluster.selector)? {
            let Some(name) = node["metadata"]["name"].as_str() else { continue };
            if let Some(why) = hosts::refused(name) {
                return Err(lost(said!(
                    "the cluster names a node '{name}' that is none ({why}); look at kubectl get nodes"
                )));
            }
            hosts.push(Registered { name: name.to_owned(), refused: unusable(&node) });
            requests.push(given.clone().unwrap_or_else(|| manifest::more_than_half(&node["status"]["allocatable"])));
        }
        // The end of it is drawn at random.
        let unique = uuid::Uuid::now_v7().simple().to_string().split_off(22);
        let states = hosts.iter().map(|_| PodState::None).collect();
        let image = Cluster {
            selector: cluster.selector.clone(),
            image: cluster.image.clone(),
            request: None,
            kubectl: cluster.kubectl.clone(),
        };
        let fleet = format!("hostmark-{unique}");
        Ok(Pods { cluster: client, image, fleet, hosts, requests, states, seen: None, remover: None })
    }

    fn pod(&self, host: usize) -> String {
        format!("{}-{host}", self.fleet)
    }

    fn selector(&self) -> String {
        format!("{LABEL}={}", self.fleet)
    }

    /// Starts the pod of a host. Before the first, who removes them all is started.
    fn create(&mut self, host: usize) -> Result<()> {
        if self.remover.is_none() {
            let mut command = Command::new("sh");
            command.args(["-c", REMOVE, "sh"]).args(&self.cluster.words);
            command.args(["delete", "pods", "-l", &self.selector(), "--ignore-not-found", "--wait=false"]);
            let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Awaited);
            let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: None };
            self.remover = Some(Supervised::start(command, terms)?);
        }
        let node = &self.hosts[host].name;
        let pod = manifest::pod(&self.image, &self.fleet, host, node, &self.requests[host], LIVES_S);
        self.cluster.ask(&["create", "-f", "-"], Some(&pod.to_string())).map(|_| ())
    }

    /// State of a pod in the cluster, asked for all at once and not too often.
    fn look(&mut self, host: usize) -> Result<Option<Value>> {
        if self.seen.as_ref().is_none_or(|(since, _)| since.elapsed() > LOOKS) {
            let said = self.cluster.ask(&["get", "pods", "-l", &self.selector(), "-o", "json"], None)?;
            let list: Value = serde_json::from_str(&said).map_err(|error| {
                let error = json_fault(&error);
                lost(said!("kubectl prints no JSON ({error}); try kubectl get pods -o json by hand"))
            })?;
            let items = list["items"].as_array().cloned().unwrap_or_default();
            self.seen = Some((SinceStart::now(), items));
        }
        let name = self.pod(host);
        let pods = self.seen.iter().flat_map(|(_, pods)| pods);
        Ok(pods.into_iter().find(|pod| pod["metadata"]["name"] == *name).cloned())
    }
}

fn deleted() -> String {
    said!("its pod was deleted")
}

impl Places for Pods {
    fn hosts(&self) -> &[Registered] {
        &self.hosts
    }

    fn way(&mut self, host: usize) -> HostAccess {
        let since = match &self.states[host] {
            PodState::None => {
                if let Err(error) = self.create(host) {
                    self.states[host] = PodState::Starting(SinceStart::now());
                    return HostAccess::Closed(crate::command::sentence(&error));
                }
                self.states[host] = PodState::Starting(SinceStart::now());
                self.seen = None;
                return HostAccess::NotYet;
            }
            PodState::Starting(since) => since.elapsed(),
            PodState::Open | PodState::Gone => Duration::ZERO,
        };
        match self.look(host) {
            Err(error) => HostAccess::Closed(crate::command::sentence(&error)),
            // Who was there once does not come again by waiting.
            Ok(None) if matches!(self.states[host], PodState::Open | PodState::Gone) => HostAccess::Closed(deleted()),
            Ok(pod) => match pod.as_ref().map_or(Ok(false), is_ready) {
                Err(why) => HostAccess::Closed(why),
                Ok(true) => {
                    self.states[host] = PodState::Open;
                    let words = self.cluster.words.iter().cloned();
                    let pod = self.pod(host);
                    let exec = ["exec", "-i", &pod, "-c", CONTAINER, "--"].map(str::to_owned);
                    HostAccess::Open(words.chain(exec).collect())
                }
                Ok(false) if since > timing().pod => {
                    let seconds = timing().pod.as_secs();
                    let why = self.why_waiting(host).map(|why| said!(": {why}")).unwrap_or_default();
                    HostAccess::Closed(said!("its pod did not start in {seconds} s{why}"))
                }
                Ok(false) => HostAccess::NotYet,
            },
        }
    }

    fn leave(&mut self, host: usize) {
        if matches!(self.states[host], PodState::Starting(_) | PodState::Open) {
            // What is not removed now is removed at the end.
            let pod = self.pod(host);
            let _ = self.cluster.ask(&["delete", "pod", &pod, "--ignore-not-found", "--wait=false"], None);
        }
        self.states[host] = PodState::Gone;
    }

    fn why_lost(&mut self, host: usize) -> Option<String> {
        self.seen = None;
        let pod = self.look(host).ok()?;
        match pod {
            None => Some(deleted()),
            Some(pod) => is_ready(&pod).err(),
        }
    }

    /// The last warning among the cluster's events of a pod: why it does not start, which its state does not tell.
    fn why_waiting(&mut self, host: usize) -> Option<String> {
        let of_pod = format!("type=Warning,involvedObject.name={}", self.pod(host));
        let said = self.cluster.ask(&["get", "events", "--field-selector", &of_pod, "-o", "json"], None).ok()?;
        let list: Value = serde_json::from_str(&said).ok()?;
        let time = |event: &Value| event["lastTimestamp"].as_str().unwrap_or_default().to_owned();
        list["items"].as_array()?.iter().max_by_key(|event| time(event)).map(said_of)
    }

    fn finish(&mut self) -> Result<()> {
        let Some(mut remover) = self.remover.take() else { return Ok(()) };
        let _ = remover.send_last("\n");
        let is_over = remover.ends_within(timing().kubernetes);
        let word = remover.last_word().unwrap_or_default();
        if is_over && remover.kill().is_ok_and(|status| status.success()) {
            return Ok(());
        }
        let _ = remover.kill();
        let selector = self.selector();
        Err(lost(said!("the pods could not be removed ({word}); remove them by kubectl delete pods -l {selector}")))
    }
}

/// Tells whether a pod's shell can be started; an error if that will never be so.
fn is_ready(pod: &Value) -> Result<bool, String> {
    let status = &pod["status"];
    let container = &status["containerStatuses"][0];
    match status["phase"].as_str() {
        Some("Failed" | "Succeeded") => {
            let why = Some(said_of(status)).filter(|why| !why.is_empty());
            let why = why.unwrap_or_else(|| said_of(&container["state"]["terminated"]));
            Err(said!("its pod ended: {why}"))
        }
        Some("Running") if !container["state"]["running"].is_null() => Ok(true),
        _ => {
            let waiting = &container["state"]["waiting"];
            // What a second attempt would not mend.
            let is_final = |reason: &str| {
                ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"].contains(&reason)
                    || reason.starts_with("CreateContainer")
            };
            match waiting["reason"].as_str() {
                Some(reason) if is_final(reason) => {
                    let why = said_of(waiting);
                    Err(said!("its pod cannot start: {why}"))
                }
                _ => Ok(false),
            }
        }
    }
}

/// The reason and the message of what the cluster says.
fn said_of(value: &Value) -> String {
    let parts = ["reason", "message"].map(|part| value[part].as_str().unwrap_or_default());
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

fn nodes(client: &KubectlClient, selector: &str) -> Result<Vec<Value>> {
    let said = client.ask(&["get", "nodes", "-l", selector, "-o", "json"], None)?;
    let list: Value = serde_json::from_str(&said)
        .map_err(|error| json_fault(&error))
        .map_err(|error| lost(said!("kubectl prints no JSON ({error}); try kubectl get nodes -o json by hand")))?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// The nodes that can be measured, and what each pod of a Job is to request: what the smallest gives.
pub fn usable(cluster: &Cluster, stop: &StopRequest) -> Result<(usize, Value)> {
    let client = KubectlClient { words: cluster.kubectl.clone(), stop: stop.readable() };
    let nodes: Vec<Value> =
        nodes(&client, &cluster.selector)?.into_iter().filter(|node| unusable(node).is_none()).collect();
    let halves = nodes.iter().map(|node| manifest::more_than_half(&node["status"]["allocatable"]));
    let number = |value: &Value| value["memory"].as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let least = halves.min_by_key(number).unwrap_or_default();
    let given = cluster.request.as_deref().map(manifest::requested).transpose()?;
    Ok((nodes.len(), given.unwrap_or(least)))
}

fn unusable(node: &Value) -> Option<String> {
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    if node["spec"]["unschedulable"] == true {
        return Some(said!("the node is cordoned"));
    }
    match ready {
        Some(condition) if condition["status"] != "True" => {
            let why = condition["message"].as_str().unwrap_or_default();
            Some(said!("the node is not ready: {why}"))
        }
        _ => None,
    }
}

/// The cluster's client.
struct KubectlClient {
    words: Vec<String>,
    stop: std::rc::Rc<rustix::fd::OwnedFd>,
}

impl KubectlClient {
    /// Output of kubectl, when it ended well.
    fn ask(&self, words: &[&str], input: Option<&str>) -> Result<String> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(words);
        let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Killed);
        let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: Some(self.stop.clone()) };
        let cannot = |error: std::io::Error| {
            let client = &self.words[0];
            refused!("{client} cannot be asked ({error}); start hostmark where it is in PATH, or name it by --kubectl")
        };
        let mut client = Supervised::start(command, terms).map_err(cannot)?;
        let written = client.send_within(input.unwrap_or_default(), timing().kubernetes).map_err(cannot)?;
        let _ = client.send_last("");
        let outcome = match written {
            WriteOutcome::Stopped => ReadOutcome::Stopped,
            _ => client.drain(timing().kubernetes, MOST_BYTES).map_err(cannot)?,
        };
        match outcome {
            ReadOutcome::Closed => {}
            ReadOutcome::Stopped => {
                let sentence = say!("stopped before the cluster answered; start again");
                return Err(EndsWith(Exit::Signal(2), sentence).into());
            }
            _ => {
                return Err(lost(said!("the cluster does not answer; try kubectl by hand")));
            }
        }
        client.ends_within(timing().kubernetes);
        let (said, word) = (client.take_buffered(), client.last_word().unwrap_or_default());
        match client.kill() {
            Ok(status) if status.success() => Ok(String::from_utf8_lossy(&said).into_owned()),
            _ => {
                let asked = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
                Err(lost(said!("kubectl {asked} failed: {word}; try it by hand")))
            }
        }
    }
}

/// Runs inside the allocation: tells its number and its nodes, and holds it until this process closes the pipe, or is gone.
const HOLD: &str = r#"echo "$0 job $SLURM_JOB_ID"
scontrol show hostnames "$SLURM_JOB_NODELIST" || exit
echo "$0 all"
exec cat > /dev/null"#;
/// The time after which a person hears that an allocation is waited for.
const SOON: Duration = Duration::from_secs(2);
/// Bytes of an answer at most: a hundred thousand nodes.
const MOST_OUTPUT: usize = 32 << 20;

/// Options of salloc for every allocation: whole nodes, and one that fails takes no other with it.
pub const WHOLE_NODES: [&str; 4] = ["--job-name=hostmark", "--exclusive", "--mem=0", "--no-kill"];
/// Options of srun for every node: all of it, whatever the defaults of the cluster, from a directory that every node has.
pub const ONE_NODE: [&str; 6] = ["--overlap", "--cpu-bind=none", "--mem=0", "--chdir=/", "-N1", "-n1"];

/// Nodes, and who holds them.
pub struct Allocation {
    hosts: Vec<Registered>,
    job: String,
    holder: Option<Supervised>,
}

impl Allocation {
    /// Waits for an allocation: of the nodes that are missing, where some are.
    pub fn of(arguments: &str, missing: Option<&[String]>, stop: &StopRequest) -> Result<Allocation> {
        let mut typed = words_of(arguments)?;
        let mut down = Vec::new();
        if let Some(missing) = missing {
            let states = states(missing, stop)?;
            let is_down = |host: &&String| states.iter().any(|(name, state)| name == *host && is_unusable(state));
            down = missing.iter().filter(is_down).cloned().collect();
            let wanted: Vec<&str> = missing.iter().filter(|host| !down.contains(host)).map(String::as_str).collect();
            if wanted.is_empty() {
                let hosts = down.into_iter().map(refused).collect();
                return Ok(Allocation { hosts, job: String::new(), holder: None });
            }
            // The last of an option counts.
            typed.extend(["-N".to_owned(), wanted.len().to_string(), "-w".into(), wanted.join(",")]);
        }
        let mark = format!("hostmark-{}", uuid::Uuid::now_v7().simple());
        let mut command = Command::new("salloc");
        command.args(WHOLE_NODES).args(&typed).args(["sh", "-c", HOLD, &mark]);
        let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Asked(timing().release));
        let stop = Some(Rc::clone(&stop.readable()));
        let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop };
        let holder = Supervised::start(command, terms).map_err(|error| {
            refused!("salloc cannot be started ({error}); start hostmark where Slurm's commands are in PATH")
        })?;
        let mut allocation = Allocation { hosts: Vec::new(), job: String::new(), holder: Some(holder) };
        allocation.wait(&mark)?;
        allocation.hosts.extend(down.into_iter().map(refused));
        Ok(allocation)
    }

    /// Waits for the nodes, however long others have them.
    fn wait(&mut self, mark: &str) -> Result<()> {
        let Some(holder) = &mut self.holder else { return Ok(()) };
        let mut at_most = SOON;
        loop {
            match holder
                .read_line_within(at_most)
                .map_err(|error| lost(said!("salloc cannot be heard ({error}); start again")))?
            {
                ReadOutcome::TimedOut => {
                    if at_most == SOON {
                        output::remark(&said!("waiting for an allocation of salloc"));
                    }
                    at_most = Duration::from_secs(3600);
                }
                ReadOutcome::Line(line) => match line.strip_prefix(mark).map(str::trim) {
                    Some("all") => return Ok(()),
                    Some(job) => self.job = number(job.trim_start_matches("job ")),
                    None if self.job.is_empty() => {}
                    None => {
                        let node = line.trim();
                        if let Some(why) = hosts::refused(node) {
                            bail!(lost(said!(
                                "Slurm names a node '{node}' that is none ({why}); look at scontrol show hostnames"
                            )));
                        }
                        self.hosts.push(Registered::named(node.to_owned()));
                    }
                },
                ReadOutcome::Stopped => return Err(stopped()),
                ReadOutcome::Closed | ReadOutcome::TooLong => {
                    holder.ends_within(timing().release);
                    let word = holder.last_word().unwrap_or_default();
                    refuse!("salloc gave no nodes: {word}; check the arguments with salloc by hand");
                }
            }
        }
    }
}

impl Places for Allocation {
    fn hosts(&self) -> &[Registered] {
        &self.hosts
    }

    fn way(&mut self, host: usize) -> HostAccess {
        if let Some(why) = self.why_lost(host) {
            return HostAccess::Closed(why);
        }
        let step = ["srun".to_owned(), format!("--jobid={}", self.job)];
        let words = step.into_iter().chain(ONE_NODE.map(str::to_owned));
        HostAccess::Open(words.chain(["-w".to_owned(), self.hosts[host].name.clone()]).collect())
    }

    fn leave(&mut self, _host: usize) {}

    fn why_lost(&mut self, _host: usize) -> Option<String> {
        let holder = self.holder.as_mut()?;
        if !holder.has_ended().unwrap_or(false) {
            return None;
        }
        let word = holder.last_word().unwrap_or_default();
        Some(said!("the allocation has ended: {word}"))
    }

    fn finish(&mut self) -> Result<()> {
        let Some(mut holder) = self.holder.take() else { return Ok(()) };
        let _ = holder.send_last("\n");
        if holder.ends_within(timing().release) {
            return Ok(());
        }
        // Slurm itself is asked, and then nobody any more.
        let _ = Command::new("scancel").arg(&self.job).status();
        let _ = holder.kill();
        Err(lost(said!(
            "job {job} was not released in {as_secs} s; look at squeue",
            job = self.job,
            as_secs = timing().release.as_secs()
        )))
    }
}

/// The words that a person gives salloc.
pub fn words_of(arguments: &str) -> Result<Vec<String>> {
    language::split(arguments).map_err(|why| refused!("--slurm '{arguments}': {why}; quote it as for a shell"))
}

/// A job's number as it stands in a command: digits, and what a heterogeneous one adds.
fn number(typed: &str) -> String {
    typed.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect()
}

fn refused(name: String) -> Registered {
    let refused = Some(said!("Slurm does not give this node: it is down or drained"));
    Registered { name, refused }
}

/// Tells whether no job would ever get a node in this state; a star marks one that does not answer.
fn is_unusable(state: &str) -> bool {
    let bad = ["down", "drain", "drng", "fail", "unk", "boot", "maint"];
    state.ends_with('*') || bad.iter().any(|bad| state.starts_with(bad))
}

/// The states of nodes as sinfo has them.
fn states(hosts: &[String], stop: &StopRequest) -> Result<Vec<(String, String)>> {
    let mut command = Command::new("sinfo");
    command.args(["-h", "-N", "-o", "%N %t", "-n", &hosts.join(",")]);
    let (errors, ending, stop) = (Errors::CapturedAtLeisure, Ending::Killed, Some(stop.readable()));
    let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
    let cannot = |error: std::io::Error| {
        refused!("sinfo cannot be asked ({error}); start hostmark where Slurm's commands are in PATH")
    };
    let mut asked = Supervised::start(command, terms).map_err(cannot)?;
    match asked.drain(timing().slurm, MOST_OUTPUT).map_err(cannot)? {
        ReadOutcome::Closed => {}
        ReadOutcome::Stopped => return Err(stopped()),
        _ => return Err(lost(said!("sinfo does not answer; look at slurmctld"))),
    }
    let text = String::from_utf8_lossy(&asked.take_buffered()).into_owned();
    let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    Ok(lines.map(|(name, state)| (name.to_owned(), state.trim().to_owned())).collect())
}

fn stopped() -> anyhow::Error {
    let sentence = say!("stopped before there were hosts; start again");
    EndsWith(Exit::Signal(2), sentence).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_nobody_gets_is_not_waited_for() {
        for state in ["down", "down*", "idle*", "drain", "drng", "fail", "alloc*", "unk"] {
            assert!(is_unusable(state), "{state}");
        }
        for state in ["idle", "alloc", "mix", "comp", "resv"] {
            assert!(!is_unusable(state), "{state}");
        }
        assert_eq!(number("12+0; rm"), "12+0");
    }
}
