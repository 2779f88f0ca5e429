//! Reads the lines of a result file: labels and headings as data.

use hostmark_model::Message;
use hostmark_say::say;

use crate::bounded::shortened;
use crate::foreign::ForeignQuantity;

/// A value with the case it belongs to, in its base unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LmbenchValue {
    /// Its program, `lat_mem_rd`.
    pub(super) program: &'static str,
    pub(super) params: Vec<(&'static str, String)>,
    pub(super) number: f64,
}

impl LmbenchValue {
    pub(super) fn new(program: &'static str, number: f64) -> LmbenchValue {
        LmbenchValue { program, params: Vec::new(), number }
    }

    fn with(mut self, axis: &'static str, value: impl ToString) -> LmbenchValue {
        self.params.push((axis, value.to_string()));
        self
    }

    /// The value of parallel copies, which its operation or pattern tells; none where it has neither.
    pub(super) fn of_copies(mut self, copies: u32) -> Option<LmbenchValue> {
        if copies > 1 {
            let (_, kind) = self.params.iter_mut().find(|(axis, _)| matches!(*axis, "op" | "pattern"))?;
            kind.push_str(&format!(".p{copies}"));
        }
        Some(self)
    }
}

const NS: f64 = 1.0;
const US: f64 = 1e3;
const MB_PER_S: f64 = 1e6;
const KB_PER_S: f64 = 1e3;
const ONE: f64 = 1.0;

/// The value and the unit of a label, whole or up to a server's name, or of a heading, by `labels.tsv`; and the rest of it.
fn labelled<'a>(kind: &str, label: &'a str) -> Option<(LmbenchValue, f64, &'a str)> {
    include_str!("labels.tsv").lines().find_map(|row| {
        let mut cells = row.split('\t');
        let (known, start) = (cells.next()?, cells.next()?);
        let rest = label.strip_prefix(start).filter(|rest| known == kind && (kind != "label" || rest.is_empty()))?;
        let (program, axis, unit) = (cells.next()?, cells.next()?, cells.next()?);
        let value = LmbenchValue::new(program, 0.0);
        let value = axis.split_once('=').into_iter().fold(value, |value, (axis, of)| value.with(axis, of));
        Some((value, unit.parse().ok()?, rest))
    })
}

/// Types and operations of `lat_ops` and `par_ops`. The summary of lmbench 3 looks for another word than its program
/// prints; both mean this.
const TYPES: &[(&str, &str)] =
    &[("integer", "integer"), ("int64", "int64"), ("uint64", "int64"), ("float", "float"), ("double", "double")];
const OPERATIONS: &[&str] = &["bit", "add", "mul", "div", "mod", "bogomflops"];

/// A command that runs one program, of which a line may say no more than numbers.
pub(super) struct Command {
    /// Block of the lines of numbers behind it; none where they say themselves what they are of.
    pub(super) block: Option<LmbenchBlock>,
    pub(super) pattern: &'static str,
    pub(super) copies: u32,
}

/// Programs that print a size and a number: the words of the command that say of what, the key, and the unit.
const COMMANDS: &[(&str, &[&str], Key, f64)] = &[
    ("bw_mem", OPS, Key::Megabytes("size"), MB_PER_S),
    ("bw_file_rd", &["io_only", "open2close"], Key::Megabytes("size"), MB_PER_S),
    ("bw_mmap_rd", &["mmap_only", "open2close"], Key::Megabytes("size"), MB_PER_S),
    ("bw_tcp", &[], Key::Megabytes("message"), MB_PER_S),
    ("par_mem", &[], Key::Megabytes("size"), ONE),
    ("lat_mmap", &[], Key::Megabytes("size"), US),
    ("lat_fs", &[], Key::FileSize, ONE),
];
const OPS: &[&str] = &["rd", "wr", "rdwr", "cp", "frd", "fwr", "fcp", "bzero", "bcopy"];

