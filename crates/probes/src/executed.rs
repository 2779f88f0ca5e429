//! A command as an operation: executed once a round, with what it used, or with the number that it printed.

use hostmark_engine::prelude::*;
use regex_lite::Regex;

use crate::printed;
use crate::workloads::command::{Command, Used, own_peak_bytes};

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
    Quantity { name, unit, better: Better::Lower, title }
}

/// The time of the command is the value.
pub(crate) fn timed(case: &mut Case) -> Result<()> {
    let mut executed = None;
    let mut program = Program::of(case)?;
    case.once(|clock| {
        program.execute(clock).map(|(ticks, done)| {
            executed = Some(done);
            ticks
        })
    })?;
    used(case, executed)
}

/// What was asked of the command is the value: a rate over its time, or the number that it prints.
pub(crate) fn told(case: &mut Case) -> Result<()> {
    let mut executed = None;
    let mut program = Program::of(case)?;
    let wall_ns = match case.inputs().sampled.clone() {
        Some(Sampled::Bytes(bytes)) => {
            case.once_rate(bytes, |clock| {
                program.execute(clock).map(|(ticks, done)| {
                    executed = Some(done);
                    ticks
                })
            })?;
            None
        }
        Some(Sampled::Printed { pattern, unit }) => {
            let is_wrong = |what: &str| {
                Stop::failed(format!("--{what}, which was checked when it was typed, is not understood here"))
            };
            let pattern = Regex::new(&pattern).map_err(|_| is_wrong("value"))?;
            let unit = PrintedUnit::of_name(&unit).ok_or_else(|| is_wrong("unit"))?;
            let mut wall_ns = 0.0;
            case.once_told(|clock| {
                let (ticks, done) = program.execute(clock)?;
                wall_ns = clock.ns(ticks);
                executed = Some(done);
                Ok(program.printed(&pattern)? * unit.factor)
            })?;
            Some(wall_ns)
        }
        None => return Err(Stop::failed("nothing was asked of the command but its time")),
    };
    if let Some(wall_ns) = wall_ns {
        case.also(WALL.name, [wall_ns])?;
    }
    used(case, executed)
}

/// What an execution used, and the peak of the process that started it, below which nothing is known.
type Done = (Used, u64);

/// The command, made ready.
struct Program {
    name: String,
    command: Command,
}

impl Program {
    fn of(case: &mut Case) -> Result<Program> {
        let words = case.inputs().command.clone();
        let output = case.scratch_dir()?.join("output");
        let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
        let command = Command::new(&words, &cpus, &output, case.home_dir())?;
        // The worker is the first to be killed when memory runs out, but the command is the user's own.
        if sys::first_victim::be_as_the_user_wants().is_err() {
            case.note("oom_score_adj", "1000, as the kernel refuses to lower it: killed first when memory runs out");
        }
        Ok(Program { name: words[0].clone(), command })
    }

    /// Executes it once: how long it took, and what it used.
    fn execute(&mut self, clock: &Clock) -> Result<(Ticks, Done)> {
        let (ticks, floor_bytes, ended) = self.command.run(|execute| {
            let floor_bytes = own_peak_bytes();
            let start = clock.start();
            let ended = execute()?;
            Ok((clock.end().since(start).0, floor_bytes, ended))
        })?;
        match ended {
            Ok(used) => Ok((Ticks(ticks), (used, floor_bytes))),
            Err(how) => {
                let last = self.last_words();
                Err(Stop::failed(format!("{} {how}{last}", self.name)))
            }
        }
    }

    /// The number that it printed.
    fn printed(&mut self, pattern: &Regex) -> Result<f64> {
        let text = self.command.written()?;
        printed::number(pattern, &text).map_err(|stop| match stop {
            Stop::Failed(reason) => Stop::failed(format!("{reason}{}", self.last_words())),
            other => other,
        })
    }

    /// The last line that it wrote, behind a colon.
    fn last_words(&mut self) -> String {
        self.command.last_line().map(|line| format!(": {line}")).unwrap_or_default()
    }
}

fn used(case: &mut Case, executed: Option<Done>) -> Result<()> {
    let Some((used, floor_bytes)) = executed else { return Err(Stop::failed("it was not run")) };
    case.also(USER.name, [used.user_ns])?;
    case.also(SYSTEM.name, [used.system_ns])?;
    match used.peak_bytes > floor_bytes {
        true => case.also(PEAK_MEMORY.name, [used.peak_bytes as f64])?,
        // The kernel hands down the peak of the process that starts a program.
        false => case.note(PEAK_MEMORY.name, format!("at most {floor_bytes} bytes")),
    }
    Ok(())
}
