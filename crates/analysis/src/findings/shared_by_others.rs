//! Others on the same physical machine: threads on the same core, and what is left of the last cache.

use hostmark_model::{Lang, Run, Text, Unit};

use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::{percent, value};
use crate::neighbours::{SHARED, slowed};

pub(super) static RULE: Rule = Rule {
    id: "run.neighbours",
    shown: Demonstration::Try("busy-neighbour"),
    probes: &[],
    cure: Some(Text {
        en: "No setting of this machine changes it. Rerun at a quieter hour; where it lasts, take an instance with whole cores, or a \
             dedicated host.",
        zh: "本机的任何设置都无法改变这一点。请在较空闲的时段重测；若长期如此，请使用独占物理核心的实例或独占主机。",
    }),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let Some(neighbours) = &run.neighbours else { return Vec::new() };
    let core = neighbours.core_shared.filter(|shared| *shared >= SHARED).map(|shared| {
        let share = percent(shared);
        let text = Text {
            en: format!(
                "Another thread used this core {share} of the time, which the kernel does not see: another guest, or the other \
                 thread of the core. Meanwhile a program has about half of the core's width."
            ),
            zh: format!(
                "有 {share} 的时间另一线程在使用同一核心，而内核看不到：可能是另一虚拟机，或核心的另一硬件线程。此时程序大约只能用到半个核心的执行资源。"
            ),
        };
        // Of the time in which it is shared about half is lost.
        let short = short(
            format!("Another thread shared this physical core {share} of the time"),
            format!("有 {share} 的时间，另一线程在使用同一物理核心"),
        );
        Conclusion { short, text, cases: Vec::new(), cost: (shared / 2.0).min(1.0) }
    });
    let cache = neighbours.last_cache.as_ref().and_then(|cache| {
        let (fastest_ns, slowest_ns) = slowed(run)?;
        let [fastest, slowest] = [fastest_ns, slowest_ns].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
        let size = value(cache.bytes as f64, Unit::Bytes, Lang::En);
        let text = Text {
            en: format!(
                "The latency of the last-level cache varied during the run: a load from {size} took {fastest} at best and {slowest} at \
                 worst. Others use it."
            ),
            zh: format!("运行期间可用的末级缓存忽多忽少：从 {size} 中加载一次，最快 {fastest}，最慢 {slowest}。同宿主机的其他虚拟机在争用。"),
        };
        let short = short(
            format!("Last-level cache latency varied during the run ({fastest} … {slowest}): others use it"),
            format!("运行期间末级缓存延迟在 {fastest} 与 {slowest} 之间变化：邻居虚拟机在争用"),
        );
        Some(Conclusion { short, text, cases: Vec::new(), cost: 1.0 - fastest_ns / slowest_ns })
    });
    core.into_iter().chain(cache).collect()
}