/// The command of a line that names one of `programs`, with whatever stands before it.
pub(super) fn command(line: &str, programs: &[ForeignQuantity]) -> Option<Command> {
    let mut words = line.split_whitespace();
    let called = |word: &str| {
        let word = word.rsplit('/').next().filter(|word| *word == "mhz" || word.contains('_'))?;
        programs.iter().map(ForeignQuantity::name).find(|program| *program == word)
    };
    let (program, words) = (words.by_ref().find_map(called)?, words.collect::<Vec<&str>>());
    let copies = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("-P")? {
        "" => words.get(at + 1)?.parse().ok(),
        count => count.parse().ok(),
    });
    let block = COMMANDS.iter().find(|(known, ..)| *known == program).and_then(|(_, ops, key, unit)| {
        let value = LmbenchValue::new(program, 0.0);
        let op = words.iter().find(|word| ops.contains(word));
        let value = match op {
            _ if program == "bw_tcp" => value.with("server", server_of(words.last().copied().unwrap_or_default())),
            None if !ops.is_empty() => return None,
            op => op.into_iter().fold(value, |value, op| value.with("op", op)),
        };
        Some(LmbenchBlock { value, key: *key, unit: *unit })
    });
    let pattern = if words.contains(&"-t") { "random" } else { "stride" };
    Some(Command { block, pattern, copies: copies.unwrap_or(1) })
}

/// Tells whether a line has two numbers and says nothing of them.
pub(super) fn is_bare(line: &str) -> bool {
    line.split_whitespace().count() == 2 && line.split_whitespace().all(|word| word.parse::<f64>().is_ok())
}

/// The value of a line `rd 8.00 12345.67`, as scripts keep what bw_mem printed.
pub(super) fn of_operation(line: &str) -> Result<Option<LmbenchValue>, Message> {
    let Some((op, rest)) = line.split_once(char::is_whitespace).filter(|(op, _)| OPS.contains(op)) else {
        return Ok(None);
    };
    let block = LmbenchBlock {
        value: LmbenchValue::new("bw_mem", 0.0).with("op", op),
        key: Key::Megabytes("size"),
        unit: MB_PER_S,
    };
    block.values(rest).map(|values| values.into_iter().next())
}

/// The value of a line outside of blocks; none when it says something else.
pub(super) fn value(line: &str) -> Result<Option<LmbenchValue>, Message> {
    if let Some(words) = line.strip_suffix(" nanosec clock") {
        let number = number(words.split_whitespace().next().unwrap_or_default(), "mhz")? * 1e6;
        return Ok(Some(LmbenchValue::new("mhz", number)));
    }
    let Some((label, rest)) = line.rsplit_once(':') else { return Ok(None) };
    let label = label.trim();
    let Some((value, unit)) = of_label(label) else { return Ok(None) };
    let word = rest.split_whitespace().next().unwrap_or_default();
    Ok(Some(LmbenchValue { number: number(word, label)? * unit, ..value }))
}

fn of_label(label: &str) -> Option<(LmbenchValue, f64)> {
    if let Some((value, unit, _)) = labelled("label", label) {
        return Some((value, unit));
    }
    if let Some((value, unit, server)) = labelled("server", label) {
        let value = value.with("server", server_of(server));
        // lmbench 2 measures one size of message and does not tell which.
        return Some((if value.program == "bw_tcp" { value.with("message", "untold") } else { value }, unit));
    }
    if label.starts_with("Pagefaults on ") {
        return Some((LmbenchValue::new("lat_pagefault", 0.0), US));
    }
    if label.starts_with("File ") && label.ends_with("write bandwidth") {
        return Some((LmbenchValue::new("lmdd", 0.0), KB_PER_S));
    }
    let words: Vec<&str> = label.split_whitespace().collect();
    let kind_of = |word: &str| TYPES.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind);
    let operation = |word: &str| OPERATIONS.iter().find(|known| **known == word);
    match words[..] {
        ["Select", "on", count, "fd's"] => Some((select(count, "file")?, US)),
        ["Select", "on", count, "tcp", "fd's"] => Some((select(count, "tcp")?, US)),
        [kind, op] => Some((operated("lat_ops", kind_of(kind)?, operation(op)?), NS)),
        [kind, op, "parallelism"] => Some((operated("par_ops", kind_of(kind)?, operation(op)?), ONE)),
        _ => None,
    }
}

