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
    /// It says what went wrong.
    Failed,
    /// It had no say: the loader or the language's start failed, memory ran out, or it waited for ever.
    Died,
}

const ALL: [Came; 4] = [Came::Done, Came::Skipped, Came::Failed, Came::Died];

/// Counts of all that was tried.
#[derive(Default)]
pub struct Report {
    /// Failures that came to pass.
    pub faults: usize,
    came: BTreeMap<(&'static str, Came), usize>,
    /// Reasons without the call's name: how often, and where first.
    unnamed: BTreeMap<(&'static str, String), (usize, String)>,
    /// What must not be.
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
    pub fn add(&mut self, call: &'static Call, at: &str, came: Came, reason: &str) {
        self.faults += 1;
        *self.came.entry((call.name, came)).or_default() += 1;
        if came != Came::Done && !call.is_named_in(reason) {
            let entry = self.unnamed.entry((call.name, format!("{came:?}: {}", generalized(reason))));
            entry.or_insert_with(|| (0, at.to_owned())).0 += 1;
        }
        if reason.contains("panicked") {
            self.harmed(at, reason);
        }
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
        crate::tell(&format!("HARM {harm}"));
        self.harm.push(harm);
    }

    /// The counts as a table.
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
        text + &row("in all", None) + &format!("{} faults, {} harms\n", self.faults, self.harm.len())
    }
}
