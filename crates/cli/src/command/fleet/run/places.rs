//! Hosts as an engine gives them: who they are, and how each is got to when its turn has come.

use anyhow::Result;

/// A host that an engine has.
#[derive(Debug, Clone)]
pub struct Registered {
    /// What the engine calls it.
    pub name: String,
    /// Why it cannot be measured, where that is known from the start.
    pub refused: Option<String>,
}

impl Registered {
    /// One that can be measured, as far as one knows.
    pub fn named(name: String) -> Registered {
        Registered { name, refused: None }
    }
}

/// What there is of a way to a host.
#[derive(Debug)]
pub enum HostAccess {
    /// The words of a command that gives a shell there with one more word, `sh`.
    Open(Vec<String>),
    /// It is being made.
    NotYet,
    /// There is none, and why.
    Closed(String),
}

/// Where hosts come from. A host is given by its number in [`Places::hosts`].
pub trait Places {
    /// The hosts, each of a name of its own.
    fn hosts(&self) -> &[Registered];

    /// The way to a host whose turn has come; asked again until it is open or there is none.
    fn way(&mut self, host: usize) -> HostAccess;

    /// The turn of a host is over.
    fn leave(&mut self, host: usize);

    /// Why a host that broke off did, where the engine knows better.
    fn why_lost(&mut self, _host: usize) -> Option<String> {
        None
    }

    /// Why there is no way to a host yet, where the engine says.
    fn why_waiting(&mut self, _host: usize) -> Option<String> {
        None
    }

    /// Gives back what the engine lent; an error where that did not work.
    fn finish(&mut self) -> Result<()>;
}
