//! What an agent of a server does not do. Who has the token may see what this machine is and measure it, as those do who have a
//! login, and no more: no command, file or kept run of this machine is named from there.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::sys::usage;
use hostmark_model::{AgentAnswer, AgentRefusal, AgentRequest, Exit, Inputs, JsonLine, Message, RunRequest};
use hostmark_say::say;

use crate::command::lost;

/// CPU time that a request may take until it is planned: a hundred times as much as all probes at all their points.
pub const MOST_PLANNING: Duration = Duration::from_secs(5);
/// The time between two looks at it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Ends this process, which says why, where its request is not planned within [`MOST_PLANNING`]: until what comes back is dropped.
pub fn watch_planning() -> Result<Sender<()>> {
    let (planned, waits) = mpsc::channel::<()>();
    let is_late = || usage::cpu_ns_of_process().is_ok_and(|ns| Duration::from_nanos(ns) > MOST_PLANNING);
    let watch = move || {
        while waits.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
            if is_late() {
                let why = say!(
                    "hostmark serve plans a request for {seconds} s of CPU time at most; name fewer filters and values",
                    seconds = MOST_PLANNING.as_secs()
                );
                // Nothing else is said before there is a plan.
                let answer = AgentAnswer::Error(AgentRefusal::new(why, Exit::BadInput));
                let line = answer.to_line().unwrap_or_default();
                let _ = std::io::stdout().write_all(line.as_bytes());
                std::process::exit(Exit::BadInput.code().into());
            }
        }
    };
    let started = thread::Builder::new().spawn(watch);
    started.map_err(|error| {
        lost(say!("no thread could be started ({error}); raise the limit of processes (ulimit -u)"))
    })?;
    Ok(planned)
}

/// Why a request is refused: a sentence that ends with what to do; none where it is not. Whatever is not listed here as allowed is
/// refused, so that a new request is looked at before it comes through.
pub fn refusal(request: &AgentRequest) -> Option<Message> {
    match request {
        AgentRequest::Hello { .. }
        | AgentRequest::Facts
        | AgentRequest::Acknowledge { .. }
        | AgentRequest::Idle { .. }
        | AgentRequest::Peer(_)
        | AgentRequest::Relayed(_)
        | AgentRequest::Stop
        | AgentRequest::Bye => None,
        AgentRequest::Run(request) | AgentRequest::Check(request) => of_run(request),
        AgentRequest::Kept { .. } => {
            Some(say!("hostmark serve gives no runs that are kept there; log in there, as by --on 'ssh HOST'"))
        }
        AgentRequest::Past(_) => Some(no_resume()),
    }
}

fn no_resume() -> Message {
    say!("a run started through hostmark serve cannot be resumed; start a new run")
}

fn of_run(request: &RunRequest) -> Option<Message> {
    // All fields of both, so that a new one does not compile before it is looked at.
    let RunRequest { filters: _, profile: _, seed: _, set: _, table: _, inputs, via: _, begun } = request;
    let Inputs { cpus: _, scratch, command, isolate, peers, limit_s: _, counters: _, sampled: _, tried: _ } = inputs;
    match () {
        () if begun.is_some() => Some(no_resume()),
        () if !command.is_empty() => {
            Some(say!("hostmark serve runs no commands; leave out --command, or use --on 'ssh HOST'"))
        }
        // Where far ends are is told from outside: it would connect to any address, and begin with any 16 bytes.
        () if !peers.is_empty() => Some(say!(
            "hostmark serve measures to no other host; name it by --peer of a run that is measured elsewhere"
        )),
        () if !isolate.is_empty() => {
            Some(say!("hostmark serve enters no layers; leave out --isolate, or use --on 'ssh HOST'"))
        }
        () if scratch.is_some() => Some(say!(
            "hostmark serve takes no directory from outside; leave out --scratch, or set TMPDIR where it is started"
        )),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use hostmark_model::{PathBytes, Profile};

    #[test]
    fn who_came_by_a_server_may_measure_and_name_nothing_of_this_machine() {
        let run = |inputs: Inputs| {
            let (filters, set) = (vec!["clock".to_owned()], Vec::new());
            let request = RunRequest {
                filters,
                profile: Profile::Quick,
                seed: None,
                set,
                table: None,
                inputs,
                via: Vec::new(),
                begun: None,
            };
            refusal(&AgentRequest::Run(Box::new(request)))
        };
        let none = Inputs::default();
        assert_eq!(run(none.clone()), None);
        assert_eq!(run(Inputs { cpus: Some("0".into()), ..none.clone() }), None);
        let named = [
            Inputs { command: vec!["true".into()], ..none.clone() },
            Inputs { peers: vec!["peer".into()], ..none.clone() },
            Inputs { isolate: vec!["seccomp".into()], ..none.clone() },
            Inputs { scratch: Some(PathBytes(b"/".to_vec())), ..none },
        ];
        for (inputs, word) in named.into_iter().zip(["commands", "no other host", "layers", "directory"]) {
            assert!(run(inputs).is_some_and(|sentence| sentence.to_string().contains(word)), "{word}");
        }
        assert!(refusal(&AgentRequest::Kept { run: "last".into() }).is_some());
        assert_eq!(refusal(&AgentRequest::Facts), None);
    }
}
