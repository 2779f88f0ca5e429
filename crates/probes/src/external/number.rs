//! Probe external.number: a number without a unit that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::{self, PEAK_MEMORY, SYSTEM, USER, WALL};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Command, printed number", zh: "命令打印的数字" },
    revision: 1,
    unit: Unit::Count,
    better: Better::Neither,
    also: &[WALL, USER, SYSTEM, PEAK_MEMORY],
    explain: Explain {
        what: Text {
            en: "The command that --command names is executed once a round, as external.command does it. The value is the number that it prints: the \
                 last match of the regular expression --value in the last MiB of what it writes, to either output; of the match the first group, \
                 or all of it where there is none. --unit says in what it is: count. A number of 0 or less, or no match, fails the case with \
                 the last line that it wrote.",
            zh: "每轮执行一次 --command 指定的命令，方式同 external.command。数值是命令打印的数字：正则表达式 --value 在其输出（标准输出与标准错误）最后 1 MiB 中的\
                 最后一次匹配；取第一个分组，没有分组则取整个匹配。--unit 说明单位：count。数字不大于 0 或没有匹配时用例失败，并给出其最后一行输出。",
        },
        why: Text {
            en: "A benchmark of one's own, or fio, redis-benchmark, pgbench, measures inside itself better than a clock around it can. Here its own \
                 number gets rounds, an interval, the host's facts, and a verdict in hostmark compare.",
            zh: "自己的基准，或 fio、redis-benchmark、pgbench，其内部测量优于外部计时。在这里，它自己的数字同样获得多轮、区间、主机信息，以及 hostmark compare \
                 的判定。",
        },
        reading: Text {
            en: "A score, a number of faults, a share: hostmark does not know which direction is good, so that a comparison says whether it changed, \
                 and not whether that is better.",
            zh: "得分、错误数、占比等：hostmark 不知道哪个方向更好，因此对比只说明是否改变，而不说明好坏。",
        },
        typical: Text {
            en: "The command's own. Starting it and waiting for it takes 0.07 to 0.16 ms, measured with hostmark on a 2-CPU KVM guest \
                 (Cascade Lake, Linux 6.18): it is part of wall.",
            zh: "取决于命令本身。启动并等待它需要 0.07 到 0.16 ms，用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测；这部分计入 wall。",
        },
        causes: Text {
            en: "What the command's own documentation says; a CPU quota or neighbours (hostmark host); the first round, which finds its files uncached.",
            zh: "见该命令自己的文档；CPU 配额或邻居（hostmark host）；第一轮时文件尚未缓存。",
        },
    },
    axes: &[Axis::all_threads("cpus", Points::Listed { quick: &["all"], standard: &[], thorough: &[] })],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[Need::CommandValue(Unit::Count)],
    related: &["external.command", "external.time", "external.operations"],
    replaces: &[],
    differs: None,
    section: crate::section::EXTERNAL,
    measure: Measure::Run(executed::told),
};
