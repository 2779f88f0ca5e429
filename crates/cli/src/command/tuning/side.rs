//! One side of a trial: the setting is turned before each of its runs and put back after it.

use std::path::Path;

use anyhow::{Result, anyhow};
use hostmark_engine::Observer;
use hostmark_engine::sys::process::forbid_huge_pages;
use hostmark_engine::sys::setting::{Lock, PutBack, Setting, SettingChange};
use hostmark_launch::supervise::Supervised;
use hostmark_model::{HERE, Inputs, Run};

use crate::command::compare::interleave::TwoSides;
use crate::command::far::target::Target;
use crate::command::lost;
use crate::command::measure::machine::{janitor, own_program};
use crate::command::processes::janitor::Janitor;
use crate::command::processes::neighbour::{self, Work};
use crate::command::trial::{TakesTurns, Turn};
use crate::language::{refuse, said};

/// The root of the kernel's files.
const ROOT: &str = "/";

/// What holds while a side measures.
#[derive(Debug, Clone)]
pub enum During {
    /// Nothing is different.
    Usual,
    /// No process of it gets huge pages.
    WithoutHugePages,
    /// A process beside does this on these CPUs.
    Beside(Work, Vec<usize>),
    /// The machine's settings are these.
    Settings(Vec<(Setting, String)>),
}

/// A side.
pub struct TuningSide {
    /// What it measures; none where that is a command.
    pub filters: Vec<String>,
    /// What its runs say of the trial.
    pub tried: String,
    /// What holds meanwhile.
    pub during: During,
}

/// The machine without and with a setting. What was changed for a turn is put back: at its end, when this is dropped, or by the janitor.
pub struct TuningSides<'a> {
    asked: &'a TwoSides<'a>,
    sides: [TuningSide; 2],
    /// The CPUs that both keep to; none for all.
    cpus: Option<String>,
    janitor: Janitor,
    changes: Vec<SettingChange>,
    /// Those that were as they have to be.
    unchanged: Vec<(Setting, String)>,
    locks: Vec<Lock>,
    are_huge_pages_forbidden: bool,
    beside: Option<Supervised>,
}

impl TakesTurns for TuningSides<'_> {
    type Run = Run;

    fn prepare(&mut self, turn: &Turn) -> Result<()> {
        match self.sides[turn.side].during.clone() {
            During::Usual => {}
            During::WithoutHugePages => {
                forbid_huge_pages(true).map_err(|error| {
                    lost(said!("huge pages cannot be forbidden ({error}); Linux has it since 3.15"))
                })?;
                self.are_huge_pages_forbidden = true;
            }
            During::Beside(work, cpus) => {
                self.beside = Some(neighbour::start(&own_program()?, work, &cpus, &mut self.janitor).map_err(lost)?);
            }
            During::Settings(settings) => {
                for (setting, word) in settings {
                    self.set(setting, &word)?;
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, turn: &Turn, observer: &mut dyn Observer) -> Result<Option<(String, Run)>> {
        let TuningSide { filters, tried, .. } = &self.sides[turn.side];
        let inputs = Inputs { cpus: self.cpus.clone(), tried: Some(tried.clone()), ..Inputs::default() };
        let here = Target::of(vec![HERE.into()], HERE.to_owned(), None);
        self.asked.measured_at(&here, filters, inputs, turn, observer)
    }

    /// Puts everything back; an error where somebody else has changed it meanwhile, and it is left so.
    fn put_back(&mut self) -> Result<()> {
        let root = Path::new(ROOT);
        let mut first: Option<anyhow::Error> = None;
        let mut say = |sentence: String| {
            first.get_or_insert_with(|| anyhow!("{sentence}"));
        };
        if let Some(mut beside) = self.beside.take() {
            let _ = self.janitor.end(&mut beside);
        }
        if std::mem::take(&mut self.are_huge_pages_forbidden)
            && let Err(error) = forbid_huge_pages(false)
        {
            say(said!("huge pages cannot be allowed again ({error}); start hostmark anew"));
        }
        for change in self.changes.drain(..).rev() {
            let (setting, path) = (change.setting, change.setting.path());
            match change.put_back(root) {
                Ok(PutBack::Done) => self.janitor.was_put_back(setting),
                Ok(PutBack::ChangedByOthers(now)) => {
                    self.janitor.was_put_back(setting);
                    say(changed_by_others(&path, &now));
                }
                // The janitor goes on to try.
                Err(error) => {
                    say(said!("{path} cannot be put back ({error}); write {before} to it", before = change.before))
                }
            }
        }
        for (setting, word) in self.unchanged.drain(..) {
            if let Ok(now) = setting.read(root)
                && now != word
            {
                say(changed_by_others(&setting.path(), &now));
            }
        }
        self.locks.clear();
        first.map_or(Ok(()), |error| Err(lost(error.to_string())))
    }
}

impl TuningSides<'_> {
    pub fn new<'a>(asked: &'a TwoSides, sides: [TuningSide; 2], cpus: Option<String>) -> Result<TuningSides<'a>> {
        let (janitor, changes, unchanged, locks) = (janitor()?, Vec::new(), Vec::new(), Vec::new());
        let (are_huge_pages_forbidden, beside) = (false, None);
        Ok(TuningSides { asked, sides, cpus, janitor, changes, unchanged, locks, are_huge_pages_forbidden, beside })
    }

    fn set(&mut self, setting: Setting, word: &str) -> Result<()> {
        let (root, path) = (Path::new(ROOT), setting.path());
        let failed =
            |error: std::io::Error| lost(said!("{path} cannot be set to {word} ({error}); it is left as it was"));
        let Some(lock) = Lock::of(setting, root).map_err(failed)? else {
            refuse!("another hostmark tries {path} now; wait for its end")
        };
        self.locks.push(lock);
        let before = setting.read(root).map_err(failed)?;
        if before == word {
            self.unchanged.push((setting, before));
            return Ok(());
        }
        let change = SettingChange { setting, before, during: word.to_owned() };
        // Before it is made: whoever kills this process leaves the machine as it was.
        self.janitor.takes_charge(&change).map_err(failed)?;
        self.changes.push(change.clone());
        change.make(root).map_err(failed)
    }
}

fn changed_by_others(path: &str, now: &str) -> String {
    said!("somebody else has changed {path} to {now} meanwhile, and it is left so; try again when nobody does")
}

impl Drop for TuningSides<'_> {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}
