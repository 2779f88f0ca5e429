//! Probe memory.hierarchy: the levels of the memory hierarchy as memory.latency shows them, beside what the host reports.

use hostmark_engine::prelude::*;

mod beside;
mod levels;

use beside::beside;
use levels::{LATENCY, Level, levels};

/// Sizes that differ by more than this from what the host reports are marked.
const CONFIRMED: f64 = 1.25;
/// A median this much over the best round is the neighbours' doing, or the placement of pages.
const GAP: f64 = 1.10;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory hierarchy", zh: "存储层次" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[
        Quantity { name: "size", unit: Unit::Bytes, better: Better::Higher, title: Text { en: "size", zh: "容量" } },
        Quantity::CORE_CYCLES,
        beside::READ,
        beside::WRITE,
        beside::COPY,
        beside::LINE,
        beside::WAYS,
        beside::TLB,
        beside::TLB_MISS,
    ],
    explain: Explain {
        what: Text {
            en: "Nothing of its own is executed. The curve of memory.latency over size (random pattern, huge pages, the best \
                 round of each size) is cut into plateaus: each is a level, and a level ends where the latency passes the \
                 middle between two plateaus. Its latency is that of the size in the middle \
                 of its plateau, since the last part of a level already pays for conflicts and translation; DRAM's is that \
                 of the largest size. Beside it stand bandwidths (memory.read, write and copy at the largest size up to half of \
                 the level), line and ways beside L1d, and the reach of the first TLB beside L1d, of the second beside L2.",
            zh: "本身不执行任何东西。把 memory.latency 随大小变化的曲线（随机模式、大页、每个大小取最好的一轮）切成若干平台：\
                 每个平台是一级，延迟越过两个平台中点之处即该级的边界。\
                 某级的延迟取其平台中间大小的延迟，因为接近边界处已含冲突与地址转换的代价；DRAM 取最大的大小。\
                 旁边列出带宽（memory.read、write、copy 在不超过该级一半的最大大小处），L1d 旁列出缓存行与路数，一级 TLB 的覆盖页数列在 \
                 L1d 旁，二级的列在 L2 旁。",
        },
        why: Text {
            en: "Caches are what a program's working set must fit; and what the host reports is often not what you get: \
                 guests see wrong sizes, neighbours use a shared L3, firmware hides ways.",
            zh: "程序的工作集要装进缓存才快；而宿主报告的容量常常不是你真正得到的：虚拟机看到错误的大小，邻居占用共享的 L3，\
                 固件隐藏了若干路。",
        },
        reading: Text {
            en: "L1d and L2 should agree with the reported size within a quarter. An L3 that ends early is used by others, or \
                 is divided between core complexes. A level marked ≈ is not confirmed by the reported topology. The value \
                 is the median; where it is over 10 % above the best round, the machine was shared while it ran.",
            zh: "L1d 与 L2 应与报告的容量相差不超过四分之一。L3 提前结束，说明被别人占用，或按核心复合体划分。标有 ≈ 的级别没有\
                 得到报告拓扑的证实。数值取中位数；若比最好的一轮高出 10 % 以上，说明测量时机器被共享。",
        },
    },
    axes: &[Axis::choice(
        "level",
        "l1d",
        Points::Listed { quick: &["l1d", "l2", "l3", "dram"], standard: &[], thorough: &[] },
    )],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["cache"],
    section: crate::section::HIERARCHY,
    measure: Measure::Derive {
        from: &[
            Source::along(LATENCY, &["size"]),
            Source::along("memory.read", &["size"]),
            Source::along("memory.write", &["size"]),
            Source::along("memory.copy", &["size"]),
            Source::along("memory.line", &[]),
            Source::along("memory.associativity", &[]),
            Source::along("memory.tlb", &["level"]),
        ],
        derive,
    },
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let found = levels(cases, host);
    ["l1d", "l2", "l3", "dram"]
        .into_iter()
        .map(|name| {
            let outcome = match found.iter().find(|level| level.name == name) {
                Some(level) => Outcome::Measured(Box::new(measured(level, beside(level, &found, cases)))),
                None => Outcome::Skipped { reason: absent(name, found.len(), cases) },
            };
            let params = Params(vec![("level".into(), name.into())]);
            CaseRecord {
                id: format!("memory.hierarchy@level={name}"),
                probe: "memory.hierarchy".into(),
                params,
                outcome,
            }
        })
        .collect()
}

fn absent(name: &str, found: usize, cases: &[CaseRecord]) -> String {
    if cases.iter().filter(|case| case.probe == LATENCY).all(|case| case.measured().is_none()) {
        return "memory.latency was not measured".into();
    }
    match name {
        "dram" => "no buffer was large enough to leave the caches for certain".into(),
        _ => format!("the latency curve shows {found} levels, and none of them is {name}"),
    }
}

/// The representative case's measurement, with the level's size and further quantities beside it.
fn measured(level: &Level, beside: Vec<(&'static str, Also)>) -> Measured {
    let mut measured = level.case.clone();
    measured.also.extend(beside.into_iter().map(|(name, also)| (name.to_owned(), also)));
    let mut flag = |kind, detail: String| measured.flags.push(Flag { kind, detail });
    let estimate = &level.case.estimate;
    if estimate.median > GAP * estimate.best_round {
        let detail =
            format!("the best round was {:.0} % faster", (1.0 - estimate.best_round / estimate.median) * 100.0);
        flag(FlagKind::BestRoundGap, detail);
    }
    if let (Some(size), Some(reported)) = (level.size, level.reported_bytes) {
        let ratio = size / reported as f64;
        if !(1.0 / CONFIRMED..=CONFIRMED).contains(&ratio) {
            let detail = format!("ends at {ratio:.2} × the {} KiB that the host reports", reported / 1024);
            flag(FlagKind::Unconfirmed, detail);
        }
    } else if level.size.is_some() {
        flag(FlagKind::Unconfirmed, "the host reports no such cache".into());
    }
    if let Some(size) = level.size {
        measured.also.insert("size".into(), exactly(size));
    }
    measured.notes.insert("at".into(), level.at.clone());
    measured
}

/// A quantity that the curve gives as one number, without an interval.
fn exactly(value: f64) -> Also {
    Also { estimate: estimate(&[vec![value]], 0.0, Better::Neither, 0) }
}

#[cfg(test)]
#[path = "hierarchy_tests.rs"]
mod tests;
