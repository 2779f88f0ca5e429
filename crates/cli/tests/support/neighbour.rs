//! A process of others that uses one CPU.

use std::process::{Command, Stdio};

use crate::support::Running;

pub struct Neighbour(Running);

impl Neighbour {
    /// A shell on one CPU; none where there is no taskset.
    pub fn on(cpu: usize, script: &str) -> Option<Neighbour> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", script]).stdin(Stdio::null());
        command.spawn().ok().map(|child| Neighbour(Running(child)))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

pub fn one_cpu() -> Option<usize> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    (0..1024).find(|cpu| set.is_set(*cpu))
}
