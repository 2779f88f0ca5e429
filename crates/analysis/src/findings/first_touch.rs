//! Memory whose first touch costs far more than the next: the hypervisor takes pages back, and gives them anew.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::{number, percent, value};

const FAULT: &str = "paging.fault";
/// Pages that lie in a cache are zeroed faster too; by less than this.
const NOTABLE: f64 = 2.0;
/// The interrupts, walks and zeroing of a fault are counted by pages of this size where the run does not tell another.
const USUAL_PAGE_BYTES: u64 = 4096;

pub(super) static RULE: Rule = Rule {
    id: "memory.first_touch",
    shown: Demonstration::Explain("paging.fault"),
    probes: &[FAULT],
    cure: Some(Text {
        en: "Touch memory that must be fast before it is needed (MAP_POPULATE, mlock). Java has -XX:+AlwaysPreTouch. And keep it: allocators \
             give memory back (malloc_trim, MALLOC_TRIM_THRESHOLD_, background_thread of jemalloc). On your own hypervisor: back the guest \
             with huge pages that are reserved, and turn off ballooning and free page reporting.",
        zh: "使用之前先触碰需要快速访问的内存（MAP_POPULATE、mlock）。Java 用 \
             -XX:+AlwaysPreTouch。并一直保留：分配器会归还内存（malloc_trim、MALLOC_TRIM_THRESHOLD_、jemalloc 的 \
             background_thread）。若宿主机由您管理：为虚拟机预留大页，并关闭气球与空闲页上报。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    // Both say the same; the dearer one says how bad it gets.
    let both = [conclusion(run, "first"), conclusion(run, "returned")].into_iter().flatten();
    both.max_by(|one, other| one.cost.total_cmp(&other.cost)).into_iter().collect()
}

fn conclusion(run: &Run, kind: &str) -> Option<Conclusion> {
    // Without a hypervisor nobody else gives memory or takes it.
    run.host.virtualization.hypervisor.as_ref()?;
    let case = case_at(run, FAULT, &[("kind", kind)])?;
    let (first, again) = (Proven::of_case(case)?, Proven::also(case, "again")?);
    if first.value < NOTABLE * again.value || first.low <= again.high {
        return None;
    }
    let memory = &run.host.memory;
    let page = match kind {
        "returned" => memory.pmd_page_bytes?,
        _ => Some(memory.page_bytes).filter(|bytes| *bytes > 0).unwrap_or(USUAL_PAGE_BYTES),
    };
    let rate = |ns: f64| value(page as f64 * 1e9 / ns, Unit::BytesPerSecond, Lang::En);
    let (times, cost) = (number(first.value / again.value), lost(first.value, again.value));
    let [slow, fast] = [first.value, again.value].map(rate);
    let share = percent(cost);
    let short = match kind {
        "returned" => short(
            format!("Memory free for 5 s takes {times}x the time to touch again: {slow} against {fast}"),
            format!("空闲 5 秒后的内存，再次触碰的代价为 {times} 倍：{slow} 对 {fast}"),
        ),
        _ => short(
            format!("The first touch of memory takes {times}x the time of the next: {slow} against {fast}"),
            format!("内存首次触碰的代价是再次触碰的 {times} 倍：{slow} 对 {fast}"),
        ),
    };
    let text = match kind {
        "returned" => Text {
            en: format!(
                "Memory that was free for 5 s costs {times} times as much to touch as memory that was just freed: {slow} against \
                 {fast}. The hypervisor takes free pages back and gives them anew: a program that grows after a pause loses \
                 {share} of that time."
            ),
            zh: format!(
                "空闲 5 秒后的内存，触碰代价是刚释放内存的 {times} 倍：{slow} 对 {fast}。虚拟机监控程序会收回空闲页，用时再重新提供：\
                 程序停顿后再增长时，这段时间的 {share} 因此损失。"
            ),
        },
        _ => Text {
            en: format!(
                "The first touch of memory costs {times} times as much as the next one: {slow} against {fast}. The hypervisor \
                 takes freed pages back and gives them anew: a program that starts, or grows, loses {share} of that time."
            ),
            zh: format!(
                "内存首次触碰的代价是再次触碰的 {times} 倍：{slow} 对 {fast}。虚拟机监控程序会收回空闲页，用时再重新提供：程序启动或增长时，这段时间的 {share} 因此损失。"
            ),
        },
    };
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
