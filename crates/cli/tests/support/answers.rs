//! What commands that are executed in the test process answer, as most tests want it.

use crate::support::{Home, in_process};

/// What a command prints that goes well.
pub fn printed(home: &Home, arguments: &[&str]) -> String {
    let (code, out, errors) = in_process(&home.hostmark(arguments));
    assert_eq!((code, errors.as_str()), (0, ""), "{arguments:?} {out}");
    out
}

/// Exit code 2, nothing on standard output, and this one sentence on standard error.
pub fn assert_refused(home: &Home, arguments: &[&str], sentence: &str) {
    let refused = in_process(&home.hostmark(arguments));
    assert_eq!(refused, (2, String::new(), format!("hostmark: {sentence}\n")), "{arguments:?}");
}
