//! The words of a report's head that are no probe, for `hostmark explain`.

use hostmark_model::Text;

use super::RenderOptions;
use crate::wrap::hanging;

/// The widest line.
const WIDEST: usize = 100;

/// What a report says, by what it is called in either language, and what that means.
const TERMS: [(Text, Text); 7] = [
    (
        Text { en: "TRUST", zh: "可信度" },
        Text {
            en: "How far another run on this machine may lie from this one: nine of ten values within 5 % (A), 15 % (B), 30 % (C), 100 % (D: \
                 orders of magnitude only), or further (F: do not use). The lines below it say why, and what to do. What you can \
                 remove comes first. Three stored runs make it a measurement of this machine; until then it is estimated from others.",
            zh: "在本机再次运行，结果可能相差多少：90% 的数值在 5%（A）、15%（B）、30%（C）、100%（D：只看数量级）以内，或更远（F：请勿使用）。下面各行说明原因和办法，\
                 您能消除的排在前面。存满三次运行后按本机实测，此前按其他机器估计。",
        },
    ),
    (
        Text { en: "quiet", zh: "空闲值" },
        Text {
            en: "The value of the undisturbed machine: where the best tenth of the undisturbed samples begins. It leads for what a core does \
                 by itself: cpu, clock, system calls, its own caches.",
            zh: "机器不受干扰时的值：未受干扰的样本中最好的十分之一从此开始。核心自身的工作（cpu、clock、系统调用、自身缓存）以它为主值。",
        },
    ),
    (
        Text { en: "typical", zh: "典型值" },
        Text {
            en: "The median over the rounds of each round's median: what a program got. It leads for what is shared: memory, files, disks, \
                 network, processes, scheduling.",
            zh: "各轮中位数的中位数：程序实际得到的值。共享的资源（内存、文件、磁盘、网络、进程、调度）以它为主值。",
        },
    ),
    (
        Text { en: "±", zh: "±" },
        Text {
            en: "Half of the interval in which another run's value is expected, with 95 % confidence, as a percentage of the value.",
            zh: "再次运行时该值所在区间（95% 置信）的一半，占该值的百分比。",
        },
    ),
    (
        Text { en: "usual", zh: "常见范围" },
        Text {
            en: "What eight of ten cloud servers with the same kind of processor deliver: from the 10th to the 90th percentile; of L1d and L2 the cycles of the design. \"16 % slower\" counts from \
                 the slow end, and is said only if the whole interval of the value lies beyond it; \"perhaps slower\" if a part of it does. A mark (!) \
                 stands from 25 % on. Without a known range, one machine of the same vendor stands beside the values, and \"same\" means that \
                 the intervals meet.",
            zh: "十分之八的同型处理器云服务器的数值：第 10 至第 90 百分位；L1d 与 L2 为设计应有的周期数。“慢 16%”从较慢的一端算起，且仅当该值的整个区间都在范围之外时才给出；只有一部分在外时为“可能偏慢”。\
                 慢 25% 及以上加“!”。范围未知时，与同一厂商的一台机器相比，“相当”表示两者的区间相交。",
        },
    ),
    (
        Text { en: "unsteady", zh: "不稳定" },
        Text {
            en: "The rounds of a value lie more than 25 % to either side of it, so that nothing can be said of it beside others. Their range stands in \
                 brackets. Run again when the machine is quieter.",
            zh: "该值各轮的结果向两侧相差超过 25%，因此无法与其他机器比较。括号内为各轮的范围。请在机器较空闲时重新运行。",
        },
    ),
    (
        Text { en: "FINDINGS", zh: "结论" },
        Text {
            en: "What follows from the values, first what costs most: the share of its time that a program loses if it does what the cases do. \
                 `hostmark explain memory.huge_pages_off` shows one by its id, which the run file has.",
            zh: "由数值得出的结论，按代价从高到低：程序若做与用例相同的事，会损失多大比例的时间。`hostmark explain memory.huge_pages_off` 按标识\
                 （见运行文件）显示一条。",
        },
    ),
];

/// Words that another term's page explains.
const SAME_PAGE: [(Text, &str); 5] = [
    (Text { en: "usual for its kind", zh: "同类常见范围" }, "usual"),
    (Text { en: "beside one machine", zh: "与一台机器相比" }, "usual"),
    (Text { en: "as usual", zh: "正常" }, "usual"),
    (Text { en: "slower", zh: "慢" }, "usual"),
    (Text { en: "perhaps slower", zh: "可能偏慢" }, "usual"),
];

/// Every term with what it means.
pub fn all() -> impl Iterator<Item = (Text, Text)> {
    TERMS.into_iter()
}

/// What a term means, under its name; none of what is no term.
pub fn term(name: &str, options: &RenderOptions) -> Option<String> {
    let name = SAME_PAGE.iter().find(|(called, _)| called.is_called(name)).map_or(name, |(_, term)| *term);
    let (called, meaning) = TERMS.iter().find(|(called, _)| called.is_called(name))?;
    let [called, meaning] = [called, meaning].map(|text| text.get(options.lang));
    Some(format!("{called}\n\n{}", hanging("  ", meaning, options.width.min(WIDEST))))
}
