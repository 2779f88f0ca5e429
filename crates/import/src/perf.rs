//! Reads the text of `perf bench` (sched, syscall, mem, futex, epoll), of its default format and, where that names what
//! it is of, of its simple format. Several results of one benchmark are samples.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};

use super::bounded::{amount, each_line, shortened};
use super::foreign::{Foreign, ForeignQuantity, ImportedValue, Source, shortest};
use super::{ImportError, ImportFormat};
use crate::texts::perf::programs as texts;
use Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};

/// perf bench's text.
pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "perf-bench",
    description: term!("the text of perf bench: sched, syscall, mem, futex, epoll"),
    read,
};

const WHAT: &str = "the whole text of perf bench";
/// Most names of benchmarks that are not read: perf has some dozen.
const MOST_UNREAD: usize = 50;

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut reader = PerfReader { run: Foreign::of(&SOURCE), now: None };
    let lines =
        each_line(input, WHAT, |at, line| reader.take(line.trim()).map_err(|what| ImportError { line: at, what }))?;
    reader.end().map_err(|what| ImportError { line: lines, what })?;
    let unread = reader.run.unread.last().cloned();
    reader.run.finish(lines, || match unread {
        None => format!("it has no result; give {WHAT}"),
        Some(name) => format!("{name} is no benchmark that can be imported; give another"),
    })
}

struct PerfReader {
    run: Foreign,
    /// The benchmark whose lines are read.
    now: Option<Benchmark>,
}

/// One benchmark, from its heading on.
struct Benchmark {
    /// `sched/pipe`.
    name: String,
    /// Whether it has given a value.
    is_done: bool,
    /// How many operations, groups or threads its lines told.
    operations: Option<f64>,
    /// What its first line says of it.
    setup: String,
    groups: Option<f64>,
    threads: Option<f64>,
    /// Whether processes or threads work.
    parties: Option<String>,
    /// For how many seconds it ran.
    seconds: Option<f64>,
    /// The function of the mem benchmarks, and the bytes it moves at a time.
    function: Option<String>,
    size: Option<f64>,
    /// The total time, seconds.
    total: Option<f64>,
    /// Results of single runs, ns.
    runs: Vec<f64>,
}

impl Benchmark {
    fn named(name: &str) -> Benchmark {
        Benchmark {
            name: name.to_owned(),
            is_done: false,
            operations: None,
            setup: String::new(),
            groups: None,
            threads: None,
            parties: None,
            seconds: None,
            function: None,
            size: None,
            total: None,
            runs: Vec::new(),
        }
    }
}

/// How lines of benchmarks begin that have no heading in the simple format.
const IN_SUMMARY: &[(&str, &str)] = &[
    ("each operating on", "futex/hash"),
    ("waking up 1 at a time", "futex/wake"),
    ("threads waking up", "futex/wake-parallel"),
    ("Requeuing", "futex/requeue"),
    ("doing pi lock/unlock", "futex/lock-pi"),
    ("threads monitoring on", "epoll/wait"),
    ("doing epoll_ctl ops", "epoll/ctl"),
];