fn select(count: &str, kind: &str) -> Option<LmbenchValue> {
    let count: u32 = count.parse().ok()?;
    Some(LmbenchValue::new("lat_select", 0.0).with("descriptors", count).with("kind", kind))
}

fn operated(program: &'static str, kind: &str, op: &str) -> LmbenchValue {
    LmbenchValue::new(program, 0.0).with("type", kind).with("op", op)
}

fn server_of(name: &str) -> &'static str {
    if matches!(name.trim(), "localhost" | "127.0.0.1" | "::1") { "localhost" } else { "remote" }
}

/// A finite number, or why there is none. `what` is where it should stand.
fn number(word: &str, what: &str) -> Result<f64, Message> {
    let number = word.parse::<f64>().ok().filter(|number| number.abs() < 1e18);
    number.ok_or_else(|| {
        let (word, what) = (shortened(word), shortened(what));
        say!("'{word}' is no number, where the value of '{what}' should be; correct the line or remove it")
    })
}

/// The chain of the blocks that follow.
pub(super) fn pattern(line: &str) -> Option<&'static str> {
    match line {
        _ if line.starts_with("Memory load latency") => Some("stride"),
        _ if line.starts_with("Random load latency") => Some("random"),
        _ => None,
    }
}

/// The kind of the first number of a block's lines.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Key {
    /// Units of 10^6 bytes.
    Megabytes(&'static str),
    /// MiB.
    Mebibytes,
    Processes,
    /// The size of files, of which the line tells how many are made and removed in a second.
    FileSize,
}

/// A block of lines under a heading.
#[derive(Debug, Clone)]
pub(super) struct LmbenchBlock {
    value: LmbenchValue,
    key: Key,
    unit: f64,
}

impl LmbenchBlock {
    /// The block that this line begins; none when it is no heading.
    pub(super) fn of_heading(line: &str, pattern: Option<&'static str>) -> Result<Option<LmbenchBlock>, Message> {
        let block = |value, key, unit| Ok(Some(LmbenchBlock { value, key, unit }));
        // The lines begin with a size in units of 10^6 bytes.
        if let Some((value, unit, _)) = labelled("heading", line) {
            return block(value, Key::Megabytes("size"), unit);
        }
        if line.starts_with("\"File system latency") {
            return block(LmbenchValue::new("lat_fs", 0.0), Key::FileSize, ONE);
        }
        if let Some(rest) = line.strip_prefix("\"size=") {
            let kib = rest.split('k').next().unwrap_or_default();
            let bytes = number(kib, "size")? * 1024.0;
            return block(LmbenchValue::new("lat_ctx", 0.0).with("footprint", whole(bytes)?), Key::Processes, US);
        }
        if let Some(stride) = line.strip_prefix("\"stride=") {
            let stride = whole(number(stride.trim(), "stride")?)?;
            let value = LmbenchValue::new("lat_mem_rd", 0.0).with("pattern", pattern.unwrap_or("stride"));
            return block(value.with("stride", stride), Key::Mebibytes, NS);
        }
        // With a value behind a colon it is a line of lmbench 2.
        match line.strip_prefix("Socket bandwidth using ") {
            Some(server) if !line.contains(": ") => {
                let value = LmbenchValue::new("bw_tcp", 0.0).with("server", server_of(server));
                block(value, Key::Megabytes("message"), MB_PER_S)
            }
            _ => Ok(None),
        }
    }

