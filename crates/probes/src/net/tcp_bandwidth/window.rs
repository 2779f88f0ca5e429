//! Axes window and block: how much of a stream may be under way, by the buffers of its two ends, and how much is read at once.

use std::str::FromStr;

use hostmark_engine::prelude::*;
/// By name, of send and receive buffer: from the standard profile on, and in the thorough one.
const SIZES: &[(&str, usize)] = &[
    ("64k", 64 << 10),
    ("128k", 128 << 10),
    ("256k", 256 << 10),
    ("512k", 512 << 10),
    ("1m", 1 << 20),
    ("2m", 2 << 20),
    ("4m", 4 << 20),
    ("8m", 8 << 20),
    ("16m", 16 << 20),
];

pub const AXIS: Axis = Axis::choice(
    "window",
    "default",
    Points::Listed {
        quick: &["default"],
        standard: &["64k", "256k", "1m", "4m"],
        thorough: &["128k", "512k", "2m", "8m", "16m"],
    },
);

/// The axis of what one read asks for.
pub const BLOCK: Axis = Axis::size(
    "block",
    "65536",
    Points::Listed { quick: &["65536"], standard: &["16384", "262144"], thorough: &["4096", "1048576"] },
);

/// What both ends ask for, bytes; nothing where the kernel tunes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window(Option<usize>);

impl FromStr for Window {
    type Err = Message;

    fn from_str(name: &str) -> std::result::Result<Window, Message> {
        match SIZES.iter().find(|(known, _)| *known == name) {
            Some((_, bytes)) => Ok(Window(Some(*bytes))),
            None if name == AXIS.default => Ok(Window(None)),
            None => Err(say!("there is no window '{name}'")),
        }
    }
}

impl Window {
    /// What to ask for, where something is.
    pub fn bytes(self) -> Option<usize> {
        self.0
    }

    /// Skipped where a smaller window of the axis gives the same buffers.
    pub fn check(self, sends: u64, receives: u64) -> Result<()> {
        let Some(wanted) = self.0 else { return Ok(()) };
        let larger = sends.max(receives);
        let same = SIZES.iter().find(|(_, bytes)| *bytes < wanted && *bytes as u64 >= larger);
        same.map_or(Ok(()), |(name, _)| {
            Err(RoundError::skipped(
                ReasonCode::NotApplicable,
                say!(
                    "the kernel gives {sends} bytes to send and {receives} to receive, as for window={name}; raise \
                 net.core.wmem_max and net.core.rmem_max"
                ),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_gives_no_more_than_another_is_skipped_with_the_reason() {
        let window = |name: &str| name.parse::<Window>().unwrap();
        // What most kernels give by default.
        let limit = 208 << 10;
        for (name, given, as_for) in [
            ("64k", 64 << 10, None),
            ("256k", limit, None),
            ("512k", limit, Some("window=256k;")),
            ("16m", limit, Some("window=256k;")),
            ("16m", 4 << 20, Some("window=4m;")),
            ("4m", 4 << 20, None),
            ("64k", 1 << 10, None),
            ("default", limit, None),
        ] {
            let message = window(name).check(given, given).map_err(|error| error.to_string()).err();
            assert_eq!(message.is_some(), as_for.is_some(), "{name} {given}: {message:?}");
            assert!(message.zip(as_for).is_none_or(|(message, other)| message.contains(other)));
        }
        // One end alone may be refused: what the other has is more than a smaller window gives.
        window("1m").check(limit, 1 << 20).unwrap();
    }

    #[test]
    fn every_point_has_a_size() {
        let Points::Listed { quick, standard, thorough } = AXIS.points else { panic!("the points are listed") };
        for name in [quick, standard, thorough].concat() {
            assert_eq!(name.parse::<Window>().unwrap().bytes().is_none(), name == AXIS.default, "{name}");
        }
        assert!("3m".parse::<Window>().is_err());
    }
}
