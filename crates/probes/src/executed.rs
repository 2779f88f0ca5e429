//! A command as an operation: executed once a round, with what it used, or with the number that it printed.

use hostmark_engine::prelude::*;
use regex_lite::Regex;

use crate::printed;
use crate::workloads::processes::command::{Command, Used, own_peak_bytes};

/// Its time, where something else of it is the value.
pub(crate) const WALL: Quantity = quantity("wall", Unit::Nanoseconds, Text { en: "wall", zh: "挂钟" });
/// Its CPU time in user space.
pub(crate) const USER: Quantity = quantity("user", Unit::Nanoseconds, Text { en: "user", zh: "用户态" });
/// Its CPU time in the kernel.
pub(crate) const SYSTEM: Quantity = quantity("system", Unit::Nanoseconds, Text { en: "system", zh: "内核态" });
/// The most memory of one of its processes.
pub(crate) const PEAK_MEMORY: Quantity =
    quantity("peak_memory", Unit::Bytes, Text { en: "peak memory", zh: "内存峰值" });

const fn quantity(name: &'static str, unit: Unit, title: Text) -> Quantity {
    Quantity::given(name, unit, Better::Lower, title)
}

/// What all probes have that ask something of a command: its name, unit, and what is told of them are a probe's own.
pub(crate) const ASKED: Probe = Probe {
    title: Text { en: "Command", zh: "命令" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Neither,
    also: &[WALL, USER, SYSTEM, PEAK_MEMORY],
    explain: Explain {
        what: Text { en: "", zh: "" },
        why: Text {
            en: "Your own benchmark, or fio, redis-benchmark, pgbench, measures itself better than a clock around it \
                 can. hostmark adds rounds, an interval, the host's facts and a verdict in hostmark compare to its \
                 number.",
            zh: "自己的基准，或 fio、redis-benchmark、pgbench，其内部测量优于外部计时。hostmark 为它的数字加上多轮、区\
                 间、主机信息，以及 hostmark compare 的判定。",
        },
        reading: Text { en: "", zh: "" },
        typical: Text {
            en: "The command's own. Starting it and waiting for it takes 0.07 to 0.16 ms, measured with hostmark on a 2-CPU KVM guest \
                 (Cascade Lake, Linux 6.18): it is part of wall.",
            zh: "取决于命令本身。启动并等待它需要 0.07 到 0.16 ms，用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测；这部分计入 wall。",
        },
        causes: Text {
            en: "What the command's own documentation says; a CPU quota or neighbours (hostmark host); the first round, which finds its files uncached.",
            zh: "见该命令自己的文档；CPU 配额或邻居虚拟机（hostmark host）；第一轮时文件尚未缓存。",
        },
    },
    axes: AXES,
    blocking: true,
    section: crate::section::EXTERNAL,
    measure: Measure::Run(asked_value),
    ..Probe::PLAIN
};

/// The CPUs that a command may use.
pub(crate) const AXES: &[Axis] =
    &[Axis::all_threads("cpus", Points::Listed { quick: &["all"], standard: &[], thorough: &[] })];

/// How a printed number is found and what it is in, after `lead`.
macro_rules! how_printed {
    (en $lead:literal, $units:literal) => {
        concat!(
            $lead,
            " command that --command names is executed once a round, as external.command does it. The value is the number that it prints: \
             the last match of the regular expression --value in the last MiB of what it writes, to either output; of the match the first \
             group, or all of it where there is none. --unit says in what it is: ",
            $units,
            ". A number of 0 or less, or no match, fails the case with the last line that it wrote."
        )
    };
    (zh $lead:literal, $units:literal) => {
        concat!(
            $lead,
            "每轮执行一次 --command 指定的命令，方式同 external.command。数值是命令打印的数字：正则表达式 --value 在其输出（标准输出与标准错误）最后 \
             1 MiB 中的最后一次匹配；取第一个分组，没有分组则取整个匹配。--unit 说明单位：",
            $units,
            "。数字不大于 0 或没有匹配时用例失败，并给出其最后一行输出。"
        )
    };
}
pub(crate) use how_printed;

/// The time of the command is the value.
pub(crate) fn timed(case: &mut Case) -> Result<()> {
    let mut program = PreparedCommand::of(case)?;
    case.once(|clock| program.execute(clock)).time()?;
    used(case, &program)
}

/// What was asked of the command is the value: a rate over its time, or the number that it prints.
pub(crate) fn asked_value(case: &mut Case) -> Result<()> {
    let mut program = PreparedCommand::of(case)?;
    match case.inputs().sampled.clone() {
        Some(Sampled::Bytes(bytes)) => case.once(|clock| program.execute(clock)).rate(bytes)?,
        Some(Sampled::Printed { pattern, unit }) => {
            let is_wrong = |what: &str| {
                RoundError::failed(
                    ReasonCode::Internal,
                    format!("--{what}, which was checked when it was typed, is not understood here"),
                )
            };
            let pattern = Regex::new(&pattern).map_err(|_| is_wrong("value"))?;
            let unit = PrintedUnit::of_name(&unit).ok_or_else(|| is_wrong("unit"))?;
            let mut wall_ns = 0.0;
            case.once(|clock| {
                wall_ns = clock.ns(program.execute(clock)?);
                Ok(program.printed(&pattern)? * unit.factor)
            })
            .value()?;
            case.also(WALL.name, [wall_ns])?;
        }
        None => return Err(RoundError::failed(ReasonCode::Internal, "nothing was asked of the command but its time")),
    }
    used(case, &program)
}

/// The command, made ready.
struct PreparedCommand {
    name: String,
    command: Command,
    /// What its execution used, and the peak of the process that started it, below which nothing is known.
    used: Option<(Used, u64)>,
}

impl PreparedCommand {
    fn of(case: &mut Case) -> Result<PreparedCommand> {
        let words = case.inputs().command.clone();
        let output = case.scratch_dir()?.join("output");
        let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
        let command = Command::new(&words, &cpus, &output, case.home_dir())?;
        // The worker is the first to be killed when memory runs out, but the command is the user's own.
        if sys::oom_score::be_as_the_user_wants().is_err() {
            case.note("oom_score_adj", "1000, as the kernel refuses to lower it: killed first when memory runs out");
        }
        Ok(PreparedCommand { name: words[0].clone(), command, used: None })
    }

    /// Executes it once: how long it took.
    fn execute(&mut self, clock: &Clock) -> Result<Ticks> {
        let (ticks, floor_bytes, ended) = self.command.run(|execute| {
            let floor_bytes = own_peak_bytes();
            let start = clock.start();
            let ended = execute()?;
            Ok((clock.end().since(start).0, floor_bytes, ended))
        })?;
        match ended {
            Ok(used) => {
                self.used = Some((used, floor_bytes));
                Ok(Ticks(ticks))
            }
            Err(how) => {
                let last = self.exit_message();
                {
                    let text = format!("{} {how}{last}", self.name);
                    Err(RoundError::Failed(how.with_text(text)))
                }
            }
        }
    }

    /// The number that it printed.
    fn printed(&mut self, pattern: &Regex) -> Result<f64> {
        let text = self.command.written()?;
        printed::number(pattern, &text).map_err(|error| match error {
            RoundError::Failed(reason) => {
                let text = format!("{reason}{}", self.exit_message());
                RoundError::Failed(reason.with_text(text))
            }
            other => other,
        })
    }

    /// The last line that it wrote, behind a colon.
    fn exit_message(&mut self) -> String {
        self.command.last_line().map(|line| format!(": {line}")).unwrap_or_default()
    }
}

fn used(case: &mut Case, program: &PreparedCommand) -> Result<()> {
    let Some((used, floor_bytes)) = program.used else {
        return Err(RoundError::failed(ReasonCode::Internal, "it was not run"));
    };
    case.also(USER.name, [used.user_ns])?;
    case.also(SYSTEM.name, [used.system_ns])?;
    match used.peak_bytes > floor_bytes {
        true => case.also(PEAK_MEMORY.name, [used.peak_bytes as f64])?,
        // The kernel hands down the peak of the process that starts a program.
        false => case.note(PEAK_MEMORY.name, format!("at most {floor_bytes} bytes")),
    }
    Ok(())
}
