//! Group external: programs of others as loads. A command is executed once a round; its value is its time, or the number that it prints.

crate::group!("external": command = COMMAND rate = RATE time = TIME operations = OPERATIONS number = NUMBER);

use hostmark_engine::prelude::*;
use regex_lite::Regex;

use crate::workloads::processes::command::{Command, Used, own_peak_bytes};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("External loads");

/// Wall time, where something else is the value.
const WALL: Quantity = quantity("wall", Unit::Nanoseconds, term!("wall"));
const USER: Quantity = quantity("user", Unit::Nanoseconds, term!("user"));
const SYSTEM: Quantity = quantity("system", Unit::Nanoseconds, term!("system"));
/// The most memory of one of its processes.
const PEAK_MEMORY: Quantity = quantity("peak_memory", Unit::Bytes, term!("peak memory"));

const fn quantity(name: &'static str, unit: Unit, title: Text) -> Quantity {
    Quantity::given(name, unit, Better::Lower, title)
}

/// A probe of what a command prints, or of a rate over its time.
const fn asked(page: Probe, unit: Unit, better: Better) -> Probe {
    let (also, measure) = (&[WALL, USER, SYSTEM, PEAK_MEMORY], Measure::Run(asked_value));
    Probe { unit, better, also, axes: AXES, blocking: true, measure, ..page }
}

/// The CPUs that a command may use.
const AXES: &[Axis] = &[Axis::all_threads("cpus", Points::quick(&["all"]))];

fn timed(case: &mut Case) -> Result<()> {
    let mut program = PreparedCommand::of(case)?;
    case.once(|clock| program.execute(clock)).time()?;
    used(case, &program)
}