impl PerfReader {
    fn take(&mut self, line: &str) -> Result<(), String> {
        if let Some(name) = heading(line) {
            self.end()?;
            self.now = Some(Benchmark::named(name));
            return Ok(());
        }
        if line.starts_with("Run summary [PID ") {
            return self.summary(line);
        }
        if let Some((function, rest)) = line.strip_prefix("# function '").and_then(|rest| rest.split_once('\'')) {
            return self.function(function, rest);
        }
        let Some(now) = &mut self.now else {
            // Of the simple format a bare number is all there is.
            return match is_number(line) || line.ends_with(" usecs/op") {
                true => Err(format!(
                    "a number without a heading: the simple format does not tell which benchmark it is of; give {WHAT}"
                )),
                false => Ok(()),
            };
        };
        if let (Some(setup), true) = (line.strip_prefix("# "), now.setup.is_empty()) {
            setup.clone_into(&mut now.setup);
        }
        // Some locales group digits by spaces, which are none of ASCII's.
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["#", "Executed", count, .., parties] => {
                now.operations = Some(whole(count, "the number of operations")?);
                now.parties = Some(parties.to_owned());
            }
            ["#", _, "sender", "and", "receiver", parties, ..] => now.parties = Some(parties.to_owned()),
            ["#", groups, "groups", "==", ..] => now.groups = Some(whole(groups, "the number of groups")?),
            ["#", "Copying", size, ..] => now.size = Some(bytes(size)?),
            ["Total", "time:", seconds, "[sec]"] => {
                now.total = Some(amount(seconds, "the total time")?);
                return if now.name == "sched/messaging" { self.total_time() } else { Ok(()) };
            }
            [time, "usecs/op"] => return self.per_operation(time),
            [rate, unit @ ("bytes/sec" | "KB/sec" | "MB/sec" | "GB/sec")] => return self.bandwidth(rate, unit),
            ["[Run", _, ref rest @ ..] => {
                if let Some(at) = rest.iter().position(|word| *word == "in") {
                    let word = rest.get(at + 1).copied().unwrap_or_default();
                    now.runs.push(decimal(word, "the time of a run")? * 1e6);
                }
            }
            ["Averaged", rate, "operations/sec", ..] => return self.averaged(rate),
            ["Averaged", count, op @ ("ADD" | "MOD" | "DEL"), "operations", ..] => return self.controlled(count, op),
            ["Wokeup" | "Requeued" | "Avg", .., "ms", _] => return self.of_runs(),
            [number] if is_number(number) => return self.bare(number),
            _ => {}
        }
        Ok(())
    }

    /// A benchmark whose heading the simple format leaves out is known by its summary.
    fn summary(&mut self, line: &str) -> Result<(), String> {
        let Some((_, name)) = IN_SUMMARY.iter().find(|(part, _)| line.contains(part)) else { return Ok(()) };
        // What the parallel waking says contains what the plain one says.
        let name = if line.contains("threads waking up") { "futex/wake-parallel" } else { name };
        if self.now.as_ref().is_none_or(|now| now.is_done || now.name != *name) {
            self.end()?;
            self.now = Some(Benchmark::named(name));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = |wanted: &[&str]| {
            let at = words.iter().position(|word| wanted.contains(&word.trim_end_matches(['.', ','])))?;
            words.get(at.checked_sub(1)?).copied()
        };
        if let Some(now) = &mut self.now {
            now.threads = before(&["threads"]).map(|word| amount(word, "the number of threads")).transpose()?;
            now.seconds = before(&["secs"]).map(|word| amount(word, "the seconds")).transpose()?;
        }
        Ok(())
    }

    /// `# function 'name' (Default memcpy() provided by glibc)`
    fn function(&mut self, function: &str, rest: &str) -> Result<(), String> {
        // Without a heading, what the function copies or sets by is told by what stands behind its name.
        let known = ["memcpy", "memset", "mmap"].into_iter().find(|name| rest.contains(&format!("{name}()")));
        if self.now.as_ref().is_none_or(|now| !now.name.starts_with("mem/")) {
            let Some(name) = known else {
                return Err(format!("a function of no known benchmark; give {WHAT}"));
            };
            self.end()?;
            self.now = Some(Benchmark::named(&format!("mem/{name}")));
        } else if let (Some(now), Some(name)) = (&mut self.now, known) {
            now.name = format!("mem/{name}");
        }
        if let Some(now) = &mut self.now {
            if now.function.is_some() && !now.is_done {
                return Err(format!("the rate of the function before this one is missing; give {WHAT}"));
            }
            now.function = Some(shortened(function));
            now.is_done = false;
        }
        Ok(())
    }

    /// Keeps a value of the benchmark whose lines are read.
    fn keep(
        &mut self,
        probe: Option<&'static str>,
        samples: Vec<f64>,
        at: &[(&'static str, String)],
    ) -> Result<(), String> {
        let Some(now) = &mut self.now else { return Ok(()) };
        now.is_done = probe.is_some() || program(&now.name, "").is_some();
        let Some(probe) = probe else { return Ok(()) };
        let value = at.iter().fold(ImportedValue::new(probe, samples), |value, (axis, point)| value.at(axis, point));
        let value = value.note("operations", now.operations.map(shortest).unwrap_or_default());
        // Of a benchmark without axes of its own all that it says of itself.
        let value = value.note("setup", if probe == "perf.operation" { now.setup.as_str() } else { "" });
        let value = value.note("seconds", now.seconds.or(now.total).map(shortest).unwrap_or_default());
        self.run.keep(value)
    }

    fn id(&self, suffix: &str) -> Option<&'static str> {
        program(self.now.as_ref()?.name.as_str(), suffix)
    }

    fn per_operation(&mut self, time: &str) -> Result<(), String> {
        let time = decimal(time, "the time of an operation")? * 1e3;
        let Some(name) = self.now.as_ref().map(|now| now.name.clone()) else { return Ok(()) };
        let at = match self.id("") {
            // Whatever it is, perf tells the time of one.
            None => return self.keep(Some("perf.operation"), vec![time], &[("benchmark", name)]),
            Some(_) => (name == "sched/pipe").then(|| ("parties", self.parties())),
        };
        self.keep(self.id(""), vec![time], at.as_slice())
    }

    fn total_time(&mut self) -> Result<(), String> {
        let (Some(now), id) = (&self.now, self.id("")) else { return Ok(()) };
        let groups = now.groups.map_or("untold".to_owned(), shortest);
        let total = now.total.unwrap_or_default() * 1e9;
        self.keep(id, vec![total], &[("groups", groups), ("parties", self.parties())])
    }

    fn bandwidth(&mut self, rate: &str, unit: &str) -> Result<(), String> {
        // perf's K is 1024 here.
        let scale = match unit {
            "KB/sec" => 10,
            "MB/sec" => 20,
            "GB/sec" => 30,
            _ => 0,
        };
        let rate = decimal(rate, "the rate")? * f64::from(1u32 << scale);
        let (Some(now), id) = (&self.now, self.id("")) else { return Ok(()) };
        let function = now.function.clone().ok_or_else(|| format!("a rate without a function; give {WHAT}"))?;
        let size = now.size.map_or("untold".to_owned(), shortest);
        self.keep(id, vec![rate], &[("function", function), ("size", size)])
    }

    fn parties(&self) -> String {
        self.now.as_ref().and_then(|now| now.parties.clone()).unwrap_or_else(|| "untold".to_owned())
    }

    fn threads(&self) -> String {
        self.now.as_ref().and_then(|now| now.threads).map_or("untold".to_owned(), shortest)
    }

    fn averaged(&mut self, rate: &str) -> Result<(), String> {
        let rate = whole(rate, "the operations a second")?;
        self.keep(self.id(""), vec![rate], &[("threads", self.threads())])
    }

    /// Operations over the whole time, of each thread.
    fn controlled(&mut self, count: &str, op: &str) -> Result<(), String> {
        let count = whole(count, "the number of operations")?;
        let seconds = self.now.as_ref().and_then(|now| now.seconds).filter(|seconds| *seconds > 0.0);
        let seconds = seconds.ok_or_else(|| format!("the seconds did not come before this line; give {WHAT}"))?;
        let at = [("threads", self.threads()), ("op", op.to_ascii_lowercase())];
        self.keep(self.id(""), vec![count / seconds], &at)
    }

    fn of_runs(&mut self) -> Result<(), String> {
        let runs = self.now.as_mut().map(|now| std::mem::take(&mut now.runs)).unwrap_or_default();
        if runs.is_empty() {
            return Err(format!("no run came before this line; give {WHAT}"));
        }
        self.keep(self.id(""), runs, &[("threads", self.threads())])
    }

    /// A bare number below a heading, of the simple format: a rate of the mem benchmarks, the total time of others.
    fn bare(&mut self, number: &str) -> Result<(), String> {
        match self.now.as_ref().map(|now| now.name.starts_with("mem/")) {
            Some(true) => self.bandwidth(number, "bytes/sec"),
            _ => {
                let total = decimal(number, "the total time")?;
                if let Some(now) = &mut self.now {
                    now.total = Some(total);
                }
                match self.now.as_ref().is_some_and(|now| now.name == "sched/messaging") {
                    true => self.total_time(),
                    false => {
                        let call = self.now.as_ref().and_then(|now| now.name.strip_prefix("syscall/"));
                        let at: Vec<_> = call.map(|call| ("call", call.to_owned())).into_iter().collect();
                        self.keep(self.id("total"), vec![total * 1e9], &at)
                    }
                }
            }
        }
    }

    /// The benchmark whose lines were read is over: it must have given a value, when it is one that is known.
    fn end(&mut self) -> Result<(), String> {
        let Some(now) = self.now.take() else { return Ok(()) };
        match now.is_done {
            true => Ok(()),
            false if program(&now.name, "").is_none() => {
                let name = shortened(&now.name);
                if self.run.unread.len() < MOST_UNREAD && !self.run.unread.contains(&name) {
                    self.run.unread.push(name);
                }
                Ok(())
            }
            false => Err(format!("the result of {} did not come before this line; give {WHAT}", shortened(&now.name))),
        }
    }
}

/// `# Running 'sched/pipe' benchmark:`, or `# Running sched/pipe benchmark...` where several are run.
fn heading(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("# Running ")?;
    let name = rest.split(" benchmark").next()?;
    (name.len() < rest.len()).then(|| name.trim_matches('\''))
}

/// `1MB` as bytes.
fn bytes(text: &str) -> Result<f64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        _ => return Err(format!("'{}' is no size; give {WHAT}", shortened(text))),
    };
    Ok(amount(digits, "a size")? * f64::from(1u32 << scale))
}

