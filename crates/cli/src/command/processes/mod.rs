//! The processes that a run starts on this machine: workers and far ends, all in the janitor's charge.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::sys::call::spawned;
use hostmark_engine::sys::control_group::{ControlGroup, GroupLimit};
use hostmark_engine::sys::descendants;
use hostmark_engine::sys::scratch::fresh_name;
use hostmark_host::{Root, nurseries};
use hostmark_launch::local::{LocalService, LocalWorker, Warden};
use hostmark_launch::timing::timing;
use hostmark_launch::{ServiceLink, WorkerLink};
use hostmark_model::{Job, JsonLine, PathBytes, ServiceJob};
use hostmark_say::say;
use rustix::fd::OwnedFd;

use janitor::Janitor;

pub mod janitor;
pub mod left;
pub mod neighbour;
pub mod service;

/// Time for cleaning up after a killed worker.
const GRACE: Duration = Duration::from_secs(1);

/// Registry of the run's workers and far ends: the janitor, and this process, which inherits their orphans.
struct Charges {
    janitor: RefCell<Janitor>,
    /// True where every child of this process was started by this run.
    has_adopted: bool,
    /// Process groups that are alive, or not yet waited for.
    groups: RefCell<Vec<u32>>,
}

impl Warden for Charges {
    fn takes(&self, group: u32) {
        self.groups.borrow_mut().push(group);
        self.janitor.borrow_mut().record(&CleanupEntry::Group(group));
    }

    fn releases(&self, group: u32) {
        let mut known = self.groups.borrow_mut();
        known.retain(|&other| other != group);
        if self.has_adopted {
            // Who cleans up after a worker that was killed is this process' child by now, and so is whoever a killed worker's
            // command has left. One that cannot be ended is another user's, and the worker has told of it.
            let spared: Vec<u32> = known.iter().copied().chain([self.janitor.borrow().id()]).collect();
            let _ = descendants::end_all(&spared, GRACE, timing().end);
        }
        self.janitor.borrow_mut().record(&CleanupEntry::Reaped(group));
    }
}

/// Nobody, where a worker leaves nothing behind and ends with this process.
struct Nobody;

impl Warden for Nobody {
    fn takes(&self, _: u32) {}
    fn releases(&self, _: u32) {}
}

/// A fresh worker with a job that starts no process and makes no file, before there is a janitor.
pub fn alone(program: &Path, job: &Job) -> io::Result<Box<dyn WorkerLink>> {
    let line = job.to_line()?;
    let worker = LocalWorker::start(program, &[service::WORKER], (line.trim_end(), false), None, Rc::new(Nobody));
    Ok(Box::new(worker.map_err(spawned)?))
}

pub struct Processes {
    program: PathBuf,
    stop: Option<Rc<OwnedFd>>,
    charges: Rc<Charges>,
}

impl Processes {
    /// Adopts from now on the orphans of this process' children, unless another process does. `stop` becomes readable when the person asks
    /// to stop.
    pub fn of(program: &Path, janitor: Janitor, stop: Option<Rc<OwnedFd>>) -> Processes {
        // Where it does not, workers still end what they have started.
        let has_adopted = descendants::adopt_if_all_are_own(&[janitor.id()]).unwrap_or(false);
        let charges = Charges { janitor: RefCell::new(janitor), has_adopted, groups: RefCell::default() };
        Processes { program: program.to_owned(), stop, charges: Rc::new(charges) }
    }

    pub fn worker(&self, job: &Job) -> io::Result<Box<dyn WorkerLink>> {
        let (line, stop) = (job.to_line()?, self.stop.clone());
        let (words, warden) = ([service::WORKER], self.charges.clone());
        let lines = (line.trim_end(), job.is_followed);
        let worker = LocalWorker::start(&self.program, &words, lines, stop, warden).map_err(spawned)?;
        Ok(Box::new(worker))
    }

    /// A far end that has been given the job.
    pub fn service(&self, job: &ServiceJob) -> io::Result<Box<dyn ServiceLink>> {
        let (line, stop) = (job.to_line()?, self.stop.clone());
        let (words, warden) = ([service::SERVICE], self.charges.clone());
        let service = LocalService::start(&self.program, &words, line.trim_end(), stop, warden).map_err(spawned)?;
        Ok(Box::new(service))
    }
}

/// Goes into a control group and becomes what stands behind it. What the group is called is an argument, never a part of this.
const ENTER: &str = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;

/// A group with this limit in the first place where one can be made; else why there is none.
pub fn limited(limit: &GroupLimit, janitor: &mut Janitor) -> Result<ControlGroup, String> {
    let mut why = say!("no control groups are mounted").to_string();
    for base in nurseries(&Root::here(), limit.controller()) {
        match made(Path::new(&base), limit, janitor) {
            Ok(group) => return Ok(group),
            Err(error) => why = format!("{base}: {error}"),
        }
    }
    Err(why)
}

fn made(base: &Path, limit: &GroupLimit, janitor: &mut Janitor) -> io::Result<ControlGroup> {
    let name = fresh_name()?;
    // Before there is one: whoever kills this process leaves none.
    let above = PathBytes(base.as_os_str().as_bytes().to_vec());
    janitor.record(&CleanupEntry::ControlGroup { base: above, name: name.clone() });
    ControlGroup::make(base, &name, limit)
}

/// The words behind which a program is in the group.
pub fn words(group: &ControlGroup) -> Vec<OsString> {
    ["sh", "-c", ENTER].map(OsString::from).into_iter().chain([group.path().into()]).collect()
}
