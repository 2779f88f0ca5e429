//! A process of others that uses one CPU.

use std::process::{Child, Command, Stdio};

pub struct Neighbour(Child);

impl Neighbour {
    /// A shell on one CPU; none where there is no taskset.
    pub fn on(cpu: usize, script: &str) -> Option<Neighbour> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", script]).stdin(Stdio::null());
        command.spawn().ok().map(Neighbour)
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn one_cpu() -> Option<usize> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    (0..1024).find(|cpu| set.is_set(*cpu))
}
