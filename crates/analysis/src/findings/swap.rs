//! Swap in use: memory was short, and what was put away comes back at the speed of a device.

use hostmark_model::{Lang, Run, Text, Unit};

use super::host::SWAP_BYTES;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::format::{percent, value};

/// Under this share of the time nobody notices that tasks waited for memory.
const NOTABLE: f64 = 0.001;

pub(super) static RULE: Rule = Rule {
    id: "run.swap_in_use",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(Text {
        en: "Find who holds the memory (ps aux --sort -rss), and run less. Or give the machine more. Then swapoff -a && swapon -a brings \
             back what was put away. What must never wait locks its memory (mlockall).",
        zh: "找出占用内存的程序（ps aux --sort -rss），并减少任务。或增加内存。随后 swapoff -a && swapon -a \
             可把换出的页面换回。绝不能等待的程序应锁定内存（mlockall）。",
    }),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let used = run.host.memory.swap_used_bytes;
    if used < SWAP_BYTES {
        return Vec::new();
    }
    let waited = run.host.activity.pressure.get("memory").map(|pressure| pressure.some);
    let cost = waited.filter(|share| *share >= NOTABLE).unwrap_or(0.0);
    let used = value(used as f64, Unit::Bytes, Lang::En);
    let [waited_en, waited_zh] = match cost > 0.0 {
        true => [
            format!(" In the ten seconds before the run tasks waited for memory {} of the time.", percent(cost)),
            format!("运行前的十秒中，有 {} 的时间存在等待内存的任务。", percent(cost)),
        ],
        false => Default::default(),
    };
    let text = Text {
        en: format!(
            "{used} of swap is in use: memory was short. A page that was put away comes back by a read of the device: about a \
             thousand times as long as an access to memory on flash, a hundred thousand times on a disk.{waited_en}"
        ),
        zh: format!(
            "交换区已用 {used}：内存曾经不足。换出的页面要从设备读回：闪存上约为访问内存的一千倍，机械盘上约为十万倍。{waited_zh}"
        ),
    };
    let [waited_en, waited_zh] = match cost > 0.0 {
        true => [
            format!("; tasks waited for memory {} of the time", percent(cost)),
            format!("；{} 的时间有任务在等待内存", percent(cost)),
        ],
        false => Default::default(),
    };
    let short = short(
        format!("{used} of swap in use: memory was short{waited_en}"),
        format!("交换区已用 {used}：内存曾经不足{waited_zh}"),
    );
    vec![Conclusion { short, text, cases: Vec::new(), cost }]
}
