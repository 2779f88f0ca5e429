//! One side of a trial: the setting is turned before each of its runs and put back after it.

use std::path::Path;

use anyhow::{Result, anyhow};
use hostmark_engine::Observer;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::sys::process::forbid_huge_pages;
use hostmark_engine::sys::setting::{Change, Lock, PutBack, Setting};
use hostmark_launch::supervise::Supervised;
use hostmark_model::{Inputs, Run};

use crate::command::compare::turn::{Party, Turn};
use crate::command::janitor::Janitor;
use crate::command::lost;
use crate::command::machine::own_program;
use crate::command::neighbour::{self, Work};
use crate::command::target::Target;
use crate::language::{both, refuse};

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
    /// Where it measures: here.
    pub place: Target,
    /// What it measures; none where that is a command.
    pub filters: Vec<String>,
    /// The CPUs that it keeps to, and what its runs say of the trial.
    pub inputs: Inputs,
    /// What holds meanwhile.
    pub during: During,
}

impl Party for TuningSide {
    fn take(
        &mut self,
        turn: &Turn,
        janitor: &mut Janitor,
        observer: &mut dyn Observer,
    ) -> Result<Option<(Run, String)>> {
        let turned = Mechanism::to(&self.during, janitor)?;
        let measured = turn.measured_at(&self.place, &self.filters, self.inputs.clone(), observer);
        // What the machine is like afterwards is told before what became of the run.
        turned.back()?;
        measured
    }
}

/// A setting that is turned. However this ends, it is put back: by [`Mechanism::back`], when it is dropped, or by the janitor.
struct Mechanism<'a> {
    janitor: &'a mut Janitor,
    changes: Vec<Change>,
    /// Those that were as they have to be.
    unchanged: Vec<(Setting, String)>,
    locks: Vec<Lock>,
    are_huge_pages_forbidden: bool,
    beside: Option<Supervised>,
}

impl<'a> Mechanism<'a> {
    fn to(during: &During, janitor: &'a mut Janitor) -> Result<Mechanism<'a>> {
        let mut turned = Mechanism {
            janitor,
            changes: Vec::new(),
            unchanged: Vec::new(),
            locks: Vec::new(),
            are_huge_pages_forbidden: false,
            beside: None,
        };
        match during {
            During::Usual => {}
            During::WithoutHugePages => {
                forbid_huge_pages(true).map_err(|error| {
                    lost(both!(
                        "huge pages cannot be forbidden ({error}); Linux has it since 3.15",
                        "无法禁用大页（{error}）；Linux 3.15 起支持"
                    ))
                })?;
                turned.are_huge_pages_forbidden = true;
            }
            During::Beside(work, cpus) => {
                turned.beside = Some(neighbour::start(&own_program()?, *work, cpus, turned.janitor).map_err(lost)?);
            }
            During::Settings(settings) => {
                for (setting, word) in settings {
                    turned.set(*setting, word)?;
                }
            }
        }
        Ok(turned)
    }

    fn set(&mut self, setting: Setting, word: &str) -> Result<()> {
        let (root, path) = (Path::new(ROOT), setting.path());
        let failed = |error: std::io::Error| {
            lost(both!(
                "{path} cannot be set to {word} ({error}); it is left as it was",
                "无法把 {path} 设为 {word}（{error}）；它保持原样"
            ))
        };
        let Some(lock) = Lock::of(setting, root).map_err(failed)? else {
            refuse!(
                "another hostmark tries {path} now; wait for its end",
                "另一个 hostmark 正在试验 {path}；请等它结束"
            )
        };
        self.locks.push(lock);
        let before = setting.read(root).map_err(failed)?;
        if before == word {
            self.unchanged.push((setting, before));
            return Ok(());
        }
        let change = Change { setting, before, during: word.to_owned() };
        // Before it is made: whoever kills this process leaves the machine as it was.
        self.janitor.takes_charge(&change).map_err(failed)?;
        self.changes.push(change.clone());
        change.make(root).map_err(failed)
    }

    /// Puts everything back; an error where somebody else has changed it meanwhile, and it is left so.
    fn back(mut self) -> Result<()> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<()> {
        let root = Path::new(ROOT);
        let mut first: Option<anyhow::Error> = None;
        let mut say = |sentence: String| {
            first.get_or_insert_with(|| anyhow!("{sentence}"));
        };
        if let Some(mut beside) = self.beside.take()
            && beside.end().is_ok()
        {
            self.janitor.tell(&CleanupEntry::Reaped(beside.id()));
        }
        if std::mem::take(&mut self.are_huge_pages_forbidden)
            && let Err(error) = forbid_huge_pages(false)
        {
            say(both!(
                "huge pages cannot be allowed again ({error}); start hostmark anew",
                "无法重新启用大页（{error}）；请重新启动 hostmark"
            ));
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
                Err(error) => say(both!(
                    "{path} cannot be put back ({error}); write {} to it",
                    "无法还原 {path}（{error}）；请把 {} 写入它",
                    change.before
                )),
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

fn changed_by_others(path: &str, now: &str) -> String {
    both!(
        "somebody else has changed {path} to {now} meanwhile, and it is left so; try again when nobody does",
        "期间有人把 {path} 改为 {now}，现保持不变；请在无人改动时重试"
    )
}

impl Drop for Mechanism<'_> {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}
