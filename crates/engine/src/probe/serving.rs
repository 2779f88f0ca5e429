//! The far half of a probe between two parties, and what it is given.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use hostmark_host::Root;
use hostmark_model::{Event, FarUsage, JsonLine, Nonce, ReasonCode, ServiceJob};
use hostmark_say::say;

use crate::case::allotment::{Buffer, MemoryBudget};
use crate::round_error::{OrSkipped, Result, RoundError};
use crate::sampling::sampler::{self, Deadline};
use crate::sys::call::Call;
use crate::sys::memory::Pages;
use crate::sys::scratch::{self, Folder};
use crate::sys::usage::{Account, end_with_input};

/// The far half of a probe: who serves what its function measures.
pub struct Service {
    /// Name by which it is started. Probes may share one.
    pub name: &'static str,
    /// Sets up, tells where it listens, and serves for ever: only an error of its own makes it return.
    pub serve: fn(&mut Serving) -> Result<()>,
}

pub struct Serving<'a> {
    job: &'a ServiceJob,
    output: &'a mut dyn Write,
    memory: MemoryBudget,
    folder: Option<Folder>,
}

impl Serving<'_> {
    /// Returns the context of a job; events go to `output`.
    pub(crate) fn new<'a>(job: &'a ServiceJob, output: &'a mut dyn Write) -> Serving<'a> {
        let deadline = Deadline::from_now(job.setup_ns);
        let memory = MemoryBudget::new(Root::here(), job.memory_bytes, job.copies, deadline);
        Serving { job, output, memory, folder: None }
    }

    /// The value of an axis at the point that is served.
    pub fn param<T: FromStr>(&self, axis: &str) -> Result<T> {
        let value = self.job.params.get(axis).ok_or_else(|| RoundError::internal(say!("there is no axis '{axis}'")))?;
        value.parse().map_err(|_| RoundError::internal(say!("'{value}' is no value of the axis '{axis}'")))
    }

    /// The addresses that it may listen at; the first that can be had is taken.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.job.at
    }

    /// Nonce that a client has to present; other clients are dropped.
    pub fn nonce(&self) -> Nonce {
        self.job.nonce
    }

    /// Checks that so much memory may be filled now; Skipped where it may not.
    pub fn may_fill(&self, bytes: u64) -> Result<()> {
        self.memory.ask(bytes, None)
    }

    /// Memory, touched by this thread and filled with varying non-zero data. The pages really obtained are noted.
    pub fn buffer(&mut self, bytes: u64, pages: Pages) -> Result<Buffer> {
        let buffer = self.memory.allot(1, bytes, pages, None)?.map()?;
        self.note("pages", buffer.obtained())?;
        Ok(buffer)
    }

    /// A directory of its own, which is its working directory from now on; who started it removes it.
    pub fn scratch_dir(&mut self) -> Result<PathBuf> {
        let run = scratch::of_run(&self.job.scratch);
        let run = run.ok_or_else(|| {
            RoundError::skipped(ReasonCode::MissingFile, say!("the far end has no scratch directory"))
        })?;
        let entered = run.and_then(|run| Folder::enter(run, &self.job.folder));
        self.folder = Some(entered.or_lacking(|| say!("the far end's directory cannot be made"))?);
        Ok(PathBuf::from("."))
    }

    /// Records how it serves, beside what the case notes.
    pub fn note(&mut self, key: &str, value: impl ToString) -> Result<()> {
        Ok(write_event(&Event::Note { key: key.to_owned(), value: value.to_string() }, self.output)?)
    }

    /// Reports that clients may connect to this address. From now on it ends as soon as its input does.
    pub fn listens(&mut self, address: SocketAddr) -> Result<()> {
        sampler::end();
        write_event(&Event::Listening { address }, self.output)?;
        Ok(end_with_input(account())?)
    }
}

/// Returns the message template of the final usage report.
fn account() -> Account {
    let marks = [1, 2, 3, 4].map(|last| u64::MAX - last);
    let [cpu_ns, voluntary_switches, involuntary_switches, faults] = marks;
    let served = Event::Served(FarUsage { cpu_ns, voluntary_switches, involuntary_switches, faults });
    let mut rest = served.to_line().unwrap_or_default();
    let mut texts = Account::default();
    for (text, mark) in texts.iter_mut().zip(marks) {
        if let Some((before, after)) = rest.split_once(&mark.to_string()) {
            *text = before.as_bytes().to_vec();
            rest = after.to_owned();
        }
    }
    texts[marks.len()] = rest.into_bytes();
    texts
}

pub(crate) fn write_event(event: &Event, output: &mut (impl Write + ?Sized)) -> io::Result<()> {
    output.write_all(event.to_line()?.as_bytes()).call("write")?;
    output.flush().call("write")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_an_event_around_its_numbers() {
        let texts = account();
        let said: Vec<u8> =
            (1..).zip(&texts).flat_map(|(n, text)| [text.clone(), format!("{n}").into_bytes()].concat()).collect();
        let line = String::from_utf8(said).unwrap();
        let (line, rest) = line.split_once('\n').unwrap();
        let usage = FarUsage { cpu_ns: 1, voluntary_switches: 2, involuntary_switches: 3, faults: 4 };
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), Event::Served(usage));
        assert_eq!(rest, "5");
    }
}