/// Whether a text is a number and no other sign, as `...`.
fn is_number(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'))
}

/// A whole number, whose digits perf groups as the locale does: `10,000,000`, `10.000.000`.
fn whole(word: &str, what: &str) -> Result<f64, String> {
    amount(&ungrouped(word).unwrap_or_else(|| word.to_owned()), what)
}

/// A number of which perf prints decimals, behind the sign of the locale: `12.207031`, `12,207031`, `1,050.383`.
fn decimal(word: &str, what: &str) -> Result<f64, String> {
    let Some((before, decimals)) = word.rsplit_once(['.', ',']) else { return amount(word, what) };
    amount(&format!("{}.{decimals}", ungrouped(before).unwrap_or_else(|| word.to_owned())), what)
}

/// The digits without the signs between groups of three.
fn ungrouped(digits: &str) -> Option<String> {
    let groups = digits.split(['.', ',', '\'', '\u{2019}', '\u{a0}', '\u{202f}']);
    groups.clone().skip(1).all(|group| group.len() == 3).then(|| groups.collect())
}

const THREADS: (&str, AxisKind) = ("threads", AxisKind::Count);
const PARTIES: (&str, AxisKind) = ("parties", AxisKind::Choice);
const MEM: &[(&str, AxisKind)] = &[("function", AxisKind::Choice), ("size", AxisKind::Size)];

