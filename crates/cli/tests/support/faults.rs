//! What came of system calls that failed, counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::calls::Call;
use crate::tracer::Seen;

/// What came of a process in which a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Came {
    /// All was done: the program can do without.
    Done,
    /// It says that it cannot be measured here.
    Skipped,
    Failed,
    /// It had no say: the loader or the language's start failed, memory ran out, or it waited for ever.
    Died,
}

const ALL: [Came; 4] = [Came::Done, Came::Skipped, Came::Failed, Came::Died];

/// Why a reason need not name the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// The loader or the language's start made it: the program had not begun.
    Early,
    /// Another program made it, which says by its status alone that something went wrong.
    Foreign,
    /// What came of it is what comes without it: the failure did not matter.
    AsWithout,
    /// It is of a kind whose failure nobody is told of; see [`SILENT`].
    Silent,
    /// The library does not outlive it; see [`FATAL`].
    Fatal,
}

const EXCUSES: [Excuse; 5] = [Excuse::Early, Excuse::Foreign, Excuse::AsWithout, Excuse::Silent, Excuse::Fatal];

/// Calls whose failure has no one to tell: a descriptor that stays open in a library or in a child that ends, so that
/// somebody waits for an end that does not come; and a wait of the language's own locks and joins, which have no error.
const SILENT: [&str; 2] = ["close", "futex"];

/// Cases, and calls in them. The GNU library's swapcontext has lost a register by the time its change of the mask fails, which
/// no kernel makes it do.
const FATAL: [(&str, &str); 1] = [("sched.ucontext@way=libc", "rt_sigprocmask")];

/// Counts of all that was tried.
#[derive(Default)]
pub struct Report {
    /// Failures that came to pass.
    pub faults: usize,
    came: BTreeMap<(&'static str, Came), usize>,
    excused: BTreeMap<Excuse, usize>,
    /// Reasons without the call's name: how often, and where first.
    unnamed: BTreeMap<(&'static str, String), (usize, String)>,
    pub harm: Vec<String>,
}

/// A reason without its numbers, so that like ones are counted together.
fn generalized(reason: &str) -> String {
    let mut text = String::new();
    for character in reason.chars() {
        match character.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(character),
        }
    }
    text
}

impl Report {
    /// A failed call, where it was, what came of it, and the reason given.
    pub fn add(&mut self, call: &'static Call, at: &str, came: Came, reason: &str, excuse: Option<Excuse>) {
        self.faults += 1;
        *self.came.entry((call.name, came)).or_default() += 1;
        let is_unnamed = came != Came::Done && !call.is_named_in(reason);
        let is_silent = came == Came::Died || call.name == "close";
        let excuse = excuse.or((SILENT.contains(&call.name) && is_silent).then_some(Excuse::Silent));
        let is_fatal = FATAL.iter().any(|(case, name)| at.starts_with(case) && call.name == *name);
        let excuse = excuse.or((is_fatal && came == Came::Died).then_some(Excuse::Fatal));
        if is_unnamed && let Some(excuse) = excuse {
            *self.excused.entry(excuse).or_default() += 1;
        } else if is_unnamed {
            self.harmed(at, &format!("the reason does not name the call: {came:?}: {reason}"));
            let entry = self.unnamed.entry((call.name, format!("{came:?}: {}", generalized(reason))));
            entry.or_insert_with(|| (0, at.to_owned())).0 += 1;
        }
        // What returns at once since it failed, or since another party did, is no measurement.
        if reason.contains("panicked") || reason.starts_with("the operation takes no time") {
            self.harmed(at, reason);
        }
    }

    /// Whether a reason is the same but for numbers.
    pub fn is_like(one: &str, other: &str) -> bool {
        generalized(one) == generalized(other)
    }

    /// What a tree of processes did to others, and left.
    pub fn look_at(&mut self, at: &str, seen: &Seen) {
        for process in &seen.left {
            self.harmed(at, &format!("left alive: {process}"));
        }
        for stray in &seen.strays {
            self.harmed(at, stray);
        }
    }

    /// Something that must not be.
    pub fn harmed(&mut self, at: &str, what: &str) {
        let harm = format!("{at}: {what}");
        crate::injected::report_line(&format!("HARM {harm}"));
        self.harm.push(harm);
    }

    pub fn text(&self) -> String {
        let calls: BTreeSet<&str> = self.came.keys().map(|(call, _)| *call).collect();
        let count = |name: Option<&str>, came: Came| -> usize {
            let of = |(call, which): &(&str, Came)| name.is_none_or(|name| name == *call) && *which == came;
            self.came.iter().filter(|(key, _)| of(key)).map(|(_, count)| count).sum()
        };
        let row = |title: &str, name: Option<&str>| {
            let [done, skipped, failed, died] = ALL.map(|came| count(name, came));
            format!("{title:<20} done {done:>5}  skipped {skipped:>5}  failed {failed:>5}  died {died:>5}\n")
        };
        let mut text: String = calls.iter().map(|name| row(name, Some(name))).collect();
        for ((name, reason), (count, at)) in &self.unnamed {
            text += &format!("unnamed {name} ×{count}: {reason}   first: {at}\n");
        }
        for excuse in EXCUSES {
            text += &format!("unnamed, {excuse:?}: {}\n", self.excused.get(&excuse).copied().unwrap_or_default());
        }
        text + &row("in all", None) + &format!("{} faults, {} harms\n", self.faults, self.harm.len())
    }
}
