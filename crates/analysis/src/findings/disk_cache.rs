//! A disk that answers faster than any device could: what was measured is a cache in front of it.

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::{Proven, believed, case_at};
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use crate::format::value;

const READ: &str = "disk.read";
const READ_AT: &[(&str, &str)] = &[("pattern", "random"), ("block", "4096"), ("depth", "1")];
const SYNC: &str = "disk.fsync";
/// A page of NAND takes 40 to 100 µs from the request to its answer; 25 to 30 µs is what the fastest SLC flash has. ns
const FASTEST_FLASH_NS: f64 = 25e3;
/// A flush that goes over the bus of a device with power-loss protection and back, with the filesystem's own work. ns
const FASTEST_FLUSH_NS: f64 = 8e3;
/// Filesystems that keep their data on a device of this machine.
const ON_DEVICE: [&str; 4] = ["ext4", "xfs", "btrfs", "overlay"];

pub(super) static RULE: Rule = Rule {
    id: "disk.answered_by_cache",
    shown: Demonstration::Run,
    probes: &[READ, SYNC],
    cure: Some(Text {
        en: "Take these figures for what fits that cache. For the device itself measure far more data than it holds (fio with a \
             large file); on your own hypervisor cache=none shows the device, and cache=unsafe promises a durability that is \
             not there.",
        zh: "这些数值只适用于放得进该缓存的数据。要测设备本身，请使用远大于该缓存的数据量（用 fio 与大文件）；若宿主机由您管理，cache=none 才能看到设备，\
             而 cache=unsafe 所承诺的持久性并不存在。",
    }),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    [read(run), sync(run)].into_iter().flatten().collect()
}

/// A device that a file stands for: this machine's own page cache answers for it.
const ON_A_FILE: &str = " on loop";

/// Whether the case lay on a filesystem that has a device.
fn is_on_device(case: &CaseRecord) -> bool {
    let Some(measured) = believed(case) else { return false };
    let is_on_file = measured.notes.get("lies_on").is_some_and(|stack| stack.contains(ON_A_FILE));
    measured.notes.get("filesystem").is_some_and(|name| ON_DEVICE.contains(&name.as_str())) && !is_on_file
}

fn read(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, READ, READ_AT).filter(|case| is_on_device(case))?;
    let took = Proven::also(case, "p50").filter(|took| took.high < FASTEST_FLASH_NS)?;
    let (took, place) = (value(took.value, Unit::Nanoseconds, Lang::En), place(run));
    let text = Text {
        en: format!(
            "A direct read of 4 KiB at a random place takes {took}, where flash takes 40 to 100 µs: {}, or the device is \
             of another kind (Optane, persistent memory).",
            place.en
        ),
        zh: format!(
            "随机位置的 4 KiB 直接读只需 {took}，而闪存需要 40 到 100 µs：{}；否则就是另一类设备（Optane、持久内存）。",
            place.zh
        ),
    };
    let short = short(
        format!("A direct read of 4 KiB takes {took}, flash 40 to 100 µs: most likely a cache answers"),
        format!("4 KiB 直接读只需 {took}，而闪存需要 40 到 100 µs：很可能由缓存应答"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: 0.0 })
}

fn place(run: &Run) -> Text {
    match run.host.virtualization.hypervisor {
        Some(_) => Text {
            en: "it is answered by the hypervisor's page cache", zh: "回答来自虚拟机监控程序的页缓存"
        },
        None => Text {
            en: "it is answered by the memory of the device or of its controller",
            zh: "回答来自设备或其控制器的内存",
        },
    }
}

fn sync(run: &Run) -> Option<Conclusion> {
    let case = run.cases.iter().find(|case| case.probe == SYNC).filter(|case| is_on_device(case))?;
    let took = Proven::of_case(case).filter(|took| took.high < FASTEST_FLUSH_NS)?;
    let took = value(took.value, Unit::Nanoseconds, Lang::En);
    let text = Text {
        en: format!(
            "An append with fdatasync takes {took}, less than a flush needs to reach a device and come back. Unless it is persistent \
             memory, the flush is not carried out, and what was synced may be lost when the power fails."
        ),
        zh: format!(
            "追加并 fdatasync 只需 {took}，比一次刷新到达设备再返回所需的时间还短。除非是持久内存，否则刷新并未真正执行，断电时已同步的数据可能丢失。"
        ),
    };
    let short = short(
        format!("fdatasync takes {took}, too fast for a flush: synced data may be lost without power"),
        format!("fdatasync 只需 {took}，不可能真正刷新：断电时已同步的数据可能丢失"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: 0.0 })
}
