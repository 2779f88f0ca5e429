//! Reads the text of `perf bench` (sched, syscall, mem, futex, epoll), of its default format and, where that names what
//! it is of, of its simple format. Several results of one benchmark are samples.

use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count, Size};
use hostmark_model::Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};
use hostmark_model::{Message, Run, Text};

use hostmark_say::say;

use super::bounded::{amount, bytes, shortened};
use super::foreign::{Axis, Foreign, quantity, read_lines};
use super::table::Fields;
use super::{ImportError, ImportFormat, NOTHING};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "perf-bench",
    tool: "perf bench",
    what: WHAT,
    nothing: NOTHING,
    texts: crate::texts::perf::TEXTS,
    programs: &[
        quantity("perf.sched_pipe", Nanoseconds, &[PARTIES]),
        quantity("perf.sched_pipe_total", Nanoseconds, &[]),
        quantity("perf.sched_messaging", Nanoseconds, &[("groups", Count), PARTIES]),
        quantity("perf.syscall_basic", Nanoseconds, &[]),
        quantity("perf.syscall_getpgid", Nanoseconds, &[]),
        quantity("perf.syscall_fork", Nanoseconds, &[]),
        quantity("perf.syscall_execve", Nanoseconds, &[]),
        quantity("perf.syscall_total", Nanoseconds, &[("call", Choice)]),
        quantity("perf.memcpy", BytesPerSecond, MEM),
        quantity("perf.memset", BytesPerSecond, MEM),
        quantity("perf.mmap", BytesPerSecond, MEM),
        quantity("perf.futex_hash", OperationsPerSecond, &[THREADS]),
        quantity("perf.futex_wake", Nanoseconds, &[THREADS]),
        quantity("perf.futex_wake_parallel", Nanoseconds, &[THREADS]),
        quantity("perf.futex_requeue", Nanoseconds, &[THREADS]),
        quantity("perf.futex_lock_pi", OperationsPerSecond, &[THREADS]),
        quantity("perf.epoll_wait", OperationsPerSecond, &[THREADS]),
        quantity("perf.epoll_ctl", OperationsPerSecond, &[THREADS, ("op", Choice)]),
        quantity("perf.operation", Nanoseconds, &[("benchmark", Choice)]),
    ],
    read,
};

const WHAT: Text = term!("the whole text of perf bench");
/// Most names of benchmarks that are not read: perf has some dozen.
const MOST_UNREAD: usize = 50;

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut now: Option<Benchmark> = None;
    read_lines(&FORMAT, input, |run, _, line| {
        if let Some(line) = line {
            return Reader { run, now: &mut now }.take(line.trim());
        }
        Reader { run, now: &mut now }.end().map_err(|what| say!("the file ends here, so it is truncated: {what}"))?;
        match run.unread.last().filter(|_| run.is_empty()) {
            Some(name) => Err(say!("{name} is no benchmark that can be imported; give another")),
            None => Ok(()),
        }
    })
}

struct Reader<'a> {
    run: &'a mut Foreign,
    /// The benchmark whose lines are read.
    now: &'a mut Option<Benchmark>,
}

/// One benchmark, from its heading on.
#[derive(Default)]
struct Benchmark {
    /// `sched/pipe`.
    name: String,
    /// True once it has given a value.
    is_done: bool,
    /// Axes and notes of its lines.
    fields: Fields,
    /// The total time, seconds.
    total: Option<f64>,
    /// Results of single runs, ns.
    runs: Vec<f64>,
}

impl Benchmark {
    fn set(&mut self, name: &'static str, number: Result<f64, Message>) -> Result<(), Message> {
        self.fields.set(name, &number?.to_string());
        Ok(())
    }
}

/// Parts of summary lines of benchmarks that have no heading in the simple format.
const IN_SUMMARY: &[(&str, &str)] = &[
    ("each operating on", "futex/hash"),
    ("waking up 1 at a time", "futex/wake"),
    ("threads waking up", "futex/wake-parallel"),
    ("Requeuing", "futex/requeue"),
    ("doing pi lock/unlock", "futex/lock-pi"),
    ("threads monitoring on", "epoll/wait"),
    ("doing epoll_ctl ops", "epoll/ctl"),
];

