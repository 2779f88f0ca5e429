//! Pipe bandwidth that bends where a message outgrows the pipe.

use hostmark_model::{Lang, Run, Text, Unit, size_text};

use super::evidence::lost;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::curve::{CurvePoint, curve};
use crate::format::{number, value};

const PIPE: &str = "ipc.pipe_bandwidth";
/// What the probe notes of the pipe it got.
const CAPACITY: &str = "capacity_bytes";
/// By what factor the best message that fits must be faster than the first that does not.
const BEND: f64 = 1.1;

pub(super) static RULE: Rule = Rule {
    id: "ipc.pipe_capacity",
    shown: Demonstration::Try("pipe-size"),
    probes: &[PIPE],
    cure: Some(Text {
        en: "Write at most what the pipe holds at a time. fcntl(F_SETPIPE_SZ) makes it hold more, up to \
             /proc/sys/fs/pipe-max-size; shared memory saves both copies.",
        zh: "每次写入不要超过管道容量。fcntl(F_SETPIPE_SZ) 可以增大容量，上限见 /proc/sys/fs/pipe-max-size；共享内存可省去两次复制。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let points = curve(run, PIPE, "message", &[]);
    let capacity: u64 = points.iter().find_map(|point| point.case.measured()?.notes.get(CAPACITY)?.parse().ok())?;
    let (fitting, beyond): (Vec<CurvePoint>, Vec<CurvePoint>) = points.iter().partition(|point| point.at <= capacity);
    let value_of = |point: &&CurvePoint| point.estimate.value();
    let best = fitting.iter().max_by(|one, other| value_of(one).total_cmp(&value_of(other)))?;
    let first = beyond.first()?;
    let fastest = beyond.iter().max_by(|one, other| value_of(one).total_cmp(&value_of(other)))?;
    // The first is proven slower, and none that is larger makes up for it.
    if !best.is_above(first, BEND) || value_of(&fastest) >= value_of(&best) {
        return None;
    }
    let factor = number(value_of(&best) / value_of(&first));
    let [most, falls, later] =
        [best, first, fastest].map(|point| value(value_of(&point), Unit::BytesPerSecond, Lang::En));
    let [fits, over, largest] = [best, first, fastest].map(|point| size_text(point.at));
    let holds = size_text(capacity);
    let (rest_en, rest_zh) = match beyond.len() {
        1 => Default::default(),
        _ => (
            format!(" No larger message gets over {later} (at {largest})."),
            format!("更大的消息最高也只有 {later}（{largest}）。"),
        ),
    };
    let text = Text {
        en: format!(
            "Pipe bandwidth bends at the pipe's capacity of {holds}: {most} with messages of {fits}, {falls} with {over} \
             (÷{factor}). What is larger than the pipe blocks its writer in the midst of the message: for each pipeful both \
             sides sleep, wake and switch, beside the two copies that every byte takes into the kernel and out of it.{rest_en}"
        ),
        zh: format!(
            "管道带宽在管道容量 {holds} 处出现拐点：消息为 {fits} 时 {most}，为 {over} 时 {falls}（降为 1/{factor}）。大于管道的消息会让写方\
             在中途阻塞：每装满一次管道，双方都要睡眠、唤醒并切换；此外每个字节还要复制两次，进内核一次，出内核一次。{rest_zh}"
        ),
    };
    let short = short(
        format!("Pipe: {most} with messages of {fits}, {falls} with {over}; it holds {holds}"),
        format!("管道：消息 {fits} 时 {most}，{over} 时 {falls}；管道容量 {holds}"),
    );
    let cost = lost(value_of(&best), value_of(&first));
    Some(Conclusion { short, text, cases: vec![best.case.id.clone(), first.case.id.clone()], cost })
}
