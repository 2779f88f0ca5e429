//! Hosts from an allocation of Slurm: salloc holds it for as long as this process lives, srun leads to each node.

use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Result, bail};
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::timing::timing;
use hostmark_model::Exit;
use hostmark_say::say;

use super::hosts::{self, HostAccess, Places, Registered};
use crate::command::{EndsWith, lost};
use crate::language::{refuse, refused, said};
use crate::signals::StopRequest;
use crate::{output, words};

/// Runs inside the allocation: tells its number and its nodes, and holds it until this process closes the pipe, or is gone.
const HOLD: &str = r#"echo "$0 job $SLURM_JOB_ID"
scontrol show hostnames "$SLURM_JOB_NODELIST" || exit
echo "$0 all"
exec cat > /dev/null"#;
/// The time after which a person hears that an allocation is waited for.
const SOON: Duration = Duration::from_secs(2);
/// Bytes of an answer at most: a hundred thousand nodes.
const MOST_BYTES: usize = 32 << 20;

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
    words::split(arguments).map_err(|why| refused!("--slurm '{arguments}': {why}; quote it as for a shell"))
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
    match asked.drain(timing().slurm, MOST_BYTES).map_err(cannot)? {
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
