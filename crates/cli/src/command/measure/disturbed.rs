//! What took the machine's time while a run went on.

use std::collections::BTreeSet;

use hostmark_analysis::words;
use hostmark_engine::plan::{self, Plan};
use hostmark_engine::{Resource, Taken};
use hostmark_host::{EMULATED, NoiseSnapshot, busiest_other};
use hostmark_model::{IN_SOFTWARE, Peer, Run, Text};
use hostmark_say::say;

/// A process that takes more of a CPU than this disturbs a run.
const BUSY_CPUS: f64 = 0.2;
/// Others that use more of the time of the run's CPUs than this disturb it: ticks tell a second's use to a few percent.
const OTHERS_SHARE: f64 = 0.05;

/// That no hardware was measured, but QEMU in its place.
pub fn emulated(hypervisor: Option<&str>) -> Option<Text<String>> {
    (hypervisor == Some(EMULATED)).then(|| IN_SOFTWARE.to_owned_text())
}

/// The CPUs that a plan measures on.
pub fn cpus_of(plan: &Plan) -> Vec<usize> {
    let measured = plan.cases.iter().filter(|case| case.skip.is_none());
    measured.flat_map(|case| case.cpus.iter().copied()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What took the time of these CPUs while the run went on, of which others used this share.
pub fn disturbances(
    before: &NoiseSnapshot,
    after: &NoiseSnapshot,
    cpus: &[usize],
    others_share: Option<f64>,
) -> Vec<Text<String>> {
    let mut found = Vec::new();
    if let Some(emulator) = crate::emulator::name() {
        found
            .push(words(say!("{emulator} executed this program: what was measured is the emulator, not this machine")));
    }
    if let Some(busy) = busiest_other(before, after).filter(|busy| busy.cpus >= BUSY_CPUS) {
        let (pid, name, percent) = (busy.pid, &busy.name, busy.cpus * 100.0);
        found.push(words(say!("a busy process (pid {pid}, {name}, {percent:.0} % of a CPU) disturbed this run")));
    }
    // Also those that came and went, of which no process is left to be named.
    if let Some(share) = others_share.filter(|share| *share >= OTHERS_SHARE) {
        let (percent, cpus) = (share * 100.0, plan::cpu_list(cpus));
        found.push(words(say!(
            "other programs or the kernel's own threads used {percent:.0} % of the time of CPU {cpus} during this run"
        )));
    }
    found
}

/// Of peers that are the machine on which a run measures, as a namespace or a container of it: that both ends share it.
pub fn on_one_machine(run: &Run) -> Vec<Text<String>> {
    let is_same = |peer: &&Peer| peer.host.boot_id.is_some() && peer.host.boot_id == run.host.boot_id;
    let text = |peer: &Peer| {
        words(say!(
            "{name} is this very machine: both ends share its CPUs, no wire lies between, and what its far ends use counts as other programs'",
            name = peer.name
        ))
    };
    run.peers.iter().filter(is_same).map(text).collect()
}

/// What was taken from the run while it went on.
pub fn taken_away(taken: &Taken) -> Text<String> {
    let seconds = taken.at.as_secs();
    match taken.what {
        Resource::Cpu(cpu) => words(say!(
            "CPU {cpu} was taken from this run after {seconds} s (offline, or out of its cpuset): cases that need it have fewer \
                 rounds or none, cases of one CPU went on with another"
        )),
        Resource::Loopback => words(say!(
            "the loopback interface was set down after {seconds} s: cases that need it have fewer rounds or none"
        )),
    }
}

/// That so many lines of a run's journal are damaged.
pub fn damaged(lines: usize) -> Option<Text<String>> {
    (lines > 0).then(|| {
        words(say!(
            "left out {lines:damaged line} of the journal, as a kill or a loss of power leaves; every whole round was kept"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_in_software_is_called_so_and_a_guest_of_hardware_is_not() {
        assert!(
            emulated(Some(EMULATED)).is_some_and(|text| text.en.contains("emulator") && text.zh.contains("模拟器"))
        );
        for other in [None, Some("kvm"), Some("qemu"), Some("xen")] {
            assert_eq!(emulated(other), None);
        }
    }
}
