//! Why a look of a check saw nothing: the machine lacks something, or the check itself went wrong.

use hostmark_analysis::bilingual::Words;
use hostmark_analysis::{reasons::in_both, words};
use hostmark_model::{Reason, ReasonCode};

/// Why a look saw nothing.
#[derive(Debug)]
pub enum Unseen {
    /// This machine lacks something, or others had it.
    Impossible(Words),
    /// What looks went wrong.
    Error(Words),
}

impl From<Words> for Unseen {
    fn from(why: Words) -> Unseen {
        Unseen::Impossible(why)
    }
}

impl From<String> for Unseen {
    fn from(why: String) -> Unseen {
        Unseen::Impossible(words(in_both(&why)))
    }
}

impl From<&Reason> for Unseen {
    /// Of a case that has no value: wrong data and processes that die are no property of a machine on which this can be measured.
    fn from(reason: &Reason) -> Unseen {
        use ReasonCode::{CheckFailed, Internal, MemoryError, NoValue, ProcessDied, Protocol};
        let why = words(in_both(reason));
        match reason.code {
            Some(CheckFailed | Internal | MemoryError | NoValue | ProcessDied | Protocol) => Unseen::Error(why),
            _ => Unseen::Impossible(why),
        }
    }
}
