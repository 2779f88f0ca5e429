//! What is not possible everywhere is told, past what libtest captures, and passed over.

use std::io::Write;

/// Says why a test ends before it has looked at anything.
pub fn skipped(why: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
}