static SOURCE: Source = Source {
    format: "perf-bench",
    tool: "perf bench",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        ForeignQuantity::plain("perf.sched_pipe", texts::SCHED_PIPE_TITLE, Nanoseconds, &[PARTIES], texts::SCHED_PIPE),
        ForeignQuantity::plain(
            "perf.sched_pipe_total",
            texts::SCHED_PIPE_TOTAL_TITLE,
            Nanoseconds,
            &[],
            texts::SCHED_PIPE_TOTAL,
        ),
        ForeignQuantity::plain(
            "perf.sched_messaging",
            texts::SCHED_MESSAGING_TITLE,
            Nanoseconds,
            &[("groups", AxisKind::Count), PARTIES],
            texts::SCHED_MESSAGING,
        ),
        ForeignQuantity::plain(
            "perf.syscall_basic",
            texts::SYSCALL_BASIC_TITLE,
            Nanoseconds,
            &[],
            texts::SYSCALL_BASIC,
        ),
        ForeignQuantity::plain(
            "perf.syscall_getpgid",
            texts::SYSCALL_GETPGID_TITLE,
            Nanoseconds,
            &[],
            texts::SYSCALL_GETPGID,
        ),
        ForeignQuantity::plain("perf.syscall_fork", texts::SYSCALL_FORK_TITLE, Nanoseconds, &[], texts::SYSCALL_FORK),
        ForeignQuantity::plain(
            "perf.syscall_execve",
            texts::SYSCALL_EXECVE_TITLE,
            Nanoseconds,
            &[],
            texts::SYSCALL_EXECVE,
        ),
        ForeignQuantity::plain(
            "perf.syscall_total",
            texts::SYSCALL_TOTAL_TITLE,
            Nanoseconds,
            &[("call", AxisKind::Choice)],
            texts::SYSCALL_TOTAL,
        ),
        ForeignQuantity::plain("perf.memcpy", texts::MEMCPY_TITLE, BytesPerSecond, MEM, texts::MEMCPY),
        ForeignQuantity::plain("perf.memset", texts::MEMSET_TITLE, BytesPerSecond, MEM, texts::MEMSET),
        ForeignQuantity::plain("perf.mmap", texts::MMAP_TITLE, BytesPerSecond, MEM, texts::MMAP),
        ForeignQuantity::plain(
            "perf.futex_hash",
            texts::FUTEX_HASH_TITLE,
            OperationsPerSecond,
            &[THREADS],
            texts::FUTEX_HASH,
        ),
        ForeignQuantity::plain("perf.futex_wake", texts::FUTEX_WAKE_TITLE, Nanoseconds, &[THREADS], texts::FUTEX_WAKE),
        ForeignQuantity::plain(
            "perf.futex_wake_parallel",
            texts::FUTEX_WAKE_PARALLEL_TITLE,
            Nanoseconds,
            &[THREADS],
            texts::FUTEX_WAKE_PARALLEL,
        ),
        ForeignQuantity::plain(
            "perf.futex_requeue",
            texts::FUTEX_REQUEUE_TITLE,
            Nanoseconds,
            &[THREADS],
            texts::FUTEX_REQUEUE,
        ),
        ForeignQuantity::plain(
            "perf.futex_lock_pi",
            texts::FUTEX_LOCK_PI_TITLE,
            OperationsPerSecond,
            &[THREADS],
            texts::FUTEX_LOCK_PI,
        ),
        ForeignQuantity::plain(
            "perf.epoll_wait",
            texts::EPOLL_WAIT_TITLE,
            OperationsPerSecond,
            &[THREADS],
            texts::EPOLL_WAIT,
        ),
        ForeignQuantity::plain(
            "perf.epoll_ctl",
            texts::EPOLL_CTL_TITLE,
            OperationsPerSecond,
            &[THREADS, ("op", AxisKind::Choice)],
            texts::EPOLL_CTL,
        ),
        ForeignQuantity::plain(
            "perf.operation",
            texts::OPERATION_TITLE,
            Nanoseconds,
            &[("benchmark", AxisKind::Choice)],
            texts::OPERATION,
        ),
    ],
};