impl Reader<'_> {
    fn take(&mut self, line: &str) -> Result<(), Message> {
        if let Some(name) = heading(line) {
            self.end()?;
            *self.now = Some(Benchmark { name: name.to_owned(), ..Benchmark::default() });
            return Ok(());
        }
        if line.starts_with("Run summary [PID ") {
            return self.summary(line);
        }
        if let Some((function, rest)) = line.strip_prefix("# function '").and_then(|rest| rest.split_once('\'')) {
            return self.function(function, rest);
        }
        let Some(now) = self.now.as_mut() else {
            // Of the simple format a bare number is all there is.
            return match is_number(line) || line.ends_with(" usecs/op") {
                true => Err(say!(
                    "a number without a heading: the simple format does not tell which benchmark it is of; give {WHAT}"
                )),
                false => Ok(()),
            };
        };
        if let Some(setup) = line.strip_prefix("# ").filter(|_| !now.fields.has("setup")) {
            now.fields.set("setup", setup);
        }
        // Some locales group digits by spaces, which are none of ASCII's.
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["#", "Executed", count, .., parties] => {
                now.set("operations", whole(count, say!("the number of operations")))?;
                now.fields.set("parties", parties);
            }
            ["#", _, "sender", "and", "receiver", parties, ..] => now.fields.set("parties", parties),
            ["#", groups, "groups", "==", ..] => now.set("groups", whole(groups, say!("the number of groups")))?,
            ["#", "Copying", size, ..] => {
                let bytes =
                    bytes(size).ok_or_else(|| say!("'{size}' is no size; give {WHAT}", size = shortened(size)))?;
                now.fields.set("size", &bytes.to_string());
            }
            ["Total", "time:", seconds, "[sec]"] => {
                let total = amount(seconds, say!("the total time"))?;
                now.total = Some(total);
                return if now.name == "sched/messaging" { self.total_time(total) } else { Ok(()) };
            }
            [time, "usecs/op"] => return self.per_operation(time),
            [rate, unit @ ("bytes/sec" | "KB/sec" | "MB/sec" | "GB/sec")] => return self.bandwidth(rate, unit),
            ["[Run", _, ref rest @ ..] => {
                if let Some(at) = rest.iter().position(|word| *word == "in") {
                    let word = rest.get(at + 1).copied().unwrap_or_default();
                    now.runs.push(decimal(word, say!("the time of a run"))? * 1e6);
                }
            }
            ["Averaged", rate, "operations/sec", ..] => {
                return self.keep_result(vec![whole(rate, say!("the operations a second"))?]);
            }
            ["Averaged", count, op @ ("ADD" | "MOD" | "DEL"), "operations", ..] => return self.controlled(count, op),
            ["Wokeup" | "Requeued" | "Avg", .., "ms", _] => return self.of_runs(),
            [number] if is_number(number) => return self.bare(number),
            _ => {}
        }
        Ok(())
    }

    /// A benchmark whose heading the simple format leaves out is known by its summary.
    fn summary(&mut self, line: &str) -> Result<(), Message> {
        let Some((_, name)) = IN_SUMMARY.iter().find(|(part, _)| line.contains(part)) else { return Ok(()) };
        // What the parallel waking says contains what the plain one says.
        let name = if line.contains("threads waking up") { "futex/wake-parallel" } else { name };
        if self.now.as_ref().is_none_or(|now| now.is_done || now.name != *name) {
            self.end()?;
            *self.now = Some(Benchmark { name: name.to_owned(), ..Benchmark::default() });
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = |wanted: &str| {
            let at = words.iter().position(|word| word.trim_end_matches(['.', ',']) == wanted)?;
            words.get(at.checked_sub(1)?).copied()
        };
        let Some(now) = self.now else { return Ok(()) };
        // Without its beginning and addresses, which are others each time.
        let summary = words.iter().skip(4).filter(|word| !word.starts_with("0x"));
        now.fields.set("summary", &summary.copied().collect::<Vec<&str>>().join(" "));
        for (name, word) in [("threads", "threads"), ("seconds", "secs")] {
            if let Some(number) = before(word) {
                now.set(name, amount(number, name))?;
            }
        }
        Ok(())
    }

    /// `# function 'name' (Default memcpy() provided by glibc)`
    fn function(&mut self, function: &str, rest: &str) -> Result<(), Message> {
        // Without a heading, what the function copies or sets by is told by what stands behind its name.
        let known = ["memcpy", "memset", "mmap"].into_iter().find(|name| rest.contains(&format!("{name}()")));
        if self.now.as_ref().is_none_or(|now| !now.name.starts_with("mem/")) {
            let Some(name) = known else {
                return Err(say!("a function of no known benchmark; give {WHAT}"));
            };
            self.end()?;
            *self.now = Some(Benchmark { name: format!("mem/{name}"), ..Benchmark::default() });
        } else if let (Some(now), Some(name)) = (self.now.as_mut(), known) {
            now.name = format!("mem/{name}");
        }
        if let Some(now) = self.now {
            if now.fields.has("function") && !now.is_done {
                return Err(say!("the rate of the function before this one is missing; give {WHAT}"));
            }
            now.fields.set("function", &shortened(function));
            now.is_done = false;
        }
        Ok(())
    }

    /// Keeps a value of the benchmark whose lines are read.
    fn keep(&mut self, probe: Option<&'static str>, samples: Vec<f64>) -> Result<(), Message> {
        let Some(now) = self.now else { return Ok(()) };
        now.is_done = probe.is_some() || program(&now.name, false).is_some();
        let Some(probe) = probe else { return Ok(()) };
        let total = now.total.map(|total| total.to_string()).unwrap_or_default();
        let fields = &now.fields;
        let value = fields
            .value(&FORMAT, probe, samples, "untold")
            .asked("operations", fields.text("operations"))
            // Of a benchmark without axes of its own all that it says of itself; of others, what they say in their summary.
            .asked("setup", fields.text(if probe == "perf.operation" { "setup" } else { "summary" }))
            .note("seconds", if fields.has("seconds") { fields.text("seconds") } else { &total });
        self.run.keep(value)
    }

    /// Keeps a value of the benchmark's own probe.
    fn keep_result(&mut self, samples: Vec<f64>) -> Result<(), Message> {
        self.keep(self.now.as_ref().and_then(|now| program(&now.name, false)), samples)
    }

    fn per_operation(&mut self, time: &str) -> Result<(), Message> {
        let time = decimal(time, say!("the time of an operation"))? * 1e3;
        let Some(now) = self.now else { return Ok(()) };
        now.fields.set("benchmark", &now.name);
        // Whatever it is, perf tells the time of one.
        let probe = program(&now.name, false).unwrap_or("perf.operation");
        self.keep(Some(probe), vec![time])
    }

    fn bandwidth(&mut self, rate: &str, unit: &str) -> Result<(), Message> {
        // perf's K is 1024 here.
        let scale = match unit {
            "KB/sec" => 10,
            "MB/sec" => 20,
            "GB/sec" => 30,
            _ => 0,
        };
        let rate = decimal(rate, say!("the rate"))? * f64::from(1u32 << scale);
        if self.now.as_ref().is_some_and(|now| !now.fields.has("function")) {
            return Err(say!("a rate without a function; give {WHAT}"));
        }
        self.keep_result(vec![rate])
    }

    /// Operations over the whole time, of each thread.
    fn controlled(&mut self, count: &str, op: &str) -> Result<(), Message> {
        let count = whole(count, say!("the number of operations"))?;
        let Some(now) = self.now else { return Ok(()) };
        let seconds = now.fields.text("seconds").parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
        let seconds = seconds.ok_or_else(|| say!("the seconds did not come before this line; give {WHAT}"))?;
        now.fields.set("op", &op.to_ascii_lowercase());
        self.keep_result(vec![count / seconds])
    }

    fn of_runs(&mut self) -> Result<(), Message> {
        let runs = self.now.as_mut().map(|now| std::mem::take(&mut now.runs)).unwrap_or_default();
        if runs.is_empty() {
            return Err(say!("no run came before this line; give {WHAT}"));
        }
        self.keep_result(runs)
    }

    /// A total time: the result of some benchmarks, and all that the simple format tells of others.
    fn total_time(&mut self, total: f64) -> Result<(), Message> {
        let Some(now) = self.now else { return Ok(()) };
        now.total = Some(total);
        if let Some(call) = now.name.strip_prefix("syscall/") {
            now.fields.set("call", call);
        }
        let probe = program(&now.name, now.name != "sched/messaging");
        self.keep(probe, vec![total * 1e9])
    }

    /// A bare number below a heading, of the simple format: a rate of the mem benchmarks, the total time of others.
    fn bare(&mut self, number: &str) -> Result<(), Message> {
        match self.now.as_ref().is_some_and(|now| now.name.starts_with("mem/")) {
            true => self.bandwidth(number, "bytes/sec"),
            false => self.total_time(decimal(number, say!("the total time"))?),
        }
    }

    /// The benchmark whose lines were read is over: it must have given a value, when it is one that is known.
    fn end(&mut self) -> Result<(), Message> {
        let Some(now) = self.now.take() else { return Ok(()) };
        match now.is_done {
            true => Ok(()),
            false if program(&now.name, false).is_none() => {
                let name = shortened(&now.name);
                if self.run.unread.len() < MOST_UNREAD && !self.run.unread.contains(&name) {
                    self.run.unread.push(name);
                }
                Ok(())
            }
            false => {
                let name = shortened(&now.name);
                Err(say!("the result of {name} did not come before this line; give {WHAT}"))
            }
        }
    }
}

