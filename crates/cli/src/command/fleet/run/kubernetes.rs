//! Hosts from a cluster of Kubernetes: a pod on each node, and `kubectl exec -i` that leads into it.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::Wall;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms, WriteOutcome};
use hostmark_launch::timing::timing;
use hostmark_model::{Exit, json_fault};
use hostmark_say::say;
use serde_json::Value;

use super::hosts::{HostAccess, Places, Registered};
use super::manifest::{self, CONTAINER, LABEL};
use super::{Cluster, hosts};
use crate::command::{EndsWith, lost};
use crate::language::{refused, said};
use crate::signals::StopRequest;
use crate::world::SinceStart;

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
