//! The process of a far end: it serves one job until its input ends, and says what that took.

use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hostmark_model::{Event, JsonLine, Message, PROTOCOL, ReasonCode, ServiceJob};
use hostmark_say::say;

use crate::probe::serving::{Service, Serving, write_event};
use crate::probe::{Catalogue, entries};
use crate::round_error::{Result, RoundError, panicked};
use crate::sampling::setup;
use crate::sys::affinity::{self, MOST_CPUS};
use crate::sys::call::Call;
use crate::sys::process;
use crate::sys::usage::outlive_input;

/// Addresses to be tried at most: a machine's own.
const MOST_ADDRESSES: usize = 1000;

/// Serves the job that its input tells; the process should end afterwards, whatever is returned.
pub fn serve(catalogue: Catalogue, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line).call("read")?;
    let job = ServiceJob::from_line(&line)?;
    if !process::die_with_parent(job.parent) {
        // Whoever started it is gone, or will not be missed.
        return Ok(());
    }
    // As for workers: no other program is to be killed for what a round fills.
    let _ = process::be_killed_first();
    std::panic::set_hook(Box::new(|_| {}));
    setup::begin()?;
    write_event(&Event::Hello { protocol: PROTOCOL, pid: std::process::id() }, output)?;
    let ended = match catch_unwind(AssertUnwindSafe(|| carry_out(catalogue, &job, output))) {
        Ok(Ok(())) => RoundError::failed(ReasonCode::Protocol, say!("it has served to its end")),
        Ok(Err(error)) => error,
        Err(panic) => RoundError::Failed(panicked(&*panic)),
    };
    // From now on it speaks for itself.
    outlive_input()?;
    write_event(&ended.into(), output)
}

/// Serves: only what goes wrong ends it.
fn carry_out(catalogue: Catalogue, job: &ServiceJob, output: &mut dyn Write) -> Result<()> {
    check(job)?;
    let service = find(catalogue, &job.service).ok_or_else(|| {
        RoundError::failed(ReasonCode::Protocol, say!("there is no service '{service}'", service = job.service))
    })?;
    if !job.cpus.is_empty() {
        affinity::bind(&job.cpus)
            .map_err(|error| RoundError::lacking(say!("cannot bind to CPUs {cpus:?}", cpus = job.cpus), &error))?;
    }
    let mut serving = Serving::new(job, output);
    (service.serve)(&mut serving)
}

/// Failed where the job is out of all proportion.
fn check(job: &ServiceJob) -> Result<()> {
    let expect = |is_sound: bool, what: Message| match is_sound {
        true => Ok(()),
        false => Err(RoundError::failed(ReasonCode::Protocol, say!("the job of a far end cannot be meant: {what}"))),
    };
    expect(job.protocol == PROTOCOL, say!("it is of protocol {protocol}, not {PROTOCOL}", protocol = job.protocol))?;
    expect(job.cpus.len() <= MOST_CPUS, say!("it names {cpus} CPUs", cpus = job.cpus.len()))?;
    expect(job.cpus.iter().all(|&cpu| cpu < MOST_CPUS), say!("it names a CPU that no kernel has"))?;
    expect(
        (1..=MOST_ADDRESSES).contains(&job.at.len()),
        say!("it names {addresses} addresses", addresses = job.at.len()),
    )
}

/// The service of this name.
pub(crate) fn find(catalogue: Catalogue, name: &str) -> Option<&'static Service> {
    entries(catalogue).filter_map(|entry| entry.probe.service()).find(|service| service.name == name)
}