/// Measures the value asked of the command: a rate over its time, or the number that it prints.
fn asked_value(case: &mut Case) -> Result<()> {
    let mut program = PreparedCommand::of(case)?;
    match case.inputs().sampled.clone() {
        Some(Sampled::Bytes(bytes)) => case.once(|clock| program.execute(clock)).rate(bytes)?,
        Some(Sampled::Printed { pattern, unit }) => {
            let is_wrong = |what: &str| {
                RoundError::internal(say!("--{what}, which was checked when it was typed, is not understood here"))
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
        None => {
            return Err(RoundError::internal(say!("nothing was asked of the command but its time")));
        }
    }
    used(case, &program)
}

struct PreparedCommand {
    name: String,
    command: Command,
    /// Resources used by its execution, and the peak of the process that started it, below which nothing is known.
    used: Option<(Used, u64)>,
}

impl PreparedCommand {
    fn of(case: &mut Case) -> Result<PreparedCommand> {
        let words = case.inputs().command.clone();
        let output = case.scratch_dir()?.join("output");
        let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
        let command = Command::new(&words, &cpus, &output, case.home_dir())?;
        // The worker is the first to be killed when memory runs out, but the command is the user's own.
        if sys::process::be_killed_as_the_user_wants().is_err() {
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
                let name = &self.name;
                let text = match self.command.last_line() {
                    Some(line) => say!("{name} {how}: {line}"),
                    None => say!("{name} {how}"),
                };
                Err(RoundError::Failed(how.with_text(text)))
            }
        }
    }

    fn printed(&mut self, pattern: &Regex) -> Result<f64> {
        let text = self.command.written()?;
        number(pattern, &text).map_err(|error| match error {
            RoundError::Failed(reason) => {
                let text = Message::from(&reason).with_last_word(self.command.last_line());
                RoundError::Failed(reason.with_text(text))
            }
            other => other,
        })
    }
}

fn used(case: &mut Case, program: &PreparedCommand) -> Result<()> {
    let Some((used, floor_bytes)) = program.used else {
        return Err(RoundError::internal(say!("it was not run")));
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

/// The number: of the last match in `text` the first group, or all of it where the expression has none. A summary stands at the end.
///
/// # Errors
/// When nothing matches, or when what matches is no number above 0.
fn number(pattern: &Regex, text: &str) -> Result<f64> {
    let refused = |text: Message| Err(RoundError::failed(ReasonCode::CommandFailed, text));
    let last = pattern.captures_iter(text).last();
    let Some(found) = last.and_then(|found| found.get(1).or_else(|| found.get(0))) else {
        return refused(say!("--value matches nothing that the command printed"));
    };
    let found = found.as_str().trim();
    let typed: String = found.chars().take(LONGEST).collect();
    if typed.len() < found.len() {
        return refused(say!("--value found '{typed}…', which is too long for a number; put the number alone in (…)"));
    }
    let number = without_groups(&typed).parse::<f64>().ok().filter(|number| number.is_finite());
    match number {
        Some(number) if number > 0.0 => Ok(number),
        Some(_) => refused(say!("--value found {typed}, and only a number above 0 has a place on a scale")),
        None => refused(say!("--value found '{typed}', which is no number; put the number alone in (…)")),
    }
}

/// Longest text that is taken for a number, characters: the beginning of a longer one would be another number.
const LONGEST: usize = 64;

/// `1,234,567.8` without the commas: only where they part groups of three digits, as a comma may also be the decimal sign.
fn without_groups(typed: &str) -> String {
    let (whole, part) = typed.split_once('.').map_or((typed, None), |(whole, part)| (whole, Some(part)));
    let mut groups = whole.split(',');
    let is_digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default().trim_start_matches('+');
    let is_grouped = whole.contains(',') && is_digits(first) && first.len() <= 3;
    if !is_grouped || !groups.all(|group| group.len() == 3 && is_digits(group)) {
        return typed.to_owned();
    }
    let whole = whole.replace(',', "");
    part.map_or(whole.clone(), |part| format!("{whole}.{part}"))
}

/// Probe external.command: the time, CPU time and memory of any command.
pub static COMMAND: Probe = Probe {
    also: &[USER, SYSTEM, PEAK_MEMORY],
    axes: AXES,
    blocking: true,
    needs: &[Need::Command],
    measure: Measure::Run(timed),
    ..crate::texts::external::COMMAND
};

/// Probe external.rate: bytes a second of a command, by its time or as it prints them.
pub static RATE: Probe = Probe {
    needs: &[Need::CommandValue(Unit::BytesPerSecond)],
    ..asked(crate::texts::external::RATE, Unit::BytesPerSecond, Better::Higher)
};

/// Probe external.time: a time that a command prints.
pub static TIME: Probe = Probe {
    needs: &[Need::CommandValue(Unit::Nanoseconds)],
    ..asked(crate::texts::external::TIME, Unit::Nanoseconds, Better::Lower)
};

/// Probe external.operations: operations a second that a command prints.
pub static OPERATIONS: Probe = Probe {
    needs: &[Need::CommandValue(Unit::OperationsPerSecond)],
    ..asked(crate::texts::external::OPERATIONS, Unit::OperationsPerSecond, Better::Higher)
};

/// Probe external.number: a number without a unit that a command prints.
pub static NUMBER: Probe = Probe {
    needs: &[Need::CommandValue(Unit::Count)],
    ..asked(crate::texts::external::NUMBER, Unit::Count, Better::Neither)
};

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> std::result::Result<f64, String> {
        number(&Regex::new(pattern).unwrap(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_match_counts_and_its_first_group() {
        assert_eq!(found(r"avg=([0-9.]+)", "avg=1.5 us\navg=2.5 us\n"), Ok(2.5));
        assert_eq!(found(r"[0-9]+", "a 7 b 9 c"), Ok(9.0));
        assert_eq!(found(r"(?m)^total: (\S+)", "total: 1e3\nx total: 5"), Ok(1000.0));
        assert_eq!(found(r"(\S+) requests", "1,234,567.5 requests"), Ok(1_234_567.5));
    }

    #[test]
    fn what_is_no_number_above_zero_is_refused_and_quoted() {
        for (text, word) in [
            ("x=", "matches nothing"),
            ("x=1,5", "'1,5'"),
            ("x=nan", "'nan'"),
            ("x=inf", "'inf'"),
            ("x=1e999", "'1e999'"),
            ("x=0", "above 0"),
            ("x=-3", "above 0"),
            ("x=12,34", "'12,34'"),
            ("x=1,2345", "'1,2345'"),
            ("x=0x10", "'0x10'"),
        ] {
            let refused = found(r"x=(\S+)", text).unwrap_err();
            assert!(refused.contains(word), "{text}: {refused}");
        }
        assert_eq!(found(r"x=(\S+)", &format!("x={}", "9".repeat(LONGEST))), Ok(1e64));
        for long in ["9", "z", "字"].map(|one| one.repeat(LONGEST + 1)) {
            let refused = found(r"x=(\S+)", &format!("x={long}")).unwrap_err();
            assert!(refused.contains("too long") && refused.len() < 400, "{refused}");
        }
    }

    #[test]
    fn an_expression_that_would_blow_up_elsewhere_ends_here() {
        let text = "a".repeat(20_000);
        assert!(found(r"(a*)*b", &text).is_err());
    }
}
