//! What the first return of a function costs after a system call.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::host::named_mitigations;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule, TRACED};
use crate::format::{percent, value};

const GETPID: &str = "syscall.getpid";
/// A call and a return that the core predicts take one or two of the hundred nanoseconds of a call.
const PREDICTED: f64 = 0.1;

pub(super) static RULE: Rule = Rule {
    id: "syscall.slow_return",
    shown: Demonstration::Explain(GETPID),
    probes: &[GETPID],
    cure: Some(Text {
        en: "Batch calls (io_uring, sendmmsg, larger reads and writes). A benchmark that inlines the system-call instruction \
             does not see this.",
        zh: "合并系统调用（io_uring、sendmmsg、更大的读写）。内联系统调用指令的基准测试看不到这一项。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = |way| case_at(run, GETPID, &[("way", way)]);
    let (call, bare) = (case("syscall")?, case("bare")?);
    let (returning, instruction) = (Proven::of_case(call)?, Proven::of_case(bare)?);
    let cost = lost(returning.value, instruction.value);
    if cost <= PREDICTED || lost(returning.low, instruction.high) <= 0.0 {
        return None;
    }
    let ns = |ns| value(ns, Unit::Nanoseconds, Lang::En);
    let [took, without, more] = [returning.value, instruction.value, returning.value - instruction.value].map(ns);
    let share = percent(cost);
    let named = named_mitigations(&run.host);
    let [guards_en, guards_zh] = match named.is_empty() {
        true => Default::default(),
        false => {
            [format!(" Mitigations in force: {}.", named.join(", ")), format!("生效的缓解措施：{}。", named.join("，"))]
        }
    };
    let text = Text {
        en: format!(
            "A system call through a function, as programs make it, takes {took}; the instruction alone takes {without}. \
             The first return after each call costs {more} ({share}): on the way back, the kernel leaves the core's \
             predictor of returns empty or misled.{guards_en}"
        ),
        zh: format!(
            "像程序那样通过函数发出一次系统调用需 {took}，仅执行指令需 {without}。每次调用之后的第一次函数返回要多付 {more}（{share}）：\
             内核返回用户态时，核心的返回地址预测器已被清空或误导。{guards_zh}"
        ),
    };
    let short = short(
        format!("The first return after a system call costs {more} ({share} of {took})"),
        format!("系统调用后的第一次函数返回要多付 {more}（占 {took} 的 {share}）"),
    );
    Some(Conclusion { short, text, cases: vec![call.id.clone(), bare.id.clone()], cost })
}
