//! What passes between processes as a line of JSON, written and read by functions that are compiled once: a crate that calls serde itself
//! compiles it anew.

use crate::agent::{AgentAnswer, AgentRequest, RoundLine};
use crate::event::Event;
use crate::far::ServiceJob;
use crate::job::Job;

/// A value that fits on a line.
pub trait JsonLine: Sized {
    /// The line, with its end.
    fn to_line(&self) -> serde_json::Result<String>;

    /// The value of a line.
    fn from_line(line: &str) -> serde_json::Result<Self>;
}

macro_rules! lines {
    ($($name:ty),*) => {
        $(impl JsonLine for $name {
            fn to_line(&self) -> serde_json::Result<String> {
                Ok(serde_json::to_string(self)? + "\n")
            }

            fn from_line(line: &str) -> serde_json::Result<$name> {
                serde_json::from_str(line)
            }
        })*
    };
}

lines!(AgentAnswer, AgentRequest, Event, Job, crate::Message, RoundLine, ServiceJob);