/// Names of perf bench, with the probe of its result and that of a total time alone.
const NAMES: &[(&str, &str, Option<&str>)] = &[
    ("sched/pipe", "perf.sched_pipe", Some("perf.sched_pipe_total")),
    ("sched/messaging", "perf.sched_messaging", None),
    ("syscall/basic", "perf.syscall_basic", Some("perf.syscall_total")),
    ("syscall/getpgid", "perf.syscall_getpgid", Some("perf.syscall_total")),
    ("syscall/fork", "perf.syscall_fork", Some("perf.syscall_total")),
    ("syscall/execve", "perf.syscall_execve", Some("perf.syscall_total")),
    ("mem/memcpy", "perf.memcpy", None),
    ("mem/memset", "perf.memset", None),
    ("mem/mmap", "perf.mmap", None),
    ("futex/hash", "perf.futex_hash", None),
    ("futex/wake", "perf.futex_wake", None),
    ("futex/wake-parallel", "perf.futex_wake_parallel", None),
    ("futex/requeue", "perf.futex_requeue", None),
    ("futex/lock-pi", "perf.futex_lock_pi", None),
    ("epoll/wait", "perf.epoll_wait", None),
    ("epoll/ctl", "perf.epoll_ctl", None),
];

/// The probe of a benchmark's result, or of its total time alone; none of a benchmark without one of its own.
fn program(name: &str, what: &str) -> Option<&'static str> {
    let (_, result, total) = NAMES.iter().find(|(known, ..)| *known == name)?;
    if what == "total" { *total } else { Some(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_program() {
        for (name, result, total) in NAMES {
            for id in std::iter::once(result).chain(total) {
                assert!(SOURCE.programs.iter().any(|program| program.id == *id), "{name}: {id}");
            }
        }
    }
}
