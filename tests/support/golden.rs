//! Files that hold what a test makes: compared, or written anew when a person asks for it.

use std::path::Path;

/// Compares a file of the repository, by its path from the folder of the crate's manifest, with what it should hold.
/// `HOSTMARK_BLESS=1` writes it anew, for a look at the difference in review; `command` is the test that does so.
#[track_caller]
pub fn holds(manifest: &str, path: &str, text: &str, command: &str) {
    let file = Path::new(manifest).join(path);
    if std::env::var_os("HOSTMARK_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&file, text).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    let line = found.lines().zip(text.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| found.lines().count().min(text.lines().count()));
    let (old, new) = (found.lines().nth(line), text.lines().nth(line));
    assert!(
        found == text,
        "{path} differs from line {} on ({old:?}, and should be {new:?}); look at it, and bless it with \
         HOSTMARK_BLESS=1 {command}",
        line + 1
    );
}
