//! What commands that are executed in the test process answer, as most tests want it.

use crate::support::{Home, in_process, succeeded};

/// What a command prints that goes well.
#[track_caller]
pub fn printed(home: &Home, arguments: &[&str]) -> String {
    succeeded(in_process(&home.hostmark(arguments)))
}

/// Exit code 2, nothing on standard output, and this one sentence on standard error.
pub fn assert_refused(home: &Home, arguments: &[&str], sentence: &str) {
    let refused = in_process(&home.hostmark(arguments));
    assert_eq!(refused, (2, String::new(), format!("hostmark: {sentence}\n")), "{arguments:?}");
}
