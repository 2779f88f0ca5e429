//! The axis of who sends.

use std::str::FromStr;

use hostmark_engine::prelude::*;
/// The axis, as the case sees it.
pub const AXIS: Axis = Axis::choice(
    "direction",
    "receive",
    Points::Listed { quick: &["receive"], standard: &["send", "both"], thorough: &[] },
)
.of_links();

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The far end.
    Receive,
    /// The case.
    Send,
    /// Each over a connection of its own, at once.
    Both,
}

impl FromStr for Direction {
    type Err = Message;

    fn from_str(name: &str) -> std::result::Result<Direction, Message> {
        Ok(match name {
            "receive" => Direction::Receive,
            "send" => Direction::Send,
            "both" => Direction::Both,
            _ => return Err(say!("there is no direction '{name}'")),
        })
    }
}

impl Direction {
    /// Whether the case receives.
    pub fn receives(self) -> bool {
        self != Direction::Send
    }

    /// Whether the case sends.
    pub fn sends(self) -> bool {
        self != Direction::Receive
    }
}
