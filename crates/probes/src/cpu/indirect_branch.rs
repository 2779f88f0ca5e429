//! Probe cpu.indirect_branch: a jump to one of several targets, by their number and whether their order can be learnt.

use hostmark_engine::prelude::*;

use crate::kernels::indirect::Targets;

/// Targets in the array: more than predictors hold of an order that never repeats before.
const LENGTH: usize = 1 << 18;

pub static PROBE: Probe = Probe {
    title: Text { en: "Indirect branch", zh: "间接分支" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "One indirect jump in a loop goes to one of `targets` places, each of which adds a constant and jumps back; both \
                 jumps, a load and the loop are part of the value. The target is loaded three jumps ahead, so no prediction \
                 waits for it. order=random draws 262,144 targets for each round and repeats them; order=cycle takes the targets in \
                 turn.",
            zh: "循环中的一个间接跳转去往 `targets` 处之一，每处加一个常数后跳回；两次跳转、一次加载和循环本身都计入数值。目标提前三次跳转加载，预\
                 测不必等待它。order=random 每轮随机抽取 262144 个目标并重复；order=cycle 轮流使用各目标。",
        },
        why: Text {
            en: "Interpreters, virtual calls, function pointers and switch statements jump indirectly. The core guesses the target \
                 from the history of earlier branches; a wrong guess costs as much as any mispredicted branch.",
            zh: "解释器、虚函数调用、函数指针和 switch 语句都是间接跳转。核心根据之前分支的历史猜测目标；猜错的代价与其他预测失败的分支相同。",
        },
        reading: Text {
            en: "targets=1 is the loop's own pace. With order=random and N targets, (N-1)/N of the guesses are wrong: the value \
                 approaches the pace plus cpu.misprediction. order=cycle stays at the pace until the history no longer tells the \
                 targets apart, or the predictor has no room for so many.",
            zh: "targets=1 是循环自身的节奏。order=random 且有 N 个目标时，猜错的比例为 (N-1)/N：数值趋近节奏加 cpu.misprediction。order=cycle \
                 保持在该节奏，直到历史无法区分各目标，或预测器容纳不下这么多目标。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18, 4.1 GHz), core cycles: targets=1 2.3; \
                 order=random 13.4 with 2 targets, 17.7 with 4, 21 with 16, 22 with 256; order=cycle 2.4 up to 4 targets and 5 from \
                 16 on. Before predictors of targets by history (Pentium M, by Agner Fog's microarchitecture guide), a cycle cost as much \
                 as random.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18，4.1 GHz）上实测，核心周期数：targets=1 为 2.3；order=random 2 个目\
                 标 13.4，4 个 17.7，16 个 21，256 个 22；order=cycle 4 个以内 2.4，16 个起为 5。按历史预测目标的预测器出现之前（据 Agner Fog 的微架\
                 构手册，即 Pentium M 之前），cycle 与 random 同样昂贵。",
        },
        causes: Text {
            en: "Code compiled with retpolines, which are never predicted (the kernel's, not this loop); targets kept from \
                 prediction between privileges or threads (IBRS, STIBP), predictors flushed at switches (IBPB); a sibling thread that \
                 shares the predictor.",
            zh: "以 retpoline 编译的代码从不被预测（内核如此，本循环不是）；特权级之间或线程之间禁止共用目标预测（IBRS、STIBP），切换时清空预测\
                 器（IBPB）；兄弟线程共用预测器。",
        },
    },
    related: &["cpu.branch", "cpu.misprediction", "cpu.sieve"],
    axes: &[
        Axis::count(
            "targets",
            "16",
            Points::Listed { quick: &["1", "16"], standard: &["2", "4", "64", "256"], thorough: &["8", "32", "128"] },
        ),
        Axis::choice("order", "random", Points::Listed { quick: &["random", "cycle"], standard: &[], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["targets", "order"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let count: usize = case.param("targets")?;
    if count > crate::kernels::indirect::MOST_TARGETS {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, "the loop has 256 targets at most"));
    }
    case.may_fill(LENGTH as u64)?;
    let mut targets = match case.param::<String>("order")?.as_str() {
        "random" => Targets::random(count, LENGTH, case.seed()),
        _ => Targets::in_turn(count, LENGTH),
    };
    case.loops(|n| {
        std::hint::black_box(targets.jump(n));
    })
    .time()
}
