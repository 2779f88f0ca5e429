//! Which CPUs are quiet as a run begins, so that it measures on one that others leave alone.

use std::time::Duration;

use hostmark_analysis::words;
use hostmark_host::{CpuTimes, Root, note_busy, single};
use hostmark_model::{HostFacts, Text};
use hostmark_say::say;

/// Long enough for twenty of the kernel's ticks, and hardly noticed by whoever waits for the run.
const LOOK: Duration = Duration::from_millis(200);

/// A look at the CPUs that goes on while the host is read.
pub struct CpuWatch(Option<CpuTimes>);

impl CpuWatch {
    /// Begins it.
    pub fn begin(root: &Root) -> CpuWatch {
        CpuWatch(CpuTimes::read(root))
    }

    /// Ends it, and notes how busy each CPU was where there is a choice.
    pub fn end(&self, root: &Root, host: &mut HostFacts) {
        let Some(before) = self.0.as_ref().filter(|_| host.usable_cpus().len() > 1) else { return };
        let since = |now: &CpuTimes| Duration::from_nanos(before.elapsed_ns(now));
        let Some(now) = CpuTimes::read(root) else { return };
        std::thread::sleep(LOOK.saturating_sub(since(&now)));
        if let Some(after) = CpuTimes::read(root) {
            note_busy(host, before, &after);
        }
    }
}

/// What a run says when it measures on another CPU than it would on a quiet host.
pub fn chosen(host: &HostFacts, cpu: usize) -> Option<Text<String>> {
    let mut quiet = host.clone();
    quiet.cpus.iter_mut().for_each(|cpu| cpu.busy = None);
    let usual = single(&quiet).filter(|usual| *usual != cpu)?;
    let busy = |id: usize| host.cpus.iter().find(|cpu| cpu.id == id)?.busy.map(|share| (share * 100.0).round());
    let (theirs, ours) = (busy(usual)?, busy(cpu)?);
    Some(words(say!(
        "measured on CPU {cpu}, {ours:.0} % busy when the run began, because CPU {usual} was {theirs:.0} % busy; \
             --cpu {usual} measures there all the same"
    )))
}