    /// The values of a line of the block; what its program says in place of a number is no number.
    pub(super) fn values(&self, line: &str) -> Result<Vec<LmbenchValue>, Message> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = |index: usize, what: &str| number(words.get(index).copied().unwrap_or_default(), what);
        let is_message = line.contains(": ");
        let told = |index: usize| if is_message { Ok(f64::NAN) } else { at(index, line) };
        let one = |axis: &'static str, key: u64| {
            let number = told(1)? * self.unit;
            Ok(vec![LmbenchValue { number, ..self.value.clone() }.with(axis, key)])
        };
        match self.key {
            Key::Megabytes(axis) => one(axis, power_of_two(at(0, line)? * 1e6)?),
            Key::Mebibytes => one("size", multiple_of_512(at(0, line)? * f64::from(1 << 20))?),
            Key::Processes => one("processes", whole(at(0, line)?)?),
            Key::FileSize => {
                let (kib, _) = line.split_once('k').unwrap_or_default();
                let size = whole(number(kib, "file size")? * 1024.0)?;
                // How many were made and removed in a second; -1 for what failed.
                let each = |op: &'static str, rate: f64| {
                    let number = if rate > 0.0 { 1e9 / rate } else { rate };
                    LmbenchValue { number, ..self.value.clone() }.with("op", op).with("size", size)
                };
                Ok(vec![each("create", told(2)?), each("delete", told(3)?)])
            }
        }
    }
}

fn whole(number: f64) -> Result<u64, Message> {
    // Exact in a double.
    if (0.0..9e15).contains(&number) {
        return Ok(number.round() as u64);
    }
    Err(say!("{number} is no size or count; correct the line or remove it"))
}

/// Sizes are powers of two, printed in units of 10^6 bytes with six decimals, or with two: what was rounded away is
/// given back.
fn power_of_two(bytes: f64) -> Result<u64, Message> {
    const ROUNDED: f64 = 0.5e4;
    let near = bytes.max(1.0).log2().round().exp2();
    whole(if (near - bytes).abs() <= ROUNDED.min(bytes / 100.0) { near } else { bytes })
}

/// Sizes of chains are multiples of 512 bytes, printed in MiB with five decimals.
fn multiple_of_512(bytes: f64) -> Result<u64, Message> {
    const ROUNDED: f64 = 6.0;
    let near = (bytes / 512.0).round() * 512.0;
    whole(if (near - bytes).abs() <= ROUNDED { near } else { bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_back_as_they_were_before_they_were_rounded() {
        for (printed, bytes) in
            [(0.000512, 512), (0.016384, 16384), (1.05, 1 << 20), (67.11, 64 << 20), (0.001437, 1437)]
        {
            assert_eq!(power_of_two(printed * 1e6), Ok(bytes), "{printed}");
        }
        for (printed, bytes) in [(0.00049, 512), (0.00098, 1024), (0.00293, 3072), (0.125, 131_072), (7.5, 7_864_320)] {
            assert_eq!(multiple_of_512(printed * 1_048_576.0), Ok(bytes), "{printed}");
        }
    }

    #[test]
    fn a_label_without_its_number_is_an_error_and_another_line_is_none() {
        assert_eq!(value("Simple syscall: 0.0911 microseconds").unwrap().unwrap().number, 91.1);
        assert_eq!(value("cp: cannot stat 'hello': No such file").unwrap(), None);
        assert_eq!(value("no colon here").unwrap(), None);
        for bad in ["Simple syscall: x microseconds", "Pipe latency:", "Select on 100 fd's: NaN", "tlb: inf pages"] {
            assert!(value(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_far_end_is_this_host_or_another() {
        let server = |line: &str| value(line).unwrap().unwrap().params.last().unwrap().1.clone();
        assert_eq!(server("TCP latency using localhost: 8.8 microseconds"), "localhost");
        assert_eq!(server("TCP latency using db-2: 48.8 microseconds"), "remote");
    }
}
