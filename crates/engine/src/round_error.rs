//! Why a round ends without a value, and how an operation says that it went wrong.

use std::any::Any;
use std::fmt::Display;
use std::io;

use hostmark_model::Event;

use crate::resource_limits;
use crate::sys::exit_message;

/// Why a round ends without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundError {
    /// It cannot be measured here.
    Skipped(String),
    /// It should have worked and did not.
    Failed(String),
}

impl RoundError {
    /// Skipped, with the reason.
    pub fn skipped(reason: impl Display) -> RoundError {
        RoundError::Skipped(reason.to_string())
    }

    /// Skipped, since what the measurement needs is not available; with what helps, where the error tells.
    pub fn lacking(what: impl Display, error: &io::Error) -> RoundError {
        exit_message::settle();
        match resource_limits::remedy(error) {
            Some(remedy) => RoundError::skipped(format_args!("{what}: {error}: {remedy}")),
            None => RoundError::skipped(format_args!("{what}: {error}")),
        }
    }

    /// Skipped, since `what` cannot do this; where the error tells of something else that the host lacks, that and not `what`
    /// is the reason, with what helps.
    pub fn unable(what: impl Display, error: io::Error) -> RoundError {
        match resource_limits::remedy(&error) {
            Some(_) => RoundError::from(error),
            None => RoundError::lacking(what, &error),
        }
    }

    /// The same, of this step.
    pub(crate) fn within(self, step: &str) -> RoundError {
        match self {
            RoundError::Skipped(reason) => RoundError::Skipped(format!("{step}: {reason}")),
            RoundError::Failed(reason) => RoundError::Failed(format!("{step}: {reason}")),
        }
    }

    /// Failed, with what went wrong.
    pub fn failed(error: impl Display) -> RoundError {
        RoundError::Failed(error.to_string())
    }
}

impl Display for RoundError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (RoundError::Skipped(reason) | RoundError::Failed(reason)) = self;
        to.write_str(reason)
    }
}

impl std::error::Error for RoundError {}

impl From<RoundError> for Event {
    /// The last of a round.
    fn from(error: RoundError) -> Event {
        match error {
            RoundError::Skipped(reason) => Event::Skipped { reason },
            RoundError::Failed(reason) => Event::Failed { reason },
        }
    }
}

impl From<io::Error> for RoundError {
    fn from(error: io::Error) -> RoundError {
        exit_message::settle();
        match (resource_limits::remedy(&error), resource_limits::hint(&error)) {
            (Some(remedy), _) => RoundError::skipped(format_args!("{error}: {remedy}")),
            (None, Some(hint)) => RoundError::failed(format_args!("{error}: {hint}")),
            (None, None) => RoundError::failed(error),
        }
    }
}

/// What a probe's function returns.
pub type Result<T> = std::result::Result<T, RoundError>;

/// What a timed operation may return: a value that only has to be computed, or a result that is checked.
pub trait Checked {
    /// The error, when the operation failed.
    fn check(self) -> Result<()>;
}

macro_rules! always_fine {
    ($($value:ty)*) => {$(
        impl Checked for $value {
            #[inline(always)]
            fn check(self) -> Result<()> {
                Ok(())
            }
        }
    )*};
}

always_fine!(() u8 u32 u64 usize i32 i64);

impl<T, E: Into<RoundError>> Checked for std::result::Result<T, E> {
    #[inline(always)]
    fn check(self) -> Result<()> {
        self.map(drop).map_err(Into::into)
    }
}

/// What a panic said, as a reason.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a word"))
}
