//! How the kernel treats the process that measures.

use hostmark_model::{HostFacts, HostWeight, Text};

use super::{HostRule, text};

/// What makes whatever else runs go first; none where hostmark is served as all others are.
pub fn yields(host: &HostFacts) -> Option<Text<String>> {
    let process = &host.process;
    process.yields_to_others().then_some(())?;
    let policy = process.policy.as_deref().filter(|policy| *policy == "SCHED_IDLE");
    let how = policy.map(str::to_owned).unwrap_or_else(|| format!("nice {}", process.nice.unwrap_or(0)));
    text(
        format!("hostmark runs at {how}: whatever else wants its CPU goes first"),
        format!("hostmark 以 {how} 运行：其他任务总是优先得到 CPU"),
    )
}

pub(super) static YIELDS: HostRule = HostRule {
    id: "host.yields_to_others",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "chrt --other 0 hostmark …, nice -n 0; systemd CPUSchedulingPolicy=, Nice=",
        zh: "以 chrt --other 0、nice -n 0 启动；systemd CPUSchedulingPolicy=、Nice=",
    },
    see: |host, _| yields(host),
};

pub(super) static TRACED: HostRule = HostRule {
    id: "host.traced",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "measure without strace, gdb or another tracer", zh: "不要在 strace、gdb 等跟踪器下测量"
    },
    see: |host, _| {
        host.process.traced.filter(|is_traced| *is_traced)?;
        text(
            "a tracer is attached to hostmark: system calls and signals may stop for it",
            "hostmark 正被跟踪：系统调用与信号可能因此暂停",
        )
    },
};

pub(super) static POLICY: HostRule = HostRule {
    id: "host.scheduling_policy",
    weight: HostWeight::Shifts,
    cure: Text { en: "chrt --other 0 hostmark …", zh: "执行 chrt --other 0 hostmark …" },
    see: |host, _| {
        let policy = host.process.policy.as_deref()?;
        match policy {
            "SCHED_OTHER" | "SCHED_IDLE" => None,
            "SCHED_BATCH" => text(
                "SCHED_BATCH: hostmark is woken later, as it interrupts no other program",
                "SCHED_BATCH：唤醒较迟，因为 hostmark 不会抢占其他程序",
            ),
            _ => text(
                format!("{policy}: hostmark is served before other programs, unlike most"),
                format!("{policy}：hostmark 比普通程序优先得到 CPU"),
            ),
        }
    },
};

pub(super) static CLAMPED: HostRule = HostRule {
    id: "host.clamped",
    weight: HostWeight::Shifts,
    cure: Text {
        en: "uclampset -M 1024, or the group's cpu.uclamp.max",
        zh: "执行 uclampset -M 1024，或改控制组的 cpu.uclamp.max",
    },
    see: |host, _| {
        let most = host.process.clamped()?;
        text(
            format!("uclamp.max {most} of 1024: the kernel asks for a lower clock, or slower cores"),
            format!("uclamp.max 为 {most}（满值 1024）：内核会要求较低频率或较慢的核心"),
        )
    },
};

pub(super) static HUGE_PAGES_FORBIDDEN: HostRule = HostRule {
    id: "host.huge_pages_forbidden",
    weight: HostWeight::Shifts,
    cure: Text {
        en: "start it from a process without PR_SET_THP_DISABLE (systemd MemoryTHP=)",
        zh: "从未设置 PR_SET_THP_DISABLE 的进程启动（systemd MemoryTHP=）",
    },
    see: |host, _| {
        host.memory.transparent_huge_pages_forbidden.filter(|are_forbidden| *are_forbidden)?;
        text(
            "huge pages are forbidden for this process by prctl: base pages only",
            "本进程被 prctl 禁用大页：只有基本页",
        )
    },
};
