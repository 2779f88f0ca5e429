//! What is started here, and what is copied behind a command and started there: both are told, heard and ended alike, and
//! nothing is left of either.

mod both;
mod killed;
mod refused;
mod spot;
mod ssh;

use std::time::Duration;

use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};

const SOON: Duration = Duration::from_secs(20);

fn terms(ending: Ending) -> Terms {
    Terms { group: Membership::Own, has_input: true, errors: Errors::Captured, ending, stop: None }
}

#[track_caller]
fn says(process: &mut Supervised, line: &str) {
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Line(line.into()));
}
