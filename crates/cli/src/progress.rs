//! The progress of a run on a terminal: drawn between rounds only, so that drawing disturbs nothing.

use std::io::Write;
use std::time::Duration;

use hostmark_analysis::groups::distinct;
use hostmark_analysis::{constants, format, spoken};
use hostmark_engine::{Observer, Wall};
use hostmark_model::{CaseId, CaseRecord, Lang, Outcome, Params, ProbeInfo, Run, Text, Unit};
use hostmark_say::say;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::world::{SinceStart, context};
use crate::{language, output};

/// A line stays at least so long: nobody reads faster, and writing to a terminal takes time.
const DRAWN_FOR: Duration = Duration::from_millis(250);

/// Columns of the bar, at most; with less than the second it says nothing and goes.
const BAR: (usize, usize) = (32, 8);
/// The longest name of a case that is worth its columns.
const NAME: usize = 46;
/// Columns of a terminal that does not tell them.
const USUAL_COLUMNS: usize = 80;

/// The least of a case's name that is worth its columns beside a value.
const LEAST_NAME: usize = 16;

/// A constant of the first screen, which is shown as soon as it is known.
pub struct Watched {
    pub case: CaseId,
    name: Text,
    unit: Unit,
}

pub fn constants_of(probes: &[ProbeInfo]) -> Vec<Watched> {
    let of_probes = |of: constants::OfConstant| {
        let probe = probes.iter().find(|probe| probe.id == of.probe)?;
        let base = Params(probe.axes.iter().map(|axis| (axis.name.clone(), axis.default.clone())).collect());
        let params = of.at.iter().fold(base, |params, (axis, value)| params.with(axis, value));
        Some(Watched { case: CaseId { probe: of.probe.into(), params }, name: of.name?, unit: probe.unit })
    };
    constants::cases().filter_map(of_probes).collect()
}

/// One line with the latest constant, the case, a bar, the rounds and the time left, below the constants that are finished; nothing when
/// stderr is no terminal or only errors are wanted.
pub struct Bar {
    is_shown: bool,
    is_colored: bool,
    /// Since when the line is there.
    drawn: Option<SinceStart>,
    watched: Vec<Watched>,
    /// The constant that became known last.
    latest: Option<String>,
    /// Watched cases whose last round is to come; none in a run that has too few of them for the first screen.
    to_come: Vec<CaseId>,
    /// A run of the cases whose last round is over.
    finished: Run,
}

impl Bar {
    pub fn new() -> Bar {
        let is_shown = !output::is_quiet() && output::is_steered(context().errors.borrow().is_terminal());
        let is_colored = output::may_color(true);
        let (watched, to_come, finished) = Default::default();
        Bar { is_shown, is_colored, drawn: None, watched, latest: None, to_come, finished }
    }

