//! The exit codes of the binary: a public interface.

/// What the process tells its caller when it ends, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything asked for was done; Skipped cases are fine.
    Fine,
    /// `compare --strict` found no regression, and a case that is not known to be the same or faster.
    Undecided,
    /// `compare` found a regression, or `host --check` found something that would disturb.
    Found,
    /// Some case failed.
    CaseFailed,
    /// A filter selects nothing: no probe, group or lmbench program is called that; or no case that it selects can be measured.
    NothingSelected,
    /// A bad command line or unreadable input.
    BadInput,
    /// Ended by this signal; what was measured until then is kept.
    Signal(u8),
    /// A resource was lost midway, as when the disk filled.
    ResourceLost,
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
            Exit::Undecided => 6,
            Exit::Signal(number) => 128 + number,
        }
    }
    /// The graver of two things that both happened: lost output is the gravest, since a caller that looks no further than the code must not
    /// take a cut-off file for a whole one.
    #[must_use]
    pub fn or(self, other: Exit) -> Exit {
        self.max(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_output_is_reported_before_anything_else_and_fine_only_alone() {
        let all = [
            Exit::Fine,
            Exit::Undecided,
            Exit::Found,
            Exit::CaseFailed,
            Exit::NothingSelected,
            Exit::BadInput,
            Exit::Signal(2),
            Exit::ResourceLost,
        ];
        for (less, one) in all.into_iter().enumerate() {
            for (more, other) in all.into_iter().enumerate() {
                let expected = if less >= more { one } else { other };
                assert_eq!((one.or(other), other.or(one)), (expected, expected), "{one:?} {other:?}");
            }
        }
    }
}
