//! What took the machine's time while a run went on.

use std::collections::BTreeSet;

use hostmark_engine::plan::{self, Plan};
use hostmark_engine::{Resource, Taken};
use hostmark_host::{EMULATED, NoiseSnapshot, busiest_other};
use hostmark_model::{IN_SOFTWARE, Peer, Run, Text, counted};

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
        found.push(Text {
            en: format!("{emulator} executed this program: what was measured is the emulator, not this machine"),
            zh: format!("本程序由 {emulator} 模拟执行：测得的是模拟器，不是本机"),
        });
    }
    if let Some(busy) = busiest_other(before, after).filter(|busy| busy.cpus >= BUSY_CPUS) {
        let (pid, name, percent) = (busy.pid, &busy.name, busy.cpus * 100.0);
        found.push(Text {
            en: format!("a busy process (pid {pid}, {name}, {percent:.0} % of a CPU) disturbed this run"),
            zh: format!("有繁忙的进程（pid {pid}，{name}，占一个 CPU 的 {percent:.0}%）干扰了本次运行"),
        });
    }
    // Also those that came and went, of which no process is left to be named.
    if let Some(share) = others_share.filter(|share| *share >= OTHERS_SHARE) {
        let (percent, cpus) = (share * 100.0, plan::cpu_list(cpus));
        found.push(Text {
            en: format!(
                "other programs or the kernel's own threads used {percent:.0} % of the time of CPU {cpus} during this run"
            ),
            zh: format!("运行期间，其他程序或内核线程占用了 CPU {cpus} 时间的 {percent:.0}%"),
        });
    }
    found
}

/// Of peers that are the machine on which a run measures, as a namespace or a container of it: that both ends share it.
pub fn on_one_machine(run: &Run) -> Vec<Text<String>> {
    let is_same = |peer: &&Peer| peer.host.boot_id.is_some() && peer.host.boot_id == run.host.boot_id;
    let text = |peer: &Peer| Text {
        en: format!(
            "{} is this very machine: both ends share its CPUs, no wire lies between, and what its far ends use counts as other programs'",
            peer.name
        ),
        zh: format!("{} 就是本机：两端共用它的 CPU，其间没有网线，远端所用的 CPU 计为其他程序所用", peer.name),
    };
    run.peers.iter().filter(is_same).map(text).collect()
}

/// What was taken from the run while it went on.
pub fn taken_away(taken: &Taken) -> Text<String> {
    let seconds = taken.at.as_secs();
    match taken.what {
        Resource::Cpu(cpu) => Text {
            en: format!(
                "CPU {cpu} was taken from this run after {seconds} s (offline, or out of its cpuset): cases that need it have fewer \
                 rounds or none, cases of one CPU went on with another"
            ),
            zh: format!(
                "运行 {seconds} s 后，CPU {cpu} 不再可用（已离线，或被移出 cpuset）：需要它的用例轮数减少或没有结果，只用一个 CPU 的用例改在其他 CPU 上继续"
            ),
        },
        Resource::Loopback => Text {
            en: format!(
                "the loopback interface was set down after {seconds} s: cases that need it have fewer rounds or none"
            ),
            zh: format!("运行 {seconds} s 后，环回接口被停用：需要它的用例轮数减少或没有结果"),
        },
    }
}

/// That so many lines of a run's journal are damaged.
pub fn damaged(lines: usize) -> Option<Text<String>> {
    let counted = counted(lines, "damaged line");
    (lines > 0).then(|| Text {
        en: format!(
            "left out {counted} of the journal, as a kill or a loss of power leaves; every whole round was kept"
        ),
        zh: format!("日志中有 {lines} 行已损坏（如进程被杀或断电所致），已略去；完整的各轮均保留"),
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
