//! The exit codes of the binary: a public interface.

/// What the process tells its caller when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done; Skipped cases are fine.
    Fine,
    /// `compare` found a regression, or `host --check` found something that would disturb.
    Found,
    /// A bad command line or unreadable input.
    BadInput,
    /// Some case failed.
    CaseFailed,
    /// A filter selects nothing: no probe, group or lmbench program is called that.
    NothingSelected,
    /// A resource was lost midway, as when the disk filled.
    ResourceLost,
    /// Ended by this signal; what was measured until then is kept.
    Signal(u8),
}

impl Exit {
    /// The code that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Found => 1,
            Exit::BadInput => 2,
            Exit::CaseFailed => 3,
            Exit::NothingSelected => 4,
            Exit::ResourceLost => 5,
            Exit::Signal(number) => 128 + number,
        }
    }
}
