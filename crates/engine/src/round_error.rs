//! Why a round ends without a value, and how an operation says that it went wrong.

use std::any::Any;
use std::io;
use std::num::{ParseFloatError, ParseIntError, TryFromIntError};

use hostmark_model::{Event, Message, Reason, ReasonCode, displays_its_message};
use hostmark_say::say;

use crate::resource_limits::{self, reason_of};
use crate::sys::exit_message;

/// Why a round ends without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundError {
    /// It cannot be measured here.
    Skipped(Reason),
    /// It should have worked and did not.
    Failed(Reason),
}

impl RoundError {
    /// Skipped, with the reason.
    pub fn skipped(code: ReasonCode, text: impl Into<Message>) -> RoundError {
        RoundError::Skipped(code.because(text))
    }

    /// Skipped, since what the measurement needs is not available; with what helps, where the error tells.
    pub fn lacking(what: impl Into<Message>, error: &io::Error) -> RoundError {
        exit_message::settle();
        let what = what.into();
        match resource_limits::remedy(error) {
            Some(remedy) => RoundError::Skipped(reason_of(error, say!("{what}: {error}: {remedy}"))),
            None => RoundError::Skipped(reason_of(error, say!("{what}: {error}"))),
        }
    }

    /// Skipped, since `what` cannot do this; where the error tells of something else that the host lacks, that and not `what`
    /// is the reason, with what helps.
    pub fn unable(code: ReasonCode, what: impl Into<Message>, error: io::Error) -> RoundError {
        if resource_limits::remedy(&error).is_some() {
            return RoundError::from(error);
        }
        let error = RoundError::lacking(what, &error);
        // A kernel that knows no such call and one that knows it not of this are the same to who asks.
        error.map(|reason| match reason.code {
            Some(ReasonCode::Kernel | ReasonCode::SystemCall) => reason.of_kind(code),
            _ => reason,
        })
    }

    /// The same, of this step.
    pub(crate) fn within(self, step: impl Into<Message>) -> RoundError {
        let step = step.into();
        self.map(|reason| {
            let text = say!("{step}: {reason}");
            reason.with_text(text)
        })
    }

    /// The same with another reason.
    pub(crate) fn map(self, to: impl FnOnce(Reason) -> Reason) -> RoundError {
        match self {
            RoundError::Skipped(reason) => RoundError::Skipped(to(reason)),
            RoundError::Failed(reason) => RoundError::Failed(to(reason)),
        }
    }

    /// Failed, with what went wrong.
    pub fn failed(code: ReasonCode, text: impl Into<Message>) -> RoundError {
        RoundError::Failed(code.because(text))
    }

    /// Why.
    pub fn into_reason(self) -> Reason {
        let (RoundError::Skipped(reason) | RoundError::Failed(reason)) = self;
        reason
    }
}

impl std::error::Error for RoundError {}

impl From<&RoundError> for Message {
    fn from(error: &RoundError) -> Message {
        let (RoundError::Skipped(reason) | RoundError::Failed(reason)) = error;
        reason.into()
    }
}

displays_its_message!(RoundError);

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
            (Some(remedy), _) => RoundError::Skipped(reason_of(&error, say!("{error}: {remedy}"))),
            (None, Some(hint)) => RoundError::Failed(reason_of(&error, say!("{error}: {hint}"))),
            (None, None) => RoundError::Failed(reason_of(&error, &error)),
        }
    }
}

impl From<TryFromIntError> for RoundError {
    /// More bytes than this machine has addresses.
    fn from(error: TryFromIntError) -> RoundError {
        RoundError::skipped(ReasonCode::TooLittleMemory, error)
    }
}

impl From<ParseIntError> for RoundError {
    /// The value of an axis.
    fn from(error: ParseIntError) -> RoundError {
        RoundError::failed(ReasonCode::Internal, error)
    }
}

impl From<ParseFloatError> for RoundError {
    /// The value of an axis.
    fn from(error: ParseFloatError) -> RoundError {
        RoundError::failed(ReasonCode::Internal, error)
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
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Reason {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ReasonCode::Internal
        .because(say!("panicked: {text}", text = text.map_or_else(|| say!("without a word"), Message::from)))
}