    pub fn finish(&mut self) {
        if self.drawn.take().is_some() {
            draw("");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Columns of a line. Asked each time: a terminal may be resized, and a line of its whole width would wrap on some.
fn columns() -> usize {
    context().errors.borrow().columns().unwrap_or(USUAL_COLUMNS).saturating_sub(1)
}

/// Puts a line in the place of the one that the cursor is on, by one write. Nobody may be there to see it.
fn draw(line: &str) {
    let _ = context().errors.borrow_mut().write_all(format!("\r\u{1b}[2K{}", output::in_locale(line)).as_bytes());
}

impl Observer for Bar {
    fn begins(&mut self, probes: &[ProbeInfo], planned: &[CaseId]) {
        if !self.is_shown {
            return;
        }
        self.watched = constants_of(probes);
        let rows = self.watched.iter().filter(|one| planned.contains(&one.case)).map(|one| one.name.en);
        if distinct(rows).len() >= constants::LEAST_CONSTANTS {
            self.to_come = planned.iter().filter(|case| self.watches(case)).cloned().collect();
            self.finished.probes = probes.to_vec();
        }
    }

    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration) {
        if !self.is_shown || self.drawn.is_some_and(|drawn| drawn.elapsed() < DRAWN_FOR) {
            return;
        }
        let state =
            ProgressState { latest: self.latest.as_deref(), case: &crate::output::case_id(case), done, all, left };
        draw(&state.line(columns(), language::current(), self.is_colored));
        self.drawn = Some(SinceStart::now());
    }

    fn watches(&self, case: &CaseId) -> bool {
        self.watched.iter().any(|watched| watched.case == *case)
    }

    fn value(&mut self, case: &CaseId, value: f64) {
        let watched = self.watched.iter().find(|watched| watched.case == *case);
        if let Some(Watched { name, unit, .. }) = watched {
            let lang = language::current();
            self.latest = Some(format!("{} {}", name.say(lang), format::value(value, *unit, lang)));
        }
    }

    fn ended(&mut self, case: &CaseId, outcome: Outcome) {
        let Some(place) = self.to_come.iter().position(|one| one == case) else { return };
        let CaseId { probe, params } = self.to_come.swap_remove(place);
        self.finished.cases.push(CaseRecord { id: case.to_string(), probe, params, outcome });
        let lang = language::current();
        let widest = self.watched.iter().map(|one| one.name.say(lang).width()).max().unwrap_or(0);
        for (row, value) in constants::known_by(&self.finished, case, &self.to_come) {
            let name = row.say(lang);
            let fill = " ".repeat(widest.saturating_sub(name.width()));
            draw(&(cut(&format!(" {name}{fill}   {}", spoken(&value, lang)), columns()) + "\n"));
            self.drawn = None;
        }
    }
}

struct ProgressState<'a> {
    latest: Option<&'a str>,
    case: &'a str,
    done: usize,
    all: usize,
    left: Duration,
}

impl ProgressState<'_> {
    /// A line of at most so many columns. The time stays whatever the width, then the rounds; the name is cut, and the bar is what
    /// is left.
    fn line(&self, columns: usize, lang: Lang, is_colored: bool) -> String {
        let seconds = self.left.as_secs_f64().ceil();
        let time = spoken(&say!("{seconds} s left"), lang);
        let digits = self.all.to_string().len();
        let mut tail = format!("{:>digits$}/{}   {time}", self.done, self.all);
        if tail.width() + 1 > columns {
            tail = time;
        }
        let room = columns.saturating_sub(tail.width() + 1);
        let bar = (room / 3).min(BAR.0);
        let bar = if bar < BAR.1 { 0 } else { bar };
        let room = room.saturating_sub(if bar > 0 { bar + 2 } else { 1 });
        let mut line = String::from(" ");
        // The latest constant stands before the name, or in its place.
        let (case, name) = match self.latest {
            Some(latest) if room >= latest.width() + 3 + LEAST_NAME => {
                line += &format!("{latest}   ");
                (self.case, (room - latest.width() - 3).min(NAME))
            }
            Some(latest) => (latest, room.min(NAME)),
            None => (self.case, room.min(NAME)),
        };
        if name > 3 {
            let text = cut(case, name);
            line += &format!("{text}{} ", " ".repeat(name - text.width()));
        }
        if bar > 0 {
            let done = (bar * self.done.min(self.all)).checked_div(self.all).unwrap_or(0);
            let (full, rest) = ("━".repeat(done), "─".repeat(bar - done));
            line += &match is_colored {
                true => format!("\u{1b}[36m{full}\u{1b}[0m\u{1b}[2m{rest}\u{1b}[0m "),
                false => format!("{full}{} ", " ".repeat(bar - done)),
            };
        }
        line + &tail
    }
}

/// `text`, or its beginning with `…` behind it.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < room
    };
    text.chars().take_while(fits).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: ProgressState = ProgressState {
        latest: None,
        case: "memory.latency@size=64M,order=random,page=pmd,threads=1,place=other_cache",
        done: 212,
        all: 1312,
        left: Duration::from_millis(18_400),
    };

    #[test]
    fn the_line_fits_every_width_and_keeps_the_time() {
        for (lang, time) in [(Lang::En, "19 s left"), (Lang::Zh, "剩余 19 秒")] {
            for columns in 12..=200 {
                for done in [STATE.done, STATE.all, 2 * STATE.all] {
                    let state = ProgressState { done, ..STATE };
                    let (line, mut colored) = (state.line(columns, lang, false), state.line(columns, lang, true));
                    assert!(line.width() <= columns, "{columns}: {line}");
                    assert!(line.ends_with(time), "{columns}: {line}");
                    // Colours take no columns.
                    for (code, plain) in [("\u{1b}[36m", ""), ("\u{1b}[2m", ""), ("\u{1b}[0m", ""), ("─", " ")] {
                        colored = colored.replace(code, plain);
                    }
                    assert_eq!(colored, line);
                }
            }
        }
    }

    #[test]
    fn a_narrow_line_cuts_the_name_and_a_wide_one_has_all() {
        let narrow = STATE.line(59, Lang::En, false);
        assert!(narrow.starts_with(" memory.latency@") && narrow.contains('…') && narrow.contains("━"), "{narrow}");
        assert!(narrow.ends_with(" 212/1312   19 s left"), "{narrow}");
        let short = ProgressState { case: "syscall.null", ..STATE };
        assert!(!short.line(59, Lang::En, false).contains('…'));
        // The bar stands where it stood, whatever the case is called.
        let at = |line: String| line.find('━').map(|at| line[..at].width());
        assert_eq!(at(narrow), at(short.line(59, Lang::En, false)));
    }

    #[test]
    fn the_latest_constant_stands_before_the_name_or_in_its_place() {
        let state = ProgressState { latest: Some("context switch 647 ns"), ..STATE };
        let narrow = state.line(79, Lang::En, false);
        assert!(narrow.starts_with(" context switch 647 ns ") && !narrow.contains("memory"), "{narrow}");
        let wide = state.line(110, Lang::En, false);
        assert!(wide.starts_with(" context switch 647 ns   memory.latency@"), "{wide}");
        for (line, columns) in [(narrow, 79), (wide, 110), (state.line(12, Lang::Zh, false), 12)] {
            assert!(line.width() <= columns, "{line}");
        }
    }
}
