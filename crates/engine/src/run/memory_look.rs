//! The look at memory before a run is planned, by a worker: what it fills is gone with it.

use std::time::Duration;

use hostmark_model::{Event, HostFacts, Job, MemoryLook};

use super::{OpenLink, caches_bytes};
use crate::clock::wall::Wall;
use crate::plan::time_budget::TimeBudget;
use crate::worker::session::WorkerSession;

/// Silence of the worker, which says nothing until it is done.
const PATIENCE: Duration = Duration::from_secs(3);

/// Looks at the memory of this machine; none where too little can be spared for it, or others had the CPU.
pub fn look_at_memory(host: &HostFacts, open: &mut OpenLink, wall: &dyn Wall) -> Option<MemoryLook> {
    let cpu = hostmark_host::single(host)?;
    let job = Job {
        look_at_memory: true,
        caches_bytes: caches_bytes(host, cpu),
        memory_bytes: TimeBudget::memory_bytes(host),
        ..Job::bare("", vec![cpu])
    };
    let mut session = WorkerSession::new(open(&job).ok()?, wall, PATIENCE, wall.elapsed() + PATIENCE);
    let events = session.round().events;
    session.end();
    events.into_iter().find_map(|event| if let Event::MemoryLook(look) = event { Some(look) } else { None })
}
