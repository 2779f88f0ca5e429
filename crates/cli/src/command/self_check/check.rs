//! One check: a known thing is put in, looked at until it comes back within its bound, and judged.

use std::time::Duration;

use hostmark_analysis::bilingual::{SEMICOLON, Words};
use hostmark_analysis::spoken;
use hostmark_model::{Lang, Message, Text};
use hostmark_say::say;
use serde::{Deserialize, Serialize};

use super::bench::Bench;
use super::unseen::Unseen;

/// Looks of one check at most.
const MOST_LOOKS: usize = 30;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What was put in came back within its bound.
    Passed,
    /// It did not, and nothing that is known disturbed the check.
    Failed,
    /// The check itself went wrong.
    Error,
    /// This machine lacks something, or others disturbed every look.
    NotPossible,
}

impl Outcome {
    const fn word(self) -> Text {
        match self {
            Outcome::Passed => term!("ok          "),
            Outcome::Failed => term!("FAILED      "),
            Outcome::Error => term!("ERROR       "),
            Outcome::NotPossible => term!("not possible"),
        }
    }
}

/// What is put in, and what must come back: another value only where a test breaks a bound.
pub struct Known<T> {
    pub put: T,
    pub expected: T,
}

impl<T: Copy> Known<T> {
    pub fn of(put: T) -> Known<T> {
        Known { put, expected: put }
    }
}

/// What one look saw.
pub struct Attempt {
    /// What came back.
    pub back: Words,
    /// Whether that lies within the bound, or why the look cannot tell.
    pub is_within: Result<bool, Words>,
}

/// A check, and how it ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// Its name for programs.
    pub id: String,
    pub outcome: Outcome,
    /// What was put in.
    pub put_in: Words,
    /// What came back; none where nothing did.
    pub came_back: Option<Words>,
    pub bound: Words,
    /// Why it is not possible, or what went wrong.
    pub reason: Option<Words>,
    /// How often it was looked.
    pub looks: usize,
    pub seconds: f64,
}

impl Line {
    /// The line as a person reads it.
    pub fn text(&self, lang: Lang) -> String {
        let (word, put, bound) = (self.outcome.word().say(lang), self.put_in.get(lang), &self.bound);
        let parts = Message::joined(self.came_back.iter().chain(&self.reason), SEMICOLON);
        spoken(&say!("{word}  {put}: {parts} (bound: {bound})\n"), lang)
    }
}

/// What a check puts in, and in what bound that must come back.
pub struct Check {
    pub id: &'static str,
    pub put_in: Words,
    pub bound: Words,
    /// After this time no further look begins.
    pub limit: Duration,
    /// Whether what is put in uses the CPU as other programs do: each look says by itself whether others disturbed it.
    pub puts_others_in: bool,
}

impl Check {
    /// Looks until what came back is within the bound. Others and other guests can hide the right value, for seconds and
    /// without a trace in the kernel's counters, and cannot make one; a wrong method is wrong in every look. A check fails
    /// where nothing disturbed most of its looks.
    pub fn judge(self, bench: &mut Bench, mut look: impl FnMut(&mut Bench) -> Result<Attempt, Unseen>) -> Line {
        let begun = bench.elapsed();
        let (mut looks, mut undisturbed, mut last, mut why) = (0, 0, None, None);
        let outcome = loop {
            let (looked, disturbance) = bench.watched(&mut look);
            let disturbance = disturbance.filter(|_| !self.puts_others_in);
            let mut is_over = looked.is_err();
            match looked {
                Err(Unseen::Error(reason)) => {
                    why = Some(reason);
                    break Outcome::Error;
                }
                Err(Unseen::Impossible(reason)) => why = Some(reason),
                Ok(Attempt { back, is_within }) => {
                    looks += 1;
                    last = Some(back);
                    match (is_within, disturbance) {
                        (Ok(true), _) => break Outcome::Passed,
                        (Ok(false), None) => undisturbed += 1,
                        (Ok(false), disturbance) => why = disturbance,
                        (Err(untold), disturbance) => why = disturbance.or(Some(untold)),
                    }
                }
            }
            is_over |= looks >= MOST_LOOKS || bench.elapsed() >= (begun + self.limit).min(bench.until);
            if is_over {
                break if 2 * undisturbed > looks { Outcome::Failed } else { Outcome::NotPossible };
            }
        };
        let why = why.filter(|_| matches!(outcome, Outcome::NotPossible | Outcome::Error));
        let seconds = (bench.elapsed() - begun).as_secs_f64();
        let Check { id, put_in, bound, .. } = self;
        Line { id: id.into(), outcome, put_in, came_back: last, bound, reason: why, looks, seconds }
    }

    /// One that cannot be made here.
    pub fn impossible(self, reason: Words) -> Line {
        let Check { id, put_in, bound, .. } = self;
        let (id, outcome, reason) = (id.into(), Outcome::NotPossible, Some(reason));
        Line { id, outcome, put_in, came_back: None, bound, reason, looks: 0, seconds: 0.0 }
    }
}
