//! Place where a run is measured, or a far end serves, as a person types it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use anyhow::Result;
use hostmark_launch::serve::PORT;
use hostmark_launch::transport::{self, TCP, Tcp};
use hostmark_model::{Elsewhere, HERE, PathBytes, Run};

use crate::language::refuse;
use crate::words;

pub struct Target {
    place: transport::Transport,
    words: Vec<OsString>,
    shown: String,
    /// The program that has to run there, where a run goes on.
    digest: Option<String>,
}

impl Target {
    /// The one that a person typed behind this option, and the file with what lets us in where a server leads there.
    pub fn named(typed: &str, option: &str, token_file: Option<&Path>) -> Result<Target> {
        match words::split(typed) {
            Ok(words) if words.is_empty() => refuse!("{option} has no word; give a command, as 'ssh db-17'"),
            Ok(words) => match (Target::of_words(words, typed, token_file)?, token_file) {
                (place, Some(_)) if !place.is_served() => {
                    refuse!("--token-file belongs to a place as tcp:HOST, and '{typed}' is none; leave it out")
                }
                (place, _) => Ok(place),
            },
            Err(why) => refuse!("{option} '{typed}': {why}; quote it as for a shell"),
        }
    }

    /// The one behind these words, which a person typed so.
    pub fn of_words(words: Vec<String>, typed: &str, token_file: Option<&Path>) -> Result<Target> {
        let shown = typed.trim().to_owned();
        match (words.as_slice(), token_file) {
            ([only], Some(file)) if only.starts_with(TCP) => match Tcp::address(only, PORT) {
                Some(address) => {
                    let place = transport::Transport::Tcp(Tcp { address, token_file: file.to_owned() });
                    Ok(Target { place, words: vec![only.into()], shown, digest: None })
                }
                None => refuse!(
                    "'{typed}' is no address of a server; give one as tcp:db-17, tcp:10.0.0.17:7417 or tcp:[fd00::17]:7417"
                ),
            },
            ([only], None) if only.starts_with(TCP) => {
                refuse!("'{typed}' lets in who has its token; name the file that holds it by --token-file")
            }
            _ => Ok(Target::of(words.into_iter().map(OsString::from).collect(), shown, None)),
        }
    }

    /// Tells whether the place is a server's, which gives measurements and nothing else.
    pub fn is_served(&self) -> bool {
        matches!(self.place, transport::Transport::Tcp(_))
    }

    /// The one that a journal names, and that a person has to have typed.
    pub fn of_journal(elsewhere: &Elsewhere, typed: Option<&str>) -> Result<Target> {
        let words: Vec<OsString> = elsewhere.place.iter().map(|word| OsString::from_vec(word.0.clone())).collect();
        match words.first() {
            None => refuse!("the journal names no place; measure anew"),
            Some(word) if word.as_bytes().starts_with(TCP.as_bytes()) => {
                refuse!("a run started through hostmark serve cannot be resumed; start a new run")
            }
            Some(_) => {
                let joined = || words.join(OsStr::new(" ")).to_string_lossy().into_owned();
                let shown = typed.map_or_else(joined, |typed| typed.trim().to_owned());
                Ok(Target::of(words, shown, Some(elsewhere.digest.clone())))
            }
        }
    }

    pub fn of(words: Vec<OsString>, shown: String, digest: Option<String>) -> Target {
        let place = match words.as_slice() {
            [only] if only == HERE => transport::Transport::Here,
            _ => transport::Transport::Command(words.clone()),
        };
        Target { place, words, shown, digest }
    }

    /// One of this machine behind these words, to which the program is sent as to any other place: of which a person reads this.
    pub fn behind(words: Vec<OsString>, shown: &str) -> Target {
        Target { place: transport::Transport::Command(words.clone()), words, shown: shown.to_owned(), digest: None }
    }

    /// A guest that this program has booted, of which a person reads this.
    pub fn in_guest(place: transport::Transport, shown: &str) -> Target {
        Target { place, words: Vec::new(), shown: shown.to_owned(), digest: None }
    }

    pub fn leads_to(&self) -> &transport::Transport {
        &self.place
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The program that has to run there, where one has to.
    pub fn wanted_digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Writes into a run where it was measured, and by which program: what its maker says of that does not count.
    pub fn mark(&self, run: &mut Run, digest: &str) {
        run.place = match self.place {
            transport::Transport::Here => None,
            transport::Transport::Command(_) | transport::Transport::Tcp(_) | transport::Transport::Guest(_) => {
                Some(self.shown.clone())
            }
        };
        run.tool.digest = Some(digest.to_owned());
    }

    /// Place as the journal records it.
    pub fn elsewhere(&self, digest: &str) -> Elsewhere {
        let place = self.words.iter().map(|word| PathBytes(word.as_bytes().to_vec())).collect();
        Elsewhere { place, digest: digest.to_owned() }
    }
}