/// `# Running 'sched/pipe' benchmark:`, or `# Running sched/pipe benchmark...` where several are run.
fn heading(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("# Running ")?;
    let name = rest.split(" benchmark").next()?;
    (name.len() < rest.len()).then(|| name.trim_matches('\''))
}

/// True for a text that is a number and no other sign, as `...`.
fn is_number(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'))
}

/// A whole number, whose digits perf groups as the locale does: `10,000,000`, `10.000.000`.
fn whole(word: &str, what: Message) -> Result<f64, Message> {
    amount(&ungrouped(word).unwrap_or_else(|| word.to_owned()), what)
}

/// A number of which perf prints decimals, behind the sign of the locale: `12.207031`, `12,207031`, `1,050.383`.
fn decimal(word: &str, what: Message) -> Result<f64, Message> {
    let Some((before, decimals)) = word.rsplit_once(['.', ',']) else { return amount(word, what) };
    amount(&format!("{}.{decimals}", ungrouped(before).unwrap_or_else(|| word.to_owned())), what)
}

/// The digits without the signs between groups of three.
fn ungrouped(digits: &str) -> Option<String> {
    let groups = digits.split(['.', ',', '\'', '\u{2019}', '\u{a0}', '\u{202f}']);
    groups.clone().skip(1).all(|group| group.len() == 3).then(|| groups.collect())
}

const THREADS: Axis = ("threads", Count);
const PARTIES: Axis = ("parties", Choice);
const MEM: &[Axis] = &[("function", Choice), ("size", Size)];

/// The probe of a benchmark's result, or of its total time alone; none of a benchmark without one of its own.
fn program(name: &str, is_total: bool) -> Option<&'static str> {
    let (group, benchmark) = name.split_once('/')?;
    let id = |name: &str| FORMAT.programs.iter().find(|program| program.name() == name).map(|program| program.id);
    let name = if group == "mem" { benchmark } else { name }.replace(['/', '-'], "_");
    match (id(&name)?, is_total) {
        (own, false) => Some(own),
        (_, true) => id(&format!("{}_total", if group == "syscall" { group } else { &name })),
    }
}
