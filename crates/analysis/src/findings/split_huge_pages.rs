//! Huge pages that the hypervisor backs with small ones.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::Proven;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::value;
use crate::levels::LEVELS;
use crate::split_huge_pages::{EFFECTIVE_PAGE, cut_into};

pub(super) static RULE: Rule = Rule {
    id: "memory.huge_pages_cut",
    shown: Demonstration::Explain("memory.effective_page"),
    probes: &[EFFECTIVE_PAGE],
    cure: Some(Text {
        en: "On your own host, back guests with huge pages (QEMU: hugetlb=on). Reserved ones (QEMU: -object memory-backend-memfd,hugetlb=on; \
             libvirt: <hugepages/>), or THP=always on the host. And avoid what splits them: KSM, swapping, ballooning. Elsewhere choose an \
             instance type that promises huge pages or whole hosts.",
        zh: "若宿主机由您管理，请用大页承载虚拟机（QEMU：hugetlb=on）。预留大页（QEMU：-object \
             memory-backend-memfd,hugetlb=on；libvirt：<hugepages/>），或在宿主机上设 \
             THP=always。并避免会拆分大页的机制：KSM、换出、气球。若不归您管理，请选用承诺大页或独占主机的实例类型。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let (case, bytes) = cut_into(run)?;
    let [walk, base] = [Proven::also(case, "huge")?, Proven::also(case, "base")?];
    let ns = |ns: f64| value(ns, Unit::Nanoseconds, Lang::En);
    let (page, walk_ns, base_ns) = (value(bytes, Unit::Bytes, Lang::En), ns(walk.value), ns(base.value));
    let memory = LEVELS.iter().find(|level| level.cache.is_none()).and_then(|level| level.case(run));
    let cost = memory.and_then(Proven::of_case).map_or(0.0, |load| walk.value / load.value);
    let text = Text {
        en: format!(
            "The hypervisor backs huge pages with {page} ones: translation costs {walk_ns} per load there, {base_ns} in base pages. \
             All figures of DRAM in huge pages contain these page walks."
        ),
        zh: format!(
            "宿主机用 {page} 的小页映射虚拟机的大页：在大页中每次加载的地址转换代价为 {walk_ns}，在基本页中为 {base_ns}。所有大页 DRAM 数值都含这种页表遍历。"
        ),
    };
    let cases = [Some(case), memory.filter(|memory| memory.measured().is_some())];
    let short = short(
        format!("The host backs huge pages with {page} ones: each load pays {walk_ns} for translation"),
        format!("宿主机用 {page} 的页承载虚拟机的大页：每次加载的地址转换需 {walk_ns}"),
    );
    Some(Conclusion { short, text, cases: cases.into_iter().flatten().map(|case| case.id.clone()).collect(), cost })
}
