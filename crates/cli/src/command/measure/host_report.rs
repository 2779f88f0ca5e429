//! What this machine is, and what others do with it while it is watched.

use std::time::Duration;

use hostmark_analysis::findings;
use hostmark_host::{NoiseSnapshot, Root, busiest_other};
use hostmark_model::{BusyTask, Disturbed, HostFacts, HostReport};

/// How long the machine is watched: twenty ticks of the kernel's accounting, and still an answer at once.
const LOOK: Duration = Duration::from_millis(200);

/// What this machine is, and what others do with it.
pub fn report_of_host() -> HostReport {
    let root = Root::here();
    let before = NoiseSnapshot::read_with_processes(&root);
    std::thread::sleep(LOOK);
    let after = NoiseSnapshot::read_with_processes(&root);
    let host = hostmark_host::read(&root);
    let disturbed = disturbed(&host, &before, &after);
    findings::host::host_report(host, disturbed)
}

/// What others did between two looks.
fn disturbed(host: &HostFacts, before: &NoiseSnapshot, after: &NoiseSnapshot) -> Disturbed {
    let busy = busiest_other(before, after);
    Disturbed {
        busy: busy.map(|busy| BusyTask { pid: busy.pid, name: busy.name, cpus: busy.cpus, last_cpu: busy.last_cpu }),
        steal_share: before.steal_share(after, &host.usable_cpus()),
        load: after.load,
        processes_unseen: !after.sees_others(),
    }
}
